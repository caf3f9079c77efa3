"""Redirects: which there must be, and the files of web servers that contain them."""
