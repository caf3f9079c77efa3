"""Redirects for the URLs of pages that move: which there must be, and the files that web servers read. Pure; it imports no HTTP library.

- `redirects`: from the redirects there were and the pages that move, the redirects there must be, and the URLs that die
- `formats`: the text of the file of each format
- `table`: the CSV file that keeps a site's redirects, and is read back by the next run
"""
