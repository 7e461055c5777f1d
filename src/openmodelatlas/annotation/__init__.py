"""Joins graph and catalogue: what belongs here turns facts of the graph into words for one place in one model.

:mod:`~openmodelatlas.annotation.operations` holds the lowest layer, the operation table (what a ``softmax`` is). Roles,
names from the catalogue, explanations and the record of what nothing matched come above it; a page takes its
``formula`` and ``explanation`` from them.
"""
