"""Dimensions as expressions in configuration names: solved from probes, confirmed, evaluated. No torch."""
