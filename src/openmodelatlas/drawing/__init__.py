"""Diagrams and formulas as they are shown: positions, routes and typeset mathematics, made when an atlas is built.

:func:`~openmodelatlas.drawing.draw.draw` makes them; who reads an atlas needs
:mod:`~openmodelatlas.drawing.drawing` only.
"""
