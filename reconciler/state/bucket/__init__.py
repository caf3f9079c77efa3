"""A state in a bucket: a snapshot of the tables and a chain of numbered objects, each of which is one transaction."""
