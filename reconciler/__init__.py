"""Reconciler: documentation organizations as code."""

__version__ = "0.1.0"
