"""A whole state as a document, put into another database: it is the same there, and nothing is lost that was there.

Old states are brought to today's tables, newer ones are left alone."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import Phase, given, settings

from reconciler.address import Address
from reconciler.errors import Locked, Refused, StateError, UsageError
from reconciler.model import Binding, Consent, Guards, Intent, Position, Rules, State
from reconciler.state import IntentEnding, StateScope, Store
from reconciler.state.connection import Connection, SqliteConnection
from reconciler.state.tables import migrations
from reconciler.text.escape import as_json
from tests.documents import valid
from tests.proofs import costly, sampled, spread, tries
from tests.state import server, strategies
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, LEGACY, NOW, SERVICE, START, WHO, at, binding, intent


@pytest.fixture
def scope() -> StateScope:
    """On a service of its own, where nothing belongs to others."""
    return StateScope(f"project-{uuid4()}", None, f"https://{uuid4()}")


@pytest.fixture
def elsewhere(open_at: OpenStore, tmp_path: Path) -> Store:
    """The same scope in another, empty database."""
    return open_at(f"sqlite:///{tmp_path}/elsewhere.db")


def fill(store: Store) -> Store:
    """One of everything: bindings with places, rules, turns, requests that are done, failed, in doubt and open."""
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding(), binding(START, place=Position(at("acme"), 1), protected=True)])
        journal.remember_rules(Rules(Guards(20.0, 3, 1), {"team": "all"}, frozenset({"site"})))
        done, failed, doubtful, _ = journal.intend([intent(), intent(), intent(LEGACY), intent(LEGACY, writes={"a": None})])
        journal.settle([IntentEnding(done.id, "done", bind=(binding(sent={"title": None}),), after={GUIDES: {"title": "b"}})])
        journal.settle([IntentEnding(failed.id, "failed", "no"), IntentEnding(doubtful.id, "in-doubt", "who knows")])
        journal.finish(exit_code=5, summary={"done": 1})
    return store


def document(store: Store) -> dict[str, Any]:
    """What a file would hold of it."""
    found = store.pull()
    assert found is not None
    again: dict[str, Any] = json.loads(as_json(found))
    assert again == found
    return valid(again, "state")


def push(store: Store, found: Any, *, force: bool = False) -> None:
    whole = store.check(found)
    with store.lease(who="ada", command="state push") as journal:
        journal.replace(whole, force=force)
        journal.finish(exit_code=0, summary={})


@costly
def test_what_is_pushed_is_what_was_pulled(store: Store, elsewhere: Store) -> None:
    before = document(fill(store))
    push(elsewhere, before)
    after = document(elsewhere)
    assert {**after, "runs": [one for one in after["runs"] if one["command"] != "state push"]} == before
    assert elsewhere.read() == store.read()
    (run,) = store.runs()
    assert run in elsewhere.runs()
    assert (elsewhere.entries(run.id), elsewhere.state_changes(run.id)) == (store.entries(run.id), store.state_changes(run.id))
    push(store, document(elsewhere))  # and back: the same state, further on
    assert store.read() == elsewhere.read()


def test_after_a_push_a_run_goes_on_with_the_next_numbers(store: Store, elsewhere: Store) -> None:
    push(elsewhere, document(fill(store)))
    with elsewhere.lease(**WHO) as journal:
        assert [one.id for one in journal.state().intents] == [3, 4]
        assert journal.intend([intent()])[0].id == 5
        journal.settle([IntentEnding(3, "recovered", bind=(binding(LEGACY),))])
        assert journal.state().serial == store.read().serial + 2


def test_the_key_of_the_digests_is_not_moved(store: Store, elsewhere: Store) -> None:
    text = as_json(document(fill(store)))
    key = elsewhere.digest_key()
    push(elsewhere, json.loads(text))
    assert elsewhere.digest_key() == key != store.digest_key()
    assert store.digest_key().hex() not in text


@given(bound=strategies.bindings(), intents=strategies.intents)
@sampled
@settings(max_examples=tries(20, 4), phases=[Phase.explicit, Phase.generate])  # a smaller example takes a server minutes to find
def test_every_binding_and_intent_survives_the_way_to_a_server_and_back(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory, bound: list[Binding], intents: list[Intent]
) -> None:
    folder, scope = tmp_path_factory.mktemp("carry"), StateScope(f"p-{uuid4()}", None, f"https://{uuid4()}")
    with ExitStack() as opened:
        urls = (f"sqlite:///{folder}/1.db", postgres_url, f"sqlite:///{folder}/2.db")
        stores = [opened.enter_context(Store.open(url, scope, clock=CLOCK, create=True)) for url in urls]
        with stores[0].lease(**WHO) as journal:
            journal.remember(bind=bound)
            journal.intend([replace(one, method="PATCH") for one in intents])
        push(stores[1], document(stores[0]))
        push(stores[2], document(stores[1]))
        assert stores[0].read() == stores[1].read() == stores[2].read()


# -- what is refused ------------------------------------------------------------------------------------------------------------------


def test_another_state_is_replaced_only_by_force(store: Store, elsewhere: Store) -> None:
    found = document(fill(store))
    with elsewhere.lease(**WHO) as journal:
        journal.remember(bind=[binding(LEGACY)])
    before = document(elsewhere)
    with pytest.raises(Refused, match="another state already exists: its lineage is"):
        push(elsewhere, found)
    assert document(elsewhere)["bindings"] == before["bindings"]
    push(elsewhere, found, force=True)
    assert elsewhere.read() == store.read()


def test_a_newer_state_and_one_that_went_another_way_are_replaced_only_by_force(store: Store, elsewhere: Store) -> None:
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    old = document(store)
    push(elsewhere, old)
    for one, address in ((store, START), (elsewhere, LEGACY)):
        with one.lease(**WHO) as journal:
            journal.remember(bind=[binding(address)])
    with pytest.raises(Refused, match="the existing state is newer: its serial is 2, the document's 1"):
        push(elsewhere, old)
    with pytest.raises(Refused, match="is recorded in the existing state, and the document does not contain it"):
        push(elsewhere, document(store))
    push(elsewhere, document(store), force=True)
    assert set(elsewhere.read().bindings) == {GUIDES, START}
    assert elsewhere.read().serial == 3  # no saved plan takes it for what was there


def test_a_document_of_any_moment_of_a_run_is_refused_once_the_run_has_recorded_more(store: Store) -> None:
    with store.lease(**WHO) as before:
        before.remember(bind=[binding()])
        before.finish(exit_code=0, summary={})
    moments = [document(store)]
    with store.lease(**WHO, run_id=str(uuid4())) as journal:
        (first,) = journal.intend([intent()])
        actions = (
            lambda: journal.consented(()),
            lambda: journal.carry_out("digest"),
            lambda: journal.settle([IntentEnding(first.id, "in-doubt")]),
            lambda: journal.settle([IntentEnding(first.id, "done", bind=(binding(START),))]),
            lambda: journal.intend([intent(LEGACY)]),
            lambda: journal.settle([IntentEnding(first.id + 1, "not-sent")]),
            lambda: journal.note_seen({START: {"title": "Seen"}}),
            lambda: journal.remember(protect={START: True}),
            lambda: journal.remember(forget=[START]),
            lambda: journal.finish(exit_code=0, summary={}),
        )
        for act in actions:
            moments.append(document(store))
            act()
    last = document(store)
    assert len({one["serial"] for one in moments}) == len(moments) - 1, "what is in no document raises nothing"
    for moment in moments:
        with pytest.raises(Refused, match="the existing state is newer"):
            push(store, moment)
    assert document(store)["requests"] == last["requests"]
    push(store, last)
    push(store, last)
    assert (document(store)["bindings"], document(store)["serial"]) == (last["bindings"], last["serial"])


def test_after_a_push_nobody_knows_what_an_apply_that_began_has_sent(store: Store) -> None:
    with store.lease(**WHO) as journal:
        journal.carry_out("digest")
        (first,) = journal.intend([intent()])
        journal.settle([IntentEnding(first.id, "done", bind=(binding(),))])
        middle = document(store)
        (second,) = journal.intend([intent(START)])
        journal.settle([IntentEnding(second.id, "failed", "no")])
    assert store.recorded_by("digest") == {str(GUIDES), str(START)}
    push(store, middle, force=True)
    assert store.recorded_by("digest") is None, "what the document does not have may have been sent"


def test_a_request_in_doubt_is_not_forgotten_even_by_force(store: Store, elsewhere: Store) -> None:
    found = document(store)
    fill(elsewhere)
    for force in (False, True):
        with pytest.raises(Refused, match="a request of acme/space/legacy is in doubt") as caught:
            push(elsewhere, found, force=force)
        assert "reconciler state forget acme/space/legacy --in-doubt" in str(caught.value.hint)
    assert len(elsewhere.read().intents) == 2


def test_a_state_that_is_held_is_not_replaced(store: Store, open_store: OpenStore) -> None:
    found = document(fill(store))
    with store.lease(**WHO), pytest.raises(Locked):
        push(open_store(), found)


def test_a_state_of_another_scope_is_refused(store: Store, open_store: OpenStore, scope: StateScope) -> None:
    found = document(fill(store))
    for other in (replace(scope, environment="live"), replace(scope, project="q"), replace(scope, service="sandbox:1")):
        with pytest.raises(UsageError, match=f"it is the state of {scope.project} on {scope.service}, and this is "):
            open_store(other).check(found)


def damage(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        *parts, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for part in parts:
            found = found[part]
        found[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (damage("serial", -1), "serial must be at least 0"),
        (damage("serial", 2**70), "serial must be at most 2147483647"),
        (damage("serial", True), "serial must be a whole number"),
        (damage("bindings.0.origin", "stolen"), "bindings[0].origin must be one of 'created', "),
        (damage("bindings.0.address", "a//"), "bindings[0].address is 'a//', which is not valid there"),
        (damage("bindings.0.address", "acme/space/guides\n"), "bindings[0].address is 'acme/space/guides"),
        (damage("bindings.1.address", "acme/space/guides"), "bindings: an entry is duplicated"),
        (damage("bindings.0.fields", []), "bindings[0].fields must be an object"),
        (damage("bindings.0.extra", 1), "bindings[0] has an unknown key 'extra'"),
        (damage("runs.0.started", "soon"), "runs[0].started must be a time with its zone, not 'soon'"),
        (damage("runs.0.started", "2026-01-01"), "runs[0].started must be a time with its zone, not '2026-01-01'"),
        (damage("runs", []), "runs: no run has the id"),
        (damage("known", {}), "known: no list is called"),
        (damage("requests.0.step", 2**40), "requests[0].step must be at most "),
        (damage("requests.0.known", "x"), "requests[0].known is 'x', which is not valid there"),
        (damage("requests.0.method", "GET"), "requests[0].method must be one of 'POST'"),
        (damage("requests.0.outcomes.0.status", "fine"), "requests[0].outcomes[0].status must be one of 'done'"),
        (damage("turns.0.what", "steal"), "turns[0].what must be one of"),
        (lambda found: found.pop("rules"), "the document has no 'rules'"),
        (damage("rules.guards", {"max_deleat": 1}), "the rules of the project cannot be read"),
    ],
)
def test_a_damaged_document_is_refused_and_the_place_is_named(tmp_path: Path, open_at: OpenStore, change: Any, says: str) -> None:
    store = fill(open_at(f"sqlite:///{tmp_path}/own.db"))
    found = copy.deepcopy(document(store))
    change(found)
    with pytest.raises(UsageError) as caught:
        store.check(found)
    assert says in str(caught.value)


RELEASED = sorted((Path(__file__).parent / "schemas").glob("*.sql"), key=lambda path: int(path.stem))
REMEMBERED = StateScope("acme-docs", "staging", SERVICE)
REMEMBERED_CONSENTS = frozenset({Consent("acme/site/docs", "published", "", "", "", "true")})
REMEMBERED_RULES = Rules(Guards(20.0, 3, 1), {"team": "all"}, frozenset({"site"}))


def load(dump: Path, into: Path) -> str:
    """A database as that release left it: one binding, one open intent, two runs."""
    with closing(sqlite3.connect(into)) as connection:
        connection.executescript(dump.read_text())
    return f"sqlite:///{into}"


def tables(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    return [(name, " ".join(sql.split())) for name, sql in rows]


def test_every_released_version_has_its_dump() -> None:
    assert [int(path.stem) for path in RELEASED] == list(range(1, len(migrations.MIGRATIONS) + 2))


@pytest.mark.parametrize("dump", RELEASED, ids=lambda path: f"version {path.stem}")
@pytest.mark.parametrize("create", [True, False])
def test_a_state_of_every_released_version_is_read_as_it_was(tmp_path: Path, dump: Path, create: bool) -> None:
    with Store.open(load(dump, tmp_path / "state.db"), REMEMBERED, clock=CLOCK, create=create) as store:
        assert store.read() == State(
            "3f6c1a52-6a0e-4d7a-9a35-1c2f6f0c9b11",
            1,
            {GUIDES: binding(seen={"title": None})},
            (intent(id=1, run="run-1"),),
            unfinished=True,  # its run was killed
            rules=REMEMBERED_RULES if int(dump.stem) >= 3 else None,
            consents=REMEMBERED_CONSENTS if int(dump.stem) >= 7 else frozenset(),
            fulfilled={Address.parse("acme/space/handbook"): GUIDES} if int(dump.stem) >= 8 else {},
        )
        assert store.digest_key() == bytes(range(32))


@pytest.mark.parametrize("dump", RELEASED, ids=lambda path: f"version {path.stem}")
def test_a_migrated_database_has_the_tables_of_a_new_one(tmp_path: Path, dump: Path) -> None:
    Store.open(load(dump, tmp_path / "old.db"), REMEMBERED, clock=CLOCK, create=True).close()
    Store.open(f"sqlite:///{tmp_path}/new.db", REMEMBERED, clock=CLOCK, create=True).close()
    assert tables(tmp_path / "old.db") == tables(tmp_path / "new.db")


LATER: tuple[tuple[str, ...], ...] = (
    ("befores", "afters"), ("rules",), ("turns",), ("approvals",), (), ("consents",), ("renames",), ("page_trees",),
    ("urls", "url_sites"),
)  # fmt: skip
"""The tables that each migration made."""


@pytest.fixture
def own_server(postgres_url: str) -> Iterator[str]:
    """A database of the test's own on the server."""
    with server.database(postgres_url) as url:
        yield url


def shape(url: str) -> list[Any]:
    """Columns, keys and indexes of every table on the server."""
    with psycopg.connect(url) as connection:
        return [
            *connection.execute(
                "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns"
                " WHERE table_schema = 'reconciler' ORDER BY table_name, ordinal_position"
            ),
            *connection.execute(
                "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'reconciler'::regnamespace ORDER BY 1, 2"
            ),
            *connection.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'reconciler' ORDER BY 1"),
        ]


@pytest.mark.parametrize("released", spread(range(1, len(migrations.MIGRATIONS) + 2), 3), ids=lambda number: f"version {number}")
def test_a_server_of_every_released_version_is_read_as_it_was_and_brought_to_todays_tables(released: int, own_server: str) -> None:
    assert len(LATER) == len(migrations.MIGRATIONS)
    with Store.open(own_server, REMEMBERED, clock=CLOCK, create=True) as store, store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
        journal.intend([intent()])
    new = shape(own_server)
    with psycopg.connect(own_server) as connection:
        for table in (name for names in LATER[released - 1 :] for name in names):
            connection.execute(f"DROP TABLE reconciler.{table}")
        connection.execute("UPDATE reconciler.reconciler_schema SET version = %s", (released,))
    old = shape(own_server)
    with Store.open(own_server, REMEMBERED, clock=CLOCK, create=False) as reader:
        before = reader.read()
    assert (before.bindings, len(before.intents)) == ({GUIDES: binding()}, 1)
    assert shape(own_server) == old  # a reading migrates nothing
    with Store.open(own_server, REMEMBERED, clock=CLOCK, create=True) as store:
        assert store.read() == before
    assert shape(own_server) == new


MEMBERS = """
INSERT INTO bindings VALUES(1,'acme','organization','org_acme','adopted',0,NULL,NULL);
INSERT INTO bindings VALUES(1,'acme/member/ada@acme.example','member','usr_ada','adopted',0,NULL,NULL);
INSERT INTO journal VALUES(1,3,'2026-11-18T10:30:00+00:00','run-1',8,'acme/member/ada@acme.example','member','update','PATCH',
    '/orgs/org_acme/members/usr_ada','usr_ada','{}','06394624f2cd704e4dd0d91ccd71790d2cf253c14308d9555bd2baeacda0df99',NULL,NULL,'{}','[]');
INSERT INTO outcomes VALUES(2,1,3,'2026-11-18T10:30:00+00:00','run-1','done',NULL,
    '{"acme":"org_acme","acme/member/ada@acme.example":"usr_ada"}','[]');
INSERT INTO turns VALUES(1,1,'2026-11-18T10:30:00+00:00','run-1','adopt','acme/member/ada@acme.example','member','usr_ada',NULL);
"""


def test_the_ids_of_members_come_to_say_whose_members_they_are(tmp_path: Path) -> None:
    path, ada = tmp_path / "state.db", "acme/member/ada@acme.example"
    url = load(RELEASED[4], path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(MEMBERS)
    read = Store.open(url, REMEMBERED, clock=CLOCK, create=False).read()  # migrated in memory
    with Store.open(url, REMEMBERED, clock=CLOCK, create=True) as store:
        assert store.read() == read
        assert {str(address): one.id for address, one in read.bindings.items()} == {
            "acme": "org_acme", ada: "org_acme/usr_ada", "acme/space/guides": "id-guides",
        }  # fmt: skip
        (sent,) = [one for one in store.entries("run-1") if str(one.intent.address) == ada]
        assert (sent.intent.target, sent.bound[Address.parse(ada)]) == ("org_acme/usr_ada", "org_acme/usr_ada")
        assert [one.id for one in store.state_changes("run-1")] == ["org_acme/usr_ada"]


def migrate(path: Path, *steps: migrations.Migration) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw, SqliteConnection(raw).transaction("BEGIN") as connection:
        migrations.prepare(connection, "the state", steps)


def add_a_column(connection: Connection) -> None:
    connection.run("ALTER TABLE runs ADD COLUMN note TEXT")


def fail(connection: Connection) -> None:
    raise ZeroDivisionError


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT version FROM reconciler_schema").fetchone()[0])


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    path, seen = tmp_path / "state.db", list[int]()
    load(RELEASED[0], path)
    steps = (lambda _: seen.append(1), lambda _: seen.append(2), lambda _: seen.append(3))
    migrate(path, *steps[:1])
    migrate(path, *steps)
    migrate(path, *steps)
    assert (seen, version_of(path)) == ([1, 2, 3], 4)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    load(RELEASED[0], path)
    before = tables(path)
    with pytest.raises(ZeroDivisionError):
        migrate(path, add_a_column, fail)
    assert (tables(path), version_of(path)) == (before, 1)


@pytest.mark.parametrize("create", [True, False])
def test_a_newer_state_is_left_alone(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "state.db"
    url = load(RELEASED[0], path)
    migrate(path, *[lambda _: None] * 98)
    before = path.read_bytes()
    with pytest.raises(StateError) as caught:
        Store.open(url, REMEMBERED, clock=CLOCK, create=create).read()
    ours = len(migrations.MIGRATIONS) + 1
    assert str(caught.value) == f"the state {path} was written by a newer version: its schema is 99, this version supports {ours}"
    assert caught.value.hint == migrations.NEWER_HINT
    assert path.read_bytes()[100:] == before[100:]


@pytest.mark.parametrize("sort", ["sqlite", "postgres"])
def test_reading_an_older_state_migrates_only_what_it_reads(
    sort: str, tmp_path: Path, request: pytest.FixtureRequest, open_at: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tomorrow's program on today's state."""
    url = f"sqlite:///{tmp_path}/state.db" if sort == "sqlite" else request.getfixturevalue("postgres_url")
    with open_at(url) as store, store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    tomorrow = (*migrations.MIGRATIONS, lambda connection: connection.run("UPDATE fields SET sent = '\"migrated\"'"))
    with monkeypatch.context() as later:
        later.setattr(migrations.is_current, "__defaults__", (tomorrow,))
        later.setattr(migrations.prepare, "__defaults__", (tomorrow,))
        assert open_at(url, create=False).read().bindings[GUIDES].sent == {"title": "migrated"}
    assert open_at(url, create=False).read().bindings[GUIDES].sent == {"title": "a"}


def test_the_open_intents_are_those_without_an_outcome_or_with_only_doubts(store: Store, tmp_path: Path, url: str) -> None:
    from reconciler.state import IntentEnding

    with store.lease(**WHO) as journal:
        numbered = journal.intend([intent(step=step) for step in range(5)])
        journal.settle([IntentEnding(one.id, "in-doubt") for one in numbered[:3]])
        journal.settle(
            [IntentEnding(numbered[0].id, "done"), IntentEnding(numbered[1].id, "in-doubt"), IntentEnding(numbered[3].id, "failed")]
        )
    assert [one.step for one in store.read().intents] == [1, 2, 4]
    assert store.read().intents[0].date == NOW
