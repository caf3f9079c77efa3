"""The model of the planner and the sandbox agree on who can read what: two programs that share no code, on random organizations."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from reconciler.kinds import load as kinds
from reconciler.plan.audience.readers import Access, Audiences
from reconciler.resource.risks import (
    AGENTS,
    ANYONE,
    ANYONE_WITH_THE_URL,
    LEVELS as MODEL_LEVELS,
    LINK_HOLDERS,
    MEMBERS,
    VISITORS,
    by_role,
)
from tests.audience import moments
from tests.audience.moments import LEVELS, PEOPLE, Readers, Watched
from tests.audience.proof import Proof
from tests.audience.two import ROOTS, Both, TwoWatched, given, worlds
from tests.audience.worlds import conditions
from tests.features.importer.imported import everything
from tests.organizations import Tree, with_readers
from tests.proofs import long, spread
from tests.transfers.two import TWO_SEED

UNSIGNED = "visitor.claims.unsigned"
KINDS = ("site", "section", "site-space", "space", "openapi")
CLASSES = {
    "anyone": (ANYONE,),
    "anyone-with-the-address": (ANYONE, ANYONE_WITH_THE_URL),
    "visitor": (ANYONE, ANYONE_WITH_THE_URL, VISITORS),
    "agent": (AGENTS,),
    **{name: (ANYONE, MEMBERS, by_role(role)) for name, role in moments.MEMBERS.items()},
    "link": (ANYONE, ANYONE_WITH_THE_URL),
}


def level(accesses: Collection[Access], reader: str, held: frozenset[str]) -> int:
    """The level that the model gives a reader of the sandbox; `held`: the signed conditions that are true for them; -1 for none."""
    kind, _, id = reader.partition(":")
    own = [access for access in accesses if kind == "link" and access.who == LINK_HOLDERS and access.via == id]
    people = id if kind in PEOPLE and id else None
    fitting = [access for access in accesses if access.who in CLASSES[kind] and (access.of is None or people in (None, access.of[1]))] + own
    return max((LEVELS.index(MODEL_LEVELS[access.level]) for access in fitting if access.conditions <= held), default=-1)


SEEDS = (0, 24, 33)  # in the last two a site opens to holders of links, and its conditions hide nothing
MANY = (1, 2, *range(100, 300))


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.proof) for seed in MANY)])
def test_the_model_and_the_sandbox_agree_on_the_readers_of_every_object(tmp_path: Path, seed: int) -> None:
    org, tree = Watched(tmp_path), with_readers(random.Random(seed))
    org.asked = conditions(tree)
    org.write(tree)
    org.begin()
    Proof(org, tmp_path / "image").finish()
    actual = everything(org)
    audiences = Audiences(kinds(), actual.objects, complete=actual.complete)
    held = {f"visitor:{name_of(asked)}": asked for asked in org.asked}
    for thing, readers in org.now("").readers.items():
        if thing[0] in KINDS:
            assert differences(audiences.of(thing), readers, held) == {}, thing


MARKED = spread(range(400, 430), 3)


@pytest.mark.parametrize("seed", MARKED)
def test_the_model_and_the_sandbox_agree_on_drafts_also_in_groups_within_groups(tmp_path: Path, seed: int) -> None:
    org, chance = Watched(tmp_path), random.Random(seed)
    tree = with_readers(chance)
    org.asked = conditions(tree)
    for site in tree["sites"].values():
        inner = {"group": "inner", "title": "Inner", "structure": site["structure"][1:]}
        site["structure"][1:] = [{"group": "outer", "title": "Outer", "structure": [inner]}] if inner["structure"] else []
    org.write(tree)
    org.begin()
    Proof(org, tmp_path / "image").finish()
    store = org.app.state.service.store
    for part in [part | {"kind": kind} for kind in ("group", "section", "site-space") for part in store.select(kind)]:
        store.save(str(part.pop("kind")), part | {"draft": chance.random() < 0.3})
    actual = everything(org)
    audiences = Audiences(kinds(), actual.objects, complete=actual.complete)
    held = {f"visitor:{name_of(asked)}": asked for asked in org.asked}
    for thing, readers in org.now("").readers.items():
        if thing[0] in KINDS:
            assert differences(audiences.of(thing), readers, held) == {}, thing


# -- two organizations -----------------------------------------------------------------------------------------------------------------

TRANSFERS = spread(range(60), 1)


def begun(root: Path, seed: int) -> tuple[TwoWatched, Both]:
    """Two organizations as they were applied, and what they become: something is given to the other one."""
    org, chance = TwoWatched(root, seed=copy.deepcopy(TWO_SEED)), random.Random(seed)
    first = worlds(chance)
    second = given(first, chance, 2)
    org.asked = conditions(first, second)
    org.write(first)
    org.begin()
    Proof(org, root / "image").finish()
    return org, second


def modelled(org: TwoWatched) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """The objects whose readers the model and the sandbox see differently."""
    actual = everything(org, *ROOTS.values())
    audiences = Audiences(kinds(), actual.objects, complete=actual.complete)
    held = {f"visitor:{name_of(asked)}": asked for asked in org.asked}
    people = [f"{name}:{id}" for name in ("agent", *moments.MEMBERS) for id in ROOTS.values()]
    unlike = {
        thing: differences(audiences.of(thing), readers, held, people)
        for thing, readers in org.now("").readers.items()
        if thing[0] in KINDS
    }
    return {thing: some for thing, some in unlike.items() if some}


@pytest.mark.parametrize("seed", TRANSFERS)
def test_the_model_and_the_sandbox_agree_on_two_organizations_and_on_who_gains_and_loses_by_a_transfer(tmp_path: Path, seed: int) -> None:
    org, second = begun(tmp_path, seed)
    assert modelled(org) == {}
    before, locations_before = org.now("").readers, places(org)
    org.write(second)
    plan = org.plan()
    lines = {str(line.address): line for line in plan.exposures if line.field == "organization"}
    roots = {(step.kind, str(step.target)): str(step.address) for step in plan.steps if step.verb == "transfer"}
    assert {*roots.values()} == {*lines}
    Proof(org, tmp_path / "image").finish()
    assert modelled(org) == {}
    after, locations_after = org.now("").readers, places(org)
    for root, address in roots.items():
        line, things = (
            lines[address],
            [thing for thing in locations_before if thing in locations_after and locations_before[thing][0] != locations_after[thing][0]],
        )
        things = [thing for thing in things if outermost(locations_before, thing, roots) == root]
        gain, loss = line.says.split(" get access to it")[0], line.says.split("; ")[1]
        assert named(gain, str(line.after)) == max((more(after, before, thing, locations_after) for thing in things), default=-1), line
        assert named(loss, str(line.before)) == max((more(before, after, thing, locations_before) for thing in things), default=-1), line


def places(org: TwoWatched) -> dict[tuple[str, str], tuple[str, str | None]]:
    """The organization and the parent of all content."""
    store = org.app.state.service.store
    return {
        (kind, data["id"]): (organization, data.get("parent"))
        for organization in ROOTS.values()
        for kind in ("collection", "space")
        for data in store.select(kind, organization=organization)
    }


def outermost(
    locations_before: dict[tuple[str, str], tuple[str, str | None]], thing: tuple[str, str], roots: Collection[tuple[str, str]]
) -> tuple[str, str] | None:
    """What brought an object to its new organization: itself, or the nearest collection that it was in."""
    at: tuple[str, str] | None = thing
    while at is not None and at not in roots:
        parent = locations_before[at][1]
        at = ("collection", parent) if parent is not None else None
    return at


def more(
    then: dict[tuple[str, str], Readers],
    other: dict[tuple[str, str], Readers],
    thing: tuple[str, str],
    where: dict[tuple[str, str], tuple[str, str | None]],
) -> int:
    """The level that the members of the object's organization have at one time, and do not have as anybody at the other time."""
    level = max(then[thing].get(f"{name}:{where[thing][0]}", -1) for name in moments.MEMBERS)
    return level if level > other[thing].get("anyone", -1) else -1


def named(people: str, organization: str) -> int:
    """The highest level that a line names for the members of an organization."""
    result = re.findall(rf"(?:members|guests) of {organization}( with a role| with the role (\w+))?(?: \((\w+)\))?", people)
    levels = [level or role or ("create" if each else "read") for each, role, level in result]
    return max(map(LEVELS.index, levels), default=-1)


ELSEWHERE = 218
"""A new section is open until its condition is set, and only spaces of the other organization are open before and after it as well."""


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=() if seed == ELSEWHERE else pytest.mark.proof) for seed in range(200, 260)])
def test_no_order_of_requests_around_a_transfer_lets_anybody_read_too_much(tmp_path: Path, seed: int) -> None:
    org, chance = TwoWatched(tmp_path, seed=copy.deepcopy(TWO_SEED)), random.Random(seed)
    first = worlds(chance)
    result = Proof(org, tmp_path / "image").edit(first, given(first, chance, 3), runs=("whole", "many", *(("cuts",) if long() else ())))
    assert [str(violation) for violation in result.violations[:3]] == []


@pytest.mark.parametrize("seed", spread(SEEDS, 1))
def test_a_level_that_is_inherited_admits_whom_no_level_of_its_own_admits(tmp_path: Path, seed: int) -> None:
    """A space or collection that inherits has the readers of what contains it, in the model as in the sandbox."""
    readers = []
    for level in ("guest", "inherit"):
        org, tree = Watched(tmp_path / level), with_readers(random.Random(seed))
        for node in nodes(tree["content"]):
            if node.get("defaultLevel") == "guest":
                node["defaultLevel"] = level
        org.write(tree)
        org.begin()
        Proof(org, tmp_path / f"image-{level}").finish()
        actual = everything(org)
        audiences = Audiences(kinds(), actual.objects, complete=actual.complete)
        modelled = {space.values["title"]: audiences.of(("space", id)) for id, space in actual.objects["space"].items()}
        served = {actual.objects["space"][id].values["title"]: who for (kind, id), who in org.now("").readers.items() if kind == "space"}
        named = {title: {name: rank for name, rank in who.items() if "link:" not in name} for title, who in served.items()}
        readers.append((unnamed(modelled), named))
    assert readers[0] == readers[1]


def unnamed(modelled: dict[str, frozenset[Access]]) -> dict[str, set[tuple[str, int]]]:
    """The readers of objects without the ids of links, which are others in every organization."""
    return {title: {(access.who, access.level) for access in accesses} for title, accesses in modelled.items()}


def nodes(content: list[Tree]) -> Iterator[Tree]:
    """The spaces and collections, at any depth."""
    for node in content:
        yield node
        yield from nodes(node.get("content", []))


def name_of(asked: frozenset[str]) -> str:
    return next(iter(asked)) if len(asked) == 1 else " && ".join(f"({condition})" for condition in sorted(asked))


def differences(
    accesses: Collection[Access], readers: Readers, held: dict[str, frozenset[str]], people: Collection[str] = ("agent", *moments.MEMBERS)
) -> dict[str, tuple[int, int]]:
    """The readers whose levels the model and the sandbox see differently, with both levels. `people`: those who belong to organizations."""
    result = {}
    for reader in {*readers, "anyone", "anyone-with-the-address", "visitor", *people, *held}:
        if reader.startswith("admin"):
            continue
        signed = frozenset(condition for condition in held.get(reader, ()) if UNSIGNED not in condition)
        names = (reader, "anyone") if reader.startswith("member") else (reader,)  # a member is anybody, too
        told = (level(accesses, reader, signed), max(readers.get(name, -1) for name in names))
        if told[0] != told[1]:
            result[reader] = told
    return result
