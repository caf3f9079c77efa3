"""One module per command; imported when the command is used. Each imports the engine only inside its function."""
