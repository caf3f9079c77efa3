"""Which object on the service is which declared resource, and what differs between the two. Pure."""
