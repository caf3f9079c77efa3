"""The ledger of published URLs in every sort of database: which answer, since when, which ended by which run; and that a run writes only
what changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from reconciler.address import Address
from reconciler.features.urls.model.ledger import CLOSED, SiteLedger
from reconciler.features.urls.model.pages import PageUrl
from reconciler.features.urls.model.redirects import FormerUrl, RecordedUrls
from reconciler.features.urls.tables import kept
from reconciler.state import StateScope, Store
from reconciler.text.escape import as_json
from tests.documents import valid
from tests.proofs import costly
from tests.state.conftest import OpenStore
from tests.state.examples import WHO

DOCS, BLOG = Address.parse("acme/site/docs"), Address.parse("acme/site/blog")
SPACE = Address.parse("acme/space/guides")
ROOT = "https://docs.example"


def site(digest: str, pages: Mapping[str, str] | None, *, of: Address = DOCS) -> SiteLedger:
    """A site whose pages answer at these paths."""
    urls = None if pages is None else tuple(PageUrl(f"{ROOT}{path}", page, page, SPACE, of) for path, page in pages.items())
    return SiteLedger(digest, urls)


def recorded(store: Store, sites: Mapping[Address, SiteLedger], *gone: Address, commit: str | None = None) -> tuple[str, int]:
    """The run that records these, and how many URLs began or ended."""
    with store.lease(**WHO) as journal:
        number = kept.record_urls(journal, sites, gone)
        journal.finish(exit_code=0, summary={"commit": commit} if commit else {})
    return journal.run, number


def paths(store: Store, *, ended: bool = False, of: str | None = None) -> list[str]:
    return [record.url.removeprefix(ROOT) for record in kept.urls(store, site=of, ended=ended)]


def test_a_run_records_what_began_and_what_ended(store: Store) -> None:
    first, number = recorded(store, {DOCS: site("1", {"/a": "p1", "/b": "p2", "/c": "p3"})})
    assert (number, paths(store)) == (3, ["/a", "/b", "/c"])
    second, number = recorded(store, {DOCS: site("2", {"/a": "p1", "/x": "p2"})}, commit="c" * 40)
    assert (number, paths(store), paths(store, ended=True)) == (3, ["/a", "/x"], ["/b", "/c"])
    moved, gone = kept.url_history(store, f"{ROOT}/b"), kept.url_history(store, f"{ROOT}/c")
    assert [(record.run, record.ender) for record in moved.records] == [(first, second)]
    assert ([record.url for record in moved.now], moved.commit) == ([f"{ROOT}/x"], "c" * 40)
    assert ([record.ender for record in gone.records], gone.now) == ([second], ())
    assert kept.url_history(store, f"{ROOT}/never").records == ()


def test_a_url_remembers_every_page_that_it_had(store: Store) -> None:
    runs = [
        recorded(store, {DOCS: site(str(number), pages)})[0] for number, pages in enumerate(({"/a": "p1"}, {}, {"/a": "p2"}, {"/b": "p2"}))
    ]
    history = kept.url_history(store, f"{ROOT}/a")
    assert [(record.page, record.run, record.ender) for record in history.records] == [("p2", runs[2], runs[3]), ("p1", runs[0], runs[1])]
    assert [record.url for record in history.now] == [f"{ROOT}/b"]


def test_an_unchanged_site_writes_nothing(store: Store) -> None:
    recorded(store, {DOCS: site("1", {"/a": "p1"})})
    assert kept.url_digests(store) == {DOCS: "1"}
    _, number = recorded(store, {DOCS: site("1", None)})
    assert (number, paths(store)) == (0, ["/a"])


def test_a_site_that_is_no_longer_published_ends_its_urls_alone(store: Store) -> None:
    recorded(store, {DOCS: site("1", {"/a": "p1"}), BLOG: site("1", {"/n": "p9"}, of=BLOG)})
    recorded(store, {DOCS: site("2", {"/a": "p1", "/n": "p9"})}, BLOG)
    assert (paths(store), paths(store, ended=True)) == (["/a", "/n"], ["/n"])
    assert kept.url_digests(store) == {DOCS: "2", BLOG: CLOSED}
    assert (paths(store, of="acme/site/blog", ended=True), paths(store, of="acme/site/blog")) == (["/n"], [])


def test_a_run_that_may_have_changed_urls_leaves_the_ledger_in_doubt_until_they_are_recorded(store: Store) -> None:
    recorded(store, {DOCS: site("1", {"/a": "p1"})})
    assert kept.recorded_urls(store) == RecordedUrls({f"{ROOT}/a": FormerUrl(DOCS, "p1")})
    with store.lease(**WHO) as journal:
        kept.doubt_urls(journal)
    assert (kept.recorded_urls(store), kept.url_digests(store)) == (RecordedUrls({f"{ROOT}/a": FormerUrl(DOCS, "p1")}), {DOCS: ""})
    recorded(store, {DOCS: site("2", {"/b": "p1"})})
    assert kept.recorded_urls(store) == RecordedUrls({f"{ROOT}/a": FormerUrl(DOCS, "p1", False), f"{ROOT}/b": FormerUrl(DOCS, "p1")})


def test_moves_are_remembered_until_the_files_of_redirects_have_them(store: Store) -> None:
    first, second = {f"{ROOT}/x": (DOCS, f"{ROOT}/y")}, {f"{ROOT}/y": (DOCS, f"{ROOT}/z"), f"{ROOT}/old": (DOCS, None)}
    with store.lease(**WHO) as journal:
        kept.remember_moves(journal, first)  # and is killed
    assert kept.recorded_urls(store) == RecordedUrls(moves=first)
    with store.lease(**WHO) as journal:
        kept.remember_moves(journal, second)
        journal.finish(exit_code=0, summary={"done": 1})
    assert kept.recorded_urls(store).moves == {**first, **second}
    with store.lease(**WHO) as journal:
        kept.forget_remembered_moves(journal)
        journal.finish(exit_code=0, summary={})
    assert not kept.recorded_urls(store)
    document = store.pull()
    assert document is not None
    assert [run["summary"] for run in document["runs"] if run["summary"]] == [{"done": 1}]


def test_the_ledger_raises_the_serial_because_a_push_would_lose_it(store: Store) -> None:
    serial = store.read().serial
    recorded(store, {DOCS: site("1", {"/a": "p1"})})
    assert store.read().serial > serial


@costly
def test_more_records_than_are_read_at_once_come_in_order(store: Store) -> None:
    recorded(store, {DOCS: site("1", {f"/{number:05}": f"p{number}" for number in range(45_000)})})
    records = paths(store)
    assert (len(records), records[0], records[-1], records == sorted(records)) == (45_000, "/00000", "/44999", True)


def test_pull_and_push_carry_the_ledger(store: Store, open_at: OpenStore, tmp_path: Path) -> None:
    recorded(store, {DOCS: site("1", {"/a": "p1", "/b": "p2"})})
    recorded(store, {DOCS: site("2", {"/a": "p1", "/x": "p2"})}, commit="c" * 40)
    document = json.loads(as_json(valid(store.pull(), "state")))
    assert [url["url"].removeprefix(ROOT) for url in document["urls"]] == ["/a", "/b", "/x"]
    elsewhere = open_at(f"sqlite:///{tmp_path}/elsewhere.db")
    with elsewhere.lease(who="ada@desk", command="state push") as journal:
        journal.replace(elsewhere.check(document))
    assert [*kept.urls(elsewhere), *kept.urls(elsewhere, ended=True)] == [*kept.urls(store), *kept.urls(store, ended=True)]
    assert kept.url_history(elsewhere, f"{ROOT}/b") == kept.url_history(store, f"{ROOT}/b")
    assert kept.url_digests(elsewhere) == kept.url_digests(store)


def test_a_state_that_gets_another_name_keeps_its_ledger(open_at: OpenStore, url: str) -> None:
    service = f"https://{uuid4()}"
    former, latter = (StateScope(f"{name}-{uuid4()}", None, service) for name in ("old", "new"))
    old, new = open_at(url, former), open_at(url, latter)
    recorded(old, {DOCS: site("1", {"/a": "p1"})})
    with new.renaming(former, **WHO) as journal:
        journal.rename()
    assert (paths(new), kept.url_digests(new)) == (["/a"], {DOCS: "1"})
