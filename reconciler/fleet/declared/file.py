"""A fleet file: its settings, its projects, its generators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map
from reconciler.config.source.problems import Problems, described
from reconciler.config.source.reader import FILE_MAX, read
from reconciler.errors import ConfigError, Problem, UsageError
from reconciler.fleet.declared.keys import DEFAULTS, FILE, FLEET, LISTS, PROJECT, SETTINGS
from reconciler.fleet.declared.project import duplicates, named, over, project
from reconciler.fleet.declared.template import generator
from reconciler.fleet.model import Fleet, Generator
from reconciler.links import read_file

PROJECTS_MAX: Final = 100_000


def read_fleet(file: Path) -> tuple[Fleet, bytes]:
    """The fleet of a file, and its text. Raises `ConfigError`, or `UsageError` if it cannot be read."""
    path = file / FILE if file.is_dir() else file
    try:
        text = read_file(path, FILE_MAX)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(
            f"{path} cannot be read: {(reason or 'unknown reason').lower()}",
            id="RC-file-not-read",
            hint="Pass the file that lists the projects of the fleet.",
        ) from error
    return parsed(text, path.as_posix()), text


def parsed(text: bytes, file: str) -> Fleet:
    """The fleet that a text describes. Raises `ConfigError` with every problem."""
    document, problems = read(text, file), Problems([])
    problems.found += document.problems
    fleet = None
    with problems.raised():
        if isinstance(document.data, Map):
            fleet = _fleet(document.data, problems)
        elif document.data is not None:
            problems.add(
                document.data.at, f"this must be a map with projects or generators, not {described(document.data)}", id="RC-wrong-form"
            )
    if fleet is None:
        raise ConfigError([Problem(file, 0, 0, "there is no fleet in this file", id="RC-missing-key")])
    return fleet


def _fleet(top: Map, problems: Problems) -> Fleet:
    keys = KeyReader("", top.entries, problems, at=top.at)
    lists = {key.name: [Map(inner.at, dict(inner.entries)) for inner in keys.maps(key) if inner.at is not None] for key in LISTS}
    for name, items in lists.items():
        if len(items) > PROJECTS_MAX:
            problems.add(top.entries[name].node.at, f"{name} has more than {PROJECTS_MAX:,} elements", id="RC-project-too-large")
    defaults = _defaults(keys)
    declared = [project(over(defaults, item), problems) for item in lists["projects"]]
    generators = [generator(number, item, defaults, problems) for number, item in enumerate(lists["generators"], 1)]
    values = keys.data(key for key in FLEET if key not in (DEFAULTS, *LISTS))
    if not lists.keys() & top.entries.keys() and not any(map(keys.meant, lists)):
        problems.add(top.at, "there are no projects; write projects: [{name: …, source: {git: …}}]", id="RC-missing-key")
    valid = [project for project in declared if project is not None]
    duplicates(valid, problems)
    known = [generated for generated in generators if generated is not None]
    settings = {name: values[name] for name in SETTINGS if values[name] is not None}
    return Fleet(tuple(map(named, valid)), tuple(known), defaults, values["soak"], settings | _generators(known, values["refresh"]))


def _generators(generators: Sequence[Generator], refresh: int) -> dict[str, Any]:
    """The settings of the generators that are reread while the fleet runs, as JSON; empty if there are none."""
    reading = [generator for generator in generators if generator.sort != "list"]
    repositories = sorted({(repository.git, repository.ref) for generator in reading if (repository := generator.repository) is not None})
    about = {"every": refresh, "repositories": [list(repository) for repository in repositories]}
    return {"generators": about} if reading else {}


def _defaults(keys: KeyReader) -> Map | None:
    """What every project and every template has unless it says otherwise; None if the file does not say."""
    inner = keys.inside(DEFAULTS)
    inner.known += [key.name for key in PROJECT]
    inner.rest()
    if "name" in inner.entries:
        wrong = "defaults cannot contain name: each project has a name of its own"
        keys.problems.add(inner.entries["name"].at, wrong, id="RC-key-elsewhere")
    known = {key: value for key, value in inner.entries.items() if key in inner.known and key != "name"}
    return Map(inner.at, known) if inner.at is not None else None
