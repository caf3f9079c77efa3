"""Pages and their links, read with GET requests."""
