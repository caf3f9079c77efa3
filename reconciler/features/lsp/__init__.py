"""The language server: what the project knows, in an editor."""
