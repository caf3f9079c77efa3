"""The service as the declarations describe it, and what requests do to it."""
