"""The rows of states that a run sees: those of its own state, whatever its process tries, by row-level security.

Each project has a role for its runs. A worker, which cannot create roles, calls a function of the owner that gives the role a new password
and says which states it may use. Roles other than those of runs see what they were granted, as before.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from reconciler.fleet.model import FleetProject
from reconciler.fleet.store.schema import SCHEMA

STATES: Final = "reconciler"  # the schema of the states
NAME_MAX: Final = 40  # characters of the database's name in that of a role, of which PostgreSQL keeps 63
LASTS: Final = "3 hours"  # longer than a run
LOCK: Final = 0x666C726F
OPEN: Final = f"{SCHEMA}.open_run(integer, text, text, text, text)"
_FUNCTIONS: Final = f"""
CREATE TABLE IF NOT EXISTS {SCHEMA}.run_roles (
  role name PRIMARY KEY, allowed text NOT NULL, environment text NOT NULL, service text NOT NULL);

CREATE OR REPLACE FUNCTION {SCHEMA}.may_use(project text, environment text, service text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT NOT starts_with(session_user, '{{prefix}}run_') OR EXISTS (
    SELECT 1 FROM {SCHEMA}.run_roles r
    WHERE r.role = session_user AND r.environment = $2 AND r.service = $3
    AND CASE WHEN right(r.allowed, 1) = '*' THEN starts_with($1, left(r.allowed, -1)) ELSE $1 = r.allowed END)
$$;

CREATE OR REPLACE FUNCTION {SCHEMA}.protect_states() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  t record;
  own text;
BEGIN
  IF to_regnamespace('{STATES}') IS NULL THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock({LOCK});
  EXECUTE format('GRANT USAGE ON SCHEMA {STATES} TO %I', '{{prefix}}run');
  FOR t IN
    SELECT c.relname, EXISTS (
      SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'state' AND NOT a.attisdropped) AS has_state
    FROM pg_class c WHERE c.relnamespace = '{STATES}'::regnamespace AND c.relkind = 'r'
    AND NOT EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'own_state')
    ORDER BY c.relname
  LOOP
    IF t.relname = 'states' THEN
      own := '{SCHEMA}.may_use(project, environment, service)';
    ELSIF t.has_state THEN
      own := 'state IN (SELECT id FROM {STATES}.states)';
    ELSE
      own := 'true';
    END IF;
    EXECUTE format('ALTER TABLE {STATES}.%I ENABLE ROW LEVEL SECURITY', t.relname);
    EXECUTE format('CREATE POLICY own_state ON {STATES}.%I USING (%s) WITH CHECK (%s)', t.relname, own, own);
    IF t.relname = 'states' THEN
      EXECUTE format('GRANT SELECT, UPDATE ON {STATES}.%I TO %I', t.relname, '{{prefix}}run');
    ELSIF t.has_state THEN
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON {STATES}.%I TO %I', t.relname, '{{prefix}}run');
    ELSE
      EXECUTE format('GRANT SELECT ON {STATES}.%I TO %I', t.relname, '{{prefix}}run');
    END IF;
  END LOOP;
  EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA {STATES} TO %I', '{{prefix}}run');
END $$;

CREATE OR REPLACE FUNCTION {OPEN.partition("(")[0]}(project integer, verifier text, allowed text, environment text, service text)
RETURNS name LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own name := '{{prefix}}run_' || project;
BEGIN
  IF verifier !~ '^SCRAM-SHA-256[$]' THEN
    RAISE EXCEPTION 'the password of a run is given as its verifier';
  END IF;
  PERFORM {SCHEMA}.protect_states();
  PERFORM pg_advisory_xact_lock({LOCK});
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = own) THEN
    EXECUTE format('CREATE ROLE %I CONNECTION LIMIT 10 IN ROLE %I', own, '{{prefix}}run');
  END IF;
  EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L VALID UNTIL %L', own, verifier, now() + interval '{LASTS}');
  INSERT INTO {SCHEMA}.run_roles VALUES (own, allowed, environment, service)
  ON CONFLICT (role) DO UPDATE SET allowed = excluded.allowed, environment = excluded.environment, service = excluded.service;
  RETURN own;
END $$;
"""  # noqa: S608  the names are constants


def prefix(connection: Connection) -> str:
    """What the names of this fleet's roles begin with: roles belong to a server, not to a database."""
    return f"{connection.execute(text('SELECT current_database()')).scalar_one()[:NAME_MAX]}_fleet_"


def verifier(connection: Connection, name: str, password: str) -> str:
    """What the server stores of a password."""
    raw: Any = connection.connection.dbapi_connection
    return bytes(raw.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")).decode("ascii")


def install(connection: Connection, prefix: str, worker: str) -> None:
    """Create the functions, and let the role of workers call the one that opens a run."""
    run = connection.dialect.identifier_preparer.quote_identifier(f"{prefix}run")
    if connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": f"{prefix}run"}).first() is None:
        connection.execute(text(f"CREATE ROLE {run} NOLOGIN"))
    raw: Any = connection.connection.dbapi_connection
    with raw.cursor() as cursor:  # as it is: SQLAlchemy would take the formats in it for parameters
        cursor.execute(_FUNCTIONS.replace("{prefix}", prefix.replace("'", "''")))
    for function in (OPEN, f"{SCHEMA}.protect_states()"):
        connection.execute(text(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC"))
    connection.execute(text(f"REVOKE ALL ON {SCHEMA}.run_roles FROM PUBLIC, {worker}"))
    connection.execute(text(f"GRANT EXECUTE ON FUNCTION {OPEN} TO {worker}"))
    connection.execute(text(f"SELECT {SCHEMA}.protect_states()"))


def is_installed(connection: Connection) -> bool:
    """Whether runs get roles of their own."""
    return bool(connection.execute(text("SELECT to_regprocedure(:name) IS NOT NULL"), {"name": OPEN}).scalar())


def opened(connection: Connection, url: str, id: int, project: FleetProject) -> tuple[str, bool]:
    """The URL with which a run of a project reaches its state in the fleet's own database, and whether its role sees nothing else.

    `url`: of the caller, which is used where there are no roles.
    """
    if not is_installed(connection):
        return url, False
    password = secrets.token_urlsafe(24)
    secret = verifier(connection, f"{prefix(connection)}run_{id}", password)
    call = text(f"SELECT {OPEN.partition('(')[0]}(:id, :verifier, :allowed, :environment, :service)")
    scope = {"allowed": project.project, "environment": project.environment or "", "service": project.base_url}
    name = connection.execute(call, {"id": id, "verifier": secret, **scope}).scalar_one()
    return make_url(url).set(username=name, password=password).render_as_string(hide_password=False), True
