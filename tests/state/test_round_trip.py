"""What is written is what is read."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from reconciler.errors import StateError
from reconciler.model import Binding, Guards, Intent, Rules, State
from reconciler.resource import UNSET
from reconciler.state import StateScope, Store
from tests.state.conftest import OpenStore
from tests.state.examples import GUIDES, SERVICE, WHO, binding, intent
from tests.state.strategies import bindings, intents

OFTEN = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def other_scope() -> StateScope:
    return StateScope(f"project-{uuid4()}", "staging", SERVICE)


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
    assert open_store(create=False).read() == replace(meanwhile, unfinished=False)


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
