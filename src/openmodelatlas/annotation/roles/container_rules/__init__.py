"""Rules that name what encloses operations, by what lies in it; ``containers.py`` says their order."""
