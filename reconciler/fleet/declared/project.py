"""One project of fleet.yaml, merged with the defaults of the file. Pure; problems are reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map, MapEntry, Scalar
from reconciler.config.source.problems import Problems, shown
from reconciler.fleet.declared.claims import shared
from reconciler.fleet.declared.keys import PROJECT, VALID_FOR
from reconciler.fleet.declared.values import NAME
from reconciler.fleet.model import FleetProject, Repository
from reconciler.model import Source

MERGED: Final = ("source", "vars", "secretVars", "sops", "approvals")  # maps that extend those of the defaults, key by key


def over(defaults: Map | None, own: Map) -> Map:
    """The map of a project with the defaults added; every value keeps its position."""
    if defaults is None:
        return own
    entries = dict(own.entries)
    for key, entry in defaults.entries.items():
        mine = entries.get(key)
        if mine is None:
            entries[key] = entry
        elif key in MERGED and isinstance(mine.node, Map) and isinstance(entry.node, Map):
            inner = Map(mine.node.at, {**entry.node.entries, **mine.node.entries})
            entries[key] = MapEntry(key, mine.at, inner)
    return Map(own.at, entries)


def project(node: Map, problems: Problems) -> FleetProject | None:
    """The project that a map describes, defaults included; None, with a problem, if it is invalid."""
    before = len(problems.found)
    label = node.entries["name"].node if "name" in node.entries else None
    about = f"project {shown(label.text)}" if isinstance(label, Scalar) and NAME.fullmatch(label.text) else "a project"
    values = KeyReader(about, node.entries, problems, at=node.at).data(PROJECT)
    for key in sorted(values["vars"].keys() & values["secretVars"].keys()):
        problems.add(node.at, f"{about} has the variable {key} in vars and in secretVars; remove one", id="RC-declared-twice")
    if len(problems.found) > before:
        return None
    approvals = dict(values["approvals"])
    return FleetProject(
        values["name"], Repository(**values["source"]), values["baseUrl"], values["token"], values["project"], values["state"],
        values["environment"], values["every"], values["mode"], values["revertDrift"], values["hold"], values["windows"],
        valid_for=approvals.pop(VALID_FOR), approvals=approvals, tenant=values["tenant"], vars=values["vars"],
        secret_vars=values["secretVars"], sops=values["sops"], wave=values["wave"], rules_from=values["rulesFrom"],
        rehearse=values["rehearse"], at=node.at,
    )  # fmt: skip


def named(project: FleetProject) -> FleetProject:
    """A project whose name the operator chose: its files have that name unless the fleet file says otherwise."""
    return project if project.project else replace(project, project=project.name)


def meetings(projects: list[FleetProject], problems: Problems) -> None:
    """Report projects of different tenants that may use the same state."""
    for first, other in shared(projects):
        at = first.at
        problems.add(
            other.at,
            f'the project "{other.name}" of tenant {other.tenant} may use the state of {shown(other.project)}, and so may '
            f'"{first.name}" of tenant {first.tenant} ({shown(first.project)}; {at.file}:{at.line}:{at.column}); '
            "write another `project:`, or give a tenant a state of its own",
            id="RC-fleet-tenants-meet",
        )


def duplicates(projects: list[FleetProject], problems: Problems) -> None:
    """Report names that are used twice."""
    first: dict[str, Source] = {}
    for project in projects:
        at = first.setdefault(project.name, project.at)
        if at is not project.at:
            twice = f'the project "{project.name}" is declared twice; first at {at.file}:{at.line}:{at.column}'
            problems.add(project.at, twice, id="RC-declared-twice")
