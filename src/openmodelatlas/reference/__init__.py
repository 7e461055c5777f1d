"""Readable, runnable reference models in plain PyTorch; see ``kimi_k2`` and ``kimi_k3``.

Nothing is imported here, so that ``import openmodelatlas`` stays free of torch.
"""
