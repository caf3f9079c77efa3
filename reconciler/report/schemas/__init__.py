"""The documents that commands print and read, each defined once as a TypedDict.

mypy checks the code that writes documents, `check` the documents that are read, and `documents` generates the JSON Schemas in
`schemas/*.schema.json`. Writing a document needs only its type and does not import pydantic.
"""
