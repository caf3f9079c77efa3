"""A run: what it is asked to do, and what it may do. No command line and no terminal: every command, a fleet, agents and tests of projects
begin here."""
