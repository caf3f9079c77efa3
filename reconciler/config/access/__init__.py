"""`access`: readers as tests, from the YAML."""
