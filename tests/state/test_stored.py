"""Outcomes that bind an address again: the state has what the last of them says, and only what it changes is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from reconciler.address import Address
from reconciler.errors import StateError
from reconciler.model import Binding, Position
from reconciler.state import IntentEnding, Journal, StateScope, Store
from tests.proofs import sampled, tries
from tests.state.examples import CLOCK, GUIDES, LEGACY, SERVICE, START, WHO, at, binding, intent
from tests.state.watched import watched

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
