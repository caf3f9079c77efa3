"""`reconciler fleet`: many projects, continuously planned and applied."""

from __future__ import annotations

from reconciler import exits
from reconciler.cli.program import Lazy, LazyGroup

_DECIDES = (exits.REFUSED, exits.LOCKED)  # it would not count; the plan changed

command = LazyGroup(
    name="fleet",
    commands_by_name={
        "plan": Lazy("reconciler.fleet.commands.file:plan_command", "Show what a fleet file would change.", (exits.PENDING,)),
        "preview": Lazy(
            "reconciler.fleet.commands.preview:preview_command",
            "Show what a commit does to every project.",
            (exits.PENDING, exits.REFUSED, exits.PARTLY),
        ),
        "apply": Lazy("reconciler.fleet.commands.file:apply_command", "Make a fleet file the fleet.", (exits.REFUSED,)),
        "up": Lazy("reconciler.fleet.commands.work:up_command", "Run a whole fleet on this machine.", (exits.REFUSED,)),
        "worker": Lazy("reconciler.fleet.commands.work:worker_command", "Run a worker: any number, on any machine."),
        "serve": Lazy("reconciler.fleet.commands.serve:serve_command", "Serve the dashboard."),
        "status": Lazy("reconciler.fleet.commands.projects:status_command", "Show the status of projects.", (exits.PENDING, exits.PARTLY)),
        "sync": Lazy("reconciler.fleet.commands.projects:sync_command", "Run projects now.", (exits.PENDING, exits.PARTLY)),
        "rehearse": Lazy("reconciler.fleet.commands.projects:rehearse_command", "Rehearse the plan of a project.", _DECIDES),
        "approve": Lazy("reconciler.fleet.commands.people:approve_command", "Approve the plan of a project.", _DECIDES),
        "reject": Lazy("reconciler.fleet.commands.people:reject_command", "Reject the plan of a project.", _DECIDES),
        "drift": Lazy(
            "reconciler.fleet.commands.drift:drift_command",
            "Decide on what was changed outside Reconciler.",
            (exits.PENDING, *_DECIDES),
        ),
        "pause": Lazy("reconciler.fleet.commands.people:pause_command", "Stop running projects for a time."),
        "audit": Lazy("reconciler.fleet.commands.audit:audit_command", "Show who saw, decided and ran what."),
        "roles": Lazy(
            "reconciler.fleet.commands.work:roles_command", "Create roles of PostgreSQL for workers and dashboards.", (exits.REFUSED,)
        ),
        "move": Lazy("reconciler.fleet.commands.move:move_command", "Move the data of an earlier version."),
        "sessions": Lazy("reconciler.fleet.commands.sessions:sessions_command", "List or end sessions of the dashboard."),
        "resume": Lazy("reconciler.fleet.commands.people:resume_command", "End a pause or a quarantine."),
    },
    short_help="Watch and apply many projects all the time.",
    help="""Watch and apply many projects all the time, on PostgreSQL, with any number of workers.

    \b
    Example:
      reconciler fleet up fleet.yaml
      reconciler fleet status
    """,
)
