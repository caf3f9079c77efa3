"""The projects of a server: those of its command line, or else those in the roots of its client, or else the nearest one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from reconciler.config.keys import PROJECT_FILE, project_file
from reconciler.run.operation import Operation


class NoProject(Exception):
    """No project, or none with the name of a call. Its text is our own, with the names of the projects."""


def in_roots(uris: Iterable[str]) -> list[Path]:
    """The projects in the folders that a client works in: in each root, or in the folders of a root that has none itself."""
    found: dict[Path, None] = {}
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            continue
        root = Path(unquote(parts.path))
        if (root / PROJECT_FILE).is_file():
            found[root] = None
        elif root.is_dir():
            found |= dict.fromkeys(path.parent for path in sorted(root.glob(f"*/{PROJECT_FILE}")))
    return list(found)


def chosen(operation: Operation, projects: Sequence[Path], name: str) -> Operation:
    """The operation on the project that a call names; with one project, it needs no name. Raises `NoProject`."""
    named = [path for path in projects if name in (called(path), str(path))] if name else list(projects)
    if len(named) == 1:
        return replace(operation, project=named[0])
    if not projects:
        raise NoProject("No project is open. Start the server with one: reconciler mcp PROJECT")
    names = ", ".join(map(called, projects))
    raise NoProject(f"{'No project has that name' if name else 'Several projects are open'}: set project to one of {names}.")


def called(path: Path) -> str:
    """The name of a project in calls: its folder, or the file if it has another name than usual."""
    folder = project_file(path).resolve().parent.name
    return folder if project_file(path).name == PROJECT_FILE else f"{folder}/{path.name}"
