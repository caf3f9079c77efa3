"""`reconciler sandbox readers`: who can read what a sandbox holds, as a table and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.sandbox.box import Box

AT = ("--db", "sandbox.db")


@pytest.fixture
def held(cli: Cli) -> Cli:
    """A sandbox with a public site, one behind a sign-in, and a space that members may edit."""
    box = Box(Path(cli.root))
    for title, space, visibility in (
        ("Docs", "spc_one", "public"),
        ("Intern", "spc_two", "visitor-auth"),
        ("Quiet", "spc_deep", "unlisted"),
    ):
        site = box.site(space, title=title)
        box.patch(site, {"visibility": visibility})
        box.post(f"{site}/publish", status=200)
    box.patch("/spaces/spc_two", {"defaultLevel": "edit"})
    box.close()
    return cli


def test_a_table_shows_the_widest_readers_of_every_object(held: Cli) -> None:
    found = held("sandbox", "readers", *AT, "--org", "org_a")
    assert (found.exit_code, found.stderr) == (0, "")
    rows = [line.split(maxsplit=3) for line in found.stdout.splitlines()]
    assert rows[0] == ["kind", "title", "id", "readers"]
    spaces = {row[2]: row[3] for row in rows if row[0] == "space"}
    assert spaces == {
        "spc_root": "nobody",
        "spc_one": "anyone",
        "spc_two": "visitor, member (edit)",
        "spc_deep": "anyone-with-the-address",
    }
    assert [row[3] for row in rows if row[0] == "site"] == ["anyone-with-the-address", "visitor", "anyone"]
    assert [row[3] for row in rows if row[0] == "organization"] == ["joins:invite-link"]


def test_json_has_all_readers(held: Cli) -> None:
    entries = held.json("sandbox", "readers", *AT)["items"]
    (space,) = [entry for entry in entries if entry["id"] == "spc_one"]
    assert [entry["reader"] for entry in space["readers"]] == ["anyone", "anyone-with-the-address", "visitor", "admin"]
    assert {entry["organization"] for entry in entries} == {"org_a", "org_b"}
    (space,) = [
        entry for entry in held.json("sandbox", "readers", *AT, "--condition", "visitor.claims.x")["items"] if entry["id"] == "spc_one"
    ]
    assert "visitor:visitor.claims.x" in [entry["reader"] for entry in space["readers"]]


def test_an_organization_that_does_not_exist_is_said(held: Cli) -> None:
    found = held("sandbox", "readers", *AT, "--org", "org_z")
    assert (found.exit_code, found.stdout) == (3, "")
    assert "unknown organization org_z" in found.stderr


def test_help_has_an_example(cli: Cli) -> None:
    assert "reconciler sandbox readers --db sandbox.db --org org_acme" in cli("sandbox", "readers", "--help").stdout
