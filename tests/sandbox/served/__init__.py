"""Published sites as the sandbox serves them."""
