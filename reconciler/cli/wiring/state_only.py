"""Commands that need the state, and of the YAML only its settings. Those that change it hold the lease and record the end of their run.

Settings of a project file without expressions are stored, so that its YAML is read only once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from reconciler.address import Address
from reconciler.cli import exits
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.checked import CommandInputs
from reconciler.cli.wiring.connect import current_user, known_service, load, load_settings, note_project, open_store, recording_end
from reconciler.cli.wiring.unseen import NO_SANDBOX, warn_unseen
from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import Desired
from reconciler.state import Journal

SETTINGS: Final = "settings.json"
_PATHS: Final = ("root", "sandbox")


def settings_of(screen: Screen, options: Options) -> Project:
    """The project with its settings, without resources. Secrets are masked from now on. Raises `ConfigError`."""
    folder = options.project if options.project.is_dir() else options.project.parent
    plain = options.env is None and not (folder / ENVIRONMENTS).is_dir()  # an environment may change settings, or must be named
    given = CommandInputs.of(options) if plain else None
    if given is not None:
        known = given.seal.read(SETTINGS)
        if isinstance(known, dict) and known.get("given") == given.digest and known.get("text") == _digest(given.text):
            project = _project(known["settings"])
            note_project(screen, options, project)
            return project

    project = load_settings(screen, options, load_kinds())
    if given is not None:
        _remember(given, project)
    return project


def _remember(given: CommandInputs, project: Project) -> None:
    """Store the settings, unless they depend on an expression or a variable of the project must be masked."""
    if b"${{" in given.text or b"\\" in given.text or project.sensitive:
        return
    settings: dict[str, Any] = {field.name: getattr(project.settings, field.name) for field in fields(project.settings)}
    settings |= {name: str(settings[name]) for name in _PATHS if settings[name] is not None} | {"files": []}
    value = {"given": given.digest, "text": _digest(given.text), "settings": settings}
    if given.seal.read(SETTINGS) != value and project.texts.get(next(iter(project.texts), "")) == value["text"]:
        given.seal.write(SETTINGS, value)


def _project(settings: Mapping[str, Any]) -> Project:
    from reconciler.config.settings import Project, ProjectSettings

    paths = {name: Path(settings[name]) for name in _PATHS if settings[name] is not None}
    project_settings = ProjectSettings(**{**settings, **paths, "files": ()})
    return Project(project_settings, Desired(project_settings.project, None, {}, {}, frozenset()))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


@contextmanager
def journal_for(screen: Screen, options: Options, address: Address, *, command: str) -> Iterator[Journal]:
    """The journal of `command`, which changes an address. Raises `UsageError` if nothing can be tracked yet."""
    project = load(screen, options, load_kinds(), warn=False)  # about what the project declares, which is not asked for
    service = known_service(screen, options, project)
    if service is None:
        screen.warn(NO_SANDBOX, id="RC-no-sandbox")
        raise not_tracked(address)
    with open_store(screen, options, project, service, create=False) as reader:
        if warn_unseen(screen, options, project, service, reader) is not None:
            raise not_tracked(address)
    with (
        open_store(screen, options, project, service, create=True) as store,
        store.lease(who=current_user(), command=command) as journal,
        recording_end(journal),
    ):
        yield journal
        journal.finish(exit_code=exits.DONE, summary={})


def not_tracked(address: Address) -> UsageError:
    """The message about an address that is not tracked."""
    return UsageError(f"{address} is not tracked", id="RC-not-tracked", hint="reconciler state list shows the tracked addresses.")
