"""A project says the same whether its maps and lists are written in one file or are split into many."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from reconciler.config import load
from reconciler.config.source.files import Files
from reconciler.config.source.problems import Enough, Problems
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.config.random_projects import projects
from tests.proofs import sampled, tries

LISTS = ("content", "structure", "spaces")
MAPS = ("organizations", "sites", "teams", "members", "shareLinks")


class Splitter:
    """Writes parts of a project into files of their own, as the drawn choices say."""

    def __init__(self, folder: Path, data: st.DataObject) -> None:
        self.folder, self.data, self.number = folder, data, 0

    def write(self, name: str, value: Any) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), encoding="utf-8")

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, dict):
            return value
        result = {key: self.value(item) for key, item in value.items()}
        for key, item in result.items():
            listed = key in LISTS and isinstance(item, list)
            if (listed or (key in MAPS and isinstance(item, dict))) and self.data.draw(st.booleans()):
                result[key] = self.list(key, item) if listed else self.map(key, item)
        return result

    def list(self, section: str, items: list[Any]) -> Any:
        cuts = sorted(self.data.draw(st.lists(st.integers(0, len(items)), max_size=2)))
        parts = [items[start:end] for start, end in zip([0, *cuts], [*cuts, len(items)], strict=True)]
        return {"include": self.files(section, parts)}

    def map(self, section: str, entries: dict[str, Any]) -> Any:
        beside = {key: item for key, item in entries.items() if self.data.draw(st.booleans())}
        rest = {key: item for key, item in entries.items() if key not in beside}
        parts = [{key: item} for key, item in rest.items()] if self.data.draw(st.booleans()) else [rest]
        return {**beside, "include": self.files(section, parts)} if parts else beside

    def files(self, section: str, parts: list[Any]) -> Any:
        self.number += 1
        names = [f"parts/{self.number:03}/{at:03}.yaml" for at in range(len(parts))]
        for name, part in zip(names, parts, strict=True):
            self.write(name, {section: part} if self.data.draw(st.booleans()) else part)
        return f"parts/{self.number:03}/*.yaml" if self.data.draw(st.booleans()) else names


@sampled
@settings(max_examples=tries(200, 30), deadline=None)
@given(projects(), st.data())
def test_a_project_that_is_split_says_what_it_says_in_one_file(project: dict[str, Any], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole, split = Path(folder, "whole"), Path(folder, "split")
        Splitter(whole, data).write("reconciler.yaml", project)
        splitter = Splitter(split, data)
        splitter.write("reconciler.yaml", splitter.value(project))
        item, other = load(whole, kinds()), load(split, kinds())
        assert item.digest == other.digest
        assert list(item.desired.resources) == list(other.desired.resources)


def test_problems_of_a_split_file_are_at_their_places_in_it(tmp_path: Path) -> None:
    splitter = Splitter(tmp_path, None)  # type: ignore[arg-type]
    project = {"version": 1, "project": "p", "organizations": {"acme": {"id": "o", "content": {"include": "content/*.yaml"}}}}
    splitter.write("reconciler.yaml", project)
    splitter.write("content/a.yaml", [{"collection": "a", "title": "A", "content": [{"space": "s", "titel": "S", "id": "spc"}]}])
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, kinds())
    assert str(raised.value) == 'content/a.yaml:5:5  acme/space/s: unknown field "titel"; did you mean "title"?'


def test_values_are_limited_in_a_project_and_by_the_memory_that_is_left(tmp_path: Path) -> None:
    splitter = Splitter(tmp_path, None)  # type: ignore[arg-type]
    for name in ("a.yaml", "b.yaml"):
        splitter.write(name, [{"title": "T"} for _ in range(10)])
    for limits, wrong in (
        ({"most": 50}, "b.yaml  the project contains more than 50 values, those of this file included; split it into several projects"),
        (
            {"unguarded": 30, "room": lambda values: False},
            "b.yaml  there is not enough memory for the project: it contains 31 values before this file; split it into several projects",
        ),
    ):
        problems = Problems([])
        files = Files(tmp_path, problems, **limits)  # type: ignore[arg-type]
        assert files.read("a.yaml") is not None
        with pytest.raises(Enough):
            files.read("b.yaml")
        assert str(ConfigError(problems.found)) == wrong
