"""What is written is what is read.

Outcomes that bind an address again: the state has what the last of them says, and only what it changes is written.
What a run was allowed to open holds for that run, continued or not, and for no other."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import Binding, Consent, Guards, Intent, Position, Rules, State
from reconciler.resource import UNSET
from reconciler.state import IntentEnding, Journal, StateScope, Store
from tests.proofs import costly, sampled, tries
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, LEGACY, NOW, SERVICE, START, WHO, at, binding, intent
from tests.state.strategies import bindings, intents
from tests.state.watched import watched

OFTEN = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def other_scope() -> StateScope:
    return StateScope(f"project-{uuid4()}", "staging", SERVICE)


@costly
@OFTEN
@given(bindings())
def test_bindings_come_back_as_they_were(open_store: OpenStore, written: list[Binding]) -> None:
    with open_store(other_scope()) as store, store.lease(**WHO) as journal:
        journal.remember(bind=written)
        assert store.read().bindings == {one.address: one for one in written}
        assert list(store.read().bindings) == sorted(one.address for one in written)


@OFTEN
@given(intents)
def test_intents_come_back_as_they_were(open_store: OpenStore, written: list[Intent]) -> None:
    with open_store(other_scope()) as store, store.lease(**WHO) as journal:
        numbered = journal.intend(written)
        assert numbered == tuple(replace(one, id=index, run=journal.run) for index, one in enumerate(written, 1))
        assert store.read().intents == numbered


def test_rules_are_remembered_whole_and_by_scope(store: Store, open_store: OpenStore) -> None:
    first = Rules(Guards(12.5, 3, 1), {"team": "none"}, frozenset({"site", "space"}))
    last = Rules(Guards(20, 0, 2), {"team": "all", "space": "owned"}, frozenset(), frozenset({"anyone mustNotSee acme/space/*"}))
    assert store.read().rules is None
    for rules in (first, last):
        with store.lease(**WHO) as journal:
            journal.remember_rules(rules)
            assert journal.state().rules == rules
    assert open_store(create=False).read().rules == last
    assert open_store(other_scope()).read().rules is None
    with pytest.raises(StateError):
        journal.remember_rules(first)
    assert store.read().rules == last


def test_null_is_a_value_and_unset_is_nothing(store: Store) -> None:
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding(sent={"icon": None, "title": UNSET}, seen={"icon": UNSET, "title": None})])
        journal.intend([intent(writes={"icon": None, "title": UNSET})])
    found = store.read()
    assert (found.bindings[GUIDES].sent, found.bindings[GUIDES].seen) == ({"icon": None}, {"title": None})
    assert found.intents[0].writes == {"icon": None}


def test_a_reading_store_sees_what_a_writing_one_wrote(store: Store, open_store: OpenStore) -> None:
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
        meanwhile = open_store(create=False).read()
        assert meanwhile == store.read()
        assert meanwhile.unfinished, "somebody else's run is under way"
        assert replace(meanwhile, unfinished=False) == journal.state()
        journal.finish(exit_code=0, summary={})
    store.close()
    assert open_store(create=False).read() == replace(meanwhile, unfinished=False, serial=meanwhile.serial + 1)


def test_a_scope_without_a_state_is_empty(store: Store, open_store: OpenStore) -> None:
    reader = open_store(StateScope("p", None, f"https://{uuid4()}"), create=False)
    assert reader.read() == State("", 0)
    assert reader.read().foreign == frozenset()


def test_lineage_and_key_stay_and_differ_between_states(store: Store, open_store: OpenStore) -> None:
    again, other = open_store(), open_store(other_scope())
    assert store.read().lineage == again.read().lineage != other.read().lineage
    assert store.digest_key() == again.digest_key() == open_store(create=False).digest_key() != other.digest_key()
    assert len(store.digest_key()) == 32


@pytest.mark.parametrize(
    "names",
    [
        pytest.param((("p", None, "s"), ("p", "staging", "s")), id="environment"),
        pytest.param((("p", None, "s"), ("q", None, "s")), id="project"),
        pytest.param((("p", None, "s"), ("p", None, "sandbox:1")), id="service"),
    ],
)
def test_two_scopes_never_meet(open_store: OpenStore, names: tuple[tuple[str, str | None, str], ...]) -> None:
    unique = str(uuid4())
    mine, theirs = (open_store(StateScope(project + unique, environment, service + unique)) for project, environment, service in names)
    for store, title in ((mine, "mine"), (theirs, "theirs")):
        with store.lease(**WHO) as journal:
            journal.remember(bind=[binding(sent={"title": title})])
            journal.intend([intent(writes={"title": title})])
    for store, title in ((mine, "mine"), (theirs, "theirs")):
        found = store.read()
        assert found.bindings == {GUIDES: binding(sent={"title": title})}
        assert [one.writes for one in found.intents] == [{"title": title}]
    with mine.lease(**WHO) as journal:
        journal.remember(forget=[GUIDES])
    assert GUIDES in theirs.read().bindings


def test_ids_tracked_by_others_on_the_same_service_are_foreign(open_store: OpenStore) -> None:
    service = f"https://{uuid4()}"
    mine = open_store(StateScope("p", None, service))
    for place, id in (
        (StateScope("p", "staging", service), "a"),
        (StateScope("q", None, service), "b"),
        (StateScope("q", None, service + "/2"), "c"),
    ):
        with open_store(place).lease(**WHO) as journal:
            journal.remember(bind=[binding(id=id)])
    with mine.lease(**WHO) as journal:
        journal.remember(bind=[binding(id="d")])
    assert mine.read().foreign == {("space", "a"), ("space", "b")}


def test_an_environment_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="an environment has a name"):
        StateScope("p", "", "s")


ADDRESSES = (GUIDES, START, LEGACY)
VALUES: tuple[Any, ...] = (1, True, None, [1])
Bound = dict[Address, Binding]


@contextmanager
def written() -> Iterator[dict[str, int]]:
    """How many rows each table got, by its name."""
    counts: dict[str, int] = {}

    def statement(_: Any, text: str, number: int) -> None:
        command, _, table, *_ = (*text.split(), "", "")
        if command in ("INSERT", "DELETE"):
            counts[table] = counts.get(table, 0) + number

    with watched(statement):
        yield counts


def settle(journal: Journal, **ending: Any) -> None:
    (begun,) = journal.intend([intent()])
    journal.settle([IntentEnding(begun.id, "done", **ending)])


def spelled(bound: Bound) -> dict[str, Any]:
    """All of each binding, where 1, True and 1.0 are different."""
    return {
        str(at): (
            found.kind,
            found.id,
            found.protected,
            found.place,
            *(json.dumps(part, sort_keys=True) for part in (found.sent, found.seen)),
        )
        for at, found in bound.items()
    }


def act(journal: Journal, model: Bound, kind: str, at: Address, other: Address, change: dict[str, Any]) -> Bound:
    """Do something to a state, and to what should be in it."""
    old = model.get(at)
    new = replace(old if old is not None else binding(at, id=str(uuid4())), **change)
    seen = {"a": change.get("protected", "seen")}
    merged = {at: replace(old, seen={**old.seen, **seen})} if old is not None else {}
    if kind == "bind":
        settle(journal, bind=(new,))
    elif kind == "bind twice":
        settle(journal, bind=(replace(new, sent={"a": "first", "d": 1}), new))
    elif kind == "forget and bind":
        settle(journal, forget=(at,), bind=(new,))
    elif kind == "remember":
        journal.remember(bind=[new])
    elif kind == "fail":
        with pytest.raises(StateError):
            settle(journal, bind=(new,), seen={Address.parse("acme/space/nothing"): {"a": 1}})
        return model
    elif kind == "forget":
        settle(journal, forget=(at,))
        return {address: found for address, found in model.items() if address != at}
    elif kind == "see" and old is not None:
        settle(journal, seen={at: seen})
        return model | merged
    elif kind == "bind and see":
        settle(journal, bind=(new,), seen={at: seen})
        return {**model, at: replace(new, seen={**new.seen, **seen})}
    elif kind == "note" and old is not None:
        journal.note(at, sent={}, seen=seen)
        return model | merged
    elif kind == "rename" and old is not None and other not in model:
        settle(journal, rename={at: other})
        return {
            other if address == at else address: replace(found, address=other) if address == at else found
            for address, found in model.items()
        }
    else:
        return model
    return {**model, at: new}


KINDS = ("bind", "bind", "bind", "bind twice", "forget and bind", "remember", "fail", "forget", "see", "bind and see", "note", "rename")


def changes(random: Random) -> dict[str, Any]:
    """What is different in a binding."""

    def fields() -> dict[str, Any]:
        return {name: random.choice(VALUES) for name in "abc" if random.random() < 0.7}

    all_changes = {"sent": fields(), "seen": fields(), "protected": random.random() < 0.5, "place": Position(at("acme"), 1)}
    return {name: change for name, change in all_changes.items() if random.random() < (0.5 if name in ("sent", "seen") else 0.1)}


@costly
@sampled
@pytest.mark.parametrize("seed", range(tries(40, 8)))
def test_whatever_happens_between_the_state_has_what_was_said_last(tmp_path: Path, seed: int) -> None:
    random, model = Random(seed), Bound()
    with (
        Store.open(f"sqlite:///{tmp_path}/state.db", StateScope("p", None, SERVICE), clock=CLOCK, create=True) as store,
        store.lease(**WHO) as journal,
    ):
        for _ in range(100):
            failed = journal._failed
            model = act(journal, model, random.choice(KINDS), random.choice(ADDRESSES), random.choice(ADDRESSES), changes(random))
            journal._failed = failed  # what failed on purpose must not refuse what follows
            assert spelled(dict(journal.state().bindings)) == spelled(model)


def test_of_a_binding_that_outcomes_write_again_only_the_fields_with_other_values_are_written(store: Store) -> None:
    with store.lease(**WHO) as journal:
        first = binding(sent={"a": 1, "b": [1], "c": 1}, seen={"a": 1, "d": 1})
        settle(journal, bind=(first,))
        with written() as counts:
            settle(journal, bind=(replace(first, sent={**first.sent, "a": 2}, seen={**first.seen, "e": 1}),))
        assert (counts.get("fields"), counts.get("bindings")) == (2, None)
        with written() as counts:
            settle(journal, bind=(replace(first, protected=True),))
        assert (counts["fields"], counts["bindings"]) == (4, 2)


OTHER = {"title": "other"}


@pytest.mark.parametrize(
    "between",
    [
        [{"seen": {GUIDES: OTHER}}],
        [{"forget": (GUIDES,)}],
        [{"rename": {GUIDES: START}}, {"bind": (binding(START, id="id-guides", seen=OTHER),)}, {"rename": {START: GUIDES}}],
        [{"bind": (binding(sent={"title": "a", "more": 1}),)}],
    ],
    ids=["a field was seen", "it was forgotten", "it had another address", "it had another field"],
)
def test_a_binding_is_what_the_last_outcome_says(store: Store, between: list[dict[str, Any]]) -> None:
    with store.lease(**WHO) as journal:
        for ending in ({"bind": (binding(),)}, *between, {"bind": (binding(),)}):
            settle(journal, **ending)
        assert journal.state().bindings == {GUIDES: binding()}
        document = store.pull()
        assert document is not None
        assert set(document["bindings"][0]["fields"]) == {"title"}


def test_after_anything_but_outcomes_a_binding_is_written_whole(store: Store) -> None:
    with store.lease(**WHO) as journal:
        settle(journal, bind=(binding(),))
        journal.remember(places={GUIDES: Position(at("acme"), 3)})
        settle(journal, bind=(binding(),))
        assert journal.state().bindings == {GUIDES: binding()}


PUBLISHED = Consent("acme/site/docs", "published", "", "", "", "true")
ACTIVE = Consent("acme/site/docs/share-link/p", "active", "anyone", "read", "é \0", '"hmac-sha256:0"')
APPLY, KILLED = "apply", -1


@pytest.fixture
def ticking_store(url: str) -> Iterator[Store]:
    """On a clock that goes on, because runs are told apart by when they began."""
    ticks = count()
    scope = StateScope(f"project-{uuid4()}", None, SERVICE)
    with Store.open(url, scope, clock=lambda: NOW + timedelta(seconds=next(ticks)), create=True) as opened:
        yield opened


def run(ticking_store: Store, code: int, *consents: Consent, command: str = APPLY, agreed: bool = True) -> None:
    """One run. `agreed`: it came as far as to be allowed anything."""
    with ticking_store.lease(who="ada", command=command) as journal:
        if agreed:
            journal.consented(consents)
        if code != KILLED:
            journal.finish(exit_code=code, summary={})


@pytest.mark.parametrize("code", [KILLED, 5, 130, 143])
def test_what_an_unfinished_run_was_allowed_is_read_by_the_next(ticking_store: Store, code: int) -> None:
    run(ticking_store, code, PUBLISHED, ACTIVE)
    assert ticking_store.read().consents == {PUBLISHED, ACTIVE}
    with ticking_store.lease(who="ada", command=APPLY) as journal:
        assert journal.state().consents == {PUBLISHED, ACTIVE}
        journal.consented([ACTIVE])
        assert journal.state().consents == {PUBLISHED, ACTIVE}, "its own are for the one after it"
    assert ticking_store.read().consents == {ACTIVE}


def test_a_run_that_came_to_its_end_leaves_none(ticking_store: Store) -> None:
    run(ticking_store, KILLED, PUBLISHED)
    run(ticking_store, 0, PUBLISHED)
    assert ticking_store.read().consents == frozenset()
    run(ticking_store, KILLED)
    assert ticking_store.read().consents == frozenset()


@pytest.mark.parametrize("code", [1, 3, 4, 6, KILLED])
def test_a_run_that_was_refused_or_killed_before_anybody_agreed_changes_nothing(ticking_store: Store, code: int) -> None:
    run(ticking_store, KILLED, PUBLISHED)
    run(ticking_store, code, agreed=False)
    assert ticking_store.read().consents == {PUBLISHED}


def test_a_command_about_the_state_changes_nothing(ticking_store: Store) -> None:
    run(ticking_store, KILLED, PUBLISHED)
    run(ticking_store, 0, command="state mv", agreed=False)
    assert ticking_store.read().consents == {PUBLISHED}


@pytest.mark.parametrize("code", [KILLED, 1, 5])
def test_what_the_next_run_does_not_want_any_more_is_over(ticking_store: Store, code: int) -> None:
    run(ticking_store, KILLED, PUBLISHED)
    run(ticking_store, code)
    run(ticking_store, KILLED)
    assert ticking_store.read().consents == frozenset()


def test_a_run_that_opens_nothing_and_continues_nothing_writes_nothing(ticking_store: Store) -> None:
    before = ticking_store.read().serial
    run(ticking_store, 0)
    assert ticking_store.read().serial == before + 1, "it recorded its end"


def test_another_project_is_allowed_nothing(ticking_store: Store, url: str) -> None:
    run(ticking_store, KILLED, PUBLISHED)
    with Store.open(url, StateScope(f"project-{uuid4()}", None, SERVICE), clock=lambda: NOW, create=True) as other:
        assert other.read().consents == frozenset()


@pytest.mark.parametrize("text", ["[", "1", '[["acme"]]', '[["acme","a","","","",1]]'])
def test_a_broken_row_is_said_to_be_broken(tmp_path: Path, text: str) -> None:
    with Store.open(f"sqlite:///{tmp_path}/state.db", StateScope("p", None, SERVICE), clock=lambda: NOW, create=True) as opened:
        run(opened, KILLED, PUBLISHED)
        with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
            connection.execute("UPDATE consents SET value = ?", (text,))
            connection.commit()
        with pytest.raises(StateError, match="what a run was allowed to open"):
            opened.read()
