"""The graph of steps: orders that respect every edge, and schedules that never run a step too soon.

Deletions along with a node is gone with it, also while a list may lag.
What applying a plan takes, before anybody agrees to it."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from reconciler.address import Address
from reconciler.model import (
    Actual,
    Allowance,
    Binding,
    Declared,
    Desired,
    Forecast,
    Observed,
    Origin,
    Plan,
    PlanCost,
    Position,
    ServiceSpeed,
    Source,
    State,
    Step,
)
from reconciler.plan.forecast import OWN_WORK, forecast, longest_path
from reconciler.plan.matching.match import match
from reconciler.plan.steps.graph import Cycle, Edges, Schedule, ordered
from reconciler.report.plan import forecast_text
from tests.command_line import Cli, applied_project, initialised
from tests.effort import within
from tests.harness import kinds
from tests.proofs import costly

Graph = dict[int, Edges]


@st.composite
def graphs(draw: st.DrawFn, *, size: int = 12) -> Graph:
    """Random graphs without a cycle, numbered and listed in any order."""
    names = draw(st.permutations(range(draw(st.integers(0, size)))))
    result = {}
    for index, name in enumerate(names):
        earlier = st.frozensets(st.sampled_from(names[:index]), max_size=4) if index else st.just(frozenset[int]())
        result[name] = Edges(needs=draw(earlier), after=draw(earlier))
    return {name: result[name] for name in draw(st.permutations(names))}


def need_transitively(nodes: Graph, failed: int) -> set[int]:
    result: set[int] = set()
    while more := {node for node, edges in nodes.items() if edges.needs & (result | {failed})} - result:
        result |= more
    return result


@given(graphs())
def test_every_node_comes_after_those_that_it_waits_for(nodes: Graph) -> None:
    order = ordered(nodes)
    assert sorted(order) == sorted(nodes)
    for node, edges in nodes.items():
        assert all(order.index(other) < order.index(node) for other in edges.all)


@given(graphs())
def test_the_order_of_the_mapping_does_not_show(nodes: Graph) -> None:
    assert ordered(dict(sorted(nodes.items()))) == ordered(nodes)


@given(graphs())
def test_of_the_possible_next_nodes_the_smallest_rank_comes_first(nodes: Graph) -> None:
    rank = {node: (node % 3,) for node in nodes}
    placed: set[int] = set()
    for node in ordered(nodes, rank):
        assert (rank[node], node) == min(
            (rank[other], other) for other, edges in nodes.items() if other not in placed and edges.all <= placed
        )
        placed.add(node)
    assert ordered(nodes, rank) == ordered(nodes, rank.__getitem__)


@given(graphs(), st.data())
def test_a_cycle_is_named_by_nodes_that_each_wait_for_the_next(nodes: Graph, data: st.DataObject) -> None:
    if not nodes:
        return
    chosen = data.draw(st.lists(st.sampled_from(sorted(nodes)), min_size=1, max_size=4, unique=True))
    for node, other in zip(chosen, [*chosen[1:], chosen[0]], strict=True):
        nodes[node] = Edges(needs=nodes[node].needs, after=nodes[node].after | {other})
    with pytest.raises(Cycle) as caught:
        ordered(nodes)
    cycle = caught.value.nodes
    assert len(set(cycle)) == len(cycle)
    for node, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        assert other in nodes[node].all


@pytest.mark.parametrize(
    ("waits", "expected", "why"),
    [
        ({1: {1}}, (1,), "a node that waits for itself"),
        ({1: {2}, 2: {1}, 3: {1}}, (1, 2), "3 only hangs on the cycle"),
        ({1: {2}, 2: {3}, 3: {1, 4}, 4: {2}}, (1, 2, 3), "of equal ones the one with the smaller numbers"),
        ({1: {2}, 2: {3, 1}, 3: {1}}, (1, 2), "the shorter of two through the same nodes"),
        ({1: {2}, 2: {3}, 3: {2}}, (2, 3), "1 waits for the cycle but is not on it"),
    ],
)
def test_the_cycle_is_short_and_begins_with_its_smallest_number(waits: dict[int, set[int]], expected: tuple[int, ...], why: str) -> None:
    with pytest.raises(Cycle) as caught:
        Schedule({node: Edges(needs=frozenset(others)) for node, others in waits.items()})
    assert caught.value.nodes == expected, why
    assert str(caught.value) == f"steps wait for each other: {' -> '.join(map(str, (*expected, expected[0])))}"


def test_an_edge_to_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="step 1 waits for 2, which is not a step"):
        ordered({1: Edges(after=frozenset({2}))})


@given(graphs(), st.data())
def test_a_schedule_runs_each_step_when_its_edges_allow_and_skips_exactly_what_needs_a_failure(nodes: Graph, data: st.DataObject) -> None:
    schedule = Schedule(nodes)
    running: set[int] = set()
    succeeded: set[int] = set()
    failed: set[int] = set()
    skipped: set[int] = set()
    while not schedule.done:
        ready = schedule.ready()
        ended = succeeded | failed | skipped
        allowed = {node for node, edges in nodes.items() if edges.needs <= succeeded and edges.after <= ended} - ended - running
        assert set(ready) == allowed
        assert list(ready) == [node for node in ordered(nodes) if node in allowed]
        if ready and (not running or data.draw(st.booleans())):
            node = data.draw(st.sampled_from(ready))
            schedule.start(node)
            running.add(node)
            continue
        node = data.draw(st.sampled_from(sorted(running)))
        running.remove(node)
        if data.draw(st.booleans()):
            assert set(schedule.succeed(node)) == set(schedule.ready()) - set(ready)
            succeeded.add(node)
        else:
            more = schedule.fail(node)
            assert set(more) == need_transitively(nodes, node) - skipped
            failed.add(node)
            skipped.update(more)
    assert not running
    assert succeeded | failed | skipped == set(nodes)
    assert skipped == set().union(*(need_transitively(nodes, node) for node in failed))


def test_what_comes_after_a_failure_runs_and_what_needs_it_does_not() -> None:
    schedule = Schedule(
        {1: Edges(), 2: Edges(needs=frozenset({1})), 3: Edges(after=frozenset({2})), 4: Edges(frozenset({2}), frozenset({1}))}
    )
    schedule.start(1)
    assert schedule.fail(1) == (2, 4)
    assert schedule.ready() == (3,)


def test_a_schedule_without_steps_is_done() -> None:
    assert Schedule({}).done
    assert Schedule({}).ready() == ()


def test_a_step_reported_out_of_turn_is_refused() -> None:
    schedule = Schedule({1: Edges(), 2: Edges(needs=frozenset({1}))})
    with pytest.raises(ValueError, match="step 2 cannot be started: it is waiting"):
        schedule.start(2)
    with pytest.raises(ValueError, match="step 1 cannot be ended: it is ready"):
        schedule.succeed(1)
    with pytest.raises(ValueError, match="step 7 cannot be started: it is unknown"):
        schedule.start(7)
    schedule.start(1)
    with pytest.raises(ValueError, match="step 1 cannot be started: it is running"):
        schedule.start(1)
    assert schedule.succeed(1) == (2,)
    with pytest.raises(ValueError, match="step 1 cannot be ended: it is succeeded"):
        schedule.fail(1)


@costly
@pytest.mark.parametrize("reach", [1, 10_000])
def test_ten_thousand_steps_take_less_than_two_seconds(reach: int) -> None:
    nodes = {
        node: Edges(needs=frozenset({max(0, node - reach)}), after=frozenset(range(max(0, node - 5), node) if reach == 1 else ()))
        for node in range(1, 10_000)
    }
    nodes[0] = Edges()

    def run() -> None:
        schedule = Schedule(nodes)
        ready = list(schedule.ready())
        while ready:
            node = ready.pop()
            schedule.start(node)
            ready += schedule.succeed(node)
        assert schedule.done
        chain = Schedule(nodes)
        chain.start(0)
        assert len(chain.fail(0)) == 9_999
        assert chain.done

    within(2, run)


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SITE = Address.parse("acme/site/docs")
SECTION, SPACE = SITE.child("section", "guides"), SITE.child("site-space", "start")
LINE = Source("reconciler.yaml", 1, 1)


@pytest.mark.parametrize(("recent", "gone"), [({SPACE}, {SECTION, SPACE}), ({SECTION, SPACE}, set())])
def test_a_new_site_space_is_deleted_with_its_section(recent: set[Address], gone: set[Address]) -> None:
    declared = {at: Declared(at, at.kind or "organization", {}, LINE, at.container, "sites", 0) for at in (SITE.root, SITE)}
    bindings = {
        at: Binding(at, at.kind or "organization", f"id-{at.key}", Origin.CREATED, place=Position(parent, 0) if parent else None)
        for at, parent in ((SITE.root, None), (SITE, None), (SECTION, SITE), (SPACE, SECTION))
    }
    objects = {
        "organization": {"id-acme": Observed("organization", "id-acme", {}, {}, {})},
        "site": {"id-docs": Observed("site", "id-docs", {}, {"organization": "id-acme"}, {})},
    }
    whole = frozenset({("site", "id-acme"), ("section", "id-docs"), ("site-space", "id-docs")})
    state = State("lineage", 1, bindings, recent=dict.fromkeys(recent, NOW + timedelta(seconds=60)))
    matches = match(kinds(), Desired("p", None, declared, {}, frozenset()), state, Actual(objects, complete=whole, date=NOW))
    assert {*matches.where(lambda match: match.gone)} == gone


COST = PlanCost(reads=20, reading=0.5, planning=0.25)
ANSWER = 0.64  # seconds: at 64 requests at the same time, a hundredth for each


def steps(number: int, *, chained: bool = False) -> tuple[Step, ...]:
    """Updates of so many spaces; each after the one before it, where they are chained."""
    spaces = (Address.parse(f"acme/space/s{id}") for id in range(1, number + 1))
    after = [frozenset({id}) if chained and id else frozenset[int]() for id in range(number)]
    return tuple(
        Step(id, address, "space", "update", "PATCH", ("spaces", f"spc_{id}"), after=after[id - 1]) for id, address in enumerate(spaces, 1)
    )


def ahead(
    some: tuple[Step, ...], *, answer: float = ANSWER, rate: float | None = None, allowance: Allowance | None = None, cost: PlanCost = COST
) -> Forecast:
    """What a plan of these steps takes, where the fastest answer takes a fourth of the average."""
    plan, desired = Plan("p", None, steps=some), Desired("p", None, {}, {}, frozenset())
    return forecast(kinds(), desired, plan, cost, ServiceSpeed(answer, answer / 4, 64, rate), allowance)


def test_an_apply_reads_and_plans_as_long_as_the_plan_did_and_plans_once_more_without_a_proof_at_the_end() -> None:
    assert ahead(steps(1)).seconds == pytest.approx(0.5 + 1.5 * 0.25 + ANSWER / 4 + ANSWER / 64)


def test_writes_that_do_not_wait_for_each_other_share_the_time_of_an_answer() -> None:
    assert ahead(steps(6400), cost=PlanCost(0, 0.0, 0.0)).seconds == pytest.approx(6401 * ANSWER / 64)


def test_writes_that_wait_for_each_other_take_at_least_the_fastest_answer_each() -> None:
    assert longest_path(steps(100, chained=True)) == 100
    assert longest_path(steps(100)) == 1
    assert ahead(steps(100, chained=True), cost=PlanCost(0, 0.0, 0.0)).seconds == pytest.approx(100 * ANSWER / 4 + ANSWER / 64)


def test_a_service_that_answers_at_once_leaves_the_work_of_the_program() -> None:
    assert ahead(steps(1000), answer=0.0, cost=PlanCost(0, 0.0, 0.0)).seconds == pytest.approx(1001 * OWN_WORK)


def test_a_number_of_requests_a_second_is_kept() -> None:
    assert ahead(steps(999), rate=5.0, cost=PlanCost(0, 0.0, 0.0)).seconds == pytest.approx(200.0)


def test_what_the_limit_still_allows_does_not_wait() -> None:
    assert ahead(steps(60), allowance=Allowance(1000, 81, 50.0)).held == 0.0


@pytest.mark.parametrize(("left", "seconds"), [(80, 50.0), (1, 50.0), (0, 50.0), (None, 50.0 + 60.0)])
def test_what_it_does_not_waits_for_the_reset_and_then_for_whole_windows(left: int | None, seconds: float) -> None:
    limited = ahead(steps(60), allowance=Allowance(81 if left is not None else 80, left or 0, 50.0))  # 81 requests in all
    assert limited.seconds == pytest.approx(seconds)
    assert limited.held == pytest.approx(seconds - ahead(steps(60)).seconds)


@pytest.mark.parametrize(
    ("told", "window"), [(0.5, 1.0), (8.0, 10.0), (50.0, 60.0), (61.0, 60.0), (700.0, 900.0), (3000.0, 3600.0), (90_000.0, 90_000.0)]
)
def test_a_window_is_the_usual_one_that_the_longest_time_to_a_reset_fits_into(told: float, window: float) -> None:
    assert ahead(steps(60), allowance=Allowance(1, 0, 0.5, told)).seconds == pytest.approx(0.5 + 80 * window)


def test_nothing_to_send_takes_nothing() -> None:
    assert ahead((), allowance=Allowance(10, 0, 50.0)) == Forecast(0, 0, 0.0)


def test_it_is_said_in_one_sentence() -> None:
    assert forecast_text(Forecast(1, 40, 0.2)) == "Apply needs 1 write and about 40 reads: about 1 s."
    assert forecast_text(Forecast(2000, 40, 600.0, 480.0)).endswith("about 10 min, 8 min of them waiting for the rate limit.")
    assert forecast_text(Forecast(90_000, 40, 27_360.0)).endswith("about 7 h 36 min.")


def test_the_plan_tells_it_as_narration_and_as_data(cli: Cli) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    told = cli("plan", "p")
    assert " writes and about " in told.stderr
    assert "Apply needs" not in told.stdout
    shown = cli.json("plan", "p")["forecast"]
    assert shown["writes"] == cli.json("plan", "p")["summary"]["requests"] > 0
    assert shown["reads"] > 0
    assert cli("apply", "p", "--yes").exit_code == 0
    assert cli.json("plan", "p")["forecast"] == {"writes": 0, "reads": 0, "seconds": 0.0, "held": 0.0}


SPACES = "".join(f"          - {{space: s{number}, title: S{number}, duplicateOf: blank}}\n" for number in range(8))
REVERSED = "".join(reversed(SPACES.splitlines(keepends=True)))
GUIDES = "          - {space: guides, title: Guides, duplicateOf: blank}\n"


@pytest.mark.parametrize("case", ["first apply", "one title", "another order of a list"])
def test_the_forecast_has_the_requests_that_an_apply_sends(cli: Cli, case: str) -> None:
    if case == "first apply":
        initialised(cli)
    else:
        applied_project(cli)
    if case == "one title":
        cli.edit("p/reconciler.yaml", "title: API reference", "title: Reference")
    if case == "another order of a list":
        cli.edit("p/reconciler.yaml", GUIDES, GUIDES + SPACES)
        assert cli("apply", "p", "--yes").exit_code == 0
        cli.edit("p/reconciler.yaml", SPACES, REVERSED)
    shown = cli.json("plan", "p")["forecast"]
    events = [json.loads(line) for line in cli("apply", "p", "--yes", "-v", "--log-format", "json", code=0).stderr.splitlines()]
    sent = Counter(event["method"] == "GET" for event in events if event["event"] == "sending")
    assert shown["writes"] == sent[False]
    assert sent[True] / 2 <= shown["reads"] <= 2 * sent[True]
