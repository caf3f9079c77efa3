"""A saved plan: its file, what of it still holds, and its use. A file limits what is sent, and never says it."""
