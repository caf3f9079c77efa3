"""The embedded sandbox, as commands use it."""
