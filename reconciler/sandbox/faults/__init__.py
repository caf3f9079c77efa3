"""Misbehaviour on demand: rules say which requests go wrong and how, and what went wrong can be read back."""
