"""Whatever was moved outside can be kept: the lines go where the objects stand, and every comment is still there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from reconciler.config.keys import TOP
from reconciler.errors import Refused
from reconciler.kinds import load as kinds
from reconciler.yamltext.format import document, layout
from reconciler.yamltext.tree import parse
from tests.features.drift.outside import drifted
from tests.features.importer.test_accept import accept
from tests.harness import ORGANIZATION, Org
from tests.proofs import sampled, tries

SHAPE = document(kinds(), TOP)
HEAD = """\
version: 1
project: test
service: {member: ada@acme.example}
protect: []
defaults: {space: {duplicateOf: blank}}
guards: {maxDelete: {percent: 100, atLeast: 1000}}
"""
ORG = "organizations: {acme: {id: org_acme, title: Acme}}\n"


class Writing:
    """Draws the lines of lists, each node with or without braces, comments and free lines."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.number = data, 0
        self.collections: list[str] = []
        self.spaces: list[str] = []

    def chance(self, of: int = 3) -> bool:
        return self.data.draw(st.integers(0, of - 1)) == 0

    def note(self, pad: str) -> list[str]:
        self.number += 1
        return [f"{pad}# note {self.number}"] if self.chance() else []

    def remark(self) -> str:
        self.number += 1
        return f"  # behind {self.number}" if self.chance() else ""

    def content(self, pad: str, depth: int) -> list[str]:
        lines: list[str] = []
        for at in range(self.data.draw(st.integers(1, 3 if depth else 4))):
            self.number += 1
            name = f"n{self.number}"
            lines += [""] if at and self.chance(4) else []
            lines += self.note(pad)
            nested = depth < 3 and self.chance(2)
            (self.collections if nested else self.spaces).append(name)
            tag = "collection" if nested else "space"
            if nested and self.chance(2):
                lines += [f"{pad}- {tag}: {name}{self.remark()}", f"{pad}  title: T {name}", *self.note(f"{pad}  ")]
                lines += [f"{pad}  content:{self.remark()}", *self.content(f"{pad}    ", depth + 1), *self.note(f"{pad}    ")]
            elif nested:
                inner = f"s{self.number}"
                self.spaces.append(inner)
                below = "[]" if self.chance(2) else f"[{{space: {inner}, title: T}}]"
                self.spaces.remove(inner) if below == "[]" else None
                lines += [f"{pad}- {{{tag}: {name}, title: T, content: {below}}}{self.remark()}"]
            elif self.chance(2):
                lines += [f"{pad}- {tag}: {name}", f"{pad}  title: |-", f"{pad}    T {name}"]
            else:
                lines += [f"{pad}- {{{tag}: {name}, title: T {name}}}{self.remark()}"]
        return lines


def built(data: st.DataObject, org: Org) -> tuple[Writing, list[Path]]:
    """A project with a random tree of content, its list in the project file or in one of its own."""
    writing = Writing(data)
    lines = [
        "content:",
        "  - {space: blank, id: spc_blank, title: Blank}",
        *[f"  {line}" if line else "" for line in writing.content("", 0)],
    ]
    apart = writing.chance(2)
    text = "\n".join(lines) + "\n"
    if apart:
        files = {"reconciler.yaml": f"{HEAD}include: [content.yaml]\n{ORG}", "content.yaml": text}
    else:
        below = "\n".join(f"    {line}" if line else "" for line in lines)
        files = {"reconciler.yaml": f"{HEAD}organizations:\n  acme:\n    id: org_acme\n    title: Acme\n{below}\n"}
    tidy = writing.chance(2)
    for name, one in files.items():
        (org.project / name).write_text(layout(one, SHAPE) if tidy else one, encoding="utf-8")
    return writing, [org.project / name for name in files]


def shift(data: st.DataObject, org: Org, writing: Writing) -> None:
    """Somebody else moves something somewhere."""
    collections = {name: org.id(f"acme/collection/{name}") for name in writing.collections}
    spaces = {name: org.id(f"acme/space/{name}") for name in writing.spaces}
    is_space = not collections or writing.chance(2)
    if is_space and not spaces:
        return
    id = data.draw(st.sampled_from(sorted((spaces if is_space else collections).values())))
    where: dict[str, Any] = {"parent": data.draw(st.sampled_from([None, *sorted(collections.values())]))}
    around = _around(org, where["parent"])
    if not is_space and id in around:
        return
    beside = [space for space in spaces.values() if space != id and _parent(org, space) == where["parent"]]
    if beside and writing.chance(2):
        where["position"] = {
            data.draw(st.sampled_from(["before", "after"])): {"type": "space", "space": data.draw(st.sampled_from(beside))}
        }
    org.call("POST", f"/{'spaces' if is_space else 'collections'}/{id}/move", where)


def _parent(org: Org, space: str) -> str | None:
    found: dict[str, Any] = org.call("GET", f"/spaces/{space}")
    return found.get("parent")


def _around(org: Org, at: str | None) -> set[str]:
    found = set()
    while at is not None:
        found.add(at)
        at = org.call("GET", f"/collections/{at}").get("parent")
    return found


@sampled
@settings(max_examples=tries(8, 2), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_moves_of_content_are_kept_and_nothing_is_left_to_do(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        writing, paths = built(data, org)
        assert org.apply().leftover == ()
        before = {path: path.read_text("utf-8") for path in paths}
        tidy = {path: layout(text, SHAPE) == text for path, text in before.items()}
        for _ in range(data.draw(st.integers(1, 6))):
            shift(data, org, writing)
        keep(org)
        after = {path: path.read_text("utf-8") for path in paths}
        assert comments(before.values()) == comments(after.values())
        assert all(layout(after[path], SHAPE) == after[path] for path in paths if tidy[path])


def keep(org: Org) -> None:
    """Accept everything that moved; the plan is then empty."""
    words = [str(one.address) for one in drifted(org).resources]
    if words:
        accept(org, *words)
    made = org.plan()
    assert (made.changes, made.steps, made.blocked, made.differing) == ((), (), (), {})
    assert drifted(org).resources == ()


def comments(texts: Any) -> list[str]:
    return sorted(comment for text in texts for comment in parse(text).comments)


SITES = """\
sites:
  docs:
    title: Docs
    structure:
      # first
      - section: a  # a
        title: Aa
        spaces: [s1]
      - {section: b, title: Bb, default: true, spaces: [s2]}  # b

      - group: g
        title: Gg
        structure:
          # of c
          - {section: c, title: Cc, spaces: [s3]}
          - section: d
            title: Dd
            spaces:
              - s4  # four
      - {group: h, title: Hh}  # none
      # the end
"""
CONTENT = (
    "content: [{space: blank, id: spc_blank, title: Blank}, " + ", ".join(f"{{space: s{n}, title: S{n}}}" for n in range(1, 5)) + "]\n"
)


@sampled
@settings(max_examples=tries(6, 2), suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["g", "h", None]), st.sampled_from(["", "a", "b", "c", "d"])), max_size=5)
)
def test_any_moves_of_sections_are_kept_and_nothing_is_left_to_do(shifts: list[tuple[str, str | None, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        org.write(f"{HEAD}include: [content.yaml, docs.yaml]\n{ORG}")
        paths = [org.project / "content.yaml", org.project / "docs.yaml"]
        for path, text in zip(paths, (CONTENT, SITES), strict=True):
            path.write_text(text, encoding="utf-8")
        assert org.apply().leftover == ()
        base = f"/orgs/{ORGANIZATION}/sites/{org.id('acme/site/docs')}"
        section = {name: org.id(f"acme/site/docs/section/{name}") for name in "abcd"}
        for name, group, beside in shifts:
            held = next(item for item in org.items(f"{base}/sections") if item["id"] == section[name]).get("sectionGroup")
            if held is not None:
                org.call("DELETE", f"{base}/section-groups/{held}/sections/{section[name]}")
            if group is not None:
                org.call("POST", f"{base}/section-groups/{org.id(f'acme/site/docs/group/{group}')}/sections", {"sectionId": section[name]})
            elif beside and beside != name:
                other = next(one for one in org.items(f"{base}/sections") if one["id"] == section[beside])
                if other.get("sectionGroup") is None:
                    place = {"position": {"before": {"type": "site-section", "siteSection": section[beside]}}}
                    org.call("POST", f"{base}/sections/{section[name]}/move", place)
        keep(org)
        assert comments([CONTENT, SITES]) == comments(path.read_text("utf-8") for path in paths)
        assert layout(paths[1].read_text("utf-8"), SHAPE) == paths[1].read_text("utf-8") or layout(SITES, SHAPE) != SITES


@pytest.fixture
def two(tmp_path: Path) -> Org:
    """Two collections, one in the other."""
    org = Org(tmp_path)
    lines = [
        "content:", "  - {space: blank, id: spc_blank, title: Blank}", "  - collection: a", "    title: A", "    content:",
        "      - {collection: b, title: B}",
    ]  # fmt: skip
    org.write(f"{HEAD}include: [content.yaml]\n{ORG}")
    (org.project / "content.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    org.apply()
    return org


def test_a_resource_in_an_undeclared_container_is_refused_and_the_container_named(two: Org) -> None:
    wild = two.call("POST", f"/orgs/{ORGANIZATION}/collections", {"title": "Wild"})["id"]
    two.call("POST", f"/collections/{two.id('acme/collection/b')}/move", {"parent": wild})
    with pytest.raises(Refused) as refused:
        accept(two, "acme/collection/b")
    assert f'acme/collection/b is now in collection {wild} "Wild", which the YAML does not declare' == refused.value.message


def test_two_that_changed_places_are_accepted_together_and_the_inner_one_alone(two: Org) -> None:
    a, b = two.id("acme/collection/a"), two.id("acme/collection/b")
    two.call("POST", f"/collections/{b}/move", {"parent": None})
    two.call("POST", f"/collections/{a}/move", {"parent": b})
    with pytest.raises(Refused) as refused:
        accept(two, "acme/collection/a")
    assert "--accept acme/collection/b" in (refused.value.hint or "")
    keep(two)
    text = (two.project / "content.yaml").read_text("utf-8")
    assert "  - collection: b\n    title: B\n    content:\n      - collection: a\n        title: A\n        content: []\n" in text
