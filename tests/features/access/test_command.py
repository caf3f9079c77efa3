"""`reconciler access` shows who can read what, now and after the plan; a broken access test ends plan and apply with exit code 4."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import Address
from reconciler.features.access.report import access_sheet, branches
from reconciler.features.access.review import Review, ReviewRow
from reconciler.report.formats.brief import brief
from reconciler.report.formats.html import html
from reconciler.report.layout import plain
from reconciler.report.sheet import sheet_text
from tests import browser
from tests.command_line import Cli, prepared
from tests.contains import assert_contains
from tests.documents import valid
from tests.proofs import costly

SPACES = ("guide", "pro", "pay")
SITE: dict[str, Any] = {
    "title": "Docs",
    "visibility": "public",
    "published": True,
    "adaptiveContent": {"enabled": True},
    "structure": [
        {"section": "all", "title": "All", "spaces": ["guide"]},
        {"section": "pros", "title": "Pros", "condition": 'visitor.claims.plan == "pro"', "spaces": ["pro"]},
    ],
    "shareLinks": {"partners": {"name": "Partners"}},
}


def write(cli: Cli, *tests: dict[str, Any], open_to: str | None = None, **site: Any) -> None:
    structure = [*SITE["structure"], *([{"section": "more", "title": "More", "spaces": [open_to]}] if open_to else [])]
    document = {
        "version": 1,
        "project": "readers",
        "service": {"sandbox": ".reconciler/sandbox.db"},
        **({"access": list(tests)} if tests else {}),
        "organizations": {
            "acme": {
                "id": "org_acme",
                "content": [
                    {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
                    *(
                        {"space": key, "title": f"<{key}>", "duplicateOf": "blank", "defaultLevel": "guest"}
                        for key in ("guide", "pro", "pay")
                    ),
                ],
                "sites": {"docs": {**SITE, "structure": structure, **site}},
            }
        },
    }
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


@pytest.fixture
@prepared
def applied(cli: Cli) -> Cli:
    write(cli)
    assert cli("apply", "p", "--yes").exit_code == 0
    return cli


def readers(document: dict[str, Any], side: str = "after") -> dict[str, list[str] | None]:
    return {row["address"]: None if row[side] is None else [line["reader"] for line in row[side]] for row in document["objects"]}


def test_the_review_includes_what_nobody_manages(applied: Cli) -> None:
    def api(path: str, *fields: str) -> Any:
        words = [word for field in fields for word in ("-f", field)]
        result = applied("api", "POST", path, *words, "--sandbox", "p/.reconciler/sandbox.db", code=0)
        return json.loads(result.stdout) if result.stdout.strip() else None

    site = api("/orgs/org_acme/sites", "title=Shadow", "visibility=public")["id"]
    pay = re.search(r"acme/space/pay\s+\S+\s+(\S+)", applied("state", "list", "p").stdout)
    assert pay is not None
    api(f"/orgs/org_acme/sites/{site}/site-spaces", f"spaceId={pay[1]}")
    api(f"/orgs/org_acme/sites/{site}/publish")
    document = applied.json("access", "p")
    assert readers(document)["acme/space/pay"] == ["anyone"]
    assert [row["managed"] for row in document["objects"] if row["title"] == "Shadow"] == [False]
    assert re.search(rf'^acme/site/{site} "Shadow" \(unmanaged\) +anyone$', applied("access", "p").stdout, flags=re.MULTILINE)


def table(text: str) -> dict[str, str]:
    """What the review says of each object, by its indented address."""
    rows = (re.fullmatch(r"( *acme/\S+(?: \([^)]*\))?)  +(\S.*)", line) for line in text.splitlines())
    return {row[1]: row[2] for row in rows if row is not None}


def test_what_is_tracked_and_no_longer_declared_keeps_its_address(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "    - section: pros\n", "    - section: experts\n")
    document, text = applied.json("access", "p"), applied("access", "p").stdout
    (row,) = (row for row in document["objects"] if row["address"] == "acme/site/docs/section/pros")
    assert (row["managed"], row["title"]) == (False, "Pros")
    assert "  acme/site/docs/section/pros (no longer declared)  " in text
    assert "(unmanaged)" not in text


def test_holders_of_several_links_are_one_reader_with_short_names(applied: Cli) -> None:
    write(applied, visibility="share-link", shareLinks={"partners": {"name": "Partners"}, "press": {"name": "Press"}})
    assert applied("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    rows = table(applied("access", "p").stdout)
    assert rows["    acme/site/docs/site-space/guide"] == "whoever has the share link partners or press"
    assert rows["acme/space/guide"] == "whoever has the share link docs/partners or docs/press"
    whole = "whoever has the share link acme/site/docs/share-link/partners"
    assert whole in (readers(applied.json("access", "p"))["acme/space/guide"] or ()), "documents have the whole address"
    asked = table(applied("access", "p", "--as", "link=press", "--as", "anyone").stdout)
    assert (asked["acme/space/guide"], asked["acme/space/pay"]) == ("link docs/press", "none of them")


def test_a_collection_in_itself_is_listed_once() -> None:
    def row(key: str, inside: str) -> ReviewRow:
        return ReviewRow(Address.parse(key), "collection", "id", "", True, (), (), parent=Address.parse(inside))

    rows = [row("acme/collection/a", "acme/collection/b"), row("acme/collection/b", "acme/collection/a")]
    assert [pair for _, inside in branches(rows) for pair in inside] == [(0, rows[0]), (0, rows[1])]


def test_single_readers_are_asked_for_by_name(applied: Cli) -> None:
    write(applied, visibility="unlisted")
    words = ("--as", "anyone", "--as", "link=partners", "--as", "claims=plan=pro", "--as", "role=admin")
    rows = readers(applied.json("access", "p", *words))
    assert rows["acme/space/guide"] == ["anyone", "link acme/site/docs/share-link/partners", "claims plan=pro", "role admin"]
    assert rows["acme/space/pro"] == ["claims plan=pro", "role admin"]
    assert rows["acme/space/pay"] == ["role admin"]
    assert "perhaps anyone: whoever knows the URL can read it" in applied("access", "p", "--as", "anyone").stdout


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("anyon", 'did you mean "anyone"?'),
        ("role=gest", 'did you mean "guest"?'),
        ("link=partner", 'did you mean "partners"?'),
        ("claims=plans=pro", 'did you mean "plan"?'),
        ("", "A reader is anyone, agent"),
        ("role=", "A reader is anyone, agent"),
        ("guest", "write {role: guest}"),
        ("claims=plan", "the claim plan has no value"),
    ],
)
def test_a_reader_that_does_not_exist_is_an_error(applied: Cli, word: str, says: str) -> None:
    result = applied("access", "p", "--as", word)
    assert (result.exit_code, says in result.stderr) == (3, True), result.stderr


TEST = {"as": "anyone", "mustNotSee": ["acme/space/pay"], "reason": "salaries"}


def test_a_broken_test_ends_plan_and_apply_with_4_before_the_first_request(applied: Cli) -> None:
    write(applied, TEST, open_to="pay")
    planned, run = applied("plan", "p"), applied("apply", "p", "--yes", "--allow-exposure", "**")
    assert (planned.exit_code, run.exit_code) == (4, 4)
    assert "by space pay -> site-space docs/pay -> section docs/more -> site docs" in planned.stdout
    assert "anyone can read it after this plan (salaries)" in run.stderr
    assert "remove what lets them read it" in run.stderr
    write(applied, open_to="pay")
    applied.edit("p/reconciler.yaml", "project: readers\n", "project: readers\ninclude: [rules.yaml]\n")
    applied.write("p/rules.yaml", yaml.safe_dump({"access": [TEST]}))
    planned = applied("plan", "p")  # in a file that can have owners of its own
    assert (planned.exit_code, "(salaries) (rules.yaml:" in " ".join(planned.stdout.split())) == (4, True)
    write(applied, TEST)
    assert applied("plan", "p").exit_code == 0
    assert readers(applied.json("access", "p"))["acme/space/pay"] == []


def test_a_test_that_is_removed_needs_consent(applied: Cli) -> None:
    write(applied, TEST)
    assert applied("apply", "p", "--yes").exit_code == 0
    write(applied)
    assert "! exposure    anyone mustNotSee acme/space/pay true -> false" in applied("plan", "p").stdout
    refused = applied("apply", "p", "--yes")
    assert (refused.exit_code, "--allow-exposure access" in refused.stderr) == (4, True)
    assert applied("apply", "p", "--yes", "--allow-exposure", "access").exit_code == 0
    assert "exposure" not in applied("plan", "p").stdout


@costly
def test_the_page_is_one_file_that_shows_every_object_and_escapes_it(applied: Cli, tmp_path: Path) -> None:
    write(applied, TEST, open_to="pay")
    page = tmp_path / "access.html"
    page.write_text(applied("access", "p", "--format", "html").stdout, encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert "&lt;pay&gt;" in text
    assert "<pay>" not in text
    assert not re.search(r"https?://|<script|src=|@import", text)
    shown = browser.document(page.as_uri())
    assert all(address in shown for address in ("acme/space/pay", "acme/site/docs", "acme/space/blank"))
    assert "anyone can read it after this plan (salaries)" in shown
    assert "by space guide -&gt; site-space docs/guide -&gt; section docs/all -&gt; site docs" in text


def test_a_review_without_objects_says_so() -> None:
    sheet = access_sheet(Review("empty", None, (), ()))
    for text in (plain(sheet_text(sheet)), html(sheet, created_at=datetime.now(UTC)), brief(sheet)):
        assert "Nothing that has readers was found." in text
        assert "Everything matches" not in text


def test_explain_describes_the_key(cli: Cli) -> None:
    text = cli("explain", "access").stdout
    assert text.startswith("access\nReaders as tests")
    assert all(word in text for word in ("as ", "sees ", "mustNotSee ", "reason "))


def api(cli: Cli, method: str, path: str, *fields: str) -> Any:
    """A call by somebody else."""
    result = cli(
        "api", method, path, *(word for field in fields for word in ("-f", field)), "--sandbox", "p/.reconciler/sandbox.db", code=0
    )
    return json.loads(result.stdout) if result.stdout.strip() else None


def tracked(cli: Cli, address: str) -> str:
    return next(line.split()[2] for line in cli("state", "list", "p").stdout.splitlines() if line.split()[0] == address)


def test_drift_finds_what_a_reader_must_not_see_although_nothing_that_is_managed_changed(applied: Cli) -> None:
    write(applied, {**TEST, "mustNotSee": ["acme/space/p*"]})
    shadow = api(applied, "POST", "/orgs/org_acme/sites", "title=Shadow", "visibility=public")["id"]
    api(applied, "POST", f"/orgs/org_acme/sites/{shadow}/site-spaces", f"spaceId={tracked(applied, 'acme/space/pay')}")
    assert applied("drift", "p").exit_code == 0, "nobody reads a site that is not published"
    api(applied, "POST", f"/orgs/org_acme/sites/{shadow}/publish")
    result, document = applied("drift", "p", "--report", "github=log"), applied.json("drift", "p")
    assert (result.exit_code, document["resources"]) == (2, [])
    assert_contains(
        result.stdout,
        "! violation   access anyone: anyone can read it today (salaries) (reconciler.yaml:",
        "by space pay -> site-space",
        "No drift; 1 assertion not met; 2 objects unmanaged.",
    )
    valid(document, "drift")
    (violation,) = document["violations"]
    assert (violation["sort"], violation["address"], violation["id"]) == ("access", "acme/space/pay", "RC-access-violated")
    assert "::error file=p/reconciler.yaml,line=" in (applied.root / "log").read_text(encoding="utf-8")
    assert applied("drift", "p", "--exclude", "acme/space/pay").exit_code == 0
    write(applied, open_to="pay")
    assert applied("drift", "p").exit_code == 0, "an opening that nobody forbids"


def test_drift_finds_what_a_reader_must_see_and_cannot_once_it_was_applied(applied: Cli) -> None:
    structure = [*SITE["structure"], {"section": "new", "title": "New", "spaces": [{"key": "again", "space": "pay"}]}]
    write(applied, {"as": "anyone", "sees": ["acme/space/guide", "acme/site/docs/site-space/again"]}, structure=structure)
    assert applied("drift", "p").exit_code == 0, "what was never applied is no drift"
    api(applied, "PATCH", f"/orgs/org_acme/sites/{tracked(applied, 'acme/site/docs')}", "visibility=share-link")
    result = applied("drift", "p")
    assert (result.exit_code, "Drift: 1 changed; 1 assertion not met." in result.stdout) == (2, True), result.stdout
    assert re.search(r"! violation +access anyone: anyone cannot read it", result.stdout)
