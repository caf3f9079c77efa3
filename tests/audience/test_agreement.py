"""The model of the planner and the sandbox agree on who can read what: two programs that share no code, on random organizations."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from reconciler.kinds import load as kinds
from reconciler.plan.audience.readers import Access, Audiences
from reconciler.resource.audience import AGENTS, ANYONE, ANYONE_WITH_THE_URL, LINK_HOLDERS, MEMBERS, MEMBERS_THROUGH, VISITORS
from reconciler.resource.audience import LEVELS as MODEL_LEVELS
from tests.audience.moments import LEVELS, Readers, Watched
from tests.audience.proof import Proof
from tests.audience.worlds import Tree, conditions, world
from tests.importer.imported import everything

UNSIGNED = "visitor.claims.unsigned"
KINDS = ("site", "section", "site-space", "space", "openapi")
CLASSES = {
    "anyone": (ANYONE,),
    "anyone-with-the-address": (ANYONE, ANYONE_WITH_THE_URL),
    "visitor": (ANYONE, ANYONE_WITH_THE_URL, VISITORS),
    "agent": (AGENTS,),
    "member": (ANYONE, MEMBERS, MEMBERS_THROUGH),
    "link": (ANYONE, ANYONE_WITH_THE_URL),
}


def level(accesses: Collection[Access], reader: str, held: frozenset[str]) -> int:
    """The level that the model gives a reader of the sandbox; `held`: the signed conditions that are true for them; -1 for none."""
    kind, _, id = reader.partition(":")
    own = [access for access in accesses if kind == "link" and access.who == LINK_HOLDERS and access.via == id]
    fitting = [access for access in accesses if access.who in CLASSES[kind]] + own
    return max((LEVELS.index(MODEL_LEVELS[access.level]) for access in fitting if access.conditions <= held), default=-1)


SEEDS = (0, 24, 33)  # in the last two a site opens to holders of links, and its conditions hide nothing
MANY = (1, 2, *range(100, 300))


@pytest.mark.parametrize("seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.proof) for seed in MANY)])
def test_the_model_and_the_sandbox_agree_on_the_readers_of_every_object(tmp_path: Path, seed: int) -> None:
    org, tree = Watched(tmp_path), world(random.Random(seed))
    org.asked = conditions(tree)
    org.write(tree)
    org.begin()
    Proof(org, tmp_path / "image").finish()
    actual = everything(org)
    audiences = Audiences(kinds(), actual.objects, complete=actual.complete)
    held = {f"visitor:{name_of(asked)}": asked for asked in org.asked}
    for thing, readers in org.now("").readers.items():
        if thing[0] in KINDS:
            unlike = differences(audiences.of(thing), readers, held)
            assert unlike == {}, thing


@pytest.mark.parametrize("seed", SEEDS)
def test_a_level_that_is_inherited_admits_whom_no_level_of_its_own_admits(tmp_path: Path, seed: int) -> None:
    """A space or collection that inherits has the readers of what contains it, in the model as in the sandbox."""
    readers = []
    for level in ("guest", "inherit"):
        org, tree = Watched(tmp_path / level), world(random.Random(seed))
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


def differences(accesses: Collection[Access], readers: Readers, held: dict[str, frozenset[str]]) -> dict[str, tuple[int, int]]:
    """The readers whose levels the model and the sandbox see differently, with both levels."""
    result = {}
    for reader in {*readers, "anyone", "anyone-with-the-address", "visitor", "agent", "member", *held} - {"admin"}:
        signed = frozenset(condition for condition in held.get(reader, ()) if UNSIGNED not in condition)
        names = (reader, "anyone") if reader == "member" else (reader,)  # a member is anybody, too
        told = (level(accesses, reader, signed), max(readers.get(name, -1) for name in names))
        if told[0] != told[1]:
            result[reader] = told
    return result
