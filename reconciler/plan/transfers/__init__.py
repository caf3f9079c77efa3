"""Transfers: what a plan gives from one organization to another. Pure.

- `together`: what is transferred together, and what the service shows once all is transferred
- `batches`: which addresses the state changes together
- `obstacles`: why something cannot be transferred, and what must be done before it is
- `drafts`: what is decided about it
"""
