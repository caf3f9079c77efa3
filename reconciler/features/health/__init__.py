"""Whether an organization works for its readers."""
