"""What the state keeps of URLs."""
