"""Whole runs through a service that is stricter than the sandbox, and one that answers more than it documents."""
