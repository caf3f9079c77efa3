"""Secrets that must never come out: thirteen of them, planted wherever a secret can be, and looked for wherever anything is written."""
