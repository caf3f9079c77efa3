"""What the program writes for itself and believes later: the only module that decides where that is, and whether a folder is ours.

    reconciler/                 the user's state folder, as `platformdirs` names it (on Linux below XDG_STATE_HOME)
        trusted.json            which hosts this user confirmed
        fleets/DIGEST/          of the fleet that is run in one folder; `--data` names another one
            server.json, url    the PostgreSQL server that `fleet up` starts, and its cluster `postgres/`
            repositories/       copies of repositories, and which service got a token first

Nothing of this lies where others write: a folder of ours belongs to this user and nobody else may write it. A checkout or an archive can
bring a folder all the same, with a key in it. So what is believed is signed by the key of its folder (`key`, mode 0600) together with
the moment at which a file was created there (`created`), which nobody can write into a commit or an archive.

Forbidden: believing what is not signed, and changing a folder that is not ours.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from platformdirs import user_state_path

from reconciler.errors import UsageError, os_reason
from reconciler.links import open_regular
from reconciler.writing import write_whole

APP: Final = "reconciler"
KEY: Final = "key"
CREATED: Final = "created"
KEY_BYTES: Final = 32
FILE_MAX: Final = 2**20  # bytes of one file that is believed
OTHERS_WRITE: Final = 0o022
ANY_OTHERS: Final = 0o077
ELSEWHERE: Final = "Pass --data DIR (for a fleet), or set XDG_STATE_HOME: a directory outside of every checkout that only you can write."


@dataclass(frozen=True)
class OwnFolder:
    """A folder of ours. `key`: what signs its files; `birth`: of the folder, as `birth_of` returns it."""

    path: Path
    key: bytes = field(repr=False)
    birth: str

    @classmethod
    def create(cls, path: Path) -> OwnFolder:
        """The folder, created with its key where they do not exist. Raises `UsageError`, also for a folder that is not ours."""
        try:
            for folder in reversed([folder for folder in (path, *path.parents) if not os.path.lexists(folder)]):
                folder.mkdir(mode=0o700, exist_ok=True)
            check(path)
            with locked(path):
                own = _with_key(path)
                if own is None:
                    write_whole(path / CREATED, "")
                    own = cls(path, secrets.token_bytes(KEY_BYTES), birth_of(path / CREATED))
                    write_whole(path / KEY, f"{own.key.hex()} {own.signature(KEY)}\n")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {os_reason(error)}", id="RC-folder-not-own", hint=ELSEWHERE) from error
        return own

    @classmethod
    def existing(cls, path: Path) -> OwnFolder | None:
        """The folder; None if it does not exist or has no key of ours. Raises `UsageError` for a folder that is not ours."""
        if not os.path.lexists(path):
            return None
        check(path)
        return _with_key(path)

    def signature(self, *words: object) -> str:
        """What only this folder's key gives for these words."""
        text = json.dumps([self.birth, *words], sort_keys=True)
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()

    def signed(self, signature: str, *words: object) -> bool:
        """Whether a signature is that of these words."""
        return hmac.compare_digest(signature.encode(), self.signature(*words).encode())

    def read(self, name: str) -> dict[str, Any] | None:
        """A document that `write` wrote in this folder; None for every other one."""
        text = _content(self.path / name, FILE_MAX)
        try:
            document = json.loads(text or b"")
            signature = document.pop("signature")
            return document if self.signed(str(signature), name, document) else None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a document with its signature, for this user alone. Raises OSError."""
        signature = self.signature(name, dict(document))
        write_whole(self.path / name, json.dumps({**document, "signature": signature}, indent=1) + "\n")


def birth_of(file: Path) -> str:
    """Which file of its file system it is, and when that was created or changed last: the time is set by the system alone, while its number
    can be known before, where a commit is checked out into an empty file system. Raises OSError."""
    status = os.lstat(file)
    return f"{status.st_ino}-{status.st_ctime_ns}"


def state_folder() -> Path:
    """The user's state folder. Raises `UsageError` if this user has no home directory."""
    try:
        path = user_state_path(APP, appauthor=False)
    except RuntimeError:  # newer versions of the package; older ones name a folder ~ below the current one, which anybody can commit
        path = Path()
    if not path.is_absolute():
        wrong = "this user has no home directory, in which Reconciler would keep its own files"
        raise UsageError(wrong, id="RC-no-home", hint=ELSEWHERE)
    return path


def fleet_folder(here: Path) -> Path:
    """The folder of the fleet that is run in a folder. Raises `UsageError`."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(here))).hexdigest()
    return state_folder() / "fleets" / digest[:16]


def named_folder(given: Path) -> Path:
    """The folder that an option names for our own files, whether or not it exists. Raises `UsageError` if others decide what is in it.
    What is in the state folder is used without the option too, also where the home directory is a checkout."""
    named, real = Path(os.path.abspath(given)), Path(os.path.realpath(given))
    top = next((parent for folder in (named, real) for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), None)
    if top is not None and not _inside(real):
        wrong = f"{given} is in the checkout {top}, so a commit could bring what Reconciler believes there"
        raise UsageError(wrong, id="RC-folder-not-own", hint=f"{ELSEWHERE} Without --data, it is {_usual()}.")
    if os.path.lexists(real):
        check(real)
    return real


def _usual() -> str:
    try:
        return f"in {state_folder()}"
    except UsageError:
        return "in the home directory of a user who has one"


def check(path: Path) -> None:
    """Raise `UsageError` unless a folder is ours: this user's, and nobody else may write it; in the state folder, nobody may read it."""
    inside = _inside(path)
    for level in inside or [path]:
        try:
            status = os.lstat(level)
        except OSError as error:
            raise UsageError(f"{level} cannot be used: {os_reason(error)}", id="RC-folder-not-own", hint=ELSEWHERE) from error
        others = status.st_mode & (ANY_OTHERS if inside else OTHERS_WRITE)
        if not stat.S_ISDIR(status.st_mode):
            wrong, hint = "is not a directory", ELSEWHERE
        elif status.st_uid != os.geteuid():
            wrong, hint = "belongs to another user", ELSEWHERE
        elif others:
            wrong = f"can be {'read' if inside and not others & OTHERS_WRITE else 'written'} by other users"
            hint = f"If nobody else has written there: chmod 700 {shlex.quote(str(level))}"
        else:
            continue
        raise UsageError(f"{level} {wrong}, so Reconciler does not keep its own files there", id="RC-folder-not-own", hint=hint)


def _inside(path: Path) -> list[Path]:
    """The state folder and the folders that lead from it to one in it; none for a folder elsewhere."""
    try:
        base = state_folder()
    except UsageError:
        return []
    return [folder for folder in (*reversed(path.parents), path) if folder.is_relative_to(base)]


def _with_key(path: Path) -> OwnFolder | None:
    """A folder with its key; None if it has none that this user alone can read and that was created in this very folder."""
    text = _content(path / KEY, 10 * KEY_BYTES)
    try:
        key, signature = (text or b"").decode("ascii").split()
        folder = OwnFolder(path, bytes.fromhex(key), birth_of(path / CREATED))
    except (OSError, ValueError):
        return None
    return folder if folder.signed(signature, KEY) else None


def _content(file: Path, most: int) -> bytes | None:
    """The content of a file that this user alone can read and write; None for any other one."""
    try:
        with open_regular(file, follow=False) as opened:
            status = os.fstat(opened.fileno())
            private = status.st_uid == os.geteuid() and not status.st_mode & ANY_OTHERS
            content = opened.read(most + 1) if private else None
    except OSError:
        return None
    return content if content is not None and len(content) <= most else None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep the other processes of this user out that do the same with a folder. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
