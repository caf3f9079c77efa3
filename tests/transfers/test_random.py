"""Random transfers: whatever people move between two organizations, and in whichever way, the end is as if it had been built there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
import yaml

from tests.metamorphic.laboratory import Laboratory, failed, laboratory
from tests.proofs import costly, proof, spread
from tests.reliability.seen import as_lists_show, difference, seen
from tests.transfers.drawn import Drawn, drawn
from tests.transfers.two import TWO_SEED, Tree, Two, document, sent, two

EXCHANGE = 1029
"""Two spaces change places, of which a collection that is transferred contains one; another collection has its key afterwards."""


def lines(org: Two) -> Counter[str]:
    return seen(org.app.state.service.store.connection)


def twin(root: Path, draw: Drawn) -> Counter[str]:
    """The service on which the same end was built from nothing."""
    org = two(root)
    org.applied(*draw.last, protect=[])
    return lines(org)


@pytest.mark.parametrize("seed", spread(range(150), 2))
def test_the_end_is_that_of_a_twin_built_from_nothing(tmp_path: Path, seed: int) -> None:
    draw = drawn(seed)
    org = two(tmp_path / "org")
    org.applied(*draw.first, protect=[])
    transfers = [step for step in sent(org.applied(*draw.last, *draw.moved, protect=[])) if step.startswith("transfer ")]
    assert len(transfers) == len(set(transfers))
    assert difference(twin(tmp_path / "twin", draw), lines(org)) == []


@pytest.mark.parametrize("seed", spread(range(15), 1))
def test_lines_in_another_order_and_many_slow_requests_at_once_come_to_the_same(seed: int) -> None:
    ends = []
    for concurrency in (1, 32):
        with laboratory(seed, TWO_SEED, concurrency=concurrency, slowest=5.0 if concurrency > 1 else 0.2) as world:
            chance = random.Random(f"{seed} {concurrency}")
            draw = drawn(seed)
            for text in (document(*draw.first, protect=[]), document(*draw.last, *draw.moved, protect=[])):
                written(world, text, chance)
                assert failed(world.apply()) == []
                assert world.plan().empty
            agreed(world)
            transferred = Counter(path for method, path in world.requests if path.endswith("/transfer"))
            assert {*transferred.values()} <= {1}  # what is given and taken back needs none
            ends.append((world.seen(), sum(method != "GET" for method, _ in world.requests)))
    assert (difference(ends[0][0], ends[1][0]), ends[0][1]) == ([], ends[1][1])


@costly
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=() if seed == EXCHANGE else proof) for seed in range(1000, 1150)])
def test_the_opposite_lines_bring_everything_back_as_it_was(tmp_path: Path, seed: int) -> None:
    """What changed places waits until a run without its lines: the opposite ones are the same, which have their effect once."""
    draw, org = kept(seed), two(tmp_path)
    back = [(new, old) for old, new in draw.moved]
    exchanged = {*draw.moved} & {*back}
    org.applied(*draw.first, protect=[])
    addresses, before = org.addresses(), lines(org)
    for turn in range(2):
        if exchanged and turn:
            waits(org, (draw.first, back), (draw.last, draw.moved), exchanged)
        org.applied(*draw.last, *draw.moved, protect=[])
        assert {*org.addresses().values()} == {*addresses.values()}
        if exchanged:
            waits(org, (draw.last, draw.moved), (draw.first, back), exchanged)
        org.applied(*draw.first, *back, protect=[])
        assert org.addresses() == addresses
        assert difference(as_lists_show(before), as_lists_show(lines(org))) == []


Lines = Sequence[tuple[str, str]]


def waits(
    org: Two, here: tuple[tuple[Tree, Tree], Lines], there: tuple[tuple[Tree, Tree], Lines], exchanged: Collection[tuple[str, str]]
) -> None:
    """Repeated lines exchange nothing and retitle nothing, in every run; what was done beside them is taken back; then the lines go."""
    (trees, written), (others, opposite) = here, there
    addresses, shown = org.addresses(), lines(org)
    for _ in range(2):
        org.declare(*others, *opposite, protect=[])
        blocked = {str(refusal.address): refusal for refusal in org.plan().blocked}
        causes = {address for address, one in blocked.items() if one.id == "RC-repeated-rename"}
        assert causes == {old for old, _ in exchanged}
        assert {str(one.cause) for address, one in blocked.items() if address not in causes} <= causes
        org.apply()
        assert {address: org.addresses()[address] for address in causes} == {address: addresses[address] for address in causes}
    org.applied(*trees, *written, protect=[])
    assert org.addresses() == addresses
    assert difference(as_lists_show(shown), as_lists_show(lines(org))) == []
    org.applied(*trees, protect=[])


def kept(seed: int) -> Drawn:
    """A draw in which nothing is created or deleted, and every line is written."""
    for number in range(1000):
        draw = drawn(f"{seed} {number}", whole=True)
        if sorted(_titles(draw.before)) == sorted(_titles(draw.after)):
            return draw
    raise AssertionError("every draw creates or deletes something")


def _titles(trees: object) -> list[str]:
    """The numbers of all nodes, by which their titles begin."""
    match trees:
        case {"title": str(title), **rest}:
            return [title.split()[1], *_titles([*rest.values()])]
        case dict():
            return [title for part in trees.values() for title in _titles(part)]
        case list():
            return [title for part in trees for title in _titles(part)]
    return []


def written(world: Laboratory, text: str, chance: random.Random) -> None:
    """The project, its organizations and lines in any order."""
    tree = yaml.safe_load(text)
    chance.shuffle(tree.get("moved", []))
    organizations = [*tree["organizations"].items()]
    chance.shuffle(organizations)
    world.write_files({"reconciler.yaml": {**tree, "organizations": dict(organizations)}})


def agreed(world: Laboratory) -> None:
    """State and service agree: every object is tracked once, below the organization that has it, and nothing is in doubt."""
    state = world.remembered()
    assert state.intents == ()
    ids = [binding.id for binding in state.bindings.values()]
    assert len(ids) == len({*ids})
    for address, binding in state.bindings.items():
        if binding.kind in ("collection", "space"):
            found = world.service.select(binding.kind, organization=state.bindings[address.root].id)
            assert binding.id in [data["id"] for data in found], address
