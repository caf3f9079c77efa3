"""Environments of a project: `environments/<name>.yaml`, each the same project with other values."""
