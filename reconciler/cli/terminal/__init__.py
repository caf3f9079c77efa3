"""Output on a terminal or in a pipe: results, progress, logs, traces, signals."""
