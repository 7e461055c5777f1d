"""The first step of the annotation: roles, found in the structure, and the names and symbols that follow from them."""

from __future__ import annotations

from collections.abc import Callable

from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.annotation.roles.attention import find_attention
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.branches import write_branches
from openmodelatlas.annotation.roles.depth import find_depth
from openmodelatlas.annotation.roles.enclosing import name_enclosing, name_steps
from openmodelatlas.annotation.roles.ends import (
    find_biases,
    find_caches,
    find_constants,
    find_embedding_steps,
    find_ends,
    find_gates,
    find_indices,
    find_latents,
    find_projections,
    find_rooms,
    find_shared_key,
    flow_mixed,
)
from openmodelatlas.annotation.roles.experts import find_experts
from openmodelatlas.annotation.roles.feed_forward import find_feed_forward
from openmodelatlas.annotation.roles.naming import name_operations
from openmodelatlas.annotation.roles.norms import find_norms
from openmodelatlas.annotation.roles.parts import find_joints, find_parts
from openmodelatlas.annotation.roles.positions import find_rotary
from openmodelatlas.annotation.roles.recurrence import find_convolutions, find_recurrence, find_strengths
from openmodelatlas.annotation.roles.remainders import (
    find_decays,
    find_dropouts,
    find_scales,
    find_tests,
    find_triangles,
    flow_norms,
    flow_overlaps,
)
from openmodelatlas.annotation.roles.residual import find_residual
from openmodelatlas.annotation.roles.routing import find_routing
from openmodelatlas.annotation.roles.sorting import find_sorted_experts
from openmodelatlas.annotation.roles.states import find_kept, find_overlaps, find_scan, flow_states
from openmodelatlas.annotation.roles.symbols import give_symbols
from openmodelatlas.annotation.roles.tensors import name_tensors
from openmodelatlas.annotation.roles.unique import make_unique
from openmodelatlas.annotation.roles.view import View
from openmodelatlas.graph.document import Document

Rule = Callable[[Board], None]

RULES: tuple[Rule, ...] = (
    find_norms,
    find_rotary,
    find_depth,
    find_convolutions,
    find_caches,
    find_attention,
    find_recurrence,
    find_scan,
    flow_states,
    find_kept,
    find_strengths,
    flow_mixed,
    find_gates,
    flow_mixed,
    find_routing,
    find_sorted_experts,
    find_feed_forward,
    find_experts,
    find_residual,
    find_ends,
    find_embedding_steps,
    find_decays,
    find_dropouts,
    find_scales,
    find_latents,
    find_joints,
    flow_norms,
    find_projections,
    find_shared_key,
    find_biases,
    find_overlaps,
    flow_overlaps,
    find_triangles,
    find_parts,
    find_rooms,
    find_indices,
    find_constants,
    find_tests,
)
"""In this order: a finding stands, so that what proves more comes first."""


def find_roles(document: Document, drafts: Drafts | None = None) -> Board:
    """What the rules find in an atlas: kinds of tensors, places of operations; ``drafts`` note a rule that fails."""
    board = Board(View(document))
    drafts = drafts or Drafts(nodes={})
    for rule in RULES:
        with drafts.spare_all(f"What {rule.__name__} looks for"):
            rule(board)
    return board


def step(material: Material, drafts: Drafts) -> None:
    """Set title, label, sentence, role and family of the nodes, and the symbols of tensors and parameters."""
    board = find_roles(material.document, drafts)
    names = name_operations(board)
    for address, name in names.operations.items():
        draft = drafts.nodes[address]
        draft.title, draft.sentence, draft.role, draft.family = name.title, name.sentence, name.role, name.family
    with drafts.spare_all("Names of what encloses operations"):
        name_enclosing(board, names, drafts)
    with drafts.spare_all("Names of steps"):
        name_steps(board, drafts)
    with drafts.spare_all("Names of tensors"):
        name_tensors(board, names, drafts)
    with drafts.spare_all("Names that differ"):
        make_unique(material.document, drafts)
    with drafts.spare_all("Symbols"):
        give_symbols(board, drafts)
    with drafts.spare_all("Branches"):
        write_branches(board, drafts)
