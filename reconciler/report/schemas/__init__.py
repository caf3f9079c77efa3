"""The JSON Schemas of all documents, and the check that data conforms to them."""
