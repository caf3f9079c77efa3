"""Runs: one process for each, with a token and a state in its environment, a private folder, and a limit of time."""
