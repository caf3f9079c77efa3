"""The documents that commands print and read, each defined once as a TypedDict.

mypy checks what writes a document, `check` what is read, and `documents` makes the JSON Schemas that are checked in as
`schemas/*.schema.json`. Whoever writes a document needs its type only: pydantic is not imported for that.
"""
