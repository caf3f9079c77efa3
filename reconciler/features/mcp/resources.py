"""Resources: the files of each project, and the schema of one kind at a time. A large one has pages: `?page=2`.

reconciler://file/acme/sites/docs.yaml      a file that the project `acme` was read from, and no other
reconciler://schema/site                    the JSON Schema of one kind
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from reconciler.config import Project
from reconciler.config.schemas.document import schema
from reconciler.config.source.reader import FILE_MAX
from reconciler.errors import ReconcilerError, UsageError
from reconciler.features.mcp.projects import called, chosen
from reconciler.kinds import load as load_kinds
from reconciler.links import read_file
from reconciler.report.formats.brief import one_line, page, shortened
from reconciler.run.call_voice import CallVoice
from reconciler.run.loading import load
from reconciler.run.operation import Operation

SCHEME: Final = "reconciler"
LONGEST: Final = 1_000  # characters of a line


@dataclass(frozen=True)
class ListedResource:
    """One resource. `name`: as people see it."""

    uri: str
    name: str
    type: str


def listed(operation: Operation, projects: Sequence[Path]) -> Iterator[ListedResource]:
    """Every resource: the files of projects that can be read, then the kinds."""
    for path in projects:
        try:
            project = load(chosen(operation, projects, str(path)), CallVoice(), load_kinds(), decrypt=False, stand_ins=True, warn=False)
            names = [named(file, project.settings.root) for file in project.settings.files]
        except ReconcilerError:
            continue  # validate says what is wrong with it
        for name in names:
            label = f"{called(path)}/{name}"
            yield ListedResource(f"{SCHEME}://file/{quote(label)}", one_line(label), "text/yaml")
    for kind in load_kinds():
        yield ListedResource(f"{SCHEME}://schema/{kind}", f"Schema of {kind}", "application/schema+json")


def lines_of(uri: str, operation: Operation, projects: Sequence[Path]) -> tuple[str, ...]:
    """The lines of a resource. Raises `ReconcilerError` for one that does not exist."""
    parts = urlsplit(uri)
    path = unquote(parts.path).lstrip("/")
    if parts.scheme == SCHEME and parts.netloc == "schema" and path in load_kinds():
        return tuple(json.dumps(of_kind(path), indent=1, ensure_ascii=False).splitlines())
    project = next((item for item in projects if path.startswith(f"{called(item)}/")), None)
    if parts.scheme != SCHEME or parts.netloc != "file" or project is None:
        raise UsageError("there is no such resource", id="RC-file-not-found", hint="resources/list names them.")
    voice = CallVoice()
    loaded = load(chosen(operation, projects, str(project)), voice, load_kinds(), decrypt=False, stand_ins=True, warn=False)
    text = voice.masks.text(project_text(loaded, path[len(called(project)) + 1 :]))
    return tuple(shortened(one_line(line, longest=LONGEST)) for line in text.splitlines())


def page_of(uri: str, lines: Sequence[str], room: int) -> tuple[tuple[str, ...], str]:
    """The lines of the page that a URI names, and the URI of the next one; "" after the last."""
    number = parse_qs(urlsplit(uri).query).get("page", ["1"])[0]
    at = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
    rest: Sequence[str] = lines
    for _ in range(1, at):
        rest = page(rest, 0, room).rest
    shown = page(rest, 0, room)
    return shown.lines, f"{uri.partition('?')[0]}?page={at + 1}" if shown.rest else ""


def of_kind(name: str) -> dict[str, Any]:
    """The schema of one kind, with the definitions that it refers to besides other kinds."""
    kinds = load_kinds()
    every: dict[str, Any] = schema(kinds)["$defs"]
    known: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        definition = waiting.pop()
        if definition not in known:
            known[definition] = every[definition]
            waiting += [to for to in _references(every[definition]) if to in every and to not in kinds]
    return {"$ref": f"#/$defs/{name}", "$defs": known}


def _references(value: Any) -> Iterator[str]:
    match value:
        case {"$ref": str(to)}:
            yield to.rpartition("/")[2]
        case dict():
            for part in value.values():
                yield from _references(part)
        case list():
            for part in value:
                yield from _references(part)


def project_text(project: Project, name: str) -> str:
    """The text of one of the files that a project was read from, by its name. Raises `UsageError` for any other file."""
    root = project.settings.root
    names = {named(path, root): path for path in project.settings.files}
    if name not in names:
        raise UsageError("this is not a file of the project", id="RC-file-not-found", hint="resources/list names the files of the project.")
    return read_file(names[name], FILE_MAX, within=root).decode("utf-8", "replace")


def named(path: Path, root: Path) -> str:
    """The name of a file below the project."""
    return path.resolve().relative_to(root.resolve()).as_posix() if path.resolve().is_relative_to(root.resolve()) else path.name
