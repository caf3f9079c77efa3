"""Bugs that are made on purpose: each must be caught by a test that a push runs."""
