"""A whole state as one document: pulled, pushed, or moved to another project name or environment."""
