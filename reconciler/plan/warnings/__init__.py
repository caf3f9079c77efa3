"""What people must know before they approve a plan: exposures, broken URLs, missing permissions, loosened rules. Pure."""
