"""Reconciler for Python."""
