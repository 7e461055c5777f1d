"""Reads an atlas again and looks for drift; counts what its knowledge covers. Needs numpy, but no torch."""
