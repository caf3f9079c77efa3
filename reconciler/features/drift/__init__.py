"""What was changed outside Reconciler: shown, accepted, proposed, or put back."""
