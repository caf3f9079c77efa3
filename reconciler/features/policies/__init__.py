"""Evaluate policies: which rules of the project a plan, or its configuration, violates. Pure; the day is an argument.

- `scene`: the facts of a configuration that expressions can use; `planned`: those of a plan; `examples`: those of `policy test`
- `judge`: every policy over a scene, and what its expressions call; each is compiled once, and nothing runs outside this process
- `cases`: the file of `policy test`

The language is read and checked in `reconciler.features.policies.section`.
"""
