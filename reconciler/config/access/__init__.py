"""`access`: readers as tests, from the YAML; and the conditions of resources, against the schemas of claims."""
