"""The planner: Desired, State and Actual in, a Plan out. Pure, total, deterministic; the one algorithm behind plan, apply and drift.

- `planner`: the passes in their order, and the plan
- `matching/`: which object on the service is which declared resource, and what differs between the two
- `decisions`: what happens to an address, one of a closed set; `world`: what a pass is given and returns, and the selection of a run
- `containment`: what contains what, and what is deleted with what
- `drafts/`: what happens to each declared resource, and to what is no longer declared
- `passes/`: rules on the whole plan: what must not be deleted, what waits for a second run, what was renamed, what this run is limited to
- `transfers`: what is transferred to another organization, and what prevents it
- `siblings/`: the order of siblings, and the fewest moves that lead to it
- `steps/`: the requests, and what each of them waits for
- `audience/`: who can read what before, during and after the plan, and the order of steps that lets nobody else read it
- `access/`: the access tests of the project
- `warnings/`: what people must know before they approve a plan
- `changes`: the changes that people read, with addresses in place of ids, the unmanaged objects that a delete deletes too, and what
  the state records before the first request
- `offline`: the service as it would be after an apply of one version of the files, for plans without a service
- `simulation/`: the service as the declarations describe it; `prove` replays a plan on it
- `health`: what is broken or expires, whether or not it is as declared
- `guard`: limits on a whole plan; `drift`: what was changed outside Reconciler, derived from a plan

No name is exported here: the planner is 60 modules, and a command that only reads files needs the names or the limits of a plan alone.
"""
