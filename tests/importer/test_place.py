"""Edits of files that people wrote: each lands in the map or list it was meant for."""

from __future__ import annotations

import itertools

import pytest
import yaml

from reconciler.importer.merge import EditedFile
from reconciler.yamltext.emit import EmittedEntry

TEXT = "a:\n  x: 1\n  deep:\n    y: 2\n"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip("\n")], ids=["whole", "without its last line break"])
def test_edits_that_meet_at_the_end_of_a_file_stay_apart(order: tuple[int, ...], text: str) -> None:
    page = EditedFile(text)
    assert isinstance(page.top, yaml.MappingNode)
    outer = page.top.value[0][1]
    edits = [(page.top, EmittedEntry("b", 5)), (outer, EmittedEntry("z", 4)), (outer.value[1][1], EmittedEntry("w", 3))]
    for number in order:
        page.add(edits[number][0], [edits[number][1]])
    assert yaml.safe_load(page.edited()) == {"a": {"x": 1, "deep": {"y": 2, "w": 3}, "z": 4}, "b": 5}
