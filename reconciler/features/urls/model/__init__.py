"""URLs of pages, redirects and the ledger as frozen data."""
