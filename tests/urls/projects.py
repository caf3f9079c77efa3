"""Projects with `urls:`, and plans that move pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from reconciler.address import Address
from reconciler.config import Project, load
from reconciler.model import PageChange, Plan, UrlGroup, UrlReason
from reconciler.urls.planned import with_redirects
from tests.harness import kinds

SITE = Address.parse("acme/site/docs")
SPACE = Address.parse("acme/space/guides")
ROOT = "https://docs.acme.example"


def write(folder: Path, urls: Mapping[str, Any] | None, **more: Any) -> Path:
    """A project with two sites; `urls`: what it says of its URLs."""
    spaces = [{"space": "guides", "id": "spc_guides", "title": "Guides"}, {"space": "news", "id": "spc_news", "title": "News"}]
    sites = {
        name: {"title": name, "type": "basic", "visibility": "public", "published": True, "structure": [space]}
        for name, space in (("docs", "guides"), ("blog", "news"))
    }
    document = {"version": 1, "project": "test", **more}
    if urls is not None:
        document["urls"] = urls
    document["organizations"] = {"acme": {"id": "org_acme", "content": spaces, "sites": sites}}
    folder.mkdir(exist_ok=True)
    (folder / "reconciler.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return folder


def loaded(folder: Path, urls: Mapping[str, Any] | None, **more: Any) -> Project:
    return load(write(folder, urls, **more), kinds())


def changed(*moves: tuple[str | None, str | None] | tuple[str | None, str | None, str]) -> tuple[PageChange, ...]:
    """Changes of pages of the site `docs`, by path before and after."""
    changes = []
    for before, after, *rest in moves:
        reason = UrlReason(rest[0]) if rest else UrlReason.MOVED if before and after else UrlReason.NEW if after else UrlReason.GONE
        changes.append(PageChange("p", "P", SPACE, SITE, before and ROOT + before, after and ROOT + after, reason))
    return tuple(changes)


def planned(project: Project, changes: Iterable[PageChange]) -> Plan:
    """A plan with these changes and the redirects that follow."""
    group = UrlGroup(UrlReason.MOVED, SITE, ROOT, None, None, 0, 0, ())
    return with_redirects(project.desired, Plan("test", None, urls=tuple(changes), url_groups=(group,)))


def files(plan: Plan) -> dict[str, str]:
    """The texts that an apply writes, by path."""
    assert plan.redirects is not None
    return {file.path: file.text or "" for file in plan.redirects.written}


def apply_files(folder: Path, plan: Plan) -> None:
    """Write the files of a plan as an apply does."""
    for path, text in files(plan).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def without_texts(plan: Plan) -> Plan:
    """The plan as a reader of its document has it."""
    assert plan.redirects is not None
    kept = (replace(file, text="" if file.text is not None else None) for file in plan.redirects.files)
    return replace(plan, redirects=replace(plan.redirects, files=tuple(kept)))
