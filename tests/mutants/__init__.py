"""Bugs on purpose: each must be caught by a test that is there already."""
