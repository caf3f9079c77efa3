"""What the generators of a fleet list, read again and again while it runs. Any worker does it, one at a time, as `fleet plan` does.

What appeared is run, and what vanished is orphaned, never deleted. A list that cannot be read, or that lost so much that it is probably a
mistake, changes nothing.
"""
