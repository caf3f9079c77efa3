"""The ledger of published URLs, which is in the state: opened, and asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from reconciler.config import Project
from reconciler.errors import UsageError
from reconciler.features.urls.model.ledger import UrlHistory
from reconciler.features.urls.redirects.required import recorded_url
from reconciler.features.urls.tables import kept
from reconciler.run.connection.unseen import known_state
from reconciler.run.operation import Operation
from reconciler.run.voice import Voice
from reconciler.state import Store
from reconciler.text.names import did_you_mean

NOTHING: Final = "No published URLs are recorded. An apply of a project with urls: in its file records them."


@contextmanager
def ledger(operation: Operation, voice: Voice, project: Project) -> Iterator[Store]:
    """The state to read. Raises `UsageError` if there is none."""
    with known_state(operation, voice, project) as store:
        if store is None:
            raise UsageError("there is no state yet, and so no ledger of URLs", id="RC-url-not-recorded", hint=NOTHING)
        yield store


def recorded(store: Store, url: str) -> UrlHistory:
    """What the ledger knows of a URL. Raises `UsageError` where that is nothing."""
    history = kept.url_history(store, recorded_url(url))
    if history.records:
        return history
    hint = "The ledger begins with the first apply of a project with urls: in its file."
    if not kept.url_digests(store):
        hint = NOTHING
    raise UsageError(f"{url} was never public, as far as the ledger knows", id="RC-url-not-recorded", hint=hint)


def site_of(store: Store, name: str | None) -> str | None:
    """The address of a site of the ledger by its key or address. Raises `UsageError` for one that it does not have."""
    if name is None:
        return None
    sites = sorted(kept.url_digests(store))
    chosen = [site for site in sites if name in (str(site), site.key)]
    if len(chosen) == 1:
        return str(chosen[0])
    if chosen:
        raise UsageError(f"{name} names {len(chosen)} sites", id="RC-url-not-recorded", hint=f"Pass one of: {', '.join(map(str, chosen))}")
    known = did_you_mean(name, [site.key for site in sites])
    raise UsageError(f"the ledger has no site {name}{known}", id="RC-url-not-recorded", hint="reconciler urls list shows what it has.")
