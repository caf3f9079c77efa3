"""What the dashboard reads and writes: lists and pages, sessions, what changed, what a push makes due."""
