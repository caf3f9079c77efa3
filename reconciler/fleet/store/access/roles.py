"""The roles of PostgreSQL beside the owner of the tables: a worker's, a dashboard's, and that of each project's runs.

The owner migrates, and the commands of people use it. A worker runs projects: it can write no approval, and lines of the audit log as the
fleet only. A dashboard decides for people: it can change no project's source, service or token. A run sees the rows of its own state.
"""

from __future__ import annotations

import secrets
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from reconciler.errors import Refused
from reconciler.fleet.store.access import rows
from reconciler.fleet.store.schema import SCHEMA

WORKER, DASHBOARD = "worker", "dashboard"
HIDDEN_FROM_WORKERS: Final = ("sessions",)
_WRITTEN_BY_WORKERS: Final = (
    "projects", "runs", "generation", "workers", "budgets", "plans", "proposals", "rehearsals", "quarantines", "samples", "notices",
    "engine",
)  # fmt: skip
_DECIDED: Final = "next_due, wanted_at, failures, waits, paused, paused_until, paused_by, paused_reason"
_POLICIES: Final = f"""
ALTER TABLE {SCHEMA}.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE {SCHEMA}.approvals ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS everybody_reads ON {SCHEMA}.audit;
DROP POLICY IF EXISTS everybody_reads ON {SCHEMA}.approvals;
CREATE POLICY everybody_reads ON {SCHEMA}.audit FOR SELECT USING (true);
CREATE POLICY everybody_reads ON {SCHEMA}.approvals FOR SELECT USING (true);
DROP POLICY IF EXISTS worker_writes ON {SCHEMA}.audit;
DROP POLICY IF EXISTS worker_writes ON {SCHEMA}.approvals;
CREATE POLICY worker_writes ON {SCHEMA}.audit FOR INSERT TO {{worker}} WITH CHECK (person = 'the fleet');
CREATE POLICY worker_writes ON {SCHEMA}.approvals FOR INSERT TO {{worker}} WITH CHECK (person = '');
DROP POLICY IF EXISTS dashboard_writes ON {SCHEMA}.audit;
DROP POLICY IF EXISTS dashboard_writes ON {SCHEMA}.approvals;
CREATE POLICY dashboard_writes ON {SCHEMA}.audit FOR INSERT TO {{dashboard}} WITH CHECK (person <> 'the fleet');
CREATE POLICY dashboard_writes ON {SCHEMA}.approvals FOR INSERT TO {{dashboard}} WITH CHECK (person <> '');
"""


def exist(connection: Connection) -> bool:
    """Whether the roles of workers and dashboards exist."""
    names = [f"{rows.prefix(connection)}{part}" for part in (WORKER, DASHBOARD)]
    query = text("SELECT count(*) FROM pg_roles WHERE rolname = ANY(:names)")
    return bool(connection.execute(query, {"names": names}).scalar_one() == len(names))


def are_of_one_database(url: str, other: str) -> bool:
    """Whether two URLs differ in nothing but who logs in."""
    try:
        nobody = [make_url(text).set(username=None, password=None) for text in (url, other)]
    except ArgumentError:
        return False
    return nobody[0] == nobody[1]


def can_create(connection: Connection) -> bool:
    """Whether this user may create roles, and owns the tables."""
    able = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    owns = f"SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = '{SCHEMA}.projects'::regclass"  # noqa: S608
    return bool(connection.execute(text(able)).scalar()) and bool(connection.execute(text(owns)).scalar())


def create(connection: Connection, url: str) -> dict[str, str]:
    """Create the roles, or give them new passwords; returns the URLs of the worker and of the dashboard. `url`: of the owner."""
    if not can_create(connection):
        raise Refused(
            "this user of the database may not create roles, or does not own the tables of the fleet",
            id="RC-fleet-roles",
            hint='Let an administrator run: ALTER ROLE "USER" CREATEROLE. Then pass the URL of the user that ran `fleet apply` first.',
        )
    start, quoted = rows.prefix(connection), connection.dialect.identifier_preparer.quote_identifier
    names = {part: f"{start}{part}" for part in (WORKER, DASHBOARD)}
    urls = {}
    for part, name in names.items():
        password = secrets.token_urlsafe(24)
        set_password(connection, name, password)
        connection.execute(text(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {quoted(name)}"))
        connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {quoted(name)}"))
        urls[part] = make_url(url).set(username=name, password=password).render_as_string(hide_password=False)
    worker, dashboard = (quoted(names[part]) for part in (WORKER, DASHBOARD))
    for grant in _grants(connection, worker, dashboard):
        connection.execute(text(grant))
    connection.exec_driver_sql(_POLICIES.format(worker=worker, dashboard=dashboard))
    rows.install(connection, start, worker)
    return urls


def set_password(connection: Connection, name: str, password: str) -> None:
    """Create a role that logs in, or give it a new password. The server gets a verifier, so that no log of it has the password."""
    quoted = connection.dialect.identifier_preparer.quote_identifier(name)
    if connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": name}).first() is None:
        connection.execute(text(f"CREATE ROLE {quoted} NOINHERIT"))
    connection.exec_driver_sql(f"ALTER ROLE {quoted} LOGIN PASSWORD '{rows.verifier(connection, name, password)}'")


def _grants(connection: Connection, worker: str, dashboard: str) -> list[str]:
    """The statements that give workers and dashboards what they need besides reading."""
    tables = ", ".join(f"{SCHEMA}.{name}" for name in _WRITTEN_BY_WORKERS)
    queue = connection.execute(
        text("SELECT tablename FROM pg_tables WHERE schemaname = :schema AND tablename LIKE 'procrastinate%' ORDER BY 1"),
        {"schema": SCHEMA},
    ).scalars()
    queued = ", ".join(f"{SCHEMA}.{name}" for name in queue)
    hidden = ", ".join(f"{SCHEMA}.{name}" for name in HIDDEN_FROM_WORKERS)
    return [
        f"GRANT INSERT, UPDATE, DELETE ON {tables}, {queued} TO {worker}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {worker}",
        f"GRANT INSERT ON {SCHEMA}.audit, {SCHEMA}.approvals TO {worker}, {dashboard}",
        f"REVOKE ALL ON {hidden} FROM {worker}",
        f"GRANT UPDATE ({_DECIDED}) ON {SCHEMA}.projects TO {dashboard}",
        f"GRANT UPDATE (lifted_at, lifted_by) ON {SCHEMA}.quarantines TO {dashboard}",
        f"GRANT UPDATE (next_due) ON {SCHEMA}.generation TO {dashboard}",
        f"GRANT INSERT (project, plan, asked_by), UPDATE (asked_by, asked_at) ON {SCHEMA}.rehearsals TO {dashboard}",
        f"GRANT INSERT, UPDATE, DELETE ON {SCHEMA}.sessions TO {dashboard}",
        f"GRANT INSERT, UPDATE ON {SCHEMA}.people TO {dashboard}",
    ]
