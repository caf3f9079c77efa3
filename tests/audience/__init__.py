"""Nobody reads too much at any moment of a run: the sandbox is asked who can read what after every request.

- `worlds`: random small organizations, and edits of them
- `moments`: one organization whose sandbox is asked after every request that writes, whose runs can be cut and whose requests refused
- `proof`: every cut and every refusal of one edit; what somebody read whom neither the old nor the new organization lets read it
"""
