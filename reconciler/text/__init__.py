"""Strings, nothing else: printable characters, escaping, redaction, suggestions. Imports nothing of this package."""
