"""Recognises the catalogue's mechanisms in an atlas and attaches those whose numbers agree."""
