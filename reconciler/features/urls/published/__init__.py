"""What answers at published URLs: asked over the network, as readers ask."""
