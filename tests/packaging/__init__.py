"""What a release contains: hooks, containers, distributions."""
