"""The embedded service: its file, and the seed of a new file, which contains what a project assumes to exist."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.address import Address, bare
from reconciler.config import Project
from reconciler.errors import ReconcilerError, UsageError, os_reason
from reconciler.files import path_from_here
from reconciler.links import written_place
from reconciler.model import Declared
from reconciler.resource import Kind, Kinds
from reconciler.resource.risks import LEVELS
from reconciler.run.connection.seed_file import SeedFile, read_seed, seed_errors
from reconciler.sandbox.file import MEMORY, NotASandbox, identity_of
from reconciler.text.install import installing

if TYPE_CHECKING:
    from reconciler.sandbox.server import Embedded

SEED_FILE = "sandbox.seed.yaml"
EXTRA = ("fastapi", "uvicorn")  # what the sandbox cannot start without
PACKAGES = ("fastapi", "markdown-it-py", "uvicorn")  # of the extra `sandbox`


def checked(path: Path, *, option: str = "--sandbox") -> Path:
    """The path of a sandbox's file. Raises `UsageError` with the correct form for an invalid path."""
    if path.is_dir():
        raise UsageError(
            f"{option} {path} is a directory", id="RC-not-a-sandbox-file", hint=f"Pass a file in it: {option} {path / 'sandbox.db'}"
        )
    if path.exists() and not path.is_file():
        wrong = f"{option} {path} is not a regular file"
        raise UsageError(wrong, id="RC-not-a-sandbox-file", hint=f"Pass a file: {option} {Path('.reconciler') / 'sandbox.db'}")
    if path == MEMORY:
        hint = "Pass a file. Only a program has a sandbox in memory, because it ends with its process (docs/python.md)."
        raise UsageError(f"{option} {path} is not a file", id="RC-not-a-sandbox-file", hint=hint)
    if path.suffix in (".yaml", ".yml"):
        example = Path(".reconciler") / "sandbox.db"
        hint = f"Pass the file that stores the data of the sandbox: {option} {example}"
        if option == "--sandbox":
            hint += f"\nLoad initial data with: reconciler sandbox seed --db {example} {path}"
        raise UsageError(f"{option} {path} is a YAML file", id="RC-not-a-sandbox-file", hint=hint)
    _is_new(path)
    return path


def _is_new(path: Path) -> bool:
    """Whether the file of a sandbox will be created. Raises `LinkRefused` if that would be done through a link of a checkout."""
    if path.exists() and path.stat().st_size:
        return False
    written_place(path)
    return True


@contextmanager
def embedded(path: Path, project: Project | None, kinds: Kinds | None) -> Iterator[Embedded]:
    """The service over that file, or in `MEMORY`, inside this process; a new one is seeded from the project."""
    with sandbox_errors():
        from reconciler.sandbox.server import embedded as start

    # Only a new file is seeded. Seeding an existing one would undo what somebody tried in it.
    fresh = path == MEMORY or _is_new(path)
    if fresh and (project is None or kinds is None):
        raise UsageError(
            f"there is no sandbox {path}", id="RC-no-sandbox", hint=f"Create it from a seed: reconciler sandbox seed --db {path} SEED.yaml"
        )
    seed, own = None, None
    if fresh and project is not None and kinds is not None:
        own = own_seed(project)
        seed = seed_document(project, kinds, own)
    with sandbox_errors(), seed_errors(own) if seed is not None else nullcontext():
        context = start(path, seed=seed)
        running = context.__enter__()
    try:
        yield running
    finally:
        context.__exit__(None, None, None)


def identity(path: Path) -> str | None:
    """The identity that the ids in a sandbox's file belong to; None if there is no file yet."""
    if not path.exists() or path.stat().st_size == 0:
        return None
    with sandbox_errors():
        return identity_of(path)


@contextmanager
def sandbox_errors() -> Iterator[None]:
    """Turn the sandbox's exceptions into errors of this program, which it does not know."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise _without_extra([error.name or "a package"]) from error
    except NotASandbox as error:
        raise UsageError(str(error), id="RC-not-a-sandbox-file") from error
    except sqlite3.DatabaseError as error:
        hint = "The file is damaged: use another one, for example a copy or one that is seeded again."
        raise ReconcilerError(f"the sandbox cannot be read: {error}", id="RC-sandbox-cannot-run", hint=hint) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        disk = "Use a file on a disk that can be written, for example --sandbox /tmp/sandbox.db." if error.filename else None
        raise ReconcilerError(f"the sandbox cannot run: {where}{os_reason(error)}", id="RC-sandbox-cannot-run", hint=disk) from error


def require_extra() -> None:
    """Raise `ReconcilerError` with the command to type if packages of the sandbox are not installed; imports none of them."""
    missing = [name for name in EXTRA if not _installed(name)]
    if missing:
        raise _without_extra(missing)


def _installed(name: str) -> bool:

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _without_extra(missing: Sequence[str]) -> ReconcilerError:

    return ReconcilerError(
        f"the sandbox requires packages that are not installed: {', '.join(missing)}",
        id="RC-package-missing",
        hint=f"Install it: {installing(*PACKAGES)}",
    )


# -- the seed of a new file -------------------------------------------------------------------------------------------------------


def own_seed(project: Project) -> SeedFile | None:
    """The seed beside a project; None if it has none."""
    path = project.settings.root / SEED_FILE
    return read_seed(path_from_here(path)) if path.is_file() else None


def seed_document(project: Project, kinds: Kinds, own: SeedFile | None) -> dict[str, list[dict[str, Any]]]:
    """The objects that a project assumes: its roots, an admin, its people, every object it adopts by `id`; and those of its own seed."""
    resources = project.desired.resources
    seed: dict[str, list[dict[str, Any]]] = {kind.seeds: [] for kind in kinds.values() if kind.seeds}
    roots = {address: resource.id for address, resource in resources.items() if address.container is None and resource.id is not None}
    for address, id in roots.items():
        seed[kinds[resources[address].kind].seeds].append({"id": id, "title": _title(resources[address])})
    for kind in kinds.values():
        if kind.undeclared and kind.seeds:
            seed[kind.seeds] += _people(project, kind, roots)
    given = own.document if own is not None else {}
    people = _ids_of_people(kinds, seed, given)
    for address, declared in resources.items():
        kind, home = kinds[declared.kind], roots.get(address.root)
        if kind.within is not None and not kind.undeclared and kind.seeds and declared.id is not None and home is not None:
            seed[kind.seeds].append(_existing(kinds, resources, declared, home) | _inside(kind, declared, home, people))
    return _merged({name: rows for name, rows in seed.items() if rows}, given, kinds)


def _ids_of_people(kinds: Kinds, *seeds: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The ids of people by their root and e-mail; what a later seed says counts."""
    ids: dict[tuple[str, str], str] = {}
    for kind in (kind for kind in kinds.values() if kind.undeclared and kind.seeds):
        for rows in (seed.get(kind.seeds) for seed in seeds):
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, Mapping):
                    ids[str(row.get(kind.within or "")), str(row.get(str(kind.place.key_is))).lower()] = str(row.get("id"))
    return ids


def _inside(kind: Kind, declared: Declared, root: str, people: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Who is in an object that is adopted: no request could add them."""
    fields = [field for field in kind.fields.values() if field.gathered and declared.values.get(field.name)]
    return {field.wire: [people[root, at.key.lower()] for at in sorted(declared.values[field.name])] for field in fields}


def _people(project: Project, kind: Kind, roots: Mapping[Address, str]) -> Iterator[dict[str, Any]]:
    """The people who are declared or referenced in each root, and an admin; others have the lowest role."""
    resources = project.desired.resources.values()
    names, admin = _Names(), _admin(project, kind)
    for address, id in roots.items():
        emails = {
            _email(resource): bare(resource.id) if resource.id is not None else None
            for resource in resources
            if _is_person(resource, kind, address)
        }
        for email in dict.fromkeys([admin, *emails]):
            user = names.id(email, emails.get(email))
            person = {str(kind.within): id, "id": user, str(kind.place.key_is): email, "displayName": names.name(email)}
            role = {kind.scarce.wire: kind.scarce.scarce if email == admin else LEVELS[0]} if kind.scarce is not None else {}
            yield {**person, **role}


def _is_person(declared: Declared, kind: Kind, root: Address) -> bool:
    return declared.kind == kind.name and declared.address.container == root


def _existing(kinds: Kinds, resources: Mapping[Address, Declared], declared: Declared, root: str) -> dict[str, Any]:
    """An object that is adopted by id, as it may have been before: its identity and its location."""
    kind = kinds[declared.kind]
    values = {
        field.wire: declared.values[field.name]
        for field in kind.fields.values()
        if (field.key or field.required) and isinstance(declared.values.get(field.name), str)
    }
    parent = resources.get(declared.parent) if declared.parent is not None else None
    inside = kind.inside
    nested = inside is not None and parent is not None and parent.kind == inside.to and parent.id is not None
    outer = kinds.containers(kind.name)[-1]
    return {outer: root, "id": declared.id, **values} | ({"parent": parent.id} if nested and parent is not None else {})


def _title(declared: Declared) -> str:
    title = declared.values.get("title")
    return title if isinstance(title, str) else declared.address.key


def _email(declared: Declared) -> str:
    return declared.address.key.lower()


def _admin(project: Project, kind: Kind) -> str:
    """The owner of the token; else the first declared admin; else a default person."""
    desired, scarce = project.desired, kind.scarce
    if desired.lister is not None:
        return desired.lister.key.lower()
    people = [resource for resource in desired.resources.values() if resource.kind == kind.name and scarce is not None]
    return next(
        (_email(person) for person in people if scarce and person.values.get(scarce.name) == scarce.scarce), "admin@sandbox.example"
    )


class _Names:
    """Ids and names of people, the same for an e-mail everywhere."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def id(self, email: str, given: str | None) -> str:
        if email not in self._ids:
            word = re.sub(r"[^a-z0-9]+", "_", email.partition("@")[0]).strip("_") or "user"
            number, candidate = 1, given or f"usr_{word}"
            while candidate in self._ids.values():
                number += 1
                candidate = f"usr_{word}_{number}"
            self._ids[email] = candidate
        return self._ids[email]

    @staticmethod
    def name(email: str) -> str:
        return re.sub(r"[._+-]+", " ", email.partition("@")[0]).title()


def _merged(mine: dict[str, list[dict[str, Any]]], own: Mapping[str, Any], kinds: Kinds) -> dict[str, Any]:
    """The project's own seed wins if it describes the same object; its order comes first."""
    merged: dict[str, Any] = dict(own)
    keys = {kind.seeds: kind.place.key_is for kind in kinds.values() if kind.undeclared}
    for name, entries in mine.items():
        given = own.get(name) or []
        if not isinstance(given, list):
            continue  # the sandbox reports the errors in it

        def identity(entry: Any, key: str = keys.get(name) or "id") -> tuple[Any, ...]:
            if not isinstance(entry, Mapping):
                return (repr(entry),)
            return (*(str(entry.get(root.name)) for root in kinds.roots), str(entry.get(key) or entry.get("id")))

        known = {identity(entry) for entry in given}
        merged[name] = [*given, *(entry for entry in entries if identity(entry) not in known)]
    return merged
