"""Roles: what each node is for, found from the structure of the data flow.

Rules read the graph (:mod:`.view`) and write what they find on a board (:mod:`.board`): what tensors are, and which
place of a mechanism an operation takes. Words (:mod:`.wording`) turn places into titles and sentences, what no rule
knows is named by what it does, and everything that encloses operations by what lies in it. Names in the code are
never proof.
"""

from openmodelatlas.annotation.roles.finding import find_roles, step

__all__ = ["find_roles", "step"]
