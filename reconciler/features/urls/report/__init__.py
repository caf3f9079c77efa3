"""URLs, redirects and the ledger for people and as data."""
