"""Pages with conditions of their own: what opens them to everybody is an exposure, although the same people read the space before."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from reconciler import exits
from tests.command_line import Cli
from tests.features.rehearsal.previewed import PreviewFile

ORG: dict[str, Any] = {"organization": "org_acme"}
STAFF = {"title": "Staff", "slug": "staff", "condition": "visitor.claims.staff"}
GUARDED = [{"title": "Start", "slug": "start", "pages": [STAFF]}]
PLAIN = [{"title": "Start", "slug": "start", "pages": [{**STAFF, "condition": "true"}]}]
ALL = ", whatever the conditions of its pages are"
DENIED = '{"fault": "forbidden", "operation": "listPages"}'

Project = dict[str, Any]
Edit = Callable[[Project], Any]


def seed(pages: Any) -> dict[str, Any]:
    return {
        "organizations": [{"id": "org_acme", "title": "Acme"}],
        "members": [{**ORG, "id": "usr_ada", "email": "ada@acme.example", "role": "admin"}],
        "tokens": [{"token": "tok_ada", "member": "usr_ada"}],
        "spaces": [
            {**ORG, "id": f"spc_{name}", "title": name.title(), "pages": pages if name == "docs" else []} for name in ("docs", "help")
        ],
    }


def project() -> Project:
    adaptive = {"title": "Docs", "visibility": "public", "published": True, "adaptiveContent": {"enabled": True}}
    open_to_all = {"title": "Help", "visibility": "public", "published": True}
    return {
        "version": 1,
        "project": "acme",
        "service": {"sandbox": "s.db"},
        "organizations": {
            "acme": {
                "id": "org_acme",
                "content": [{"space": name, "id": f"spc_{name}", "title": name.title()} for name in ("docs", "help")],
                "sites": {
                    "docs": {**adaptive, "structure": [{"space": "docs"}]},
                    "help": {**open_to_all, "structure": [{"space": "help"}]},
                },
            }
        },
    }


def turned_off(acme: Project) -> None:
    acme["sites"]["docs"]["adaptiveContent"]["enabled"] = False


def shown_elsewhere(acme: Project) -> None:
    acme["sites"]["help"]["structure"].append({"space": "docs"})


def copied_and_shown(acme: Project) -> None:
    acme["content"].append({"space": "copy", "title": "Copy", "duplicateOf": "docs"})
    acme["sites"]["help"]["structure"].append({"space": "copy"})


def write(cli: Cli, *edits: Edit, **top: Any) -> None:
    document = {**project(), **top}
    for edit in edits:
        edit(document["organizations"]["acme"])
    cli.write("reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


def applied(cli: Cli, pages: Any) -> Cli:
    cli.write("seed.yaml", yaml.safe_dump(seed(pages)))
    cli("sandbox", "seed", "--db", "s.db", "seed.yaml", code=0)
    write(cli)
    cli("apply", "--yes", "--allow-exposure", "**", code=0)
    return cli


def opened(cli: Cli) -> dict[str, list[str]]:
    """The readers of each exposure of the plan, by everything that they can read by it."""
    exposures = cli.json("plan")["exposures"]
    return {" ".join(sorted({exposure["address"], *exposure["reaches"]})): exposure["readers"] for exposure in exposures}


@pytest.mark.parametrize("edit", [turned_off, shown_elsewhere, copied_and_shown])
def test_pages_that_lose_what_hid_them_need_consent(cli: Cli, edit: Edit) -> None:
    acme = applied(cli, GUARDED)
    write(acme, edit)
    exposures = opened(acme)
    assert [readers for at, readers in exposures.items() if "acme/space/docs" in at] == [[f"anyone{ALL}"]]
    assert "--allow-exposure acme/s" in acme("apply", "--yes", code=exits.REFUSED).stderr
    acme("apply", "--yes", "--allow-exposure", "**", code=0)
    assert acme.json("plan")["summary"]["requests"] == 0


def test_the_review_says_of_whom_the_conditions_of_pages_are_no_longer_asked(cli: Cli) -> None:
    acme = applied(cli, GUARDED)
    write(acme, turned_off)
    rows = {row["address"]: row for row in acme.json("access")["objects"]}
    sides = [[line["reader"] for line in rows["acme/space/docs"][side]] for side in ("before", "after")]
    assert ("anyone" in sides[0], f"anyone{ALL}" in sides[1]) == (True, True)
    hint = "Pages with conditions of their own may be hidden from readers of what contains them."
    assert hint in acme("access").stdout
    acme("apply", "--yes", "--allow-exposure", "**", code=0)
    assert hint not in acme("access").stdout, "no condition counts any more"
    assert rows["acme/space/docs"]["before"] != rows["acme/space/docs"]["after"]


@pytest.mark.parametrize("edit", [turned_off, shown_elsewhere, copied_and_shown])
def test_where_no_page_has_a_condition_that_hides_it_nothing_is_asked(cli: Cli, edit: Edit) -> None:
    acme = applied(cli, PLAIN)
    write(acme, edit)
    assert not {at: readers for at, readers in opened(acme).items() if "acme/space/docs" in at}


def test_pages_that_nobody_may_read_may_have_conditions(cli: Cli) -> None:
    acme = applied(cli, PLAIN)
    acme("sandbox", "faults", "set", "--db", "s.db", "--rule", DENIED, code=0)
    write(acme, turned_off)
    assert opened(acme) == {"acme/site/docs acme/space/docs": [f"anyone{ALL}"]}


def test_what_was_turned_off_by_hand_is_an_exposing_change_and_turning_it_on_ends_access(cli: Cli) -> None:
    acme = applied(cli, GUARDED)
    sites = json.loads(acme("api", "GET", "/orgs/org_acme/sites", "--sandbox", "s.db", code=0).stdout)["items"]
    site = next(site["id"] for site in sites if site["title"] == "Docs")
    acme("api", "PATCH", f"/orgs/org_acme/sites/{site}", "--sandbox", "s.db", "-f", "adaptiveContent[enabled]=false", code=0)
    drift = acme.json("drift")
    (group,) = drift["groups"]
    assert (group["class"], [line["who"] for line in group["readers"]]) == ("exposing", [f"anyone{ALL}"])
    assert f"Access ends for anyone{ALL}: 1 space (acme/space/docs)." in acme("plan").stdout
    write(acme, turned_off)
    assert opened(acme) == {"acme/site/docs acme/space/docs": [f"anyone{ALL}"]}


@pytest.mark.parametrize("top", [{}, {"urls": {"redirects": ["csv"]}}], ids=["alone", "with urls"])
def test_whether_pages_have_conditions_is_asked_only_where_it_matters_and_once(cli: Cli, top: dict[str, Any]) -> None:
    acme = applied(cli, GUARDED)
    write(acme, **top)
    acme("apply", "--yes", code=0)

    def asked(*words: str) -> int:
        return sum("/spc_docs/content/pages 200" in line for line in acme(*words, "-vv").stderr.splitlines())

    write(acme, lambda acme: acme["sites"]["docs"].update(title="Documents"), **top)
    assert asked("plan") == 0
    write(acme, turned_off, **top)
    assert asked("plan") == 1


def test_urls_of_pages_that_only_a_claim_opens_are_in_no_ledger_and_no_sitemap(cli: Cli) -> None:
    acme = applied(cli, GUARDED)
    urls: dict[str, Any] = {"urls": {"redirects": ["csv"]}}

    def listed() -> list[str]:
        acme("apply", "--yes", "--allow-exposure", "**", "--allow-dead-urls", "/**", code=0)
        acme("urls", "check", code=0)
        return [line.split()[0].partition("/published/")[2] for line in acme("urls", "list", code=0).stdout.splitlines()]

    write(acme, **urls)
    assert listed() == ["docs", "docs/docs", "docs/docs/start", "docs/start"]
    assert "staff" not in acme("urls", "export", code=0).stdout
    write(acme, turned_off, **urls)
    changes = [(change["reason"], change["after"].partition("/published/")[2]) for change in acme.json("plan")["urls"]]
    assert changes == [("new", "docs/docs/staff"), ("new", "docs/staff")]
    assert "docs/docs/staff" in listed()
    write(acme, **urls)
    assert [(change["reason"], change["title"]) for change in acme.json("plan")["urls"]] == [("gone", "Staff"), ("gone", "Staff")]
    assert "at most some of its readers can read a page there now" in acme("plan", code=exits.REFUSED).stderr
    assert "docs/docs/staff" not in listed()
    assert not list(acme.root.glob("redirects/*")), "no file of redirects names it"


def test_a_preview_names_the_readers_of_a_page_with_a_condition_apart_from_those_of_its_space(cli: Cli) -> None:
    acme = applied(cli, GUARDED)
    write(acme, turned_off)
    acme("rehearse", "--report", "html=preview.html")
    file = PreviewFile((acme.root / "preview.html").read_text(encoding="utf-8"))

    def readers(side: str) -> tuple[set[str], list[set[str]]]:
        (site,) = (site for site in file.data[side]["sites"] if site["title"] == "Docs")
        (variant,) = site["parts"]
        numbers = [variant["readers"], *variant.get("guarded", {}).values()]
        first, *pages = [{file.data["readers"][reader]["reader"] for reader in file.data["audiences"][number]} for number in numbers]
        return first, pages

    space, (page,) = readers("before")
    assert ("anyone" in space, "anyone" in page, "visitor:visitor.claims.staff" in page) == (True, False, True)
    assert readers("after")[1] == [], "then it has no condition that counts"
