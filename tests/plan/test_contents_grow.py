"""What must stay keeps all that contains it, in as many steps as there are objects around it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log
from pathlib import Path

from tests.effort import operations
from tests.growth.edits import empty_collections, nothing
from tests.growth.scenes import Scene, applied, desired


def chain(folder: Path, many: int) -> Scene:
    """Collections in each other that are no longer declared; an unmanaged space is in the innermost."""
    state, actual = applied(empty_collections, many)
    ids = [binding.id for _, binding in sorted(state.bindings.items()) if binding.kind == "collection"]
    collections, spaces = dict(actual.objects["collection"]), dict(actual.objects["space"])
    for outer, inner in pairwise(ids):
        collections[inner] = replace(collections[inner], values={**collections[inner].values, "parent": outer})
    blank = spaces["spc_blank"]
    spaces["spc_notes"] = replace(blank, id="spc_notes", values={**blank.values, "title": "Notes", "parent": ids[-1]})
    return Scene(
        desired(folder / str(many), nothing(many)),
        state,
        replace(actual, objects={**actual.objects, "collection": collections, "space": spaces}),
    )


def test_a_chain_of_four_times_as_many_collections_takes_four_times_the_operations(tmp_path: Path) -> None:
    few, many = (chain(tmp_path, number) for number in (50, 200))
    assert len(many.plan().blocked) == 200
    assert log(operations(many.plan) / operations(few.plan)) / log(4) <= 1.1


def test_a_chain_that_is_deeper_than_python_calls_functions_is_blocked(tmp_path: Path) -> None:
    assert len(chain(tmp_path, 2_000).plan().blocked) == 2_000
