"""What a commit does to every project of a fleet: the fleet and the files at both commits, and the page about the plans between them."""
