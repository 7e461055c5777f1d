"""Serves the bundles on this machine, read-only."""
