"""Changes of a project in the terms of its language: find a name, rename it everywhere, set, add, move and remove. Pure: texts in, texts
out."""
