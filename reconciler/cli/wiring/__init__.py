"""A run from the command line: where it goes, with which state, and what is approved."""
