"""Drift for people and as data."""
