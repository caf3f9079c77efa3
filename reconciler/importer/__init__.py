"""From what is there to the YAML that a person would have liked to write. Pure: Actual in, texts of files out."""
