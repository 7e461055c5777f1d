"""Tests of the reference models."""
