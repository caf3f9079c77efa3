"""URLs of pages: what a plan says of them, and what the sandbox then serves."""
