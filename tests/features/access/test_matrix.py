"""The review for whoever has to sign it: a CSV file and a matrix. `no` is only said where the service says no."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from reconciler.text import escape
from tests import browser
from tests.command_line import Cli
from tests.features.access.test_by_name import PEOPLE, acme as acme, node, project, write
from tests.hostile.titles import TITLES
from tests.proofs import costly

SPACES = ("open", "salaries", "plans", "notes")
DENIED = '{"fault": "forbidden", "ids": "usr_vera", "operation": "GET */spaces"}'


def rows(cli: Cli, *words: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(cli("access", "--format", "csv", *words, code=0).stdout), strict=True))


def pairs(found: list[dict[str, str]], side: str = "now") -> dict[tuple[str, str], str]:
    """What people may do, by person and space."""
    people = (row for row in found if row["who"] == "person" and row["kind"] == "space")
    return {(row["reader"].partition("@")[0], row["address"].rpartition("/")[2]): row[side] for row in people}


def truth(cli: Cli) -> dict[tuple[str, str], str]:
    """What the service says of each person."""
    said = {}
    for name in PEOPLE:
        answer = json.loads(cli("api", "GET", f"/orgs/org_acme/members/usr_{name}/spaces", "--sandbox", "s.db", code=0).stdout)
        said |= {(name, item["space"]["id"].removeprefix("spc_")): item["permission"] for item in answer["items"]}
    return said


def test_the_file_has_a_row_for_each_person_and_object_as_the_service_says_it(acme: Cli) -> None:
    found = rows(acme, "--people")
    assert pairs(found) == {pair: level for pair, level in truth(acme).items() if pair[0] != "old"}, "who is disabled can do nothing"
    (vera,) = (row for row in found if (row["reader"], row["address"]) == ("vera@acme.example", "acme/space/salaries"))
    assert (vera["title"], vera["managed"], vera["now"], vera["because"]) == ("Salaries", "yes", "admin", "given one by one")
    assert {row["reader"] for row in found if row["address"] == "acme/space/open" and row["who"] == "readers"} == {
        "members with a role",
        "admins",
    }


def test_what_was_not_read_is_perhaps_and_never_no(acme: Cli) -> None:
    unread = [row for row in rows(acme) if row["reader"] == "whoever was given access one by one"]
    assert {row["address"].rpartition("/")[2] for row in unread} == {*SPACES, "people"}
    assert {(row["now"], row["doubt"]) for row in unread} == {("perhaps", "that was not read of 4 people")}
    acme("sandbox", "faults", "set", "--db", "s.db", "--rule", DENIED, code=0)
    found = pairs(rows(acme, "--people"))
    assert {found["vera", space] for space in ("salaries", "plans")} == {"perhaps"}
    assert {found["vera", space] for space in ("open", "notes")} == {"read, perhaps admin"}
    assert ("grace", "salaries") not in found, "of the others the truth is known"


def test_after_a_plan_what_may_remain_is_perhaps(acme: Cli) -> None:
    opened = project()
    node(opened, "salaries")["defaultLevel"] = "read"
    write(acme, opened)
    found = rows(acme, "--people")
    assert pairs(found)["vera", "salaries"] == "admin"
    assert pairs(found, "after the plan")["vera", "salaries"] == "read, perhaps admin"
    assert (pairs(found)["gus", "salaries"], pairs(found, "after the plan")["gus", "salaries"]) == ("no", "read")
    assert "vera@acme.example (read, perhaps admin), given one by one" in acme("access", "--people").stdout


def test_readers_that_are_asked_for_have_a_row_for_each_object_also_where_they_cannot(acme: Cli) -> None:
    found = rows(acme, "--as", "role=edit", "--as", "member=vera@acme.example", "--as", "anyone")
    said = {(row["reader"], row["address"].rpartition("/")[2]): row["now"] for row in found}
    assert {space: said["a member with the role edit", space] for space in SPACES} == {
        "open": "edit", "salaries": "no", "plans": "no", "notes": "read",
    }  # fmt: skip
    assert said["vera@acme.example", "salaries"] == "admin"
    assert {said["anyone", space] for space in SPACES} == {"no"}


@pytest.mark.parametrize("title", [*TITLES, "=HYPERLINK()", "+1", "-1", "@SUM(A1)", "\t=1", " =1"])
def test_no_cell_is_a_formula(title: str) -> None:
    assert escape.spreadsheet(title).lstrip()[:1] not in {"=", "+", "-", "@"}


def test_a_title_that_is_a_formula_is_none_in_the_file(acme: Cli) -> None:
    hostile = project()
    node(hostile, "open")["title"] = '=cmd|" /C calc"!A0'
    write(acme, hostile)
    assert {row["title"] for row in rows(acme) if row["address"] == "acme/space/open"} == {'\'=cmd|" /C calc"!A0'}


MARKS = """[...document.querySelectorAll('.matrix tbody tr:not(.group)')].map(row => [row.querySelector('th').innerText, Object.fromEntries(
  [...row.querySelectorAll('td')].filter(cell => cell.checkVisibility()).map(cell => [cell.dataset.of, cell.innerText]))])"""


@costly
def test_the_matrix_says_the_same_on_a_desk_and_on_a_phone(acme: Cli, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    acme("sandbox", "faults", "set", "--db", "s.db", "--rule", DENIED, code=0)
    page = tmp_path / "access.html"
    page.write_text(acme("access", "--people", "--format", "html", code=0).stdout, encoding="utf-8")
    expected = pairs(rows(acme, "--people"))
    with browser.chromium() as chromium:
        for width in (360, 1440):
            context = chromium.new_context(viewport={"width": width, "height": 900})
            tab = context.new_page()
            tab.goto(page.as_uri())
            shown = dict(tab.evaluate(MARKS))
            assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            assert [rule["id"] for rule in Axe().run(tab).response["violations"]] == []
            context.close()
            assert {address.rpartition("/")[2]: cells["title"] for address, cells in shown.items() if "/space/" in address} == {
                space: space.title() for space in SPACES
            }
            for name in PEOPLE.keys() - {"old"}:
                for space in SPACES:
                    (mark,) = (text for who, text in shown[f"acme/space/{space}"].items() if f"{name}@" in who)
                    assert mark == expected.get((name, space), "no"), (width, name, space)
    assert re.search(r"<li>No is only said where it is certain\.", page.read_text(encoding="utf-8"))


def test_what_was_given_on_a_collection_may_remain_when_nothing_in_it_shows_that_any_more(acme: Cli) -> None:
    closed = project()
    node(closed, "plans")["defaultLevel"] = "guest"
    write(acme, closed)
    (linus,) = (row for row in rows(acme, "--people") if (row["address"], row["reader"][:5]) == ("acme/collection/people", "linus"))
    assert (linus["now"], linus["after the plan"]) == ("perhaps", "perhaps")
