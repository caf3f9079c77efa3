"""What the access tests of a project say agrees with what the sandbox lets its readers read: two programs that share no code.

Of the sandbox's readers, who has what their name says, `anyone` is the one who knows no URL, and the one who knows it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.features.access.verdicts import AskedWorld, Sees
from reconciler.kinds import load as kinds
from reconciler.model import NamedReader, ReaderSort
from reconciler.plan.audience.readers import Audiences
from reconciler.resource.risks import ROLES
from tests.audience.moments import Moment, Thing, Watched
from tests.audience.proof import Proof
from tests.audience.test_agreement import KINDS, name_of
from tests.audience.worlds import conditions, edited
from tests.features.importer.imported import everything
from tests.organizations import CONDITIONS, Tree, with_readers
from tests.proofs import costly

CLAIMS = {CONDITIONS[0]: {"staff": True}, CONDITIONS[1]: {"partner": True}, CONDITIONS[2]: {}}
WEB = ("anyone", "anyone-with-the-address")
NO_LINKS = (0, 24, 33)

Names = tuple[str, ...]


def claims_of(asked: frozenset[str]) -> dict[str, Any]:
    return {name: value for condition in asked for name, value in CLAIMS[condition].items()}


def written(*trees: Tree) -> Iterator[tuple[Any, Names, Names]]:
    """Each reader as a test names it; the sandbox's names of those who may be meant, and of those who are."""
    yield "anyone", WEB, WEB[:1]
    yield "agent", ("agent",), ("agent",)
    yield {"claims": {}}, ("visitor",), ("visitor",)
    for asked in sorted(conditions(*trees), key=sorted):
        names = (f"visitor:{name_of(asked)}",) if claims_of(asked) else ("visitor",)
        yield {"claims": claims_of(asked)}, names, names
    for role in ROLES[:-1]:
        yield {"role": role}, (f"member {role}", *WEB), (f"member {role}", *WEB[:1])


def named(reader: Any) -> NamedReader:
    if isinstance(reader, str):
        return NamedReader(ReaderSort(reader))
    ((sort, value),) = reader.items()
    return NamedReader(ReaderSort(sort), **{"claims" if sort == "claims" else sort: value})


def sees(moment: Moment, thing: Thing, names: tuple[str, ...]) -> bool:
    """Whether one of these people reads an object; a guest's level is none."""
    return any(moment.readers.get(thing, {}).get(name, 0) > 0 for name in names)


MANY = range(100, 160)


@costly
@pytest.mark.parametrize("seed", [*NO_LINKS, *(pytest.param(seed, marks=pytest.mark.proof) for seed in MANY)])
def test_a_verdict_is_what_the_sandbox_lets_that_reader_read(tmp_path: Path, seed: int) -> None:
    org, tree = Watched(tmp_path), with_readers(random.Random(seed))
    org.asked = conditions(tree)
    org.write(tree)
    org.begin()
    Proof(org, tmp_path / "image").finish()
    actual, moment = everything(org), org.now("")
    ids = {Address.parse(address): id for id, address in org.addresses().items()}
    look = AskedWorld(Audiences(kinds(), actual.objects, complete=actual.complete), ids)
    readers = [(named(reader), may, are) for reader, may, are in written(tree)]
    for address, id in ids.items():
        if address.kind == "share-link":
            readers.append((NamedReader(ReaderSort.LINK, link=address), (f"link:{id}", *WEB), (f"link:{id}", *WEB)))
    for thing in moment.readers:
        for reader, may, are in readers if thing[0] in KINDS else ():
            verdict = look.verdict(reader, thing).sees
            assert (verdict is not Sees.NO) == sees(moment, thing, may), (thing, reader)
            assert (verdict is Sees.YES) == sees(moment, thing, are), (thing, reader)


def demands(first: Tree, second: Tree, chance: random.Random) -> list[dict[str, Any]]:
    """Some readers, each of whom must not see any space."""
    readers = [reader for reader, _, _ in written(first, second)]
    return [{"as": reader, "mustNotSee": ["acme/space/*"]} for reader in chance.sample(readers, min(4, len(readers)))]


EDITED = (5, 11, 18, *(pytest.param(seed, marks=pytest.mark.proof) for seed in range(200, 260)))


@costly
@pytest.mark.parametrize("seed", EDITED)
def test_whom_no_test_names_at_a_space_reads_it_at_no_moment_of_the_run(tmp_path: Path, seed: int) -> None:
    """Whoever reads a space at any moment of the run read it before, or the plan says so; whom it names for sure reads it in the end."""
    chance = random.Random(seed)
    org, first = Watched(tmp_path), with_readers(chance)
    second = edited(first, chance, 3)
    proof, tests = Proof(org, tmp_path / "image"), demands(first, second, chance)
    org.asked = conditions(first, second)
    org.write(first)
    org.begin()
    proof.finish()
    start = org.now("")
    org.write(second, access=tests)
    plan = org.plan()
    told = {(item.rule, str(item.address)): item.message for item in plan.violations}
    org.write(second)
    org.begin()
    proof.finish()
    spaces = {id: address for id, address in org.addresses().items() if Address.parse(address).kind == "space"}
    readers = {str(named(reader)): may for reader, may, _ in written(first, second) if any(test["as"] == reader for test in tests)}
    for reader, may in readers.items():
        for id, address in spaces.items():
            thing, message = ("space", id), told.get((reader, address))
            if message is None and not plan.deferred and not sees(start, thing, may):
                assert not any(sees(moment, thing, may) for moment in org.moments), (reader, address)
            if message is not None and "after this plan" in message and "cannot be decided" not in message and not org.copies:
                assert sees(org.moments[-1], thing, may), (reader, address, message)
