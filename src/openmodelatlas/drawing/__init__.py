"""Diagrams and formulas as they are shown: positions, routes and typeset mathematics, made when an atlas is built."""

from openmodelatlas.drawing.draw import draw

__all__ = ["draw"]
