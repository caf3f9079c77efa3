"""Drift: what was changed outside Reconciler, read, and taken into the files."""
