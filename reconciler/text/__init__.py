"""Strings, nothing else: escaping, redaction, suggestions, times. Imports nothing of this package."""
