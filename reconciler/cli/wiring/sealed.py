"""Files in the folder `.reconciler` of a project that can be computed again, and are safe to delete.

Where a project has no such folder they are beside the state that the user named, and are named after it. Each is JSON under the digest of
its text, made with a secret of the user: what anybody else wrote, what came with the project or from another machine, what was cut off or
edited, and what another version of this program wrote is ignored. Without a folder or the secret, nothing is written or read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from reconciler import __version__
from reconciler.cli.wiring import trust
from reconciler.links import LinkRefused
from reconciler.regular_file import open_regular
from reconciler.writing import write_whole

FOLDER: Final = ".reconciler"
STATE: Final = "RECONCILER_STATE"
KEY_FILE: Final = "seal.key"  # beside what the user confirmed
SECRET_BYTES: Final = 32
SIZE_MAX: Final = 256 * 1024 * 1024  # bytes
LIBRARIES: Final = ("yaml", "pydantic", "pydantic_core", "jinja2", "annotated_types")  # what the meaning of a project depends on
_SQLITE: Final = "sqlite:///"
_NAMED: Final = re.compile(rb"""state["']?[ \t]*:""")
_WRITTEN: Final = re.compile(rb"""^state:[ \t]+["']?sqlite:///([^\s"'#?]+)["']?[ \t]*(?:#.*)?\r?$""", re.MULTILINE)


@dataclass(frozen=True)
class Seal:
    """The key of the sealed files of a project, their folder, and the beginning of their names."""

    key: bytes
    folder: Path
    prefix: str = ""

    @classmethod
    def of(cls, root: Path, state: str | None = None) -> Seal | None:
        """The seal of a project; None without a folder for such files, or a secret of the user. `state`: the URL that was passed."""
        folder, given, prefix = root / FOLDER, state or os.environ.get(STATE), ""
        try:
            if not stat.S_ISDIR(folder.lstat().st_mode):  # nothing is written where a link of the project leads
                return None
        except OSError:
            file = written_state(root, b"", given) if given else None
            if file is None or not file.parent.is_dir():
                return None
            folder, prefix = file.parent, f".{file.name}."
        try:
            secret = user_secret(root)
        except (OSError, ValueError, LinkRefused):
            return None
        return cls(hmac.digest(secret, b"reconciler: sealed files", "sha256"), folder, prefix)

    def path(self, name: str) -> Path:
        """The path of the file with a name."""
        return self.folder / f"{self.prefix}{name}"

    def read(self, name: str) -> Any:
        """The data of the file with a name; None if it does not exist or its seal is wrong."""
        try:
            with open_regular(self.path(name)) as file:
                text = file.read(SIZE_MAX)
            digest, _, body = text.partition(b"\n")
            if not hmac.compare_digest(digest, self._digest(name, body)):
                return None
            return json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, name: str, value: Any) -> None:
        """Write a file that only its owner can read. A failure is ignored: the value can be computed again."""
        body = json.dumps(value, separators=(",", ":")).encode()
        with suppress(OSError, LinkRefused):
            write_whole(self.path(name), f"{self._digest(name, body).decode()}\n{body.decode()}")

    def digest(self, value: Any) -> str:
        """The digest of data that may be secret."""
        return hmac.digest(self.key, json.dumps(value, sort_keys=True).encode(), "sha256").hex()

    def _digest(self, name: str, body: bytes) -> bytes:
        message = b"\n".join((name.encode(), program().encode(), body))
        return hmac.digest(self.key, message, "sha256").hex().encode()


def user_secret(root: Path) -> bytes:
    """A secret of this user's programs, created at its first use. `root`: the project, which must not contain it.

    Raises OSError or ValueError if it can be neither read nor created, or if another user could have written or read it.
    """
    file = trust.path().with_name(KEY_FILE)
    if not file.is_absolute() or file.resolve().is_relative_to(root):
        raise ValueError(f"{file} may be a file of the project")
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        trust.write_private(file, os.urandom(SECRET_BYTES).hex())
    with open_regular(file) as opened:
        status = os.fstat(opened.fileno())
        secret = bytes.fromhex(opened.read(2 * SECRET_BYTES + 1).decode("ascii"))
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077 or len(secret) != SECRET_BYTES:
        raise ValueError(f"{file} is not a secret of this user")
    return secret


def written_state(root: Path, text: bytes, given: str | None) -> Path | None:
    """The file of the state, if it is known without reading YAML."""
    if given:
        path = given.removeprefix(_SQLITE)
        return Path(path) if path != given and path and "?" not in path else None
    named, written = _NAMED.findall(text), _WRITTEN.findall(text)
    if not named:
        return root / FOLDER / "state.db"
    return root / os.fsdecode(written[0]) if len(named) == len(written) == 1 else None


def program() -> str:
    """The digest of the code that evaluates a project: this program, its libraries and the kinds, by version, size and time."""
    global _program
    if _program is None:
        package = Path(__file__).parents[2]
        parts = [__version__, sys.version, *_stamps(package)]
        _program = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _program


_program: str | None = None


def _stamps(package: Path) -> Iterator[str]:
    for name in LIBRARIES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            yield _stamp(name, os.stat(spec.origin))
    folders = [str(package)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir() and entry.name not in ("sandbox", "__pycache__"):
                    folders.append(entry.path)
                elif entry.name.endswith(".py"):
                    yield _stamp(entry.path, entry.stat())


def _stamp(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_size} {status.st_mtime_ns}"


def listing(root: Path, most: int = 20_000) -> str | None:
    """The digest of the names of all files below a folder, and of the targets of links; hidden files are not part of a project.

    None if there are more than `most`.
    """
    digest, count, folders = hashlib.sha256(), 0, [""]
    try:
        while folders:
            folder = folders.pop()
            with os.scandir(root / folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if entry.name.startswith("."):
                        continue
                    count += 1
                    if count > most:
                        return None
                    name = f"{folder}/{entry.name}" if folder else entry.name
                    link = os.path.realpath(entry.path) if entry.is_symlink() else ""
                    digest.update(repr((name, entry.is_dir(), entry.is_file(), link)).encode("utf-8", "surrogatepass"))
                    if entry.is_dir():
                        if link:
                            return None
                        folders.append(name)
    except OSError:
        return None
    return digest.hexdigest()


def digests(root: Path, names: Iterable[str]) -> dict[str, str] | None:
    """The present digests of files; None if one of them cannot be read."""
    current = {}
    try:
        for name in names:
            with open_regular(root / name) as file:
                current[name] = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
    return current


def places_outside(root: Path, names: Iterable[str]) -> dict[str, str]:
    """The locations of files outside the project, with every link followed."""
    return {name: os.path.realpath(root / name) for name in names if name.startswith("/") or ".." in name.split("/")}
