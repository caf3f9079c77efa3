"""A service that answers from memory, in a process of its own: `python -m benchmarks.service --help`.

It answers like the sandbox, which a test compares, and serves only what the benchmarks need. It imports nothing of the package.
"""
