"""What Reconciler does beyond planning and applying: one room for each feature. The kernel imports none of them."""
