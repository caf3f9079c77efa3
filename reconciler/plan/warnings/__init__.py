"""What a reader must know before approving a plan: exposures, broken URLs, missing permissions, loosened rules. Pure."""
