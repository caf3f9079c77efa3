"""Policies evaluated: which rules of the project a plan, or its configuration, violates. Pure; the day comes as an argument.

- `scene`: what the expressions can ask about, of a configuration; `planned`: of a plan; `examples`: of the examples of `policy test`
- `judge`: every policy over a scene; each expression is compiled once, and nothing runs outside this process
- `functions`: what expressions call
- `cases`: the file of `policy test`

The language is read and checked in `reconciler.config.policies`.
"""
