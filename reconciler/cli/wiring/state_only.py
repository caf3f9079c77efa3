"""Commands that change the state and nothing else: they hold the lease, and record the end of their run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reconciler.address import Address
from reconciler.cli import exits
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.connect import current_user, known_service, load, open_store, recording_end
from reconciler.cli.wiring.unseen import NO_SANDBOX, warn_unseen
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.state import Journal


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
