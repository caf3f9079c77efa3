"""One site on one page: what it publishes for whom, how it is, and how it came to be so."""
