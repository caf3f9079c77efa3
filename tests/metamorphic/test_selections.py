"""A run that is limited to a part of a plan does that part and nothing else: what it leaves alone is as it was, and what it deletes is
exactly what its plan lists. Whatever the selection, the protections of the whole plan hold: it deletes nothing that the whole would keep.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from reconciler.address import Address, Glob, Selection, bare
from reconciler.model import Action, Plan
from tests.metamorphic.laboratory import ADOPT, CONFIRM, Laboratory, described, failed, identify, laboratory
from tests.metamorphic.relation import relation
from tests.organizations import Tree, pairs

SELECTIONS = 6  # of each pair of organizations
DELETING = {Action.DELETE, Action.REPLACE}
BY_ITSELF = ("updatedAt", "_revision", "revision")  # what the service counts


def objects(world: Laboratory) -> dict[str, dict[str, Any]]:
    """Every object of the service by its id, with what it is in; what was deleted is none."""
    rows = world.service.connection.execute("select id, kind, container, data from objects")
    return {
        id: {name: value for name, value in data.items() if name not in BY_ITSELF}
        for id, data in {id: {**json.loads(data), "(kind)": kind, "(container)": container} for id, kind, container, data in rows}.items()
        if not data.get("deletedAt")
    }


def meant(world: Laboratory, tree: Tree) -> None:
    """Write an organization with the lines that confirm what its plan asks to confirm, but for a random part of them."""
    removed: dict[str, dict[str, str]] = {}
    while True:
        world.write(tree, **({"removed": list(removed.values())} if removed else {}))
        remedies = [blocked.remedy for blocked in world.plan().blocked]
        asked = {address for remedy in remedies for address in CONFIRM.findall(remedy)} - removed.keys()
        same = {pair for remedy in remedies for pair in ADOPT.findall(remedy)}
        if not asked and not same:
            return
        removed |= {address: {"address": address, "action": "delete"} for address in asked}
        for kind, key, id in same:
            identify(tree, kind, key, id)


def selections(plan: Plan, chance: random.Random) -> list[Selection]:
    """Some of what a person could select of a plan: addresses, all of a kind, everything below something; or all but these."""
    addresses = sorted({*(change.address for change in plan.changes), *(blocked.address for blocked in plan.blocked), *plan.deferred})
    if not addresses:
        return []

    def patterns() -> tuple[Glob, ...]:
        return tuple(Glob.parse(_pattern(chance.choice(addresses), chance)) for _ in range(chance.choice((1, 1, 1, 2, 3))))

    some = []
    for _ in range(SELECTIONS):
        way = chance.randrange(4)
        if way == 0:
            only = frozenset(chance.sample(addresses, chance.randint(1, len(addresses))))
            some.append(Selection(only=only))
        else:
            some.append(Selection(patterns() if way & 1 else (), patterns() if way & 2 else ()))
    return some


def _pattern(address: Address, chance: random.Random) -> str:
    parts = list(address.parts)
    way = chance.randrange(4)
    if way == 0 and len(parts) > 2:
        parts[-1] = "*"
    elif way == 1 and len(parts) > 2:
        parts = [*parts[: chance.randrange(1, len(parts), 2)], "**"]
    return "/".join(parts)


def deleted(plan: Plan) -> set[str]:
    """The ids of what a plan deletes. What a replacement deletes is known by its preconditions."""
    listed = {bare(change.id) for change in plan.changes if change.id is not None and Action.DELETE in change.actions}
    return listed | {bare(str(step.target)) for step in plan.steps if step.verb == "delete"}


def touched(plan: Plan) -> set[str]:
    """The ids of all that a plan names."""
    return {bare(change.id) for change in plan.changes if change.id is not None} | {
        bare(str(step.target)) for step in plan.steps if step.target is not None
    }


def unlisted(world: Laboratory, plan: Plan, before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[str]:
    """What happened and is not in the plan, a line each."""
    ids = {str(address): id for address, id in world.tracked().items()}
    addresses = {*(str(change.address) for change in plan.changes), *map(str, plan.deferred)}
    about = touched(plan) | {id for address, id in ids.items() if address in addresses}
    gone = {id.rsplit(":", 1)[-1] for id in before.keys() - after.keys()}
    lines = [f"deleted, and not listed: {named(before, id)}" for id in sorted(gone - deleted(plan))]
    lines += [f"listed as deleted, and exists: {named(before, id)}" for id in sorted(deleted(plan) - gone) if id in after]
    for id in before.keys() & after.keys():
        if id.rsplit(":", 1)[-1] not in about and before[id] != after[id]:
            changed = {
                name: (before[id].get(name), after[id].get(name))
                for name in sorted(before[id].keys() | after[id].keys())
                if before[id].get(name) != after[id].get(name)
            }
            around = {*before[id]["(container)"].split(":"), before[id].get("site"), before[id].get("section")}
            left = any(_is_default_beside(before[other], before[id]) for other in gone if other in before)
            if about & around or (left and changed.get("default") == (False, True)):
                changed.pop("default", None)  # a change of what contains it, or the service chose another one for a deleted one
            lines += [f"changed, and not listed: {named(before, id)}: {changed}"] if changed else []
    return lines


def _is_default_beside(other: dict[str, Any], one: dict[str, Any]) -> bool:
    """Whether an object was the default among those of which the other is one."""
    beside = ("(kind)", "site", "section") if one["(kind)"] == "site-space" else ("(kind)", "site")
    return bool(other.get("default")) and all(other.get(name) == one.get(name) for name in beside)


def named(before: dict[str, dict[str, Any]], id: str) -> str:
    data = next((data for key, data in before.items() if key.rsplit(":", 1)[-1] == id), {}) or before.get(id, {})
    return f"{data.get('(kind)')} {data.get('title') or data.get('name') or data.get('label')} ({id})"


def troubles(pair: tuple[Tree, Tree], seed: int) -> Iterator[str]:
    """What is wrong with the parts of the plan from one organization to the other, a text for each selection."""
    chance = random.Random(seed)
    with laboratory(seed) as world:
        world.converge(pair[0])
        meant(world, pair[1])
        whole, start, before, ids = world.plan(), world.take(), objects(world), world.tracked()
        lost = deleted(whole) | {ids[str(address)] for address in whole.deferred if str(address) in ids}  # of these a second run decides
        for selection in [Selection(), *selections(whole, chance)]:
            world.put(start)
            part = world.plan(selection=selection)
            wrong = [f"deletes what the whole plan keeps: {named(before, id)}" for id in sorted(deleted(part) - lost)]
            outcome = world.apply(selection=selection)
            wrong += failed(outcome)
            wrong += unlisted(world, outcome.plan, before, objects(world))
            if wrong:
                yield "\n".join([*wrong, f"-- {selection}", "-- whole", *described(whole), "-- part", *described(outcome.plan)])


@relation(pairs(full=False), st.integers(0, 2**20), quick=3)
def test_what_a_selection_leaves_alone_is_unchanged_and_what_it_deletes_is_listed(pair: tuple[Tree, Tree], seed: int) -> None:
    assert list(troubles(pair, seed)) == []
