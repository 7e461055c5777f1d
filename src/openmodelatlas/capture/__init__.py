"""Runs the model's own code on small probes, in a child process, and brings back what happened as data."""
