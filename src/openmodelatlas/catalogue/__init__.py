"""Mechanisms as data: what belongs here is one entry a mechanism (RMSNorm, RoPE, latent attention, …).

An entry holds the description, the symbols, the formula, a reference implementation and the papers. It knows nothing of
a particular model: ``annotation`` finds the places where a mechanism occurs.
"""
