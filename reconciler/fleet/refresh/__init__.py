"""Rereads the generators of a fleet while it runs. Any worker does it, one at a time, with the same result as `fleet plan`.

New projects are run, and removed ones are orphaned, never deleted. A list that cannot be read, or that lost so many projects that it is
probably a mistake, changes nothing.
"""
