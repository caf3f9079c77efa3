"""Pages of a fleet."""
