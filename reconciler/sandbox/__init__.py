"""The documentation service itself, embedded: FastAPI over one SQLite file. Imports nothing else of this package.

- `app`: the service as an ASGI application; `server` runs it; `control` holds its clock
- `routes`: the endpoints, one file a group of the reference; `bodies` their limits; `views` their answers
- `content`, `structure`: what happens to collections and spaces, and to what a site is made of
- `store`: the file; `seed`: what exists beforehand; `service`: who calls, and pages of lists
"""
