"""URLs of pages on the command line: the handbook with a section that gets another path, over real HTTP."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.command_line import Cli
from tests.contains import assert_contains
from tests.documents import valid

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"
SANDBOX = ("--sandbox", "h.db")
TREE = re.compile(r"GET /v1/spaces/(\w+)/content/pages")


@pytest.fixture
def handbook(cli: Cli) -> Cli:
    """The handbook, applied, with another path of its guides."""
    shutil.copytree(HANDBOOK, cli.root, ignore=shutil.ignore_patterns(".reconciler"), dirs_exist_ok=True)
    cli("apply", *SANDBOX, "--yes", "--allow-exposure", "**", code=0)
    cli.edit("sites.yaml", "path: guides", "path: use")
    return cli


def test_a_plan_and_an_apply_say_which_urls_move_and_the_next_plan_reads_no_page_again(handbook: Cli) -> None:
    plan = handbook("plan", *SANDBOX, "-v", code=0)
    assert_contains(
        plan.stdout,
        "47 URLs of pages move.",
        "! moves       47 URLs: /guides/** -> /use/**        (28 pages of 2 spaces)",
        "1 published URL and 47 URLs of pages broken",
    )
    # The two spaces of the section, and what else might answer there: the start page's space, and what is shown at the root.
    assert len(TREE.findall(plan.stderr)) == len(set(TREE.findall(plan.stderr))) <= 4
    apply = handbook("apply", *SANDBOX, "--yes", code=0)
    assert "! moves       47 URLs: /guides/** -> /use/**" in apply.stdout
    handbook.edit("sites.yaml", "path: use", "path: guides")
    again = handbook("plan", *SANDBOX, "-v", code=0)
    assert "! moves       47 URLs: /use/** -> /guides/**" in again.stdout
    assert TREE.findall(again.stderr) == []


def test_the_document_lists_every_url_and_as_many_as_it_may(handbook: Cli) -> None:
    document = handbook.json("plan", *SANDBOX)
    valid(document, "plan")
    assert (len(document["urls"]), document["urlCount"]) == (47, 47)
    assert len({change["page"] for change in document["urls"]}) == 28
    short = handbook.json("plan", *SANDBOX, "--max-urls", "5")
    assert (len(short["urls"]), short["urlCount"], short["urlGroups"][0]["urls"]) == (5, 47, 47)


def test_pages_that_came_after_a_plan_was_saved_are_said_and_do_not_invalidate_it(handbook: Cli) -> None:
    handbook("plan", *SANDBOX, "--out", "p.json", code=0)
    saved = json.loads((handbook.root / "p.json").read_text())
    valid(saved, "saved-plan")
    assert saved["urlCount"] == 47
    space = next(change["space"] for change in saved["urls"])
    id = next(item["id"] for item in handbook.json("state", "list", *SANDBOX)["bindings"] if item["address"] == space)
    handbook.write("page.json", json.dumps({"id": "A new page"}))
    handbook("api", "POST", f"/spaces/{id}/content/template", "--input", "page.json", *SANDBOX, code=0)
    applied = handbook("apply", *SANDBOX, "--plan", "p.json", code=0)
    assert "Pages were added since the plan was saved: it ends or moves 2 more URLs of pages than it shows." in applied.stderr
    assert "49 URLs: /guides/** -> /use/**" in applied.stdout
