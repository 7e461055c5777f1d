"""Browsable atlases of open-weight models, made by running the models' own code.

The package imports neither torch nor transformers: model code runs in a child process (see ``capture``).
"""

__version__ = "0.1.0"
