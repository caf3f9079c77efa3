"""Collections, spaces and what they contain: the content tree, revisions, pages, links, search."""
