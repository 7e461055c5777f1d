"""Diagrams and formulas as they are shown: positions, routes and typeset mathematics, made when an atlas is built."""
