"""The ledger of published URLs as rows of the tables, and back.

In: a connection inside a transaction, and what a run sees of sites. Out: rows that changed; or records. A URL that answers has one row
without an end. Forbidden: transactions, deciding what is public.

Only what differs is written: a site whose digest is recorded costs one row read, whatever its size.

`+state` in a statement keeps SQLite, which has no statistics, from reading every URL of a state by the primary key instead of an index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.urls.model.ledger import CLOSED, SiteLedger, UrlHistory, UrlRecord
from reconciler.features.urls.model.redirects import FormerUrl, Moves, RecordedUrls
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import damaged, mapping, to_json

BATCH: Final = 10_000  # URLs of one statement
PAGE: Final = 20_000  # records that are read at once


def read_digests(connection: Connection, state: int) -> dict[Address, str]:
    """What the recorded URLs of each site were computed from."""
    return {Address.parse(row.site): row.digest for row in connection.rows("SELECT * FROM url_sites WHERE state = :state", state=state)}


def doubt_sites(connection: Connection, state: int) -> None:
    """Let the ledger be in doubt until the URLs of each site are recorded again."""
    connection.run("UPDATE url_sites SET digest = '' WHERE state = :state", state=state)


def write_sites(
    connection: Connection, state: int, sites: Mapping[Address, SiteLedger], gone: Collection[Address], *, run: str, at: str
) -> int:
    """Record what a run sees of sites; `gone`: sites that are no longer published. Returns how many URLs began or ended."""
    number = 0
    for site, ledger in {**sites, **dict.fromkeys(gone, SiteLedger(CLOSED, ()))}.items():
        if ledger.urls is not None:
            number += _write(connection, state, str(site), {url.url: url.page for url in ledger.urls}, run=run, at=at)
        statement = f"{insert('url_sites')} ON CONFLICT (state, site) DO UPDATE SET digest = excluded.digest"
        connection.run(statement, state=state, site=str(site), digest=ledger.digest)
    return number


def _write(connection: Connection, state: int, site: str, pages: Mapping[str, str], *, run: str, at: str) -> int:
    query = "SELECT url, page FROM urls WHERE site = :site AND +state = :state AND ended IS NULL"
    known = dict(connection.execute(query, {"state": state, "site": site}).fetchall())
    ended = sorted(url for url, page in known.items() if pages.get(url) != page)
    begun = sorted(url for url, page in pages.items() if known.get(url) != page)
    end = "UPDATE urls SET ended = :at, ender = :run WHERE state = :state AND site = :site AND ended IS NULL AND url IN :urls"
    for start in range(0, len(ended), BATCH):
        connection.run(end, state=state, site=site, at=at, run=run, urls=ended[start : start + BATCH])
    same = {"state": state, "since": at, "site": site, "run": run, "ended": None, "ender": None}
    last = "SELECT url, max(number) FROM urls WHERE state = :state AND url IN :urls GROUP BY url"
    for start in range(0, len(begun), BATCH):
        some = begun[start : start + BATCH]
        times = dict(connection.execute(last, {"state": state, "urls": some}).fetchall())
        connection.run_all(insert("urls"), [{**same, "url": url, "number": times.get(url, 0) + 1, "page": pages[url]} for url in some])
    return len(ended) + len(begun)


def read_recorded(connection: Connection, state: int) -> RecordedUrls:
    """Every URL of the ledger with the page that it had last; and the moves of runs whose files were not written."""
    return RecordedUrls(_read_public(connection, state), _read_moves(connection, state), _read_replaced(connection, state))


MOVES: Final = "moves"  # in the summary of a run
REPLACED: Final = "replaced"
WHAT: Final = "the URLs that a run moves"
_MOVING: Final = (
    f"SELECT id, summary FROM runs WHERE state = :state AND (summary LIKE '%\"{MOVES}\":%' OR summary LIKE '%\"{REPLACED}\":%')"
    " ORDER BY started, id"
)
_SUMMARY: Final = "UPDATE runs SET summary = :text WHERE state = :state AND id = :run"


def moves_data(moves: Moves, replaced: Mapping[str, str]) -> dict[str, Any]:
    """Moves, and what is replaced, as they are in the summary of a run; empty for none."""
    moving = {MOVES: {url: [str(site), to] for url, (site, to) in sorted(moves.items())}} if moves else {}
    return {**moving, REPLACED: dict(sorted(replaced.items()))} if replaced else moving


def forget_moves(connection: Connection, state: int) -> None:
    """Forget what all runs moved and replaced: the files have it."""
    for row in connection.rows(_MOVING, state=state):
        kept = {key: value for key, value in mapping(row.summary, WHAT).items() if key not in (MOVES, REPLACED)}
        connection.run(_SUMMARY, state=state, run=row.id, text=to_json(kept, WHAT))


def _read_moves(connection: Connection, state: int) -> Moves:
    moves: dict[str, tuple[Address, str | None]] = {}
    for row in connection.rows(_MOVING, state=state):
        try:
            some = mapping(row.summary, WHAT).get(MOVES, {})
            moves |= {str(url): (Address.parse(site), None if to is None else str(to)) for url, (site, to) in some.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise damaged(WHAT) from error
    return moves


def _read_replaced(connection: Connection, state: int) -> dict[str, str]:
    replaced: dict[str, str] = {}
    for row in connection.rows(_MOVING, state=state):
        try:
            replaced |= {str(url): str(to) for url, to in mapping(row.summary, WHAT).get(REPLACED, {}).items()}
        except AttributeError as error:
            raise damaged(WHAT) from error
    return replaced


def _read_public(connection: Connection, state: int) -> dict[str, FormerUrl]:
    query = "SELECT url, site, page, ended IS NULL FROM urls WHERE state = :state ORDER BY url, number"
    sites: dict[str, Address] = {}
    recorded = {}
    for url, site, page, is_live in connection.execute(query, {"state": state}).fetchall():
        if site not in sites:
            sites[site] = Address.parse(site)
        recorded[url] = FormerUrl(sites[site], page, bool(is_live))
    return recorded


def read_urls(connection: Connection, state: int, *, site: str | None, ended: bool, after: tuple[str, int] = ("", 0)) -> list[UrlRecord]:
    """Records in the order of URLs, at most `PAGE` of them. `after`: the URL and the number of the last one before."""
    of_site, over = ("AND site = :site" if site is not None else ""), ("NOT NULL" if ended else "NULL")
    query = (
        f"SELECT * FROM urls WHERE state = :state AND ended IS {over} {of_site} AND (url > :url OR (url = :url AND number > :number))"
        f" ORDER BY url, number LIMIT {PAGE}"
    )
    rows = connection.rows(query, state=state, url=after[0], number=after[1], **({"site": site} if site is not None else {}))
    return [_record(row) for row in rows]


def read_history(connection: Connection, state: int, url: str) -> UrlHistory:
    """What is known of one URL."""
    rows = connection.rows("SELECT * FROM urls WHERE state = :state AND url = :url ORDER BY number DESC", state=state, url=url)
    if not rows:
        return UrlHistory(url)
    query = "SELECT * FROM urls WHERE page = :page AND +state = :state"
    of_page = sorted(map(_record, connection.rows(query, state=state, page=rows[0].page)), key=lambda record: (record.url, record.number))
    now = tuple(record for record in of_page if record.ended is None)
    ends = {record.ended for record in of_page if record.ended is not None}
    end = max(ends) if ends and not now else None
    last = tuple(record for record in of_page if end is not None and record.ended == end)
    summary = connection.value("SELECT summary FROM runs WHERE state = :state AND id = :run", state=state, run=rows[0].ender or rows[0].run)
    commit = mapping(summary, "the summary of a run").get("commit") if summary else None
    records = tuple(map(_record, rows))
    last = () if records[0].ended == end else last
    return UrlHistory(url, records, now, last, commit if isinstance(commit, str) else None)


def _record(row: Any) -> UrlRecord:
    try:
        ended = None if row.ended is None else datetime.fromisoformat(row.ended)
        site, since = Address.parse(row.site), datetime.fromisoformat(row.since)
        return UrlRecord(row.url, row.number, site, row.page, since, row.run, ended, row.ender)
    except (TypeError, ValueError) as error:
        raise damaged(f"the record of {row.url!r}") from error


def all_records(read: Callable[[tuple[str, int]], Sequence[UrlRecord]]) -> Iterator[UrlRecord]:
    """All records, a page at a time. `read`: returns those after a record's URL and number."""
    after = ("", 0)
    while records := read(after):
        yield from records
        if len(records) < PAGE:
            return
        after = (records[-1].url, records[-1].number)
