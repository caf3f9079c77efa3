"""The dashboard's reads and writes: lists and pages, sessions, changes, projects made due by a push."""
