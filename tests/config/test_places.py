"""Where things are written: noted by the reader as it finds them, and made a `Source` where somebody asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.address import Address
from reconciler.config import load
from reconciler.config.source import nodes
from reconciler.config.source.reader import read
from reconciler.kinds import load as kinds
from reconciler.model import Source

HEAD = """version: 1
project: acme
organizations:
  acme:
    id: org_acme
    content:
      - {space: blank, id: spc_blank, title: Blank}
"""
SPACE = '      - {{space: s{number}, title: "Space {number}", emoji: "x", language: en, editMode: live, duplicateOf: blank}}\n'


def test_a_node_says_where_it_is() -> None:
    document = read(b"a:\n  b: [c]\n", "a.yaml").data
    assert isinstance(document, nodes.Map)
    entry = document.entries["a"]
    assert (document.at, entry.at, entry.node.at) == (Source("a.yaml", 1, 1), Source("a.yaml", 1, 1), Source("a.yaml", 2, 3))


def test_values_are_not_asked_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result: list[Source] = []

    def noted(*mark: int) -> Source:
        result.append(Source(*mark))  # type: ignore[arg-type]
        return result[-1]

    monkeypatch.setattr(nodes, "Source", noted)
    numbers = []
    for size in (10, 110):
        (tmp_path / "reconciler.yaml").write_text(HEAD + "".join(SPACE.format(number=n) for n in range(size)), encoding="utf-8")
        result.clear()
        project = load(tmp_path, kinds())
        numbers.append(len(result))
    assert numbers[1] - numbers[0] <= 2 * 100  # the resource itself, and what it is a copy of
    declared = project.desired.resources[Address.parse("acme/space/s7")]
    assert dict(declared.positions) == {
        "title": Source("reconciler.yaml", 15, 28),
        "emoji": Source("reconciler.yaml", 15, 46),
        "language": Source("reconciler.yaml", 15, 61),
        "editMode": Source("reconciler.yaml", 15, 75),
        "duplicateOf": Source("reconciler.yaml", 15, 94),
    }
