"""The JSON Schema of projects, for editors and `explain`: `document` is the whole one."""
