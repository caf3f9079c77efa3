"""What the state keeps of URLs, read and written through the store or the journal of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from reconciler.address import Address
from reconciler.features.urls.model.ledger import SiteLedger, UrlHistory, UrlRecord
from reconciler.features.urls.model.pages import PageTree
from reconciler.features.urls.model.redirects import Moves, RecordedUrls
from reconciler.features.urls.tables.ledger import (
    all_records,
    doubt_sites,
    forget_moves,
    moves_data,
    read_digests,
    read_history,
    read_recorded,
    read_urls,
    write_sites,
)
from reconciler.features.urls.tables.trees import read_trees, write_trees
from reconciler.state import Journal
from reconciler.state.connection import StoredTables


def page_trees(stored: StoredTables, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], PageTree]:
    """The trees of pages that were kept of these objects, of whichever revision."""
    return stored.stored(lambda connection, state: read_trees(connection, state, keys)) or {}


def url_digests(stored: StoredTables) -> Mapping[Address, str]:
    """What the recorded URLs of each site were computed from."""
    return stored.stored(read_digests) or {}


def recorded_urls(stored: StoredTables) -> RecordedUrls:
    """Every URL of the ledger with the page that it had last; and the moves of runs whose files were not written."""
    return stored.stored(read_recorded) or RecordedUrls()


def urls(stored: StoredTables, *, site: str | None = None, ended: bool = False) -> Iterator[UrlRecord]:
    """The records of the ledger in the order of URLs: those that answer, or those that `ended`; of one site, or of all."""

    def read(after: tuple[str, int]) -> list[UrlRecord]:
        return stored.stored(lambda connection, state: read_urls(connection, state, site=site, ended=ended, after=after)) or []

    return all_records(read)


def url_history(stored: StoredTables, url: str) -> UrlHistory:
    """What is known of one URL, in the spelling of the ledger."""
    return stored.stored(lambda connection, state: read_history(connection, state, url)) or UrlHistory(url)


# -- under the lease of a run ------------------------------------------------------------------------------------------------------------


def keep_trees(journal: Journal, trees: Mapping[tuple[str, str], PageTree | str]) -> None:
    """Keep the trees of pages that have a revision and are not kept yet, so that they need not be read again."""
    known = {key: tree for key, tree in trees.items() if isinstance(tree, PageTree) and tree.revision}
    kept = page_trees(journal, known) if known else {}
    if new := {key: tree for key, tree in known.items() if kept.get(key) != tree}:
        journal.store(lambda connection, state: write_trees(connection, state, new))


def doubt_urls(journal: Journal) -> None:
    """Let the ledger be in doubt, before a request that may change URLs; `record_urls` ends it."""
    journal.store(doubt_sites)


def record_urls(journal: Journal, sites: Mapping[Address, SiteLedger], gone: Collection[Address], at: datetime | None = None) -> int:
    """Record at which URLs the pages of sites answer now; returns how many began or ended. `gone`: sites that are no longer published.
    `at`: when that was seen; None: now."""
    seen = at.isoformat() if at is not None else journal.now()
    return journal.store(lambda connection, state: write_sites(connection, state, sites, gone, run=journal.run, at=seen))


def remember_moves(journal: Journal, moves: Moves, replaced: Mapping[str, str] = {}) -> None:
    """Remember which URLs this run moves that the ledger does not have, and what replaces what it stops to show, until somebody writes the
    files."""
    if moves or replaced:
        journal.add_to_summary(moves_data(moves, replaced))


def forget_remembered_moves(journal: Journal) -> None:
    """Forget which URLs runs moved: the files of redirects have them."""
    journal.add_to_summary({})
    journal.store(forget_moves, raises=False)
