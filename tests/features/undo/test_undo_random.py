"""Any chain of runs, undone one by one from its end, brings every organization back to where it was, but for what was named."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from reconciler.model import StepStatus
from tests.apply.test_random import everything
from tests.features.undo.test_undo import orders
from tests.features.undo.undoing import undo
from tests.harness import ORGANIZATION, Org, runs
from tests.organizations import anything
from tests.proofs import sampled, tries

SLOW = settings(
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
EDITS = ["nothing", "title", "delete", "move", "make", "stray", "stray", "team"]


@dataclass(frozen=True)
class Before:
    """A run, and how everything was when it began and when it ended; `outside`: ids that somebody else changed since the run before it."""

    run: str
    objects: dict[str, Any]
    order: dict[str, list[str]]
    bound: dict[str, str]
    outside: frozenset[str]
    left: dict[str, Any]
    ordered: dict[str, list[str]]


@st.composite
def chains(draw: st.DrawFn, *, size: int) -> list[tuple[dict[str, Any], list[tuple[str, int]]]]:
    """Organizations, each with what somebody else does before it is applied; sometimes the same one, with keys renamed."""
    found: list[tuple[dict[str, Any], list[tuple[str, int]]]] = []
    for _ in range(draw(st.integers(2, size))):
        if found and draw(st.integers(0, 3)) == 0:
            tree = renamed(found[-1][0], draw(st.sampled_from("abcd")))
        else:
            tree = draw(anything())
        edits = draw(st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 99)), max_size=2)) if found else []
        found.append((tree, edits))
    return found


def renamed(tree: dict[str, Any], key: str) -> dict[str, Any]:
    """The same with a space and a team under other keys."""
    tree = copy.deepcopy(tree)

    def walk(one: Any) -> None:
        if isinstance(one, dict):
            one.pop("previously", None)
            if one.get("space") == key:
                one["space"] = f"{key}2"
                if "title" in one:
                    one["previously"] = [key]
            for part in one.values():
                walk(part)
        elif isinstance(one, list):
            for part in one:
                walk(part)

    walk(tree)
    if key in tree["teams"]:
        tree["teams"][f"{key}2"] = {**tree["teams"].pop(key), "previously": [key]}
    return tree


def edited(org: Org, what: str, number: int) -> set[str]:
    """Somebody else does something; the ids it is about."""
    spaces = [item["space"] for item in org.items(f"/orgs/{ORGANIZATION}/members/usr_ada/spaces")]
    space = spaces[number % len(spaces)]
    collections = [one["id"] for one in org.items(f"/orgs/{ORGANIZATION}/collections")]
    teams = [one["id"] for one in org.items(f"/orgs/{ORGANIZATION}/teams")]
    match what:
        case "title":
            org.call("PATCH", f"/spaces/{space['id']}", {"title": f"Outside {number}"})
        case "delete" if space["id"] != "spc_blank" and org.call("GET", f"/spaces/{space['id']}"):
            org.call("DELETE", f"/spaces/{space['id']}")
        case "move" if collections:
            org.call("POST", f"/spaces/{space['id']}/move", {"parent": collections[number % len(collections)]})
        case "make":
            return {org.call("POST", "/spaces/spc_blank/duplicate")["id"]}
        case "stray" if collections:
            id = org.call("POST", "/spaces/spc_blank/duplicate")["id"]
            parent = collections[number % len(collections)]
            there = [one["id"] for one in org.items(f"/collections/{parent}/spaces")]
            beside = {"before": {"type": "space", "space": there[number % len(there)]}} if there else None
            org.call("POST", f"/spaces/{id}/move", {"parent": parent, **({"position": beside} if beside else {})})
            return {id}
        case "team" if teams:
            org.call("PATCH", f"/orgs/{ORGANIZATION}/teams/{teams[number % len(teams)]}", {"title": f"Outsiders {number}"})
            return {teams[number % len(teams)]}
        case _:
            return set()
    return {space["id"]}


def applied(org: Org, chain: list[tuple[dict[str, Any], list[tuple[str, int]]]]) -> tuple[list[Before], set[tuple[str, str]], set[str]]:
    """Apply them all; the runs that did anything, every object that was ever bound, and what somebody else changed after the last."""
    past: list[Before] = []
    ever: set[tuple[str, str]] = set()
    outside: set[str] = set()
    now, order = everything(org), orders(org)
    for tree, edits in chain:
        for what, number in edits:
            before = now.keys()
            about = edited(org, what, number)
            now, order = everything(org), orders(org)
            outside |= about | (before - now.keys())
        org.write(tree)
        for _ in range(2):  # a second run where the service rearranges
            objects, rows, names = now, order, bound(org)
            outcome = org.apply()
            now, order = everything(org), orders(org)
            newest = runs(org)[0].id
            if not past or newest != past[-1].run:
                past.append(Before(newest, objects, rows, names, frozenset(outside), now, order))
                outside = set()
            ever |= set(bound(org).items())
            if not outcome.plan.deferred:
                break
    return past, ever, outside


@sampled
@settings(SLOW, max_examples=tries(3, 1))
@given(chains(size=6))
def test_undoing_a_chain_of_runs_brings_each_organization_back(chain: list[tuple[dict[str, Any], list[tuple[str, int]]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        past, ever, lost = applied(org, chain)
        for one in reversed(past):
            outcome, found, _ = undo(org, one.run)
            assert [(str(r.step.address), r.step.verb, r.error) for r in outcome.results if r.status is not StepStatus.DONE] == []
            assert (outcome.plan.blocked, outcome.leftover) == ((), ())
            named = {str(obstacle.address) for obstacle in found.cannot}
            lost |= {id for address, id in ever if address in named}
            assert differing(one.objects, everything(org), lost, one.order) == {}, found.cannot
            assert kept(orders(org), lost | one.outside, one.order) == kept(one.order, lost | one.outside, one.order)
            assert still(bound(org), lost | one.outside) == still(one.bound, lost | one.outside), found.cannot
            lost |= one.outside


@sampled
@settings(SLOW, max_examples=tries(2, 1))
@given(chains(size=4), st.integers(0, 99))
def test_a_run_in_the_middle_is_undone_but_for_what_later_runs_changed(
    chain: list[tuple[dict[str, Any], list[tuple[str, int]]]], number: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        past, ever, _ = applied(org, chain)
        one = past[number % len(past)]
        now, order = everything(org), orders(org)
        outcome, found, _ = undo(org, one.run)
        assert [(str(r.step.address), r.step.verb, r.error) for r in outcome.results if r.status is not StepStatus.DONE] == []
        assert (outcome.plan.blocked, outcome.leftover) == ((), ())
        named = {str(obstacle.address) for obstacle in found.cannot}
        lost = {id for address, id in ever if address in named}
        assert astray(one, now, everything(org), lost) == {}, found.cannot
        assert misplaced(one, order, orders(org), lost) == {}, found.cannot


def astray(one: Before, now: dict[str, Any], after: dict[str, Any], named: set[str]) -> dict[str, Any]:
    """Fields that are neither back where the run alone changed them, nor as they were where it did not, or not it alone.

    `now`: before the undo, `after` it; `named`: ids of what could not be taken back.
    """
    came, went = now.keys() - after.keys(), after.keys() - now.keys()
    moved = came | went | named
    found = {}
    for id in now.keys() | after.keys() | one.objects.keys() | one.left.keys():
        then, left, before, ends = (some.get(id) for some in (one.objects, one.left, now, after))
        if then is None or left is None or before is None:  # made, deleted, or gone since
            wanted = then is not None if (left is None) == (before is None) and (then is None) != (left is None) else before is not None
            if (ends is not None) != wanted and id not in named:
                found[id] = {"": (before, ends)}
            continue
        if ends is None:
            found[id] = {"": (before, ends)}
            continue
        for key in then.keys() | left.keys() | before.keys() | ends.keys():
            was, did, is_, gets = (some.get(key) for some in (then, left, before, ends))
            wanted = was if is_ == did else is_
            named_here = id in named or mentions((was, is_), named)
            if gets != wanted and not (gets == is_ and named_here) and not (key in ("default", "visibility") and moved):
                found.setdefault(id, {})[key] = (was, did, is_, gets)
    return found


def misplaced(one: Before, now: dict[str, list[str]], after: dict[str, list[str]], named: set[str]) -> dict[str, Any]:
    """Lists that nobody touched since the run, and that are not as they were before it; those it did not touch are as they are."""
    found = {}
    for at in one.order.keys() & one.ordered.keys() & now.keys() & after.keys():
        then, left, before, ends = one.order[at], one.ordered[at], now[at], after[at]
        if before == left and not named & {*then, *left, *at.split()}:
            wanted = [id for id in then if id in ends]
            if ends != wanted or len(wanted) != len(then):
                found[at] = (then, left, ends)
        elif then == left and [id for id in ends if id in before] != [id for id in before if id in ends]:
            found[at] = (then, left, before, ends)
    return found


def bound(org: Org) -> dict[str, str]:
    return {str(address): binding.id for address, binding in org.remembered().bindings.items()}


def still(names: dict[str, str], lost: set[str]) -> dict[str, str]:
    return {address: id for address, id in names.items() if id not in lost}


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
    if isinstance(value, list | tuple):
        return any(mentions(part, ids) for part in value)
    return value in ids


def kept(rows: dict[str, list[str]], lost: set[str], before: dict[str, list[str]]) -> dict[str, list[str]]:
    """The rows of what was there before and was not named: managed or not."""
    there = {id for row in before.values() for id in row} - lost
    return {at: row for at, some in rows.items() if not lost & {*at.split()} and (row := [id for id in some if id in there])}
