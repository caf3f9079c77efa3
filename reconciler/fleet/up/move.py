"""Move what an earlier version kept in the folder where it was started, after somebody has looked at it, to a folder of our own.

Of a cluster its content is taken over, never its settings: `start` writes those. Copies of repositories stay without a signature, so
they are fetched again. Nothing is moved that git tracks, that belongs to somebody else, that is a link, or that a server still uses.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from reconciler.errors import UsageError, os_reason
from reconciler.fleet.up import URL_FILE
from reconciler.fleet.up.server import CLUSTER, KEPT, ORDERS, SETTINGS, server_user, sign
from reconciler.git import around
from reconciler.links import read_file
from reconciler.own_files import OwnFolder

REPOSITORIES: Final = "repositories"
PID_MAX: Final = 1_000  # bytes of the file in which a server writes its process


def move(source: Path, data: Path) -> list[str]:
    """Move what is in `source` to `data`, which may be the same folder; returns what was moved. Raises `UsageError`, then nothing is."""
    has = [name for name in (CLUSTER, REPOSITORIES) if os.path.lexists(source / name)]
    if not has:
        raise UsageError(
            f"{source} contains no data of a fleet", id="RC-fleet-earlier-data", hint=f"It would be in {CLUSTER} or {REPOSITORIES} there."
        )
    _check_untracked(source)
    for name in has:
        _check_own(source / name)
    _check_stopped(source / CLUSTER)
    in_place = source.resolve() == data
    if CLUSTER in has and not in_place and os.path.lexists(data / CLUSTER):
        hint = f"To keep both: reconciler fleet move {shlex.quote(str(source))} --data DIR, and the same --data for `fleet up`."
        raise UsageError(f"{data} has a database already", id="RC-fleet-earlier-data", hint=hint)
    own = OwnFolder.create(data)
    if CLUSTER in has:
        if not in_place:
            _moved(source / CLUSTER, data / CLUSTER)
        _take_content(data / CLUSTER)
        sign(own, complete=True)
    if REPOSITORIES in has and not in_place:
        _merge(source / REPOSITORIES, OwnFolder.create(data / REPOSITORIES).path)
    if not in_place:
        for name in (KEPT, URL_FILE):
            (source / name).unlink(missing_ok=True)
        with suppress(OSError):  # it contains something else
            source.rmdir()
    return has


def _check_untracked(source: Path) -> None:
    """Raise `UsageError` if git tracks something in a folder: then it came with the checkout."""
    if Path(os.path.abspath(source)) != source.resolve():
        raise UsageError(
            f"{source} leads through a link", id="RC-fleet-earlier-data", hint=f"Name what it leads to, if it is yours: {source.resolve()}"
        )
    repository = around(source)
    if repository is None:
        return
    listed = repository.run("ls-files", "-z", "--", source.resolve().relative_to(repository.folder).as_posix())
    if listed.code != 0:
        reason = listed.err.decode("utf-8", "replace").strip().splitlines()
        wrong = f"git cannot say whether it tracks {source}: {reason[0] if reason else f'it ended with {listed.code}'}"
        raise UsageError(wrong, id="RC-git-failed", hint=f"Run it by hand: git ls-files {shlex.quote(str(source))}")
    if count := listed.out.count(b"\0"):
        raise UsageError(
            f"git tracks {count} file{'s' if count != 1 else ''} in {source}: they came with the checkout, and are not moved",
            id="RC-fleet-earlier-data",
            hint=f"Whoever committed them may want to run programs as you. To remove them: git rm -r {shlex.quote(str(source))}",
        )


def _check_own(folder: Path) -> None:
    """Raise `UsageError` for what is a link, or belongs to somebody else than this user and the server's."""
    user = server_user()
    users = {os.geteuid(), *([user.pw_uid] if user is not None else [])}
    for path, status in _all(folder):
        if status.st_uid not in users:
            raise UsageError(f"{path} belongs to another user", id="RC-fleet-earlier-data", hint="Move it as the user who ran `fleet up`.")
        if not any(is_sort(status.st_mode) for is_sort in (stat.S_ISREG, stat.S_ISDIR, stat.S_ISSOCK)):
            raise UsageError(
                f"{path} is a link or a device, and `fleet up` creates none", id="RC-fleet-earlier-data", hint="It is not moved."
            )


def _all(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """A folder and everything in it, no link followed. Raises `UsageError` for what cannot be read."""

    def failed(error: OSError) -> None:
        raise UsageError(
            f"{error.filename} cannot be read: {os_reason(error)}",
            id="RC-fleet-earlier-data",
            hint="Move it as the user who ran `fleet up`.",
        )

    yield folder, folder.lstat()
    for top, folders, files in os.walk(folder, onerror=failed):
        for name in (*folders, *files):
            yield Path(top) / name, (Path(top) / name).lstat()


def _check_stopped(cluster: Path) -> None:
    """Raise `UsageError` if the process that a cluster names still runs."""
    try:
        pid = int(read_file(cluster / "postmaster.pid", PID_MAX).decode("ascii", "replace").split()[0])
        os.kill(pid, 0)
    except (OSError, ValueError, IndexError, OverflowError) as error:
        if not isinstance(error, PermissionError):
            return
    hint = f"End `fleet up`. If that process is not PostgreSQL: rm {shlex.quote(str(cluster / 'postmaster.pid'))}"
    raise UsageError(f"a server still uses {cluster}, or its process has another program now", id="RC-fleet-earlier-data", hint=hint)


def _take_content(cluster: Path) -> None:
    """Leave nothing in a cluster that decides what its server runs but its content; all of it belongs to the server's user."""
    for name in (*SETTINGS, *ORDERS):
        (cluster / name).unlink(missing_ok=True)
    for path in cluster.iterdir():
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
    user = server_user()
    for path, status in list(_all(cluster)):
        if user is not None and status.st_uid != user.pw_uid:
            os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    cluster.chmod(0o700)


def _merge(source: Path, target: Path) -> None:
    """Move the entries of a folder into another one, which keeps its own."""
    for entry in list(source.iterdir()):
        if not os.path.lexists(target / entry.name):
            _moved(entry, target / entry.name)
    shutil.rmtree(source)


def _moved(source: Path, target: Path) -> None:
    """Move a file or folder, also to another file system."""
    try:
        os.rename(source, target)
    except OSError:
        entries = list(_all(source))
        for path, status in entries:
            place = target / path.relative_to(source)
            if stat.S_ISDIR(status.st_mode):
                place.mkdir(mode=0o700)
            elif stat.S_ISREG(status.st_mode):
                shutil.copy2(path, place, follow_symlinks=False)
        shutil.rmtree(source) if source.is_dir() else source.unlink()
