"""What `forEach` makes is what would have been written out: the same addresses, the same values, the same order.

A project says the same whether its maps and lists are written in one file or are split into many."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from reconciler.config import load
from reconciler.config.language.compiled import compiled
from reconciler.config.project import Project
from reconciler.config.source.files import Files
from reconciler.config.source.problems import Enough, Problems
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.config.random_projects import projects
from tests.proofs import costly, sampled, tries

LISTS = ("content", "structure", "spaces")
MAPS = ("sites", "teams", "shareLinks")


class Folder:
    """Writes runs of alike entries and nodes as one `forEach`, as the drawn choices say."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.vars, self.used = data, {}, 0

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, dict):
            return value
        result = {}
        for key, item in value.items():
            if key in LISTS and isinstance(item, list):
                result[key] = self.nodes([self.value(node) for node in item])
            elif key in MAPS and isinstance(item, dict):
                result[key] = self.entries({name: self.value(entry) for name, entry in item.items()})
            else:
                result[key] = self.value(item)
        return result

    def nodes(self, items: list[Any]) -> list[Any]:
        result: list[Any] = []
        at = 0
        while at < len(items):
            end = at
            while end < len(items) and alike(items[at], items[end]):
                end += 1
            if end > at and self.data.draw(st.booleans()):
                run = items[at:end]
                result.append({"forEach": self.over(run), **{name: f"${{{{ each.value.{name} }}}}" for name in run[0]}})
                self.used += 1
                at = end
            else:
                result.append(items[at])
                at += 1
        return result

    def entries(self, entries: dict[str, Any]) -> dict[str, Any]:
        names = list(entries)
        if not names or not all(alike(entries[names[0]], item) for item in entries.values()) or self.data.draw(st.booleans()):
            return entries
        body = {name: f"${{{{ each.value.{name} }}}}" for name in entries[names[0]]}
        self.used += 1
        return {"${{ each.key }}": {"forEach": self.over(entries), **body}}

    def over(self, value: Any) -> Any:
        """The value itself, or a variable that has it."""
        if self.data.draw(st.booleans()):
            return value
        name = f"v{len(self.vars)}"
        self.vars[name] = {"default": value}
        return f"${{{{ vars.{name} }}}}"


def alike(item: Any, other: Any) -> bool:
    """Whether two of them have the same words, all with plain values."""
    if not isinstance(item, dict) or not isinstance(other, dict) or item.keys() != other.keys() or "forEach" in item:
        return False
    return all(isinstance(part, str) and "${{" not in part for element in (item, other) for part in element.values())


def written(folder: Path, project: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reconciler.yaml").write_text(yaml.safe_dump(project, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return folder


@sampled
@settings(max_examples=tries(200, 30), deadline=None)
@given(projects(), st.data())
def test_a_project_with_for_each_says_what_its_literal_twin_says(project: dict[str, Any], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        folder = Folder(data)
        short = folder.value(project)
        item = load(written(Path(root, "literal"), project), kinds())
        other = load(written(Path(root, "short"), {**short, "vars": folder.vars}), kinds())
        assert other.digest == item.digest
        assert list(item.desired.resources) == list(other.desired.resources)
        assert bool(other.desired.generated) == bool(folder.used)
        assert item.desired.generated == {}


HEAD = "version: 1\nproject: p\norganizations:\n  acme:\n    id: o\n"


def loaded(folder: Path, text: str) -> Project:
    folder.mkdir(exist_ok=True)
    (folder / "reconciler.yaml").write_text(text, encoding="utf-8")
    return load(folder, kinds())


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("[a, b]", [("a", "a", 0), ("b", "b", 1)]),
        ("{a: A, b: B}", [("a", "A", 0), ("b", "B", 1)]),
        ("[9, 1.5]", [("9", "9", 0), ("1.5", "1.5", 1)]),
        ("'${{ range(9, 11) }}'", [("9", "9", 0), ("10", "10", 1)]),
        ("""'${{ json("[\\"x\\"]") }}'""", [("x", "x", 0)]),
        ("[]", []),
    ],
)
def test_each_has_a_key_a_value_and_an_index(tmp_path: Path, loop: str, expected: list[tuple[str, str, int]]) -> None:
    body = f"    teams:\n      t-${{{{ each.key }}}}: {{forEach: {loop}, title: '${{{{ each.value }}}} ${{{{ each.index }}}}'}}\n"
    desired = loaded(tmp_path, HEAD + body).desired
    problems = [(address.key, item.values["title"]) for address, item in desired.resources.items() if item.kind == "team"]
    assert sorted(problems) == sorted((f"t-{key}", f"{value} {index}") for key, value, index in expected)


def test_a_file_of_a_split_list_may_hold_for_each(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("- {forEach: [a, b], collection: '${{ each.key }}', title: '${{ each.key }}'}\n")
    desired = loaded(tmp_path, HEAD + "    content: {include: nodes.yaml}\n").desired
    assert [str(address) for address in desired.resources] == ["acme", "acme/collection/a", "acme/collection/b"]


@costly
def test_ten_thousand_elements_compile_each_expression_once(tmp_path: Path) -> None:
    compiled.cache_clear()
    body = "    teams:\n      t${{ each.key }}: {forEach: '${{ range(0, 10000) }}', title: 'T ${{ each.value }}'}\n"
    assert len(loaded(tmp_path, HEAD + body).desired.resources) == 10_001
    assert compiled.cache_info().misses == 3


def test_an_element_is_the_default_where_its_expression_is_true_as_a_literal_entry_is(tmp_path: Path) -> None:
    nodes = [{"space": key, **({"default": True} if key == "b" else {})} for key in "abc"]
    loop = [{"forEach": ["a", "b", "c"], "key": "${{ each.key }}", "space": "${{ each.key }}", "default": '${{ each.key == "b" }}'}]
    content = [{"space": key, "id": f"spc_{key}", "title": f"Space {key}"} for key in "abc"]
    result = []
    for structure in (nodes, loop):
        sites = {"docs": {"title": "Docs", "structure": structure}}
        project = {"version": 1, "project": "p", "organizations": {"acme": {"id": "org_acme", "content": content, "sites": sites}}}
        (tmp_path / "reconciler.yaml").write_text(yaml.safe_dump(project), encoding="utf-8")
        result.append({address: dict(declared.values) for address, declared in load(tmp_path, kinds()).desired.resources.items()})
    assert result[0] == result[1]


SPLIT_MAPS = ("organizations", "sites", "teams", "members", "shareLinks")


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
            if (listed or (key in SPLIT_MAPS and isinstance(item, dict))) and self.data.draw(st.booleans()):
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


@costly
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
