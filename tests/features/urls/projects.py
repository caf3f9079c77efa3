"""Projects with `urls:`, and plans that move pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from reconciler.address import Address
from reconciler.config import Project, load
from reconciler.features.urls.model.pages import AnsweringUrls, PageChange, PageUrl, UrlGroup, UrlReason
from reconciler.features.urls.model.planned import REDIRECTS, URLS, PlannedUrls
from reconciler.features.urls.model.redirects import FormerUrl, RecordedUrls, Redirect, url_settings
from reconciler.features.urls.redirects.planned import with_redirects
from reconciler.features.urls.redirects.required import ANY, recorded_url
from reconciler.model import Plan
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
        changes.append(PageChange(f"p{len(changes)}", "P", SPACE, SITE, before and ROOT + before, after and ROOT + after, reason))
    return tuple(changes)


def answering(changes: Collection[PageChange], lines: Collection[Redirect] = (), root: str = ROOT) -> PlannedUrls:
    """What answers before and after these changes: besides their pages one at each URL to which a line leads."""
    ended = tuple((change.before or "").removesuffix("**") for change in changes if (change.before or "").endswith(ANY))
    changes = [change for change in changes if ANY not in (change.before or "") and "://" in (change.before or change.after or "")]
    left = {recorded_url(change.before) for change in changes if change.before is not None}
    sources = {recorded_url(line.source) for line in lines}
    others = {recorded_url(line.target): line.site for line in lines if line.target is not None}
    others = {url: site for url, site in others.items() if url not in sources and not url.startswith(ended)}
    stay = {url: (f"other{number}", site) for number, (url, site) in enumerate(others.items()) if url not in left}
    before = stay | {recorded_url(change.before): (change.page or "", change.site) for change in changes if change.before is not None}
    after = {**stay}
    for change in changes:
        if change.reason is UrlReason.SHADOWED and change.before is not None:
            after.setdefault(recorded_url(change.before), ("shadow", change.site))
    after |= {recorded_url(change.after): (change.page or "", change.site) for change in changes if change.after is not None}
    roots = {SITE: recorded_url(root)}
    return PlannedUrls(answering_before=_urls(before, roots), answering_after=_urls(after, roots))


def _urls(pages: Mapping[str, tuple[str, Address]], roots: Mapping[Address, str]) -> AnsweringUrls:
    return AnsweringUrls({url: PageUrl(url, page, "P", SPACE, site) for url, (page, site) in pages.items()}, roots=roots)


def planned(
    project: Project, changes: Iterable[PageChange], ledger: Mapping[str, FormerUrl] = MappingProxyType({}), root: str = ROOT
) -> Plan:
    """A plan with these changes and the redirects that follow."""
    changes, settings = tuple(changes), url_settings(project.desired)
    group = UrlGroup(UrlReason.MOVED, SITE, root, None, None, 0, 0, ())
    urls = answering(changes, settings.earlier if settings is not None else (), root)
    return with_redirects(
        project.desired, Plan("test", None).with_feature(URLS, replace(urls, changes=changes, groups=(group,))), RecordedUrls(ledger)
    )


def files(plan: Plan) -> dict[str, str]:
    """The texts that an apply writes, by path."""
    assert plan.feature(REDIRECTS) is not None
    return {file.path: file.text or "" for file in plan.feature(REDIRECTS).written}


def apply_files(folder: Path, plan: Plan) -> None:
    """Write the files of a plan as an apply does."""
    for path, text in files(plan).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def without_texts(plan: Plan) -> Plan:
    """The plan as a reader of its document has it."""
    assert plan.feature(REDIRECTS) is not None
    kept = (replace(file, text="" if file.text is not None else None) for file in plan.feature(REDIRECTS).files)
    return plan.with_feature(REDIRECTS, replace(plan.feature(REDIRECTS), files=tuple(kept)))
