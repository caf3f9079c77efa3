"""Lint: find what is allowed in a project and probably a mistake. One small function for each rule, which reads the resources once. Pure.

In: the project as loaded, today's date, the state if there is one. Out: findings. No rule knows a kind: the fields it
checks are declared (`choice`, `derived`, `key`, `expires`, `whom`, `differs`, `missed`).
"""
