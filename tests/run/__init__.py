"""The room of the run."""
