"""The endpoints, one file a group of the reference."""
