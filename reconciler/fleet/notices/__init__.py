"""Notifications: which events follow from a new reading or the end of a run (`events`, pure), and sending them (`send`, apprise)."""
