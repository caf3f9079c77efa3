"""What a saved plan says of itself: who created it from which commit, and the signature that nobody else can make."""
