"""How a command begins a run, and the questions that it asks people for it: a run asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from reconciler.address import Address
from reconciler.cli.loading import loaded
from reconciler.cli.option_table import ROWS
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.errors import Refused, UsageError
from reconciler.report.words import listed
from reconciler.resource import Kinds
from reconciler.run.connection.connecting import ConnectedService, connect, hosts_in_yaml, known_service, open_store
from reconciler.run.connection.leases import leased
from reconciler.run.connection.trust import NamedHost
from reconciler.run.connection.unseen import Unseen, journal_for, known_state, to_create
from reconciler.run.opened import Run
from reconciler.run.rules import JudgedProject
from reconciler.run.saved.use import SavedPlanUse, globs, opened as open_saved, use_of
from reconciler.state import Journal, Store
from reconciler.text.redact import of_urls


@contextmanager
def opened(
    screen: Screen, options: Options, *, create: bool = True, admit: Callable[[JudgedProject], None] = lambda judged_project: None
) -> Iterator[Run]:
    """A run, begun as `Run.open` begins it; hosts that only the YAML names are confirmed after `admit`."""

    def admitted(judged_project: JudgedProject) -> None:
        admit(judged_project)
        confirm_hosts(screen, options, judged_project.project)

    with Run.open(options.operation, TerminalVoice(screen), create=create, admit=admitted) as run:
        yield run


def confirm_hosts(screen: Screen, options: Options, project: Project, *, state: bool = True) -> None:
    """Ask about each host that only the YAML names, where somebody can be asked. `state`: also about the state's. Raises `UsageError` if
    one is not confirmed."""
    if screen.can_ask:
        for host in hosts_in_yaml(options.operation, project, state=state):
            confirm_host(screen, host)


def confirm_host(screen: Screen, host: NamedHost) -> None:
    """Ask about a host. Raises `UsageError` if it is not confirmed, or nobody can be asked."""
    if host.confirmed or not screen.can_ask:
        host.require()
        return
    screen.hide(of_urls([host.url]))
    screen.say(f"The YAML of {host.root} names {host.what} {host.shown}.")
    if not click.confirm("Trust it with your credentials from now on?", default=False, err=True):
        raise host.declined()
    host.remember()


def consented(screen: Screen, options: Options, new: Unseen | None, *, asks: bool) -> bool:
    """Whether no question about a new state is needed. Raises `Refused` if consent is required and nobody can be asked. `asks`: whether the
    command asks."""
    if new is None:
        return True
    if options.create_state:
        screen.say(f"Creating {new.where} for {new.project}.")
        return True
    if asks and screen.can_ask:
        return False
    hint = f"Correct {new.named} if that is the wrong address; or pass --create-state to create the state."
    raise Refused(f"{new.fact[0].lower()}{new.fact[1:].rstrip('.')}", id="RC-unseen-state", hint=hint)


def confirm_new_state(screen: Screen, options: Options, project: Project, service: ConnectedService) -> None:
    """Ask about a state that is about to be created, for a command that asks nothing else. Raises `Refused` without consent."""
    new = to_create(options.operation, TerminalVoice(screen), project, service)
    if not consented(screen, options, new, asks=True) and new is not None and not create_there(screen, new):
        raise Refused("the state was not created", id="RC-unseen-state", hint=f"Correct {new.named} if that is the wrong address.")


def create_there(screen: Screen, new: Unseen) -> bool:
    """The answer to the question whether a state is created."""
    screen.say(new.fact)
    return click.confirm("Create the state there?", default=False, err=True)


def saved_use(screen: Screen, options: Options, path: Path, *, commit: str | None = None) -> tuple[SavedPlanUse, Options]:
    """The use of a saved plan, and these options with the scope that it has. `commit`: the first digits of the commit it must be of.

    Raises `UsageError` where the options select addresses too, and what `opened` of `saved.use` raises.
    """
    if any(options.saved("scope").values()):
        scope = [f"--{row.name}" for row in ROWS if row.saved == "scope"]
        hint = f"Remove {listed(scope, len(scope))}."
        raise UsageError("--plan FILE already selects the addresses", id="RC-options-conflict", hint=hint)
    voice = TerminalVoice(screen)
    saved = open_saved(voice, path, commit=commit)
    options = options.with_scope(saved.document["options"], partial(globs, path))
    return use_of(voice, options.operation, saved), options


# -- for commands about the state or the service alone ------------------------------------------------------------------------------------


@contextmanager
def connected(
    screen: Screen, options: Options, project: Project | None, kinds: Kinds | None, *, create: bool = True
) -> Iterator[ConnectedService]:
    """The service, for a command that need not use the state; see `connect`."""
    if project is not None:
        confirm_hosts(screen, options, project, state=False)
    with connect(options.operation, TerminalVoice(screen), project, kinds, create=create) as service:
        yield service


def service_of(screen: Screen, options: Options, project: Project) -> ConnectedService | None:
    """The service without a request; see `known_service`."""
    confirm_hosts(screen, options, project)
    return known_service(options.operation, TerminalVoice(screen), project)


def store_of(screen: Screen, options: Options, project: Project, service: ConnectedService) -> Store:
    """The state, opened to be read."""
    confirm_hosts(screen, options, project)
    return open_store(options.operation, TerminalVoice(screen), project, service, create=False)


@contextmanager
def state_of(screen: Screen, options: Options, project: Project) -> Iterator[Store | None]:
    """The state for a command that only reads it; see `known_state`."""
    confirm_hosts(screen, options, project)
    with known_state(options.operation, TerminalVoice(screen), project) as store:
        yield store


@contextmanager
def leased_state(
    screen: Screen, options: Options, project: Project, service: ConnectedService, *, command: str
) -> Iterator[tuple[Store, Journal]]:
    """The state under its lease; see `leased`."""
    confirm_hosts(screen, options, project)
    with leased(options.operation, TerminalVoice(screen), project, service, command=command) as (store, journal):
        yield store, journal


@contextmanager
def journal_of(screen: Screen, options: Options, address: Address, *, command: str) -> Iterator[Journal]:
    """The journal of a command that changes an address; see `journal_for`."""
    project = loaded(screen, options, warn=False)  # warnings are about what the project declares, which is not asked for
    confirm_hosts(screen, options, project)
    with journal_for(options.operation, TerminalVoice(screen), project, address, command=command) as journal:
        yield journal
