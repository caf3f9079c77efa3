"""Changes of project files in the terms of the language: find a name, rename it everywhere, set, add, move, remove. The one writer of
these files. Pure.
"""
