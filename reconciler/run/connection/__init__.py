"""Where a run goes: the service, whom it may tell its secrets, the state and its lease."""
