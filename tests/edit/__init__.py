"""Editing YAML in place."""
