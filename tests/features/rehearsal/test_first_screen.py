"""The first screen of a rehearsal: made of the document alone, in plain sentences, and of nothing that a text could turn into markup."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from reconciler.features.rehearsal.model import DeletedObject, MovedUrl, ReaderChange, Rehearsal, RehearsedMoment, RehearsedSite
from reconciler.features.rehearsal.page.first_screen import CSS, first_screen, rendered
from reconciler.features.rehearsal.report import rehearsal_document
from reconciler.resource.risks import VISITORS

SITE = "https://docs.example/handbook"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


def rehearsal(title: str = "Salaries", **changes: Any) -> Rehearsal:
    """Three requests, of which the second is the worst moment."""
    facts: dict[str, Any] = {
        "project": "handbook", "environment": None, "plan_digest": "0" * 64, "reading_digest": "1" * 64, "copy_requests": 9, "writes": 3,
        "unread": (), "remaining": (), "undo_exact": False, "leftovers": (f"{title} has a new id",),
        "gained": tuple(ReaderChange(who, "space", title, None, words) for who, words in (("anyone", "anyone"), ("visitor", VISITORS))),
        "lost": (), "urls_before": 4, "urls_after": 3, "dead": (f"{SITE}/{title}", f"{SITE}/{title}/a"),
        "moved": (MovedUrl(f"{SITE}/guides", f"{SITE}/use"),),
        "moments": (
            RehearsedMoment(1, "PATCH /a", 1, 0, 0, None, "update"), RehearsedMoment(2, "PATCH /b", 4, 2, 1, None, "update"),
            RehearsedMoment(3, "PATCH /c", 3, 2, 1, None, "update"),
        ),
        "forbidden": False, "refusals": (f"{title}: it can be read by anyone; this requires consent",), "failures": (), "divergences": (),
        "assumptions": ("A delete takes what is inside along.",), "deleted": (DeletedObject("space", title, None, 7),),
        "sites": (
            RehearsedSite("site_1", title, SITE, None, dead_pages=2, moved_pages=1, opened=1), RehearsedSite("site_2", "Other", "x", None),
        ),
    }  # fmt: skip
    return Rehearsal(**{**facts, **changes})


def words(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html.replace("<wbr>", ""))).split())


def test_the_worst_moment_comes_first_and_the_end_after_it() -> None:
    screen = first_screen(rehearsal_document(rehearsal()))
    assert screen.lead == "If it stops after request 2 of 3, 4 published URLs answer 404 and 1 object can be read by somebody new."
    assert screen.end == "At the end, 3 published URLs answer 404 and 1 object can be read by somebody new."
    assert [bar.worst for bar in screen.bars] == [False, True, False]


def test_a_rehearsal_that_harms_nobody_is_calm() -> None:
    quiet = rehearsal(
        gained=(), dead=(), moved=(), deleted=(), moments=(RehearsedMoment(1, "PATCH /a", 0, 0),), writes=1, sites=(), refusals=(),
        leftovers=(), undo_exact=True,
    )  # fmt: skip
    screen = first_screen(rehearsal_document(quiet))
    assert (screen.calm, screen.end) == (True, "")
    assert {column.tone for column in screen.columns} == {"quiet"}
    assert screen.done == "1 request applied to a copy, as planned; an undo there took everything back"


def test_readers_urls_deletions_and_sites_are_named() -> None:
    text = words(rendered(rehearsal_document(rehearsal())))
    for sentence in (
        "Newly readable 1 object Salaries anyone",
        "No longer readable None",
        "2 pages lost, 1 page moved",
        "/Salaries Salaries: no longer answers, with 1 URL below it",
        "/guides → /use Salaries: 1 URL",
        "Deleted 1 object Salaries space, 7 pages",
        "4 differences 1 page moves · 2 pages no longer answer · 1 space has new readers",
        "Other No differences",
        "Apply would refuse this Salaries: it can be read by anyone; this requires consent",
        "An undo does not bring this back Salaries has a new id",
    ):
        assert sentence in text


def test_titles_are_text_and_no_element_has_a_style_of_its_own() -> None:
    html = rendered(rehearsal_document(rehearsal(HOSTILE)), to_site="#/site/")
    assert "<img" not in html
    assert "</script" not in html
    assert "\u202e" not in html
    assert not re.search(r"\sstyle=|\son\w+=", re.sub(r">[^<]*<", "><", html))
    assert 'href="#/site/site_1"' in html
    assert "url(" not in CSS.read_text(encoding="utf-8")


def test_hundreds_of_moments_are_a_chart_that_still_shows_the_worst() -> None:
    many = tuple(RehearsedMoment(number, "PATCH /a", 900 if number == 431 else number % 7, 0) for number in range(1, 1_001))
    screen = first_screen(rehearsal_document(rehearsal(moments=many, writes=1_000)))
    assert len(screen.bars) <= 120
    assert [bar.height for bar in screen.bars if bar.worst] == [100]


def test_a_site_that_had_another_url_is_named_as_it_is_now() -> None:
    moved = rehearsal(
        dead=(), moved=(MovedUrl("https://docs.example/old/a", f"{SITE}/a"), MovedUrl("https://docs.example/old/b", f"{SITE}/b"))
    )
    text = words(rendered(rehearsal_document(moved)))
    assert "docs.example/old → docs.example/handbook Salaries: 2 URLs" in text
    assert "elsewhere" not in text


def test_of_many_sites_those_with_most_differences_have_a_card() -> None:
    sites = tuple(
        RehearsedSite(f"s{number}", f"Site {number}", f"https://docs.example/{number}", None, True, number) for number in range(40)
    )
    screen = first_screen(rehearsal_document(rehearsal(sites=sites)))
    assert [card.number for card in screen.sites] == list(range(39, 27, -1))
    assert "28 more sites" in words(rendered(rehearsal_document(rehearsal(sites=sites))))
