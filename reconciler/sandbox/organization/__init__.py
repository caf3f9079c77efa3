"""People of an organization: accounts, access levels, claims."""
