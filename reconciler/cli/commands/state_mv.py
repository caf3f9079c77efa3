"""`reconciler state mv`: track an object, and all objects below it, at another address; or rename a whole project or environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.address import Address, bare
from reconciler.cli import completion, options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.opening import journal_of, service_of, store_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.errors import Refused, UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import State
from reconciler.model.state import StateScope
from reconciler.report.words import count
from reconciler.run.connection.connecting import current_user, open_store, recording_end, state_scope
from reconciler.run.connection.leases import waited
from reconciler.run.connection.unseen import NO_SANDBOX, has_environment, named, not_tracked
from reconciler.state.tables.rows import after

SHORT_HELP: Final = "Move what is tracked to another address, or from another project name or environment."


@click.command("mv", short_help=SHORT_HELP)
@click.argument("arguments", metavar="{FROM TO | --project OLD | --from-env OLD} [PROJECT]", nargs=-1, shell_complete=completion.addresses)
@click.option(
    "--project",
    "old",
    metavar="OLD",
    allow_from_autoenv=False,
    help="Move everything that the project OLD tracked, with its history, to this project.",
)
@click.option(
    "--from-env",
    "former_env",
    metavar="OLD",
    allow_from_autoenv=False,
    help="Move everything that the environment OLD tracked, with its history, to this environment. '' for the state without environments.",
)
@shared.reading()
@shared.service()
@shared.state()
@shared.lease()
@click.pass_obj
def command(screen: Screen, /, arguments: tuple[str, ...], old: str | None, former_env: str | None, **parameters: Any) -> None:
    """Move what the state tracks at FROM, and at every address below it, to TO. Sends no requests; rename the key in the YAML too.

    With --project OLD, after `project:` was renamed in the YAML: move everything that the project called OLD tracked in this database, on
    the same service and in the same environment, to the new name, with its history. With --from-env OLD, after environments/OLD.yaml was
    renamed: the same for what the environment OLD tracked. Nothing is sent.

    \b
    Examples:
      reconciler state mv acme/team/writers acme/team/authors examples/acme --sandbox .reconciler/acme.db
      reconciler state mv --project acme-handbook examples/acme --sandbox .reconciler/acme.db
      reconciler state mv --from-env staging --env preview
    """
    ctx = click.get_current_context()
    whole = old is not None or former_env is not None
    most = 1 if whole else 3
    if not most - 1 <= len(arguments) <= most:
        option = "--project" if old is not None else "--from-env"
        given = f"{option} OLD [PROJECT]" if whole else "FROM TO [PROJECT]"
        raise click.UsageError(f"it takes {given}", ctx=ctx)
    project = Path(arguments[-1]) if len(arguments) == most else shared.nearest_project(ctx)
    options = Options.of(screen, {**parameters, "project": project})
    if whole:
        rename_scope(screen, options, old, former_env)
        return
    param = next(param for param in ctx.command.params if param.name == "arguments")
    source, target = (shared.address(ctx, param, word) for word in arguments[:2])
    with journal_of(screen, options, source, command="state mv") as journal:
        state = journal.state()
        rename = renamed(state, source, target)
        journal.remember(rename=rename, fulfilled={**after(state.fulfilled, rename), source: target})
    screen.out("".join(f"{to} now tracks {bare(state.bindings[at].id)} (was {at}).\n" for at, to in sorted(rename.items())))


def rename_scope(screen: Screen, options: Options, old: str | None, former_env: str | None) -> None:
    """Give the state of the project `old` or of the environment `former_env`, None for the same, the names of this project and environment.

    Raises `UsageError` and `Refused` with the remedy.
    """
    project = loaded(screen, options, load_kinds())
    service = service_of(screen, options, project)
    if service is None:
        raise UsageError(NO_SANDBOX, id="RC-no-sandbox")
    scope = state_scope(options.operation, project, service)
    environment = scope.environment if former_env is None else former_env or None
    former = StateScope(old or scope.project, environment, scope.service)
    if former == scope:
        raise _already_named(scope, by_project=old is not None)
    if former_env and has_environment(project.settings.root, former_env):
        hint = f"Rename environments/{former_env}.yaml to environments/{scope.environment or 'NEW'}.yaml first, or delete it."
        raise UsageError(f"the environment {former_env} still exists, and its state belongs to it", id="RC-environment-exists", hint=hint)
    with store_of(screen, options, project, service) as store:
        others = [(tracked, number) for tracked, number in store.tracking() if tracked != scope]
    if not any(tracked == former for tracked, _ in others):
        where = f" in {former.environment}" if former.environment else " without environments" if former_env is not None else ""
        hint = f"The state tracks {named(others, service)}." if others else "It tracks nothing of another project. Is --state right?"
        raise UsageError(
            f"this state tracks nothing of a project called {former.project}{where} on {service.where}", id="RC-nothing-tracked", hint=hint
        )
    given = {"--project": old, "--from-env": former_env}
    command = " ".join(["state mv", *(f"{name} {value or repr('')}" for name, value in given.items() if value is not None)])
    with (
        open_store(options.operation, TerminalVoice(screen), project, service, create=True) as store,
        waited(options.operation, TerminalVoice(screen), lambda: store.renaming(former, who=current_user(), command=command)) as journal,
        recording_end(journal),
    ):
        journal.rename()
        journal.finish(exit_code=exits.DONE, summary={})
        tracked, runs = len(journal.state().bindings), len(store.runs()) - 1
    moved = f"{count(tracked, 'resource')} and {count(runs, 'run')} were moved"
    if old is not None:
        screen.out(f"The project {former.named} is now called {scope.named}: {moved}.\n")
    else:
        to = f"the environment {scope.environment}" if scope.environment else "the project without environments"
        screen.out(f"What {former.named} tracked is now tracked by {to}: {moved}.\n")
    screen.say(f"Next: {options.command_line('plan')}")


def _already_named(scope: StateScope, *, by_project: bool) -> UsageError:
    """The error where the former name is the present one."""
    if by_project:
        hint = "Rename it in the YAML first (project: …), then name the old one here."
        return UsageError(f"the project is already called {scope.project}", id="RC-project-already-named", hint=hint)
    hint = "Rename the file environments/OLD.yaml first; then pass its new name as --env NEW, and the old one as --from-env OLD."
    name = f"the environment is already called {scope.environment}" if scope.environment else "the project has no environments already"
    return UsageError(name, id="RC-project-already-named", hint=hint)


def renamed(state: State, old: Address, new: Address) -> dict[Address, Address]:
    """The new address of everything at and below the old one. Raises `UsageError` and `Refused` with the remedy."""
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
