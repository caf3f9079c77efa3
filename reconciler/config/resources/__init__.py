"""From the evaluated YAML to resources, before references between them are looked up."""
