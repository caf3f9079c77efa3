"""Benchmarks: projects of any size, a service that answers from memory, and what each command costs beside its floors and its peers.

Nothing here is a test, and nothing here is installed with the package. `python -m benchmarks --help` explains it.
"""
