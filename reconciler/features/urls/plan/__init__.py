"""The published URLs of pages: which ones a plan moves, ends, or gives to another page. Pure."""
