"""Layered layout of small directed graphs, top to bottom, after Sugiyama, Tagawa and Toda (1981).

Layers, order within them, positions and routes are a module each. What is our own: items that belong to the spine stand
on one vertical line at the left, and lines which can be straight are exactly straight.
"""
