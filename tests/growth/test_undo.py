"""Undo, import, acceptance, transfers: what is worked out grows with what there is to do. Nothing is sent, no state is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from reconciler.address import Address
from reconciler.config import load
from reconciler.features.drift.accept import Acceptance, chosen
from reconciler.features.drift.plan import drift
from reconciler.features.importer.gather import Gathered
from reconciler.features.importer.matched import MatchedProject
from reconciler.features.importer.project import project
from reconciler.features.undo.objects import put_back
from reconciler.kinds import load as kinds
from reconciler.model import Position
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.plan.world import World
from tests.effort import operations
from tests.growth.edits import EDITS, Edit, Tree, chosen as default, collections, organization, site
from tests.growth.scenes import applied, ring, scene, written
from tests.growth.test_planner import EXPONENT_MAX, exponent
from tests.growth.undone import Undoing
from tests.proofs import first_of, proof

FEW, MANY = 50, 200
FILES = 400  # above the number of nodes that are written to one file

CREATED = [edit for edit in EDITS if edit.name.endswith(": create")]
UNDONE = [edit for edit in EDITS if not edit.name.endswith("nothing to do")]
PUSHED = ("spaces at the root: reverse", "teams: nothing tracked, and half of them declared")


@pytest.mark.parametrize("edit", first_of(UNDONE, lambda edit: edit.name in PUSHED), ids=lambda edit: edit.name)
def test_taking_back_four_times_as_much_takes_four_times_the_operations(edit: Edit, tmp_path: Path) -> None:
    few, many = (Undoing(scene(tmp_path, edit, number)) for number in (FEW, MANY))
    assert exponent(operations(few.undo), operations(many.undo), MANY / FEW) <= EXPONENT_MAX


@pytest.mark.parametrize("work", ["plan", pytest.param("undo", marks=proof)])
def test_four_times_as_many_transfers_that_depend_on_each_other_take_four_times_the_operations(work: str, tmp_path: Path) -> None:
    few, many = (ring(tmp_path / str(number), number) for number in (20, 80))
    small, large = (getattr(one if work == "plan" else Undoing(one), work) for one in (few, many))
    assert exponent(operations(small), operations(large), 4) <= EXPONENT_MAX


def one_title(many: int) -> Tree:
    return organization(content=[{"space": f"s{i}", "title": "Guide"} for i in range(many)])


def at_the_root(many: int) -> Tree:
    """A site of that many variants, without sections."""
    return organization(
        sites=dict([site(0, [{"key": f"v{i}", "space": "blank", "path": f"v{i}", **default(i == 0)} for i in range(many)])])
    )


@pytest.mark.parametrize("tree", [one_title, at_the_root])
def test_naming_four_times_as_many_objects_for_an_import_takes_four_times_the_operations(tree: Callable[[int], Tree]) -> None:
    few, many = (applied(tree, number)[1] for number in (FEW, MANY))
    small, large = (operations(lambda actual=actual: Gathered(kinds(), actual, {})) for actual in (few, many))
    assert exponent(small, large, MANY / FEW) <= EXPONENT_MAX


@proof
@pytest.mark.parametrize("edit", CREATED, ids=lambda edit: edit.name)
def test_importing_four_times_as_many_objects_takes_four_times_the_operations(edit: Edit) -> None:
    few, many = (applied(edit.after, number)[1] for number in (FILES, 4 * FILES))
    small, large = (operations(lambda actual=actual: project(kinds(), actual, service={}, schema="")) for actual in (few, many))
    assert exponent(small, large, 4) <= EXPONENT_MAX


def accepting(root: Path, many: int) -> Callable[[], object]:
    """All spaces of collections got another title, which the YAML is to say."""
    state, actual = applied(collections, many)
    objects = {id: replace(one, values={**one.values, "title": f"New {id}"}) for id, one in actual.objects["space"].items()}
    actual = replace(actual, objects={**actual.objects, "space": objects})
    folder = written(root / str(many), collections(many))
    declared = load(folder, kinds()).desired
    made = plan(kinds(), declared, state, actual)
    found = drift(World(kinds(), declared, state, actual), made)
    ids = identify(kinds(), declared, state, actual).ids
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}
    accepted = chosen(found, [str(one.address) for one in found.resources], {}, kinds())
    assert len(accepted) == many + 1
    return lambda: Acceptance(MatchedProject(kinds(), declared, state, actual, ids), texts).edited(accepted)


def test_accepting_four_times_as_many_changes_takes_four_times_the_operations(tmp_path: Path) -> None:
    few, many = (accepting(tmp_path, number) for number in (FEW, MANY))
    assert exponent(operations(few), operations(many), MANY / FEW) <= EXPONENT_MAX


# -- where what is put back goes ----------------------------------------------------------------------------------------------------

ROOT = Address.parse("acme")
NAMES = [ROOT.child("space", name) for name in "abcdefghij"]


def spelled_out(
    rows: dict[Address, list[Address]], places: dict[Address, Position], positions_before: dict[Address, Position]
) -> dict[Address, list[Address]]:
    """What `put_back` does, looking everything up in the lists."""
    rows = {parent: list(row) for parent, row in rows.items()}
    for address, place in sorted(places.items(), key=lambda pair: (pair[1].parent, pair[1].index)):
        row, previous, seen = rows.setdefault(place.parent, []), place.previous, {address}
        while previous is not None and previous not in row and previous not in seen and previous in positions_before:
            seen.add(previous)
            previous = positions_before[previous].previous
        at = 0 if previous is None else row.index(previous) + 1 if previous in row else min(place.index, len(row))
        row.insert(at, address)
    return rows


@given(st.data())
def test_everything_is_put_back_behind_what_was_before_it_or_at_its_index(data: st.DataObject) -> None:
    order = data.draw(st.permutations(NAMES))
    there = data.draw(st.integers(0, len(order)))
    before = st.builds(Position, st.just(ROOT), st.integers(0, 12), st.none() | st.sampled_from(NAMES))
    places = {address: data.draw(before) for address in order[there:]}
    known = {address: position for address, position in places.items() if data.draw(st.booleans())}
    rows = {ROOT: list(order[: data.draw(st.integers(0, there))])}
    expected = spelled_out(rows, places, known)
    put_back(rows, places, known)
    assert rows == expected
