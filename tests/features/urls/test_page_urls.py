"""What a plan says of the URLs of pages, case by case: which end, where their pages are then, who links there, what was read for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.address import Address
from reconciler.features.urls.model.pages import PageChange, PageTree, UrlReason
from reconciler.features.urls.model.planned import URLS
from reconciler.features.urls.plan.groups import grouped
from reconciler.features.urls.stages import TREES
from reconciler.features.urls.tables import kept
from reconciler.model import Plan
from reconciler.model.variants import SiteUrls, Variant
from reconciler.report.documents import plan_document
from reconciler.report.plan import plan_sheet
from reconciler.report.reading import sheet_of
from reconciler.report.sheet import sheet_text
from tests.features.urls.reorganization import Site
from tests.harness import kinds
from tests.organizations import ORGANIZATION, SEED
from tests.transports import Onward

NOW = datetime(2026, 11, 26, tzinfo=UTC)


def page(id: str, path: str, markdown: str = "", *inside: Any) -> dict[str, Any]:
    return {"id": f"pag_{id}", "title": id.title(), "path": path, "slug": path.split("/")[-1], "markdown": markdown, "pages": [*inside]}


LINK = {"id": "pag_site", "title": "Our site", "type": "link"}
COMPUTED = {"id": "pag_made", "title": "Reference", "type": "computed"}
"""Pages without a path, which no test below can see: they have no URL, and the rest is as if they did not exist."""

SPACES = {
    "start": [page("welcome", "welcome", "[Old](/spaces/spc_old/pages/pag_past) and [use it](/spaces/spc_use/pages/pag_install)")],
    "use": [
        LINK,
        page("install", "install", "", page("linux", "install/linux")),
        {**page("head", "head"), "type": "group", "pages": [COMPUTED]},
        page("run", "run"),
    ],
    "old": [page("past", "past", "[Itself](past)"), page("gone", "gone")],
    "faq": [page("why", "why", "[Old](/spaces/spc_old)"), page("how", "how", "[Past](/spaces/spc_old/pages/pag_past)"), COMPUTED],
}


def content() -> list[dict[str, Any]]:
    return [
        {"space": "blank", "id": "spc_blank", "title": "Blank"},
        *({"space": key, "id": f"spc_{key}", "title": key.title()} for key in SPACES),
    ]


def tree() -> dict[str, Any]:
    """A site with a section of one variant, one of two, and one more."""
    sections = [
        {
            "section": "home",
            "title": "Home",
            "path": "home",
            "default": True,
            "spaces": [{"space": "start", "path": "start", "default": True}],
        },
        {
            "section": "use",
            "title": "Use",
            "path": "use",
            "spaces": [{"space": "use", "path": "v2", "default": True}, {"space": "old", "path": "v1"}],
        },
        {"section": "more", "title": "More", "path": "more", "spaces": [{"space": "faq", "path": "faq", "default": True}]},
    ]
    site = {"title": "Docs", "basename": "docs", "published": True, "visibility": "public", "structure": sections}
    return {"content": content(), "sites": {"docs": site}}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """The site as it is applied."""
    spaces = [
        {"organization": ORGANIZATION, "id": f"spc_{key}", "title": key.title(), "parent": None, "pages": some}
        for key, some in SPACES.items()
    ]
    org = Site(tmp_path, seed={**SEED, "spaces": [*SEED["spaces"], *spaces]})
    org.reorganize({"acme": tree()})
    org.apply()
    org.requests.clear()
    return org


def planned(site: Site, tree: dict[str, Any], **options: Any) -> Plan:
    site.reorganize({"acme": tree})
    return site.urls(**options).plan


def lines(urls: Iterable[PageChange]) -> list[tuple[str, str | None, str | None, str]]:
    """(page, before, after, reason), URLs from the site's on; new ones left out."""

    def path(url: str | None) -> str | None:
        return None if url is None else url.split("/published/docs", 1)[-1] or "/"

    return [(change.title, path(change.before), path(change.after), change.reason.value) for change in urls if change.before is not None]


def said(plan: Plan) -> str:
    """The text of the plan's report, without what aligns it."""
    text = "".join(span.text for span in sheet_text(plan_sheet(plan), width=160))
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def section(tree: dict[str, Any], number: int) -> dict[str, Any]:
    row: dict[str, Any] = tree["sites"]["docs"]["structure"][number]
    return row


# -- what happens to a URL ---------------------------------------------------------------------------------------------------------------


def test_a_section_that_is_renamed_moves_every_url_of_its_pages(site: Site) -> None:
    after = tree()
    section(after, 1)["path"] = "product"
    plan = planned(site, after)
    assert lines(plan.feature(URLS).changes) == [
        ("Install", "/use", "/product", "moved"),
        ("Install", "/use/install", "/product/install", "moved"),
        ("Linux", "/use/install/linux", "/product/install/linux", "moved"),
        ("Run", "/use/run", "/product/run", "moved"),
        ("Past", "/use/v1", "/product/v1", "moved"),
        ("Gone", "/use/v1/gone", "/product/v1/gone", "moved"),
        ("Past", "/use/v1/past", "/product/v1/past", "moved"),
        ("Install", "/use/v2", "/product/v2", "moved"),
        ("Install", "/use/v2/install", "/product/v2/install", "moved"),
        ("Linux", "/use/v2/install/linux", "/product/v2/install/linux", "moved"),
        ("Run", "/use/v2/run", "/product/v2/run", "moved"),
    ]
    assert "moves 11 URLs: /use/** -> /product/** (5 pages of 2 spaces)" in said(plan)
    assert "1 published URL and 11 URLs of pages broken" in said(plan)
    assert plan.feature(URLS).linking == ()


def test_a_variant_in_another_section_is_found_by_its_pages_at_the_path_that_the_service_derives(site: Site) -> None:
    after = tree()
    section(after, 1)["spaces"].pop()
    section(after, 2)["spaces"].append({"key": "archive", "space": "old"})
    plan = planned(site, after)
    assert lines(plan.feature(URLS).changes) == [
        ("Past", "/use/v1", "/more/old", "moved"),
        ("Gone", "/use/v1/gone", "/more/old/gone", "moved"),
        ("Past", "/use/v1/past", "/more/old/past", "moved"),
    ]
    assert "moves 3 URLs: /use/v1/** -> /more/old/** (2 pages of acme/space/old)" in said(plan)


def test_pages_that_answer_nowhere_afterwards_are_named_with_those_that_link_to_them(site: Site) -> None:
    after = tree()
    section(after, 1)["spaces"].pop()
    plan = planned(site, after)
    assert lines(plan.feature(URLS).changes) == [
        ("Past", "/use/v1", None, "gone"),
        ("Gone", "/use/v1/gone", None, "gone"),
        ("Past", "/use/v1/past", None, "gone"),
    ]
    assert [(page.title, str(page.space), page.to) for page in plan.feature(URLS).linking] == [
        ("How", "acme/space/faq", ("Past",)),
        ("Why", "acme/space/faq", ("Old",)),
        ("Welcome", "acme/space/start", ("Past",)),
    ]
    text = said(plan)
    assert "ends 3 URLs: /use/v1/** (2 pages of acme/space/old)" in text
    assert '3 pages in 2 spaces link to pages that end: "How" (acme/space/faq), "Why" (acme/space/faq)' in text
    assert "3 URLs of pages end." in text
    # One request for the pages, and one for the links of each other space.
    assert sorted(path for _, path in site.requests if path.endswith(("/links", "/content/pages"))) == [
        "/spaces/spc_blank/links",
        "/spaces/spc_faq/links",
        "/spaces/spc_old/content/pages",
        "/spaces/spc_start/content/pages",
        "/spaces/spc_start/links",
        "/spaces/spc_use/content/pages",
        "/spaces/spc_use/links",
    ]


def test_pages_that_are_shown_elsewhere_too_are_said_to_stay_there(site: Site) -> None:
    before = tree()
    section(before, 2)["spaces"].append({"key": "more-old", "space": "old", "path": "archive"})
    site.reorganize({"acme": before})
    site.apply()
    after = tree()
    section(after, 2)["spaces"] = section(before, 2)["spaces"]
    section(after, 1)["spaces"].pop()
    plan = planned(site, after)
    assert lines(plan.feature(URLS).changes)[2] == ("Past", "/use/v1/past", "/more/archive/past", "gone")
    assert "ends 3 URLs: /use/v1/** (2 pages of acme/space/old; they stay at /more/archive/**)" in said(plan)
    assert "3 URLs of pages end although their pages answer at another URL." in said(plan)
    assert plan.feature(URLS).linking == ()


def test_a_page_takes_the_url_of_another_one(site: Site) -> None:
    """The default variant answers without its segment, so another default takes the first page's URL, and the others end."""
    after = tree()
    one, other = section(after, 1)["spaces"]
    del one["default"]
    other["default"] = True
    plan = planned(site, after)
    assert lines(plan.feature(URLS).changes) == [
        ("Install", "/use", "/use/v2", "shadowed"),
        ("Install", "/use/install", "/use/v2/install", "gone"),
        ("Linux", "/use/install/linux", "/use/v2/install/linux", "gone"),
        ("Run", "/use/run", "/use/v2/run", "gone"),
    ]
    new = [change for change in plan.feature(URLS).changes if change.before is None]
    assert [(change.title, change.reason) for change in new] == [("Past", UrlReason.NEW), ("Gone", UrlReason.NEW), ("Past", UrlReason.NEW)]
    assert "another page answers there; it is then at /use/v2" in said(plan)


def test_what_a_new_site_shows_is_unknown_also_where_its_pages_were_read(site: Site) -> None:
    after = tree()
    section(after, 1)["path"] = "product"
    variants = [{"key": "new-use", "space": "use", "path": "x"}]
    section_ = {"section": "new", "title": "New", "path": "new", "default": True, "spaces": variants}
    after["sites"]["new"] = {"title": "New", "published": True, "visibility": "public", "structure": [section_]}
    unknown = [change for change in planned(site, after).feature(URLS).changes if change.reason is UrlReason.UNKNOWN]
    assert [(str(change.site), str(change.space)) for change in unknown] == [("acme/site/new", "acme/space/use")]


def test_a_url_that_ends_alone_is_named_and_not_everything_beside_it() -> None:
    site, space, root = ("site", "s"), ("space", "a"), "https://docs.example"
    variant = Variant(("site-space", "v"), space, site, root, {0: root})
    names = {site: Address.parse("acme/site/docs"), space: Address.parse("acme/space/a")}
    ends = PageChange("p", "P", names[space], names[site], f"{root}/install", None, UrlReason.GONE)
    moves = PageChange("q", "Q", names[space], names[site], f"{root}/use/a", f"{root}/product/a", UrlReason.MOVED)
    shown = [(group.before, group.after) for group in grouped(SiteUrls((variant,), (variant,), names), [ends, moves])]
    assert shown == [(f"{root}/install", None), (f"{root}/use/a", f"{root}/product/a")]


@pytest.mark.parametrize("visibility", ["share-link", "visitor-auth"])
def test_a_site_that_admits_only_some_readers_ends_its_urls_for_everybody(site: Site, visibility: str) -> None:
    after = tree()
    after["sites"]["docs"]["visibility"] = visibility
    plan = planned(site, after)
    assert {change.reason for change in plan.feature(URLS).changes} == {UrlReason.GONE}
    assert [group.before for group in plan.feature(URLS).groups] == [f"{plan.feature(URLS).groups[0].root}/**"]


@pytest.mark.parametrize("more", [{"visibility": "share-link", "shareLinks": {"partners": "Partners"}}, {"visibility": "visitor-auth"}])
def test_the_urls_of_a_site_that_admits_only_some_readers_move_too(site: Site, more: dict[str, Any]) -> None:
    before, after = tree(), tree()
    for some in (before, after):
        some["sites"]["docs"] |= more
    section(after, 1)["path"] = "product"
    site.reorganize({"acme": before})
    site.apply()
    plan = planned(site, after)
    assert {change.reason for change in plan.feature(URLS).changes} == {UrlReason.MOVED}
    assert {group.after.removeprefix(group.root) for group in plan.feature(URLS).groups if group.after is not None} >= {"/product/**"}


@pytest.mark.parametrize("active", [True, False])
def test_the_share_links_of_a_site_are_read_before_its_urls_count_as_known_to_their_holders(site: Site, active: bool) -> None:
    """The project declares none of them, so that no reading needs them otherwise."""
    before = tree()
    before["sites"]["docs"] |= {"visibility": "share-link", "shareLinks": {"partners": {"name": "Partners", "active": active}}}
    site.reorganize({"acme": before})
    site.apply()
    after = tree()
    after["sites"]["docs"]["visibility"] = "share-link"
    site.write(after, removed=[{"address": "acme/site/docs/share-link/partners", "action": "forget"}])
    site.apply()
    section(after, 1)["path"] = "product"
    site.write(after)
    site.requests.clear()
    plan = site.urls().plan
    assert len([path for _, path in site.requests if path.endswith("/share-links")]) == 1
    assert {change.reason for change in plan.feature(URLS).changes} == ({UrlReason.MOVED} if active else set())


def test_an_object_that_shows_a_deleted_one_and_stays_is_named_with_its_url(site: Site) -> None:
    after = tree()
    after["content"] = [node for node in after["content"] if node["space"] != "old"]
    section(after, 1)["spaces"].pop()
    site.write(after, prune={"site-space": "none"})
    plan = site.urls().plan
    assert [(str(line.address), (line.before or "").rpartition("/docs")[2], line.after, line.reason) for line in plan.broken] == [
        ("acme/site/docs/site-space/old", "/use/v1", None, "it shows acme/space/old, which is deleted")
    ]
    assert "! breaks" in said(plan)
    assert {reason for *_, reason in lines(plan.feature(URLS).changes)} == {"gone"}


@pytest.mark.parametrize("change", [{}, {"title": "Usage"}, {"path": "usage"}])
def test_a_blocked_variant_that_shows_a_deleted_space_is_named_whatever_else_changes_around_it(site: Site, change: dict[str, str]) -> None:
    before, after = tree(), tree()
    section(before, 1)["spaces"][-1]["protect"] = True
    site.reorganize({"acme": before})
    site.apply()
    after["content"] = [node for node in after["content"] if node["space"] != "old"]
    section(after, 1)["spaces"].pop()
    section(after, 1).update(change)
    site.write(after)
    plan = site.urls().plan
    assert [str(blocked.address) for blocked in plan.blocked] == ["acme/site/docs/site-space/old"]
    assert ("acme/site/docs/site-space/old", "it shows acme/space/old, which is deleted") in [
        (str(line.address), line.reason) for line in plan.broken
    ]


def test_a_url_at_which_the_same_page_answers_by_default_does_not_break(site: Site) -> None:
    """What is below it does. The section and its variant are both called `home`: without the section's segment, the variant answers."""
    before = tree()
    section(before, 0)["spaces"] = [{"space": "start", "path": "home", "default": True}]
    site.reorganize({"acme": before})
    site.apply()
    after = tree()
    section(after, 0).update(path="begin", spaces=section(before, 0)["spaces"])
    plan = planned(site, after)
    broken = [(str(line.address), *((url or "").rpartition("/docs")[2] for url in (line.before, line.after))) for line in plan.broken]
    assert broken == [("acme/site/docs/site-space/start", "/home/home", "/begin/home")]
    assert ("Welcome", "/home/home", "/begin/home", "moved") in lines(plan.feature(URLS).changes)
    assert "/home" not in {before for _, before, _, _ in lines(plan.feature(URLS).changes)}


def test_a_page_that_only_some_readers_can_read_afterwards_has_not_moved_for_those_who_knew_its_url(site: Site) -> None:
    before = tree()
    before["sites"]["internal"] = {
        "title": "Internal", "visibility": "visitor-auth", "published": True, "structure": [{"space": "faq", "path": "faq"}],
    }  # fmt: skip
    site.reorganize({"acme": before})
    site.apply()
    after = tree()
    after["sites"] |= {"internal": before["sites"]["internal"]}
    after["sites"]["docs"]["structure"].pop()
    changes = lines(planned(site, after).feature(URLS).changes)
    assert {after_ for _, _, after_, _ in changes} == {None}
    assert {reason for *_, reason in changes} == {"gone"}


def test_a_condition_hides_the_urls_of_its_section(site: Site) -> None:
    after = tree()
    after["sites"]["docs"]["adaptiveContent"] = {"enabled": True}
    section(after, 2)["condition"] = "visitor.claims.staff"
    assert {before for _, before, _, _ in lines(planned(site, after).feature(URLS).changes)} >= {"/more/faq/why", "/more/why", "/more"}


def test_a_new_variant_has_new_urls_and_no_line(site: Site) -> None:
    after = tree()
    section(after, 0)["spaces"].append({"key": "again", "space": "faq", "path": "faq"})
    plan = planned(site, after)
    assert [change.after for change in plan.feature(URLS).changes if change.reason is UrlReason.NEW] == [
        change.after for change in plan.feature(URLS).changes
    ]
    assert len(plan.feature(URLS).changes) == 6  # three below the section, and three without its segment
    assert "URL" not in said(plan)


def test_the_end_of_a_secret_url_is_a_digest(site: Site) -> None:
    before = tree()
    before["sites"]["docs"] |= {"visibility": "share-link", "shareLinks": {"partners": "Partners"}}
    site.reorganize({"acme": before})
    site.apply()
    after = tree()
    after["sites"]["docs"] |= {"visibility": "share-link", "shareLinks": {}}
    plan = planned(site, after)
    (change,) = [change for change in plan.feature(URLS).changes if change.page is None]
    assert (change.page, change.space, change.title, change.reason) == (None, None, "Partners", UrlReason.GONE)
    assert change.before is not None
    assert change.before.startswith("sha256:")
    assert "key=" not in json.dumps(plan_document(plan, created_at=NOW))


def test_a_space_that_is_deleted_ends_all_its_pages_and_each_list_of_links_is_read_once(site: Site) -> None:
    after = tree()
    section(after, 1)["spaces"].pop()
    after["content"] = [node for node in after["content"] if node["space"] != "old"]
    plan = planned(site, after)
    assert {(title, after_, reason) for title, _, after_, reason in lines(plan.feature(URLS).changes)} == {
        ("Past", None, "gone"),
        ("Gone", None, "gone"),
    }
    links = [path for _, path in site.requests if path.endswith("/links")]
    assert len(links) == len(set(links)) == 4


# -- what is read for it -----------------------------------------------------------------------------------------------------------------


def test_a_plan_that_changes_no_url_reads_no_page(site: Site) -> None:
    after = tree()
    section(after, 1)["title"] = "Usage"
    after["content"][2]["title"] = "Usage"
    site.plan()
    usual = len(site.requests)
    site.requests.clear()
    assert planned(site, after).feature(URLS).changes == ()
    assert len(site.requests) == usual


def test_a_tree_is_kept_by_the_revision_of_its_space(site: Site) -> None:
    after = tree()
    section(after, 1)["path"] = "product"
    reads = trees(site, after)
    assert sorted(reads) == ["spc_old", "spc_start", "spc_use"]
    with site.store() as store, store.lease(who="test", command="apply") as journal:
        kept.keep_trees(journal, site.urls().feature(TREES))
        kept.keep_trees(journal, site.urls().feature(TREES))
    assert trees(site, after) == []
    template = site.call("POST", "/spaces/spc_use/content/template", {"id": "Refers", "params": {"contentRefs": {}}})
    assert template is None or template
    assert trees(site, after) == ["spc_use"]


def trees(site: Site, tree: dict[str, Any]) -> list[str]:
    """The spaces whose pages a plan reads."""
    site.requests.clear()
    planned(site, tree)
    return [path.split("/")[2] for _, path in site.requests if path.endswith("/content/pages")]


@pytest.mark.parametrize("answer", [403, 404, 500, "no tree"])
def test_pages_that_cannot_be_read_leave_their_urls_unknown(site: Site, answer: int | str) -> None:
    async def without_pages(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if not request.url.path.endswith("/spc_old/content/pages"):
            return await onward(request)
        if isinstance(answer, str):
            return httpx2.Response(200, json={"pages": [{"id": 1}]}, request=request)
        return httpx2.Response(answer, json={"error": {"code": answer, "message": "not now"}}, request=request)

    site.way = without_pages
    after = tree()
    section(after, 1)["path"] = "product"
    plan = planned(site, after)
    assert [(change.before, change.after) for change in plan.feature(URLS).changes if change.reason is UrlReason.UNKNOWN] == [
        ("http://127.0.0.1/published/docs/use/v1/**", "http://127.0.0.1/published/docs/product/v1/**")
    ]
    assert {title for title, *_, reason in lines(plan.feature(URLS).changes) if reason == "moved"} == {"Install", "Linux", "Run"}
    assert "acme/space/old: its pages could not be read, so their URLs are unknown" in "\n".join(plan.notes)
    assert "all URLs: /use/** -> /product/** (acme/space/old; its pages could not be read)" in said(plan)


def test_a_path_that_only_the_service_knows_makes_the_urls_unknown(site: Site) -> None:
    after = tree()
    after["sites"]["other"] = {"title": "Other", "published": True, "visibility": "public", "structure": section(after, 2)["spaces"]}
    del after["sites"]["docs"]["structure"][2]
    plan = planned(site, after)
    assert {(before, reason) for _, before, _, reason in lines(plan.feature(URLS).changes)} >= {("/more/faq/why", "unknown")}
    assert "a URL that only the service knows" in said(plan)


def shown_as(site: Site, others: dict[str, str]) -> None:
    """The service shows other URLs than their segments give: paths below the site, each with the one that is shown."""
    root = "http://127.0.0.1/published/docs"

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        text = (await answer.aread()).decode()
        for path, other in others.items():
            text = text.replace(f'"{root}{path}"', f'"{root}{other}"')
        headers = [(name, value) for name, value in answer.headers.items() if name != "content-length"]
        return httpx2.Response(answer.status_code, headers=headers, content=text.encode(), request=request)

    site.way = way


def test_a_default_variant_may_be_shown_at_its_short_url(site: Site) -> None:
    shown_as(site, {"/use/v2": "/use"})
    after = tree()
    section(after, 1)["path"] = "product"
    assert ("Run", "/use/v2/run", "/product/v2/run", "moved") in lines(planned(site, after).feature(URLS).changes)


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_section_at_whose_url_a_variant_of_the_default_section_answers_does_not_break(site: Site, slash: str) -> None:
    """Its other variants do. The service may show URLs with a slash at the end."""
    shown_as(site, {path: f"{path}{slash}" for path in ("", "/home", "/home/start", "/use", "/use/v1", "/use/v2")})
    after = tree()
    section(after, 0)["spaces"].append({"key": "again", "space": "use", "path": "use"})
    del after["sites"]["docs"]["structure"][1]
    plan = planned(site, after)
    assert {str(line.address) for line in plan.broken} == {"acme/site/docs/site-space/use", "acme/site/docs/site-space/old"}
    assert "/use" not in {before for _, before, _, _ in lines(plan.feature(URLS).changes)}


def test_a_url_that_the_service_composes_in_another_way_is_known_as_long_as_nothing_in_it_changes(site: Site) -> None:
    shown_as(site, {"/use/v1": "/old-versions"})
    after = tree()
    section(after, 2)["path"] = "etc"
    assert {reason for *_, reason in lines(planned(site, after).feature(URLS).changes)} == {"moved"}
    after = tree()
    section(after, 1)["path"] = "product"
    urls = lines(planned(site, after).feature(URLS).changes)
    assert ("Past", "/old-versions/past", None, "unknown") in urls
    assert ("Run", "/use/run", "/product/run", "moved") in urls


# -- documents ---------------------------------------------------------------------------------------------------------------------------


def test_a_document_lists_as_many_urls_as_it_may_and_counts_all(site: Site) -> None:
    after = tree()
    section(after, 1)["path"] = "product"
    plan = planned(site, after)
    document = plan_document(plan, created_at=NOW, max_urls=2)
    assert (len(document["urls"]), document["urlCount"], document["urlGroups"][0]["urls"]) == (2, 11, 11)
    assert document["urls"][0] == {
        "page": "pag_install",
        "title": "Install",
        "space": "acme/space/use",
        "site": "acme/site/docs",
        "before": "http://127.0.0.1/published/docs/use",
        "after": "http://127.0.0.1/published/docs/product",
        "reason": "moved",
    }
    shown = sheet_of(json.loads(json.dumps(document)))
    assert ("moves", "11 URLs: /use/** -> /product/**") in [(line.name, line.value) for entry in shown.entries for line in entry.lines]


def test_what_more_than_ten_groups_have_is_counted(site: Site) -> None:
    before, after = tree(), tree()
    for trees_, path in ((before, "path"), (after, "other")):
        trees_["sites"]["docs"]["structure"] += [
            {
                "section": f"s{number}",
                "title": f"S{number}",
                "path": f"{path}-{number}",
                "spaces": [{"key": f"v{number}", "space": "faq", "path": "x"}],
            }
            for number in range(12)
        ]
    site.reorganize({"acme": before})
    site.apply()
    plan = planned(site, after)
    assert len(plan.feature(URLS).groups) == 12
    assert "2 more groups with 12 URLs: the JSON report has all of them" in said(plan)


def test_the_state_carries_the_trees(site: Site, tmp_path: Path) -> None:
    key, tree_ = ("space", "spc_use"), site.urls().feature(TREES)
    after = tree()
    section(after, 1)["path"] = "product"
    site.reorganize({"acme": after})
    tree_ = site.urls().feature(TREES)
    with site.store() as store, store.lease(who="test", command="apply") as journal:
        kept.keep_trees(journal, {**tree_, ("space", "spc_unread"): "refused", ("space", "spc_new"): PageTree("")})
    with site.store() as store:
        document = store.pull()
        assert document is not None
        assert [entry["id"] for entry in document["trees"]] == ["spc_old", "spc_start", "spc_use"]
        with store.lease(who="test", command="state push") as journal:
            journal.replace(store.check(json.loads(json.dumps(document))), force=True)
        assert kept.page_trees(store, [key]) == {key: tree_[key]}


def test_the_word_of_the_kind_names_requests_of_one_object() -> None:
    (kind,) = [kind for kind in kinds().values() if kind.pages is not None]
    assert kind.pages is not None
    assert kind.pages.tree.startswith("/spaces/{id}/")
