"""The origin of a saved plan: who created it from which commit, and a signature that nobody else can create."""
