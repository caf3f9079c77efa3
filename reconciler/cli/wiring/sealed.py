"""Files beside the state that say nothing which could not be found out again: safe to delete, and believed only if this program wrote them.

Each is JSON under the digest of its text, made with a key that is derived from the state's: what anybody else wrote, what was cut off or
edited, and what another version of this program wrote is ignored. Without a state there is no key, and nothing is written or read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from reconciler import __version__
from reconciler.cli.atomic_file import write_whole
from reconciler.dataclass import dataclass
from reconciler.state.tables.direct import digest_key

FOLDER: Final = ".reconciler"
STATE: Final = "RECONCILER_STATE"
SIZE_MAX: Final = 256 * 1024 * 1024  # bytes
LIBRARIES: Final = ("yaml", "pydantic", "pydantic_core", "jinja2", "annotated_types")  # what the meaning of a project depends on
_SQLITE: Final = "sqlite:///"
_NAMED: Final = re.compile(rb"""state["']?[ \t]*:""")
_WRITTEN: Final = re.compile(rb"""^state:[ \t]+["']?sqlite:///([^\s"'#?]+)["']?[ \t]*(?:#.*)?\r?$""", re.MULTILINE)


@dataclass(frozen=True)
class Seal:
    """The key of the sealed files of a project, and the file of the state that it is from."""

    key: bytes
    state: Path

    @classmethod
    def of(cls, root: Path, text: bytes, state: str | None = None) -> Seal | None:
        """The seal of a project; None where its state is no file, or does not exist yet.

        `text`: of the project file. `state`: the URL that was passed. Which state it is must not depend on anything that is sealed: a file
        that only a sealed one named could have come with it.
        """
        file = written_state(root, text, state or os.environ.get(STATE))
        secret = digest_key(file) if file is not None else None
        if file is None or secret is None:
            return None
        return cls(hmac.digest(secret, b"reconciler: sealed files", "sha256"), file)

    def path(self, name: str) -> Path:
        """Where the file of that name is: beside the state, and named after it where that is not in a folder of its own."""
        own = self.state.parent.name == FOLDER
        return self.state.parent / (name if own else f".{self.state.name}.{name}")

    def read(self, name: str) -> Any:
        """What the file of that name says; None where it does not exist or cannot be believed."""
        try:
            with self.path(name).open("rb") as file:
                text = file.read(SIZE_MAX)
            digest, _, body = text.partition(b"\n")
            if not hmac.compare_digest(digest, self._digest(name, body)):
                return None
            return json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, name: str, value: Any) -> None:
        """Put a value there, for its owner alone. Where that is not possible nothing is lost, and nothing is said."""
        body = json.dumps(value, separators=(",", ":")).encode()
        with suppress(OSError):
            write_whole(self.path(name), f"{self._digest(name, body).decode()}\n{body.decode()}")

    def digest(self, value: Any) -> str:
        """Of data that may be secret."""
        return hmac.digest(self.key, json.dumps(value, sort_keys=True).encode(), "sha256").hex()

    def _digest(self, name: str, body: bytes) -> bytes:
        message = b"\n".join((name.encode(), program().encode(), body))
        return hmac.digest(self.key, message, "sha256").hex().encode()


def written_state(root: Path, text: bytes, given: str | None) -> Path | None:
    """The file of the state, as far as it can be told without reading YAML."""
    if given:
        path = given.removeprefix(_SQLITE)
        return Path(path) if path != given and path and "?" not in path else None
    named, written = _NAMED.findall(text), _WRITTEN.findall(text)
    if not named:
        return root / FOLDER / "state.db"
    return root / os.fsdecode(written[0]) if len(named) == len(written) == 1 else None


def program() -> str:
    """The digest of everything that gives a project its meaning: this program, its libraries and the kinds, by version, size and time."""
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
    """The digest of the names of all files below a folder, links with where they lead; hidden ones are not part of a project.

    None where there are more than `most`.
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
                    link = os.readlink(entry.path) if entry.is_symlink() else ""
                    digest.update(repr((name, entry.is_dir(), entry.is_file(), link)).encode("utf-8", "surrogatepass"))
                    if entry.is_dir():
                        if link:
                            return None
                        folders.append(name)
    except OSError:
        return None
    return digest.hexdigest()


def digests(root: Path, names: Mapping[str, str]) -> dict[str, str] | None:
    """The digests of files as they are now; None where one of them cannot be read."""
    found = {}
    try:
        for name in names:
            with (root / name).open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
    return found
