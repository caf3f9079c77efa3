"""What people are told: which events a new reading, or the end of a run, gives (`events`, pure), and sending it (`send`, apprise)."""
