"""A run from the command line: its service, its state, and what is approved."""
