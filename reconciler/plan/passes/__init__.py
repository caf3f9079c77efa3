"""Rules on the whole plan: what must stay, what waits, what was renamed, what this run is limited to. Pure."""
