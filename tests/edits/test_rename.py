"""A key under another name, everywhere."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.address import Address
from reconciler.edits.rename import renamed
from reconciler.edits.texts import ProjectTexts, project_texts
from reconciler.errors import Refused
from tests.harness import kinds

HEAD = "version: 1\nproject: test\nservice: {member: ada@acme.example}\n"
ORGANIZATION = """\
organizations:
  acme:
    id: org_acme
    teams:
      writers: {title: Writers}   # who writes
    content:
      - {space: blank, id: spc_blank, title: Blank}
      # The guides.
      - space: guides
        title: Guides
        duplicateOf: blank
      - {space: copy, title: Copy, duplicateOf: guides}
    sites:
      docs:
        title: Docs
        structure:
          - section: start
            title: Start
            spaces: [guides, {key: other, space: copy}]
        shareLinks:
          partners: {name: Partners, active: true}
"""


def written(root: Path, files: Mapping[str, str] | str, **more: str) -> ProjectTexts:
    files = {"reconciler.yaml": files} if isinstance(files, str) else files
    for name, text in {**files, **more}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return project_texts(root, kinds())


def changed_lines(texts: ProjectTexts, address: str, key: str) -> list[str]:
    """The lines that a rename writes, with their files where there are several."""
    lines = []
    for name, text in renamed(texts, Address.parse(address), key).items():
        before = texts.texts[name].split("\n")
        lines += [line.strip() for line in text.split("\n") if line not in before]
    return lines


def test_what_takes_its_key_from_a_space_follows_it(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    assert changed_lines(texts, "acme/space/guides", "manual") == [
        "- space: manual",
        "previously: [guides]",
        "- {space: copy, title: Copy, duplicateOf: manual}",
        "spaces: [manual, {key: other, space: copy}]",
    ]


def test_comments_and_order_are_unchanged(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    assert changed_lines(texts, "acme/team/writers", "authors") == ["authors: {title: Writers, previously: [writers]}   # who writes"]


def test_a_bare_site_space_gets_a_key_of_its_own(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    lines = changed_lines(texts, "acme/site/docs/site-space/guides", "main")
    assert lines == ["spaces: [{space: guides, key: main, previously: [guides]}, {key: other, space: copy}]"]


def test_a_key_that_is_taken_is_refused_with_its_line(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    with pytest.raises(Refused, match=r"cannot become acme/space/copy, which is declared at reconciler.yaml:15:10") as refused:
        renamed(texts, Address.parse("acme/space/guides"), "copy")
    assert "third key" in str(refused.value.hint)


def test_nothing_changes_if_it_is_the_key_already(tmp_path: Path) -> None:
    assert renamed(written(tmp_path, HEAD + ORGANIZATION), Address.parse("acme/space/guides"), "guides") == {}
