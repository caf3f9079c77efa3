"""A fleet file: its settings, its projects, its generators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, empty, wrong_form
from reconciler.config.source.reader import FILE_MAX, read
from reconciler.errors import ConfigError, Problem, UsageError
from reconciler.fleet.declared import dashboard, project as projects, values, watching
from reconciler.fleet.declared.keys import EVERY_MAX, FILE, PROJECT, REFRESH_DEFAULT, REFRESH_MAX, REFRESH_MIN
from reconciler.fleet.declared.template import generator
from reconciler.fleet.model import Fleet, FleetProject, Generator
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
    keys = KeyReader("", top.entries, problems)
    version = keys.scalar("version")
    if version is not None and version.core() != 1:
        problems.add(version.at, f"version is {described(version)}; this program knows version 1", id="RC-version")
    elif "version" not in top.entries and not keys.meant("version"):
        problems.add(top.at, "version is missing; write version: 1", id="RC-missing-key")
    defaults = _defaults(keys)
    soak = values.duration(keys, "soak", 0, least=1, most=EVERY_MAX)
    declared = [_project(item, defaults, problems) for item in _items(keys, "projects", "a project")]
    generators = [generator(number, item, defaults, problems) for number, item in enumerate(_items(keys, "generators", "a generator"), 1)]
    refresh = values.duration(keys, "refresh", REFRESH_DEFAULT, least=REFRESH_MIN, most=REFRESH_MAX)
    settings = {**watching.settings(keys), **dashboard.settings(keys)}
    keys.rest()
    if not {"projects", "generators"} & top.entries.keys() and not keys.meant("projects") and not keys.meant("generators"):
        problems.add(top.at, "there are no projects; write projects: [{name: …, source: {git: …}}]", id="RC-missing-key")
    valid: list[FleetProject] = [project for project in declared if project is not None]
    projects.duplicates(valid, problems)
    known: list[Generator] = [generated for generated in generators if generated is not None]
    return Fleet(tuple(valid), tuple(known), defaults, soak, settings | _generators(known, refresh))


def _generators(generators: Sequence[Generator], refresh: int) -> dict[str, Any]:
    """The settings of the generators that are reread while the fleet runs, as JSON; empty if there are none."""
    reading = [generator for generator in generators if generator.sort != "list"]
    repositories = sorted({(repository.git, repository.ref) for generator in reading if (repository := generator.repository) is not None})
    about = {"every": refresh, "repositories": [list(repository) for repository in repositories]}
    return {"generators": about} if reading else {}


def _defaults(keys: KeyReader) -> Map | None:
    entry = keys.entry("defaults")
    if entry is None:
        return None
    inner = KeyReader.of("defaults", entry, keys.problems)
    for key in PROJECT:
        inner.entry(key)
    inner.rest()
    if "name" in inner.entries:
        keys.problems.add(
            inner.entries["name"].at, "defaults cannot contain name: each project has a name of its own", id="RC-key-elsewhere"
        )
    known = {key: value for key, value in inner.entries.items() if key in PROJECT and key != "name"}
    return Map(entry.node.at, known)


def _items(keys: KeyReader, key: str, what: str) -> list[Map]:
    """The maps of a list."""
    entry: MapEntry | None = keys.entry(key)
    if entry is None:
        return []
    node = entry.node
    if not isinstance(node, List):
        nothing = isinstance(node, Scalar) and node.empty
        keys.problems.add(node.at, empty(key) if nothing else f"{key} must be a list, not {described(node)}", id=wrong_form(node))
        return []
    if len(node.items) > PROJECTS_MAX:
        keys.problems.add(node.at, f"{key} has more than {PROJECTS_MAX:,} elements", id="RC-project-too-large")
        return []
    maps = []
    for item in node.items:
        if isinstance(item, Map):
            maps.append(item)
        else:
            keys.problems.add(item.at, f"{what} must be a map, not {described(item)}", id=wrong_form(item))
    return maps


def _project(item: Map, defaults: Map | None, problems: Problems) -> FleetProject | None:
    declared = projects.project(projects.over(defaults, item), problems)
    return projects.named(declared) if declared is not None else None
