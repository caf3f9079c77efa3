"""The formats of a sheet for other readers than a terminal: a page, a comment, a log, annotations of code. Pure."""
