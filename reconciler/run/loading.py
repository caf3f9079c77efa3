"""The project of a run, read from its files: what every command begins with. Not here: the service and the state (`connect`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from reconciler.config import Project, load as read, load_settings as read_settings
from reconciler.config.language.variables import STANDARD_INPUT, texts
from reconciler.config.project import FileAccess, LoadOptions
from reconciler.errors import ConfigError
from reconciler.kinds import load as load_kinds
from reconciler.resource import Kinds
from reconciler.run.operation import STDIN, VARIABLES, Operation
from reconciler.run.voice import Voice

LOADING: Final = "Loading the project"
PART_MIN = 8  # characters of a --var, or a value of a --var-file, that a secret is made of; less may be an ordinary word


def load(
    operation: Operation,
    voice: Voice,
    kinds: Kinds,
    *,
    decrypt: bool = True,
    stand_ins: bool = False,
    warn: bool = True,
    phase: str = LOADING,
    texts: Mapping[str, str] = MappingProxyType({}),
    environ: Mapping[str, str] | None = None,
) -> Project:
    """The project; its secrets are masked from now on. Raises `ConfigError`.

    `decrypt`: False if only the names of secrets are checked. `stand_ins`: accept unknown values. `warn`: print its warnings.
    `phase`: its name in the narration if it takes long. `texts`: of its files by name, instead of what is on the disk.
    `environ`: the environment, None for that of this process.
    """
    given = load_options(operation, decrypt=decrypt, stand_ins=stand_ins, texts=texts)
    if environ is not None:
        given["environ"] = environ
    project = _read(operation, voice, partial(read, operation.project, kinds, **given), phase)
    if not operation.supervision.writes:
        project = replace(project, desired=replace(project.desired, writes_files=False))
    secrets = list(sensitive_texts(project, kinds))
    # A secret can be composed: `https://${{ vars.user }}:${{ vars.password }}@host`. Its parts are secrets as well, if they are long
    # enough not to be ordinary words.
    parts = [value for value in (*operation.reading.variables.values(), *project.supplied) if len(value) >= PART_MIN]
    voice.hide([*secrets, *(value for value in parts if any(value in secret for secret in secrets))])
    if warn:
        for warning in project.warnings:
            voice.warn(warning, id="RC-unused-variable")
    return project


def load_settings(operation: Operation, voice: Voice) -> Project:
    """The project with its settings only; its resources are not read. Its secrets are masked from now on. Raises `ConfigError`."""
    return _read(operation, voice, partial(read_settings, operation.project, load_kinds(), **load_options(operation, decrypt=False)))


def load_options(
    operation: Operation, *, decrypt: bool = True, stand_ins: bool = False, texts: Mapping[str, str] = MappingProxyType({})
) -> LoadOptions:
    """What the command line and the environment say about how a project is read."""
    allowed = tuple(operation.reading.allowed)
    access = FileAccess(variable_files(operation), allowed, decrypt=decrypt, stand_ins=stand_ins, texts=texts)
    reading = operation.reading
    return {
        "environment": operation.environment,
        "variables": reading.variables,
        "public": reading.public,
        "environ": dict(os.environ),
        "access": access,
    }


def variable_files(operation: Operation) -> tuple[tuple[str, bytes], ...]:
    """The files of variables with their names in messages: relative to the project if they are in it."""
    folder = Path(os.path.normpath((operation.project if operation.project.is_dir() else operation.project.parent).absolute()))
    named = []
    for name, text in operation.reading.files:
        path = Path(os.path.normpath(Path(name).absolute()))
        inside = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else name
        named.append((STANDARD_INPUT if name == STDIN else inside, text))
    return tuple(named)


def _read(operation: Operation, voice: Voice, read: Callable[[], Project], phase: str = LOADING) -> Project:
    """The project that `read` returns; its secrets are masked from now on. Raises `ConfigError`."""
    try:
        with voice.lasting(phase):
            project = read()
    except ConfigError as error:
        # The project declares which variables are secret, and it could not be read: so all of them are.
        voice.hide([*variables_not_public(operation.reading.public), *error.sensitive])  # which variables are secrets was not found out
        raise
    note_project(operation, voice, project)
    voice.hide(project.sensitive)
    return project


def note_project(operation: Operation, voice: Voice, project: Project) -> None:
    """Add the project and the environment of the run to its traces."""
    voice.about["reconciler.project"] = project.settings.project
    if operation.environment:
        voice.about["reconciler.environment"] = operation.environment


def variables_not_public(public: tuple[str, ...]) -> Iterator[str]:
    """The values that the environment gives to variables which are not public."""
    names = {name.removeprefix(VARIABLES).lower() for name in public}
    yield from (value for name, value in os.environ.items() if name.startswith(VARIABLES) and name[len(VARIABLES) :].lower() not in names)


def sensitive_texts(project: Project, kinds: Kinds) -> Iterator[str]:
    """Every text in a sensitive field, from any source: the YAML, a file, a variable."""
    sensitive = {kind.name: names for kind in kinds.values() if (names := [name for name, field in kind.fields.items() if field.sensitive])}
    for resource in project.desired.resources.values():
        for name in sensitive.get(resource.kind, ()):
            if name in resource.values:
                yield from texts(resource.values[name])


def now() -> datetime:
    """The clock of this machine, UTC."""
    return datetime.now(UTC)


def keyed(kinds: Kinds, key: bytes, project: Project | None = None) -> Kinds:
    """The kinds, with a key for digests of secrets. Every run gets its kinds here. `key`: that of a state."""
    return kinds.with_digest_key(key, project.sensitive if project is not None else frozenset())
