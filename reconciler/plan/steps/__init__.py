"""The requests of a plan and what each of them waits for. Pure.

- `schedule`: the steps of a plan, from its decisions; it calls the others in this sequence
- `requests`: what each request sends
- `unique_values`: temporary values where siblings exchange theirs, and rules about such values
- `rules`: what each request waits for: every rule with its reason, in `REQUIRED` and `PREFERRED`
- `references`, `containers`, `deletes`, `transfers`: the rules by subject, one function each; `edges`: what a rule reads and yields
- `graph`: an order of numbered nodes, and the schedule by which a run starts them
"""
