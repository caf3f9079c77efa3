"""Whatever the service answers in place of the truth: nothing is made or deleted for it, and nothing is called deleted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

import pytest

from reconciler.address import Address
from reconciler.errors import ReconcilerError, Refused
from reconciler.kinds import load as kinds
from reconciler.model import Action, State
from reconciler.plan.matching.missing import AT_LEAST, SHARE
from reconciler.resource import One
from tests.features.drift.outside import plan_and_drift
from tests.proofs import costly, sampled, spread, stride
from tests.storms import STORMS, Record, Recorded, example

T = TypeVar("T")
WRITING = {Action.CREATE, Action.DELETE, Action.REPLACE, Action.FORGET}
UNLISTED_TWICE = {name for name, kind in kinds().items() if not any(isinstance(each, One) for each in kind.reads)}


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Record:
    record = example(tmp_path_factory.mktemp("acme"))
    made, drift = plan_and_drift(record, Recorded(record.answers))
    assert made.empty
    assert drift.resources == ()
    return record


def some(cases: Iterable[T], storm: str, push: int = 11) -> list[T]:
    """Every case; on a push every so manieth, others for each storm: together the storms meet all of them."""
    step = stride(push)
    return [*cases][list(STORMS).index(storm) % step :: step]


def endured(record: Record, storm: str, strikes: Callable[[str, int], bool]) -> str:
    """Plan through a storm and hold that nothing is proposed because of it; what was said."""
    transport = Recorded(record.answers, STORMS[storm], strikes)
    try:
        made, drift = plan_and_drift(record, transport)
    except ReconcilerError as error:
        return error.message or pytest.fail("it was refused without a word")
    written = {change.address for change in made.changes if WRITING & set(change.actions)}
    deleted = {one.address for one in drift.resources if one.status == "deleted"}
    believed = {address for address in written | deleted if believable(record, storm, transport, address)}
    assert written | deleted <= believed | {address for address in deleted if address.container in believed}, storm
    assert len({address for address in believed if address.container not in believed}) <= max(
        AT_LEAST, int(SHARE * len(record.state.bindings))
    )
    assert not [change for change in made.changes if {Action.DELETE, Action.REPLACE, Action.FORGET} & set(change.actions)]
    return "; ".join(gap.reason for gap in made.unknown)


def believable(record: Record, storm: str, transport: Recorded, address: Address) -> bool:
    """Whether the service said twice that it is gone: by its id, or by two lists that say they are complete where there is no other way."""
    binding = record.state.bindings[address]
    if storm == "404":
        return any(path.rsplit("/", 1)[-1] == binding.id for path in transport.struck)
    return storm in ("empty", "cut without a word") and binding.kind in UNLISTED_TWICE


@costly
@sampled
@pytest.mark.parametrize("storm", spread(list(STORMS), 4))
def test_one_path_alone_that_answers_strangely_makes_nothing(acme: Record, storm: str) -> None:
    for path in some(acme.answers, storm):
        endured(acme, storm, lambda asked, number, path=path: asked == path)


@sampled
@pytest.mark.parametrize("storm", spread(list(STORMS), 4))
def test_a_storm_over_everything_from_any_request_on_makes_nothing(acme: Record, storm: str) -> None:
    for start in some(range(1, len(acme.answers) + 3), storm):
        endured(acme, storm, lambda asked, number, start=start: number >= start)


@sampled
@pytest.mark.parametrize("storm", spread(list(STORMS), 4))
def test_a_storm_over_all_readings_of_one_kind_makes_nothing(acme: Record, storm: str) -> None:
    for last in some(sorted({path.rsplit("/", 1)[-1] for path in acme.answers}), storm, push=4):
        endured(acme, storm, lambda asked, number, last=last: asked.endswith(last) or f"/{last}/" in asked)


@pytest.mark.parametrize("storm", ["401", "403", "404", "500"])
def test_where_nothing_answers_the_first_reason_is_said(acme: Record, storm: str) -> None:
    assert f"answered {storm}" in endured(acme, storm, lambda asked, number: True)


@sampled
@pytest.mark.parametrize("storm", spread(sorted(set(STORMS) - {"empty", "cut without a word"}), 3))
def test_without_tracked_objects_an_unreadable_one_is_not_created(acme: Record, storm: str) -> None:
    unbound = replace(acme, state=State(acme.state.lineage, 0))
    calm, _ = plan_and_drift(unbound, Recorded(unbound.answers))
    made_anyway = {change.address for change in calm.changes if Action.CREATE in change.actions}
    for path in some(acme.answers, storm):
        try:
            made, _ = plan_and_drift(unbound, Recorded(unbound.answers, STORMS[storm], lambda asked, number, path=path: asked == path))
        except ReconcilerError:
            continue
        assert {change.address for change in made.changes if Action.CREATE in change.actions} <= made_anyway, path


def test_a_service_that_forgot_everything_below_the_organization_is_refused_with_the_way_past_it(acme: Record) -> None:
    def forgotten(path: str, number: int) -> bool:
        return path.count("/") > 2

    answers = {path: (status, _emptied(body) if forgotten(path, 0) else body) for path, (status, body) in acme.answers.items()}
    answers = {path: one for path, one in answers.items() if path == "/orgs/org_acme" or b'"items"' in one[1]}
    with pytest.raises(Refused) as caught:
        plan_and_drift(acme, Recorded(answers))
    assert "looks like an outage or a change of the token's permissions" in caught.value.message
    number = int(str(caught.value.hint).rsplit(" ", 1)[-1])
    made, _ = plan_and_drift(acme, Recorded(answers), accept=number)
    assert any(Action.CREATE in change.actions for change in made.changes) or made.blocked
    with pytest.raises(Refused):
        plan_and_drift(acme, Recorded(answers), accept=number - 1)


def _emptied(body: bytes) -> bytes:
    document = json.loads(body)
    return json.dumps({**document, "items": [], "count": 0}).encode() if "items" in document else body
