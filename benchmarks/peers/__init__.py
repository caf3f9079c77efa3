"""Programs that do the same work elsewhere, on as many objects: measured where they are installed."""
