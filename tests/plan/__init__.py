"""What the planner says of many edits, word for word, from a record of one organization: no service, no database, no waiting."""
