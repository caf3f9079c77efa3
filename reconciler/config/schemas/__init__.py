"""Parts of the JSON Schema of projects."""
