"""The checks of `doctor`, on this machine and at the service."""
