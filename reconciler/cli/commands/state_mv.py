"""`reconciler state mv`: bind an address's object, and all below it, to another address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reconciler.address import bare
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.screen import Screen
from reconciler.errors import Refused, UsageError

if TYPE_CHECKING:
    from reconciler.address import Address
    from reconciler.model import State


@click.command("mv", short_help="Bind an address's object to another address.")
@click.argument("old", metavar="FROM", callback=shared.address)
@click.argument("new", metavar="TO", callback=shared.address)
@shared.project()
@shared.service()
@shared.state()
@click.pass_obj
def command(screen: Screen, /, old: Address, new: Address, **words: Any) -> None:
    """Bind what FROM is bound to, and all below it, to TO instead. Nothing is sent; rename the key in the YAML too.

    \b
    Example:
      reconciler state mv acme/team/writers acme/team/authors examples/acme --sandbox .reconciler/acme.db
    """
    from reconciler.cli.remembered import changing
    from reconciler.state.renames import after

    with changing(screen, Options.of(screen, words), old, command="state mv") as journal:
        state = journal.state()
        rename = renamed(state, old, new)
        journal.remember(rename=rename, fulfilled={**after(state.fulfilled, rename), old: new})
    screen.out("".join(f"{to} is bound to {bare(state.bindings[at].id)} (was {at}).\n" for at, to in sorted(rename.items())))


def renamed(state: State, old: Address, new: Address) -> dict[Address, Address]:
    """The new address of everything at and below the old one. Raises `UsageError` and `Refused` with the way past them."""
    from reconciler.address import Address
    from reconciler.cli.remembered import not_bound

    if old not in state.bindings:
        raise not_bound(old)
    if old.kind != new.kind:
        raise UsageError(
            f"{old} is a {old.kind or 'root'}, and {new} names a {new.kind or 'root'}",
            hint="An object keeps its kind; only keys and containers change.",
        )
    if old == new:
        raise UsageError(f"{old} is where it is already", hint="Name another address.")
    if new.is_within(old):
        raise UsageError(f"{new} lies below {old}", hint="Move what lies between them first.")
    container = new.container
    if container is not None and container not in state.bindings:
        raise UsageError(f"{container} is not bound, so that nothing can be bound below it", hint="reconciler state list shows what is.")
    doubtful = next((one.address for one in state.intents if one.address == old or one.address.is_within(old)), None)
    if doubtful is not None:
        raise Refused(f"a request of {doubtful} is in doubt", hint="reconciler apply reads what became of it.")
    moves = {at: Address(new.parts + at.parts[len(old.parts) :]) for at in state.bindings if at == old or at.is_within(old)}
    taken = next((to for to in sorted(moves.values()) if to in state.bindings and to not in moves), None)
    if taken is not None:
        raise Refused(
            f"{taken} is bound already, to {bare(state.bindings[taken].id)}", hint=f"Let go of it first: reconciler state forget {taken}"
        )
    return moves
