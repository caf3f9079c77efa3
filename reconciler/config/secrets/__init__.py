"""Secrets in files that SOPS encrypted: their names, and their values from the `sops` command."""
