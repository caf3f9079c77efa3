"""Work of people that a plan ends or interrupts: change requests, comments, drafts."""
