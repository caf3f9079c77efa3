"""Output on a terminal or in a pipe: reports, progress, prompts, signals."""
