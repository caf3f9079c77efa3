"""The `policies`, `use` and `exceptions` of a project: reading them and checking their expressions, without evaluating any."""
