"""`reconciler state unlock`: show who holds the state, and take the lease from a run that hangs."""

from __future__ import annotations

from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.opening import service_of, store_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.errors import Locked, Refused, UsageError
from reconciler.kinds import load as load_kinds
from reconciler.run.connection.connecting import current_user, open_store, recording_end
from reconciler.run.connection.unseen import warn_unseen
from reconciler.state.lease import Condition, Holder
from reconciler.text.escape import terminal
from reconciler.text.names import HERE, clock_time_of

SHORTEST: Final = 8  # characters of a run's id that identify it
ONLY_SHOWS: Final = "Nothing was unlocked: without --force this command only shows who holds the state."


@click.command("unlock", short_help="Show who holds the state, or take the lease from a run that hangs.")
@shared.project()
@click.option("--force", metavar="RUN", allow_from_autoenv=False, help="Take the lease from this run; it can no longer write.")
@shared.service()
@shared.state()
@click.pass_obj
def command(screen: Screen, /, force: str | None, **parameters: Any) -> None:
    """Show who holds the state, since when and for how long. With --force RUN, take the lease from that run.
    This is only possible on PostgreSQL and in a bucket.

    You do not need this for a run that died: the lock of a file ends with its process, and a lease on a server or in a
    bucket expires after 90 seconds.

    \b
    Example:
      reconciler state unlock examples/acme --sandbox .reconciler/acme.db --state 'postgresql://ada@db.example/reconciler?sslmode=verify-full'
    """
    options = Options.of(screen, parameters)
    project = loaded(screen, options, load_kinds())
    service = service_of(screen, options, project)
    if service is None:
        screen.out("There is no state yet, and nothing to unlock.\n")
        return
    with store_of(screen, options, project, service) as store:
        warn_unseen(options.operation, TerminalVoice(screen), project, service, store)
        condition = store.condition()
    if condition.path is not None:
        _of_a_file(screen, condition, force)
        return
    if condition.holder is None:
        screen.out("Nobody holds the state; there is nothing to unlock.\n")
        return
    if force is None:
        screen.out(f"{_held(condition.holder)}, for another {condition.seconds:.0f} s unless it renews its lease.\n")
        again = options.command_line("state unlock")
        screen.say(f"{ONLY_SHOWS} If that run hangs and cannot be ended: {again} --force {condition.holder.run[:SHORTEST]}")
        return
    holder = _meant(condition.holder, force)
    with (
        open_store(options.operation, TerminalVoice(screen), project, service, create=True) as store,
        store.lease(who=current_user(), command=f"state unlock --force {holder.run[:SHORTEST]}", instead_of=holder.run) as journal,
        recording_end(journal),
    ):
        journal.finish(exit_code=exits.DONE, summary={})
    screen.out(f"The state is free. Run {holder.run[:SHORTEST]} of {_shown(holder.who)} can write nothing more to it.\n")
    screen.say("What that run sent last may still arrive; the next apply waits for it, and finds out what happened to it.")


def _of_a_file(screen: Screen, condition: Condition, force: str | None) -> None:
    """The state is a file, whose lock the kernel holds: it cannot be taken from its process."""
    if not condition.held:
        screen.out("Nobody holds the state. The lock of a file ends with its process, so there is nothing to unlock.\n")
        return
    holder = condition.holder
    whose = f"process {holder.pid}" if holder is not None and holder.pid is not None else "the process that holds it"
    way = f"End {whose}: the lock of a file ends with its process."
    says = _held(holder) if holder is not None else "Another process holds the state"
    if force is not None:
        raise Locked(f"{says[0].lower()}{says[1:]}, and a file's lock cannot be taken away", id="RC-file-lock", hint=way)
    screen.out(f"{says}.\n")
    screen.say(f"{ONLY_SHOWS} {way}")


def _held(holder: Holder) -> str:

    since = _shown(clock_time_of(holder.since, HERE))
    return f"{_shown(holder.who)} holds the state with run {_shown(holder.run)}, `{_shown(holder.command)}`, since {since}"


def _shown(text: str) -> str:

    return terminal(text)


def _meant(holder: Holder, force: str) -> Holder:
    """The holder, if its run has this id."""
    if len(force) < SHORTEST:
        wrong = f"--force {force} is too short to identify a run"
        raise UsageError(wrong, id="RC-run-id-too-short", hint=f"Pass the first {SHORTEST} characters of its id, or all.")
    if not holder.run.startswith(force):
        raise Refused(
            f"run {force} does not hold the state: {_held(holder)}", id="RC-not-the-holder", hint="reconciler state unlock shows who does."
        )
    return holder
