"""One module a command; imported when the command is used, and importing the engine inside its function only."""
