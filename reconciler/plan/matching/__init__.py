"""Which object on the service is which declared resource. Pure."""
