"""A PostgreSQL server of the tests' own, in a directory that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

REQUIRE = "RECONCILER_TEST_REQUIRE"


def binaries() -> Path | None:
    """The directory with `initdb` and `postgres`; None where there is no server on this machine."""
    found = shutil.which("postgres")
    places = [Path(os.path.realpath(found)).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


def missing() -> None:
    """Skip, unless the tests of PostgreSQL are required."""
    reason = "no PostgreSQL server on this machine: install Debian's `postgresql`"
    if "postgres" in os.environ.get(REQUIRE, ""):
        pytest.fail(f"{REQUIRE} asks for PostgreSQL, but there is {reason}")
    pytest.skip(reason)


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of an empty database of its own on the server."""
    name = f"d{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield url.replace("/postgres", f"/{name}")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def documented_roles(url: str) -> tuple[str, str]:
    """The URLs of the two roles that the statements in docs/state.md create: the one that applies, and the one that reads."""
    statements = (Path(__file__).parents[2] / "docs" / "state.md").read_text(encoding="utf-8").partition("```sql\n")[2].partition("```")[0]
    names = [f"{name}_{uuid4().hex[:8]}" for name in ("docs_apply", "docs_plan")]
    for name in names:
        statements = statements.replace(name.rpartition("_")[0], name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statements)
    applies, reads = (url.replace("tests@", f"{name}@") for name in names)
    return applies, reads


@contextmanager
def running(programs: Path) -> Iterator[str]:
    """The URL of an empty server; it refuses to run as root, so there it runs as nobody."""
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    folder = Path(tempfile.mkdtemp(prefix="reconciler-postgres-"))
    try:
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        common = {"cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **as_user}
        data = folder / "data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-A", "trust", "-U", "tests", "-N", "-E", "UTF8", "--locale=C"], check=True, **common
        )
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-p", str(port), "-k", str(folder)]
        with subprocess.Popen([programs / "postgres", "-D", data, *options], **common) as server:
            try:
                url = f"postgresql://tests@127.0.0.1:{port}/postgres"
                _wait(url, server)
                yield url
            finally:
                server.send_signal(signal.SIGQUIT)  # at once: nothing in it is kept
                try:
                    server.wait(5)
                except subprocess.TimeoutExpired:
                    server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert server.poll() is None, "the PostgreSQL server ended at once"
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            try:
                server.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        else:
            return
    pytest.fail("the PostgreSQL server did not become ready")
