"""Generators and what they list: projects by name. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.config.source.nodes import Map, MapEntry, Scalar
from reconciler.config.source.problems import Problems
from reconciler.fleet.declared.project import duplicates, meetings, named, over, project
from reconciler.fleet.declared.template import filled
from reconciler.fleet.model import Fleet, FleetProject, Generator

Listing = Mapping[int, Sequence[Mapping[str, str]]]
"""The elements of each generator that reads something, by its number."""
ELEMENTS_MAX: Final = 100_000


def generated(fleet: Fleet, listing: Listing) -> dict[str, FleetProject]:
    """Every project of a fleet by its name, in the order of the file. Raises `ConfigError`."""
    problems, projects = Problems([]), list(fleet.projects)
    with problems.raised():
        for generator in fleet.generators:
            projects += _projects(fleet, generator, listing.get(generator.number, generator.elements), problems)
        duplicates(projects, problems)
        meetings(projects, problems)
    return {project.name: project for project in projects}


def _projects(fleet: Fleet, generator: Generator, elements: Sequence[Mapping[str, str]], problems: Problems) -> list[FleetProject]:
    projects = []
    for element in elements[:ELEMENTS_MAX]:
        node = filled(generator.template, element, problems)
        assert isinstance(node, Map)
        declared = project(over(_defaults(fleet, generator, element), node), problems)
        if declared is not None:
            known = named(declared) if generator.sort == "list" else declared  # names of a repository or a service are not the operator's
            projects.append(replace(known, origin=generator.name))
    return projects


def _defaults(fleet: Fleet, generator: Generator, element: Mapping[str, str]) -> Map | None:
    """The defaults of the file; for `directories`, with the repository and the path inserted."""
    if generator.repository is None:
        return fleet.defaults

    at = generator.at
    parts = {"git": generator.repository.git, "ref": generator.repository.ref, "path": element.get("path", ".")}
    source = Map(at, {key: MapEntry(key, at, Scalar(at, text, False)) for key, text in parts.items() if text != "HEAD"})
    entries = dict(fleet.defaults.entries) if fleet.defaults is not None else {}
    return Map(at, {**entries, "source": MapEntry("source", at, source)})
