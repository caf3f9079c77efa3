"""One project of fleet.yaml, merged with the defaults of the file. Pure; problems are reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, shown
from reconciler.fleet.declared import values
from reconciler.fleet.declared.claims import shared
from reconciler.fleet.declared.keys import (
    APPROVALS,
    CHANGES,
    EVERY_MAX,
    EVERY_MIN,
    MODES,
    REHEARSALS,
    VALID_FOR,
    VALID_MAX,
    VALID_MIN,
    WAVE_MAX,
)
from reconciler.fleet.model import (
    APPROVALS_DEFAULT,
    EVERY_DEFAULT,
    TENANT_DEFAULT,
    VALID_DEFAULT,
    Approval,
    ChangeClass,
    FleetProject,
    Mode,
    RehearsalRule,
    Repository,
    SecretReference,
)
from reconciler.model import Source

REQUIRED: Final = {
    "name": "a name",
    "source": "source: {git: URL}",
    "baseUrl": "baseUrl: https://HOST",
    "token": "token: {env: NAME}",
}
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
    about = f"project {shown(label.text)}" if isinstance(label, Scalar) and values.NAME.fullmatch(label.text) else "a project"
    keys = KeyReader(about, node.entries, problems)
    name, source, base_url = values.name(keys, "name"), _source(keys), values.service(keys, "baseUrl")
    token, state = values.reference(keys, "token"), values.reference(keys, "state")
    allowed = values.claim(keys, "project")
    environment, tenant = values.name(keys, "environment"), values.name(keys, "tenant")
    every = values.duration(keys, "every", EVERY_DEFAULT, least=EVERY_MIN, most=EVERY_MAX)
    mode = keys.choice("mode", MODES)
    revert = values.flag(keys, "revertDrift", False)
    rules_from = values.ref(keys, "rulesFrom") if "rulesFrom" in node.entries else ""
    rehearse = keys.choice("rehearse", REHEARSALS)
    windows, (approvals, valid_for) = values.windows(keys, "windows"), _approvals(keys)
    variables, wave = _vars(keys), keys.whole("wave", 0)
    secret_vars, sops = _references(keys, "secretVars", values.VARIABLE), _references(keys, "sops", values.SOPS)
    keys.rest()
    for key in sorted(variables.keys() & secret_vars.keys()):
        problems.add(node.at, f"{about} has the variable {key} in vars and in secretVars; remove one", id="RC-declared-twice")
    if wave > WAVE_MAX:
        problems.add(node.entries["wave"].node.at, f"{keys.path('wave')} is {wave}; it must be at most {WAVE_MAX}", id="RC-out-of-range")
    for key, form in REQUIRED.items():
        if key not in node.entries and not keys.meant(key):
            problems.add(node.at, f"{about} has no {key}; write {form} here or in defaults", id="RC-missing-key")
    if len(problems.found) > before or name is None or source is None or base_url is None or token is None:
        return None
    return FleetProject(
        name, source, base_url, token, allowed or "", state, environment, every, mode or Mode.WATCH, revert, windows, approvals,
        tenant or TENANT_DEFAULT, valid_for, variables, secret_vars, sops, wave, rules_from=rules_from,
        rehearse=rehearse or RehearsalRule.OPTIONAL, at=node.at,
    )  # fmt: skip


def named(project: FleetProject) -> FleetProject:
    """A project whose name the operator chose: its files have that name unless the fleet file says otherwise."""
    return project if project.project else replace(project, project=project.name)


def _source(keys: KeyReader) -> Repository | None:
    entry = keys.entry("source")
    if entry is None:
        return None
    inner = KeyReader.of(keys.path("source"), entry, keys.problems, example="git: URL")
    git, ref, path = values.git(inner, "git"), values.ref(inner, "ref"), values.folder(inner, "path")
    inner.rest()
    if isinstance(entry.node, Map) and "git" not in entry.node.entries and not inner.meant("git"):
        keys.problems.add(entry.node.at, f"{inner.name} has no git; write git: URL here or in defaults", id="RC-missing-key")
    return Repository(git, ref, path) if git is not None else None


def _approvals(keys: KeyReader) -> tuple[Mapping[ChangeClass, Approval], int]:
    """Who must approve each class of change, and for how many seconds an approval counts."""
    entry = keys.entry("approvals")
    if entry is None:
        return APPROVALS_DEFAULT, VALID_DEFAULT
    inner = KeyReader.of(keys.path("approvals"), entry, keys.problems, example="create: one")
    chosen = {change: inner.choice(change, APPROVALS) for change in CHANGES}
    valid_for = values.duration(inner, VALID_FOR, VALID_DEFAULT, least=VALID_MIN, most=VALID_MAX)
    inner.rest()
    return {change: approval or APPROVALS_DEFAULT[change] for change, approval in chosen.items()}, valid_for


def _vars(keys: KeyReader) -> Mapping[str, str]:
    entry = keys.entry("vars")
    if entry is None:
        return {}
    inner = KeyReader.of(keys.path("vars"), entry, keys.problems, example="name: value")
    variables = {}
    for key, variable in inner.entries.items():
        if values.VARIABLE.fullmatch(key) is None:
            keys.problems.add(
                variable.at, f"{inner.name} contains {shown(key)}, which cannot be the name of a variable", id="RC-variable-name"
            )
        elif not isinstance(variable.node, Scalar) or variable.node.empty:
            keys.problems.add(variable.node.at, f"{inner.path(key)} must be one value, not {described(variable.node)}", id="RC-wrong-form")
        else:
            variables[key] = variable.node.text
    return variables


def _references(keys: KeyReader, key: str, names: re.Pattern[str]) -> Mapping[str, SecretReference]:
    """The secret references by name."""
    entry = keys.entry(key)
    if entry is None:
        return {}
    inner = KeyReader.of(keys.path(key), entry, keys.problems, example="NAME: {env: NAME}")
    references = {}
    for name, secret in inner.entries.items():
        if names.fullmatch(name) is None:
            wrong = "which is not a variable of the sops command" if names is values.SOPS else "which cannot be the name of a variable"
            keys.problems.add(secret.at, f"{inner.name} contains {shown(name)}, {wrong}", id="RC-variable-name")
        elif (reference := values.reference(inner, name)) is not None:
            references[name] = reference
    return references


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
