"""Who can read what, before, during and after a plan. Pure."""
