"""Docs sites: their structure, their look, and who can read them."""
