"""The order of siblings: current positions, desired order, and the fewest moves between them. Pure."""
