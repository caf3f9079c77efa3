"""The page for people shows what is there, and only as text."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.sandbox.header import SECRET
from reconciler.sandbox.pages.overview import Sketch, emoji
from reconciler.sandbox.pages.render import visible
from reconciler.sandbox.server import embedded
from tests import browser
from tests.command_line import Cli
from tests.contains import assert_contains
from tests.proofs import costly
from tests.sandbox.box import SEED, Box


def shown(box: Box, path: str = "/") -> str:
    answer = asyncio.run(box._send("GET", path, {}, {}))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return answer.text


def words(html: str) -> str:
    """The text of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", html.split("<main>")[1]).split())


def test_it_shows_organizations_people_content_and_sites(box: Box) -> None:
    site = box.site("spc_one", title="Handbook")
    box.put("/orgs/org_a/teams", {"title": "Writers", "members": ["usr_ada"]}, status=201)
    assert_contains(
        words(shown(box)),
        "Acme org_a · 4 spaces · 1 site · 4 members",
        "▸ Guides",
        "Writers Ada",
        "Handbook",
        f"POST /v1{site.rsplit('/', 1)[0]} 201",
    )


def test_groups_sections_variants_and_their_defaults_have_the_order_of_visitors(box: Box) -> None:
    site = box.site(title="Docs")
    assert box.section(site, "Guides") != box.section(site, "API reference", "spc_two")
    text = words(shown(box))
    assert text.index("Guides One") < text.index("API reference Two")


def test_a_deleted_space_says_how_long_it_can_be_restored(box: Box) -> None:
    box.delete("/spaces/spc_root")
    assert "Root deleted; 7 days left to restore it" in words(shown(box))


def test_titles_are_text_and_what_cannot_be_seen_is_written_out(box: Box) -> None:
    box.patch("/spaces/spc_root", {"title": "<script>alert(1)</script>\u202e"})
    html = shown(box)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in html
    assert visible("a\x1b[31m\u200b") == "a\\u001b[31m\\u200b"


def test_secrets_of_share_links_are_not_shown(box: Box) -> None:
    site = box.site(title="Docs")
    secret = box.post(f"{site}/share-links", {"name": "Partners"})["urls"]["published"].split("key=")[1]
    html = shown(box)
    assert "share link: Partners" in html
    assert secret not in html


def test_a_long_list_is_cut_and_counted(box: Box) -> None:
    with box.store.write():
        for number in range(450):
            box.store.add(
                "team", "org_a", "teams:org_a", {"id": f"t{number}", "title": f"T{number}", "_members": [], "organization": "org_a"}
            )
    assert "and 50 more teams" in words(shown(box))


def test_writes_are_remembered_by_the_file(box: Box) -> None:
    box.patch("/spaces/spc_root", {"title": "New"})
    box.close()
    box.open()
    box.app.state.service.readings.clear()
    assert "PATCH /v1/spaces/spc_root 200" in words(shown(box))


@costly
def test_a_browser_shows_it_and_looks_again_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    whole = Sketch.whole

    def looked(self: Sketch, requests: Any) -> Any:
        looks.append(whole(self, requests))
        for one in looks[-1]["organizations"]:
            one["title"] += f", seen {'once' if len(looks) == 1 else 'again'}"
        return looks[-1]

    monkeypatch.setattr(Sketch, "whole", looked)
    with embedded(tmp_path / "sandbox.db", seed=SEED) as service, browser.chromium() as chromium:
        page = chromium.new_context(extra_http_headers={SECRET: service.token}).new_page()
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.clock.install()
        page.goto(f"{service.base_url}/")
        for number in (2, 3):
            with page.expect_response(f"{service.base_url}/"):
                page.clock.fast_forward(2_100)
            assert len(looks) == number
        page.get_by_text("Acme, seen again").first.wait_for()
        assert wrong == []
        assert len(page.screenshot(full_page=True)) > 20_000


@pytest.mark.proof
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(tmp_path: Path, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    project = Path(__file__).parents[2] / "examples" / "acme"
    cli = Cli(tmp_path)
    assert cli("apply", str(project), "--sandbox", "s.db", "--state", "sqlite:///state.db", "--create-state", "--yes").exit_code == 0
    with embedded(tmp_path / "s.db") as service, browser.chromium() as chromium:
        secret = {SECRET: service.token}
        page = chromium.new_context(extra_http_headers=secret, color_scheme=scheme, viewport={"width": width, "height": 900}).new_page()
        for name in ("", "docs"):
            page.goto(f"{service.base_url}/{name}", wait_until="load")
            page.evaluate("document.querySelectorAll('details').forEach((part, number) => part.open = number % 5 == 0)")
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            assert [rule["id"] for rule in axe.run(page).response["violations"]] == []


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("1f4d6", "\U0001f4d6"),
        ("1f1e9-1f1ea", "\U0001f1e9\U0001f1ea"),
        ("📖", "📖"),
        ("book", "book"),
        ("42", "42"),
        ("ffffff", "ffffff"),
        ("d800", "d800"),
        ("", ""),
    ],
)
def test_an_emoji_is_shown_as_one_also_where_its_code_is_stored(stored: str, shown: str) -> None:
    assert emoji(stored) == shown


def test_a_site_has_one_url_with_which_those_of_its_parts_begin(box: Box) -> None:
    site = box.site("spc_one", title="Handbook")
    box.patch(site, {"published": True, "basename": "handbook"})
    box.section(site, "Guides", "spc_two")
    url = box.get(site)["urls"]["published"]
    assert url.endswith("/published/handbook")
    link = box.post(f"{site}/share-links", {"name": "Partners"})
    parts = [*box.get(f"{site}/sections")["items"], *box.get(f"{site}/site-spaces")["items"], link]
    assert [part["urls"]["published"] for part in parts if not part["urls"]["published"].startswith(url)] == []
    assert url in words(shown(box))


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_it_takes_no_writes(box: Box, method: str) -> None:
    assert asyncio.run(box._send(method, "/", {}, {})).status_code == 405


def test_every_operation_is_described_for_people(box: Box) -> None:
    assert_contains(
        words(shown(box, "/docs")),
        "PUT /v1/orgs/{organizationId}/teams Make a team; each call makes another one",
        "title * text, 1 to 64 characters",
        "200 page: list of team List teams",
        "404 error The object does not exist",
    )
