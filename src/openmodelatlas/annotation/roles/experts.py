"""What surrounds the experts: the latent they may work in, the shared branch, and the join of both."""

from __future__ import annotations

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.view import MOVING


def find_experts(board: Board) -> None:
    """The projections around routed experts, then the addition of shared ones."""
    for address in board.view.computing:
        if board.view.projected(address) is not None:
            _latent(board, address)
    for address in board.view.computing:
        if board.view.word(address) == "add" and len(board.view.inputs(address)) == 2:
            _shared(board, address)


def _latent(board: Board, address: str) -> None:
    """A projection of what the experts gave widens it again; then what they read is a latent."""
    view = board.view
    source = view.projected(address)
    if source is None or address in board.places:
        return
    if any(board.kind(tensor) == "routed output" for tensor in _before(board, source)):
        board.place(address, "widen experts", x=source)
        board.mark(view.output(address), "routed output")
    output = view.output(address)
    for reader in view.readers(output) if output is not None else ():
        place = board.places.get(reader)
        if place is not None and place.name in ("dispatch", "sort tokens"):
            board.place(address, "narrow experts", x=output)
            board.mark(output, "expert latent")


def _before(board: Board, tensor: str) -> list[str]:
    """A tensor and what it was before it was moved, cast or normalised."""
    view, chain, current = board.view, [tensor], tensor
    for _ in range(12):
        maker = view.made_by(current)
        if maker is None or (maker in board.places and maker not in board.carried and view.word(maker) not in MOVING):
            break
        carried = board.carries(maker)
        if len(carried) != 1:
            break
        current = carried[0]
        chain.append(current)
    return chain


def _shared(board: Board, address: str) -> None:
    """Routed output plus what a feed-forward network without choice made: the shared experts."""
    view = board.view
    for routed, other in (view.inputs(address), view.inputs(address)[::-1]):
        if not any(board.kind(tensor) == "routed output" for tensor in _before(board, routed)):
            continue
        makers = [view.made_by(tensor) for tensor in [other, *_before(board, other)]]
        down = next((maker for maker in makers if maker is not None and view.projected(maker) is not None), None)
        if down is None or board.places.get(down) is None or board.places[down].name != "down projection":
            continue
        board.place(address, "join shared", x=routed, y=other)
        board.mark(other, "shared output")
        board.mark(view.output(down), "shared output")
        board.mark(view.output(address), "all experts")
        gate = makers[0]
        if gate is not None and gate != down and view.word(gate) == "multiply":
            board.place(gate, "gate shared", x=view.output(down))
        return
