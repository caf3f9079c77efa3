"""What `drift` does about drift besides showing it: putting a group back, and opening a request."""
