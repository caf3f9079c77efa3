"""The state of a project for a command that only reads it; and a state that has never seen the project, which all such commands report
and few may create.

A mistyped URL of the state looks like a project that was never applied. So every command that reads reports it, and a state that the user
named, or that is on a server, is created only with consent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Final

from reconciler import exits
from reconciler.address import Address
from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS
from reconciler.errors import UsageError
from reconciler.files import path_from_here
from reconciler.model.state import StateScope
from reconciler.report.words import count, listed
from reconciler.run.connection.connecting import STATE, ConnectedService, is_outside, known_service, open_store, state_scope
from reconciler.run.connection.leases import leased
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice
from reconciler.state import Journal, Store
from reconciler.text.backends import file_of

NO_SANDBOX: Final = "The sandbox does not exist yet, so no state has seen this project. The first plan or apply creates it."
FROM_ENV: Final = "--from-env"
MOST_PROJECTS: Final = 3  # other projects that are named


@dataclass(frozen=True)
class Unseen:
    """The message about a state that has never seen the project.

    `where`: the state. `project`: the project and its environment, and on which service. `named`: what gave the address of the state where
    creating it takes consent; None for a file of the project. `tracks`: what the same database does track, "" where that is nothing.
    `former`: the option of `state mv` that names the only other project of its environment and service, or the only other environment of
    the project, as it is typed: it may be this one's former name; "" for none. `creator`: what creates the state.
    """

    where: str
    project: str
    named: str | None
    tracks: str = ""
    former: str = ""
    creator: str = "the first apply"

    @property
    def fact(self) -> str:
        """What is wrong."""
        return f"{self.own}{f' {self.tracks}' if self.tracks else ''}"

    @property
    def own(self) -> str:
        """The same without other projects in the database, which not everybody who sees this project may see."""
        return f"{self.where[0].upper()}{self.where[1:]} has never seen {self.project}."

    @property
    def remedy(self) -> str:
        """What to do about it."""
        what = "environment" if self.former.startswith(FROM_ENV) else "project"
        renamed = f"If the {what} was renamed: reconciler state mv {self.former}. " if self.former else ""
        if self.named is None:
            return f"{renamed}{'Else t' if renamed else 'T'}{self.creator[1:]} creates the state."
        return f"{renamed}Correct {self.named} if that is the wrong address; else {self.creator} creates the state, with --create-state."

    def __str__(self) -> str:
        return f"{self.fact} {self.remedy}"


def origin(operation: Operation, project: Project) -> str | None:
    """What gave the address of the state, where creating one takes consent: an option, a variable, a server, a file outside the project.

    None: a file of the project, or memory.
    """
    if operation.supervision.memory is not None:
        return None
    if operation.state:
        return "--state"
    # A pipeline passes secrets that do not exist as empty texts. The state in the YAML would then be created in its place.
    if STATE in os.environ:  # also where it is set and empty, as a secret is that a pipeline does not have
        return STATE if os.environ[STATE] else f"{STATE}, which is set and empty,"
    file = file_of(project.settings.state)
    if file and not is_outside(project, Path(file)):
        return None
    return "state: in the YAML" if project.settings.state_in_yaml else f"the link {path_from_here(Path(file).parent)}"


def unseen(operation: Operation, project: Project, service: ConnectedService, store: Store) -> Unseen | None:
    """The message about the state of an open store; None if it has seen the project."""
    if store.seen():
        return None
    condition, name = store.condition(), project.settings.project
    where = condition.where if condition.path is None else f"the state {path_from_here(condition.path)}"
    whose = f"project {name}{f' in {operation.environment}' if operation.environment else ''} on {service.where}"
    tracking = store.tracking()
    former = _former([scope for scope, _ in tracking], state_scope(operation, project, service), project.settings.root)
    return Unseen(where, whose, origin(operation, project), f"It tracks {named(tracking, service)}." if tracking else "", former)


def has_environment(root: Path, name: str) -> bool:
    """Whether a project still has the file of an environment."""
    return (root / ENVIRONMENTS / f"{name}.yaml").is_file()


def _former(tracking: Sequence[StateScope], own: StateScope, root: Path) -> str:
    """The option of `state mv` that names the only candidate for the former name of a project or of its environment; "" for none. An
    environment whose file still exists was not renamed."""
    near = [scope for scope in tracking if scope.service == own.service]
    projects = [scope.project for scope in near if scope.environment == own.environment]
    if len(projects) == 1:
        return f"--project {quote(projects[0])}"
    environments = [scope.environment or "" for scope in near if scope.project == own.project]
    # A renamed environment has no file under its old name; one that exists beside this one was not renamed.
    environments = [name for name in environments if not name or not has_environment(root, name)]
    return f"{FROM_ENV} {quote(environments[0])}{f' --env {own.environment}' if own.environment else ''}" if len(environments) == 1 else ""


def named(tracking: Sequence[tuple[StateScope, int]], service: ConnectedService) -> str:
    """`12 resources of other on the same service`."""
    texts = []
    for scope, number in tracking:
        place = "the same service" if scope.service == service.identity else scope.service
        environment = f" in {scope.environment}" if scope.environment else ""
        texts.append(f"{count(number, 'resource')} of {scope.project}{environment} on {place}")
    return listed(texts, MOST_PROJECTS)


def to_create(operation: Operation, voice: Voice, project: Project, service: ConnectedService) -> Unseen | None:
    """The state that a command is about to create, if that requires consent; nothing is created here."""
    if origin(operation, project) is None:
        return None
    with open_store(operation, voice, project, service, create=False) as store:
        return unseen(operation, project, service, store)


def warn_unseen(
    operation: Operation, voice: Voice, project: Project, service: ConnectedService, store: Store, *, creator: str = Unseen.creator
) -> Unseen | None:
    """Warn if the state of an open store has never seen the project. `creator`: what creates it."""
    message = unseen(operation, project, service, store)
    if message is not None:
        voice.warn(str(replace(message, creator=creator)), id="RC-unseen-state")
    return message


@contextmanager
def known_state(operation: Operation, voice: Voice, project: Project) -> Iterator[Store | None]:
    """The state for a command that only reads it, with a warning if it has never seen the project; None if it cannot exist yet."""
    service = known_service(operation, voice, project)
    if service is None:
        voice.warn(NO_SANDBOX, id="RC-no-sandbox")
        yield None
        return
    with open_store(operation, voice, project, service, create=False) as store:
        warn_unseen(operation, voice, project, service, store)
        yield store


@contextmanager
def journal_for(operation: Operation, voice: Voice, project: Project, address: Address, *, command: str) -> Iterator[Journal]:
    """The journal of `command`, which changes an address. Raises `UsageError` if nothing can be tracked yet."""
    service = known_service(operation, voice, project)
    if service is None:
        voice.warn(NO_SANDBOX, id="RC-no-sandbox")
        raise not_tracked(address)
    with open_store(operation, voice, project, service, create=False) as reader:
        if warn_unseen(operation, voice, project, service, reader) is not None:
            raise not_tracked(address)
    with leased(operation, voice, project, service, command=command) as (_, journal):
        yield journal
        journal.finish(exit_code=exits.DONE, summary={})


def not_tracked(address: Address) -> UsageError:
    """The message about an address that is not tracked."""
    return UsageError(f"{address} is not tracked", id="RC-not-tracked", hint="reconciler state list shows the tracked addresses.")
