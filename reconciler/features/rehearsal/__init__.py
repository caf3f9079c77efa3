"""Rehearsals: a copy of the living organization, a plan applied there, and what readers could see at every moment of it."""
