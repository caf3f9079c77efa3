"""The requests of a plan and what each of them waits for. Pure.

- `rules`: the steps of a plan, from its decisions; it calls the others. What each request waits for: every rule with its reason, in
  `REQUIRED` and `PREFERRED`
- `requests`: what each request sends
- `values`, `containers`: the rules by subject, one function each; `values` also gives temporary values where siblings exchange theirs
- `graph`: what a rule yields, an order of numbered nodes, and the schedule by which a run starts them
"""
