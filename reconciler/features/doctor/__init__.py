"""The checks of `doctor`: of this machine, and of the service."""
