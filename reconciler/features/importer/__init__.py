"""From existing objects to YAML as a person would write it. Pure: Actual in, texts of files out."""
