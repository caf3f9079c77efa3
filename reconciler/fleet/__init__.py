"""A fleet: many projects, continuously planned and applied by any number of workers, on one PostgreSQL database.

declared    fleet.yaml as projects and generators      store    rows in the schema reconciler_fleet
generated   generators and what they list: projects    engine   admit, run, finish, sweep; procrastinate behind it
changes     what a new fleet.yaml would change         sources  a commit of a git repository
schedule    when a project is due, windows, backoff    runs     one process for each run
budget      what is left of a token's rate limit       up       the processes of a fleet on this machine
status      Synced, OutOfSync, Unknown                 refresh  rereads the generators while workers run
facts       what rows say about projects               notices  messages about projects
secrets     what references lead to                    serve    the dashboard and the API
program     the process of a run, plans of commits     commits  what a commit does to all projects

Only `program` and the commands import what reads, plans and applies; everything else knows projects by their documents.

Nothing outside this package and `reconciler.fleet.commands.group*` imports it (docs/decisions/0024-a-fleet.md).
"""
