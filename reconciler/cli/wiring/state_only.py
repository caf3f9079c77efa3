"""Commands that change only what is remembered: the lease, and the journal that ends well where they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.address import Address
    from reconciler.cli.options import Options
    from reconciler.cli.terminal.screen import Screen
    from reconciler.state import Journal


@contextmanager
def changing(screen: Screen, options: Options, address: Address, *, command: str) -> Iterator[Journal]:
    """The journal of `command`, which is about an address. Raises `UsageError` where nothing can be bound yet."""
    from reconciler.cli import exits
    from reconciler.cli.wiring.connect import accounted, known_service, load, open_store, who
    from reconciler.cli.wiring.unseen import NO_SANDBOX, warned
    from reconciler.kinds import load as load_kinds

    project = load(screen, options, load_kinds())
    service = known_service(screen, options, project)
    if service is None:
        screen.warn(NO_SANDBOX)
        raise not_bound(address)
    with open_store(screen, options, project, service, create=False) as reader:
        if warned(screen, options, project, service, reader) is not None:
            raise not_bound(address)
    with (
        open_store(screen, options, project, service, create=True) as store,
        store.lease(who=who(), command=command) as journal,
        accounted(journal),
    ):
        yield journal
        journal.finish(exit_code=exits.DONE, summary={})


def not_bound(address: Address) -> UsageError:
    """What is said of an address that is not bound."""
    return UsageError(f"{address} is not tracked", hint="reconciler state list shows the tracked addresses.")
