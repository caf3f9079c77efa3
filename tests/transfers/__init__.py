"""Collections and spaces that move to another organization of the project."""
