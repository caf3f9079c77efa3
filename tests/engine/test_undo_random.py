"""Any chain of runs, undone one by one from its end, brings every organization back to where it was, but for what was named."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reconciler.model import Status
from tests.engine.test_random import everything, organizations
from tests.engine.test_undo import orders
from tests.engine.undoing import runs, undo
from tests.harness import Org


@settings(
    max_examples=12,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(organizations(), min_size=2, max_size=3))
def test_undoing_a_chain_of_runs_brings_each_organization_back(chain: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        ever: set[tuple[str, str]] = set()
        past: list[tuple[str, dict[str, Any], dict[str, list[str]]]] = []
        for tree in chain:
            org.write(tree)
            for _ in range(2):  # a second run where the service rearranges
                before, order = everything(org), orders(org)
                outcome = org.apply()
                if outcome.results:
                    past.append((runs(org)[0].id, before, order))
                ever |= bound(org)
        lost: set[str] = set()
        for run, before, order in reversed(past):
            outcome, found, _ = undo(org, run)
            assert [(str(one.step.address), one.step.verb, one.error) for one in outcome.results if one.status is not Status.DONE] == []
            assert outcome.plan.blocked == ()
            assert outcome.leftover == ()
            named = {str(one.address) for one in found.cannot}
            lost |= {id for address, id in ever if address in named}
            after = everything(org)
            assert differing(before, after, lost, order) == {}, found.cannot
            assert kept(orders(org), lost) == kept(order, lost)


def bound(org: Org) -> set[tuple[str, str]]:
    with org.store() as store:
        return {(str(address), binding.id) for address, binding in store.read().bindings.items()}


def differing(before: dict[str, Any], after: dict[str, Any], lost: set[str], order: dict[str, list[str]]) -> dict[str, Any]:
    """What differs and was not named, nor changed by the loss of something that was."""
    found = {}
    sites = {at.split()[0] for at, row in order.items() if lost & {*row, *at.split()}}  # where the service chose another default
    bereft = {id for at, row in order.items() if at.split()[0] in sites for id in row}
    for id in (before.keys() | after.keys()) - lost:
        one, other = before.get(id, {}), after.get(id, {})
        keys = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
        excused = {"default"} if id in bereft else set()
        excused |= {"visibility"} if one.get("parent") in lost or other.get("parent") in lost else set()
        keys = {key for key in keys - excused if not mentions(one.get(key), lost)}
        if keys:
            found[id] = {key: (one.get(key), other.get(key)) for key in keys}
    return found


def mentions(value: Any, ids: set[str]) -> bool:
    if isinstance(value, dict):
        return any(mentions(part, ids) for part in value.values())
    if isinstance(value, list):
        return any(mentions(part, ids) for part in value)
    return value in ids


def kept(rows: dict[str, list[str]], lost: set[str]) -> dict[str, list[str]]:
    return {at: row for at, some in rows.items() if at.split()[0] not in lost and (row := [id for id in some if id not in lost])}
