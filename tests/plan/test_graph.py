"""The graph of steps: orders that respect every edge, and schedules that never run a step too soon."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from reconciler.plan.steps.graph import Cycle, Edges, Schedule, ordered
from tests.effort import within

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
            released = schedule.succeed(node)
            assert set(released) == set(schedule.ready()) - set(ready)
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
