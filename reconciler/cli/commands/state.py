"""`reconciler state list`, `show` and `forget`: the tracked objects; `mv`, `pull`, `push` and `unlock` have their own modules."""

from __future__ import annotations

from typing import Any

import click

from reconciler import exits
from reconciler.address import Address, bare
from reconciler.cli import completion, options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.opening import journal_of, state_of
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, LazyGroup
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import State
from reconciler.report.documents import binding_document, bindings_document
from reconciler.report.layout import table
from reconciler.report.words import HIDDEN, shown
from reconciler.resource import UNSET, Kinds
from reconciler.run.connection.unseen import not_tracked
from reconciler.run.loading import load_settings
from reconciler.state import IntentEnding

command = LazyGroup(
    name="state",
    commands_by_name={
        "list": Lazy(f"{__name__}:list_command", "List tracked objects: address, kind, id."),
        "show": Lazy(f"{__name__}:show_command", "Show what the state records about an address."),
        "mv": Lazy(
            "reconciler.cli.commands.state_mv",
            "Move what is tracked to another address, or from another project name or environment.",
            (exits.REFUSED, exits.LOCKED),
        ),
        "forget": Lazy(f"{__name__}:forget_command", "Stop managing an address, or close its requests in doubt.", (exits.LOCKED,)),
        "pull": Lazy("reconciler.cli.commands.state_carry:pull_command", "Export the state as one JSON document.", (exits.REFUSED,)),
        "push": Lazy("reconciler.cli.commands.state_carry:push_command", "Import an exported state.", (exits.REFUSED, exits.LOCKED)),
        "unlock": Lazy(
            "reconciler.cli.commands.state_unlock",
            "Show who holds the state, or take the lease from a run that hangs.",
            (exits.REFUSED, exits.LOCKED),
        ),
    },
    short_help="Inspect and change the state.",
    help="""Inspect and change the state: the object at each address, what was sent, and what was seen after it.

    \b
    Example:
      reconciler state list examples/acme --sandbox .reconciler/acme.db
    """,
)


@click.command("list", short_help="List tracked objects: address, kind, id.")
@shared.project()
@shared.service()
@shared.state()
@shared.output(formats=("text", "json"))
@click.pass_obj
def list_command(screen: Screen, /, **parameters: Any) -> None:
    """List tracked objects: address, kind, id.

    \b
    Example:
      reconciler state list examples/acme --sandbox .reconciler/acme.db
    """
    options = Options.of(screen, parameters)
    state = _tracked(screen, options)
    if options.format == "json":
        screen.document(bindings_document(state))
    elif state.bindings:
        rows = ((str(address), binding.kind, bare(binding.id)) for address, binding in sorted(state.bindings.items()))
        screen.out(table([("address", "kind", "id"), *rows]))
    else:
        screen.say("Nothing is tracked yet. reconciler apply tracks what it creates and adopts.")


@click.command("show", short_help="Show what the state records about an address.")
@click.argument("address", callback=shared.address, shell_complete=completion.addresses)
@shared.project()
@shared.service()
@shared.state()
@shared.output(formats=("text", "json"))
@click.pass_obj
def show_command(screen: Screen, /, address: Address, **parameters: Any) -> None:
    """Show what the state records about an address: its object, and for each field what was sent and what was seen after it.

    \b
    Example:
      reconciler state show acme/site/docs examples/acme --sandbox .reconciler/acme.db
    """
    options = Options.of(screen, parameters)
    state, kinds = _read(screen, options)
    binding = state.bindings.get(address)
    if binding is None:
        raise not_tracked(address)
    kind = kinds.get(binding.kind)
    fields = {}
    for name in dict.fromkeys([*binding.sent, *binding.seen]):
        hidden = kind is not None and name in kind.fields and kind.fields[name].sensitive
        pair = (binding.sent.get(name, UNSET), binding.seen.get(name, UNSET))
        fields[name] = (HIDDEN, HIDDEN) if hidden else pair
    if options.format == "json":
        screen.document(binding_document(binding, fields))
        return
    rows = [("address", str(address)), ("kind", binding.kind), ("id", bare(binding.id)), ("origin", binding.origin.value)]
    rows.append(("protected", "yes" if binding.protected else "no"))
    if binding.place is not None:
        rows.append(("place", f"{binding.place.index + 1} in {binding.place.parent}"))
    screen.out(table(rows))
    if fields:
        lines = [
            ("field", "sent", "seen"),
            *((name, shown(sent), "the same" if sent == seen else shown(seen)) for name, (sent, seen) in fields.items()),
        ]
        screen.out("\n" + table(lines))


@click.command("forget", short_help="Stop managing an address, or close its requests in doubt.")
@click.argument("address", callback=shared.address, shell_complete=completion.addresses)
@shared.project()
@click.option(
    "--in-doubt", is_flag=True, allow_from_autoenv=False, help="Close its requests in doubt as not done; the object stays tracked."
)
@shared.service()
@shared.state()
@shared.lease()
@click.pass_obj
def forget_command(screen: Screen, /, address: Address, in_doubt: bool, **parameters: Any) -> None:
    """Stop managing an address and every address below it. Sends no requests: the objects are not deleted, and become unmanaged.

    \b
    Example:
      reconciler state forget acme/team/writers examples/acme --sandbox .reconciler/acme.db
    """
    with journal_of(screen, Options.of(screen, parameters), address, command="state forget") as journal:
        state = journal.state()
        if in_doubt:
            addresses = [intent.address for intent in state.intents if intent.address == address]
            if not addresses:
                raise UsageError(f"no request of {address} is in doubt", id="RC-not-in-doubt", hint="reconciler plan shows what is.")
            why = "closed by hand as not done"
            journal.settle([IntentEnding(intent.id, "failed", why) for intent in state.intents if intent.address == address])
            screen.out(f"{address} is no longer in doubt.\n")
        else:
            addresses = [binding for binding in state.bindings if binding == address or binding.is_within(address)]
            if not addresses:
                raise not_tracked(address)
            journal.remember(forget=addresses)
            screen.out("".join(f"{name} is no longer managed ({bare(state.bindings[name].id)}).\n" for name in sorted(addresses)))


def _read(screen: Screen, options: Options) -> tuple[State, Kinds]:

    kinds = load_kinds()
    project = loaded(screen, options, kinds)
    with state_of(screen, options, project) as store:
        return store.read() if store is not None else State("", 0), kinds


def _tracked(screen: Screen, options: Options) -> State:
    """The state, for what it tracks: nothing of the project but its settings is read for that."""
    project = load_settings(options.operation, TerminalVoice(screen))
    with state_of(screen, options, project) as store:
        return store.read() if store is not None else State("", 0)
