"""`reconciler state mv`: track an object, and all objects below it, at another address; or rename a whole project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.address import bare
from reconciler.cli import completion
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused, UsageError

if TYPE_CHECKING:
    from reconciler.address import Address
    from reconciler.model import State


@click.command("mv", short_help="Move what is tracked to another address, or from another project name.")
@click.argument("words", metavar="{FROM TO | --project OLD} [PROJECT]", nargs=-1, shell_complete=completion.addresses)
@click.option(
    "--project",
    "old",
    metavar="OLD",
    allow_from_autoenv=False,
    help="Move everything that the project OLD tracked, with its history, to this project.",
)
@shared.project_words()
@shared.service()
@shared.state()
@click.pass_obj
def command(screen: Screen, /, words: tuple[str, ...], old: str | None, **more: Any) -> None:
    """Move what the state tracks at FROM, and at every address below it, to TO. Sends no requests; rename the key in the YAML too.

    With --project OLD, after `project:` was renamed in the YAML: move everything that the project called OLD tracked in this database, on
    the same service and in the same environment, to the new name, with its history. Nothing is sent.

    \b
    Examples:
      reconciler state mv acme/team/writers acme/team/authors examples/acme --sandbox .reconciler/acme.db
      reconciler state mv --project acme-handbook examples/acme --sandbox .reconciler/acme.db
    """
    from reconciler.cli.wiring.state_only import journal_for
    from reconciler.state.tables.renames import after

    ctx = click.get_current_context()
    most = 1 if old is not None else 3
    if not most - 1 <= len(words) <= most:
        given = "--project OLD [PROJECT]" if old is not None else "FROM TO [PROJECT]"
        raise click.UsageError(f"it takes {given}", ctx=ctx)
    project = Path(words[-1]) if len(words) == most else shared.nearest_project(ctx)
    options = Options.of(screen, {**more, "project": project})
    if old is not None:
        rename_project(screen, options, old)
        return
    param = next(param for param in ctx.command.params if param.name == "words")
    source, target = (shared.address(ctx, param, word) for word in words[:2])
    with journal_for(screen, options, source, command="state mv") as journal:
        state = journal.state()
        rename = renamed(state, source, target)
        journal.remember(rename=rename, fulfilled={**after(state.fulfilled, rename), source: target})
    screen.out("".join(f"{to} now tracks {bare(state.bindings[at].id)} (was {at}).\n" for at, to in sorted(rename.items())))


def rename_project(screen: Screen, options: Options, old: str) -> None:
    """Rename the state of the project `old` to this project's name. Raises `UsageError` and `Refused` with the remedy."""
    from reconciler.cli import exits
    from reconciler.cli.wiring.connect import current_user, known_service, load, open_store, recording_end
    from reconciler.cli.wiring.unseen import NO_SANDBOX, named
    from reconciler.kinds import load as load_kinds
    from reconciler.report.words import count

    project = load(screen, options, load_kinds())
    service, new = known_service(screen, options, project), project.settings.project
    if old == new:
        wrong = f"the project is already called {new}"
        raise UsageError(wrong, id="RC-project-already-named", hint="Rename it in the YAML first (project: …), then name the old one here.")
    if service is None:
        raise UsageError(NO_SANDBOX, id="RC-no-sandbox")
    with open_store(screen, options, project, service, create=False) as store:
        others = [(scope, number) for scope, number in store.tracking() if scope.project != new or scope.service != service.identity]
    if not any((scope.project, scope.environment, scope.service) == (old, options.env or None, service.identity) for scope, _ in others):
        where = f" in {options.env}" if options.env else ""
        hint = f"The state tracks {named(others, service)}." if others else "It tracks nothing of another project. Is --state right?"
        raise UsageError(
            f"this state tracks nothing of a project called {old}{where} on {service.where}", id="RC-nothing-tracked", hint=hint
        )
    with (
        open_store(screen, options, project, service, create=True) as store,
        store.renaming(old, who=current_user(), command=f"state mv --project {old}") as journal,
        recording_end(journal),
    ):
        journal.rename()
        journal.finish(exit_code=exits.DONE, summary={})
        tracked, runs = len(journal.state().bindings), len(store.runs()) - 1
    screen.out(f"The project {old} is now called {new}: {count(tracked, 'resource')} and {count(runs, 'run')} were moved.\n")
    screen.say(f"Next: {options.command_line('plan')}")


def renamed(state: State, old: Address, new: Address) -> dict[Address, Address]:
    """The new address of everything at and below the old one. Raises `UsageError` and `Refused` with the remedy."""
    from reconciler.address import Address
    from reconciler.cli.wiring.state_only import not_tracked

    if old not in state.bindings:
        raise not_tracked(old)
    if old.kind != new.kind:
        wrong = f"{old} is a {old.kind or 'root'}, and {new} names a {new.kind or 'root'}"
        raise UsageError(wrong, id="RC-another-kind", hint="An object keeps its kind; only keys and containers change.")
    if old == new:
        raise UsageError(f"{old} is already at that address", id="RC-nothing-to-move", hint="Name another address.")
    if new.is_within(old):
        raise UsageError(f"{new} is below {old}", id="RC-moved-into-itself", hint="Move the resources between them first.")
    container = new.container
    if container is not None and container not in state.bindings:
        wrong = f"{container} is not tracked, so nothing below it can be"
        raise UsageError(wrong, id="RC-not-tracked", hint="reconciler state list shows the tracked addresses.")
    doubtful = next((intent.address for intent in state.intents if intent.address == old or intent.address.is_within(old)), None)
    if doubtful is not None:
        raise Refused(f"a request of {doubtful} is in doubt", id="RC-in-doubt", hint="reconciler apply finds out what happened to it.")
    moves = {at: Address(new.parts + at.parts[len(old.parts) :]) for at in state.bindings if at == old or at.is_within(old)}
    taken = next((to for to in sorted(moves.values()) if to in state.bindings and to not in moves), None)
    if taken is not None:
        wrong = f"{taken} already tracks {bare(state.bindings[taken].id)}"
        raise Refused(wrong, id="RC-already-tracked", hint=f"Stop managing it first: reconciler state forget {taken:sh}")
    return moves
