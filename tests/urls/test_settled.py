"""Redirects follow from the ledger and from what answers after a run, not from what one plan changes.

Each test reorganizes a published sandbox, also behind Reconciler's back.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli import exits
from tests.cli.conftest import Cli
from tests.urls.settling import (
    BASE,
    PATHS,
    SPACES,
    apply,
    declare,
    edit,
    killed,
    move_section,
    published,
    rename_page,
    settled,
    site,
    table,
)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return published(tmp_path)


def test_a_colleague_moves_a_part_back_and_an_apply_without_changes_turns_its_redirects(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    move_section(cli, "learn", "use")
    declare(cli, docs=site("docs", PATHS))  # as `drift --accept` leaves the file
    planned = cli("plan", "p", code=0).stdout
    assert "lead elsewhere" in planned or "no longer needed" in planned
    apply(cli)
    assert "/docs/use/install" not in table(cli)
    assert table(cli)["/docs/learn/install"] == "/docs/use/install"
    settled(cli)


def test_an_author_renames_the_page_to_which_redirects_lead(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    rename_page(cli, "pag_use_install", "setup")
    apply(cli)
    assert table(cli)["/docs/use/install"] == table(cli)["/docs/learn/install"] == "/docs/learn/setup"
    settled(cli)


def test_a_page_that_its_author_deleted_is_named_once_and_refuses_nothing(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    rename_page(cli, "pag_use_install", None)
    planned = cli("plan", "p", code=0).stdout
    assert "! ended" in planned
    assert "/use/install" in planned
    apply(cli, docs=site("docs", {**PATHS, "use": "teach"}))
    assert "/docs/use/install" not in table(cli)
    assert table(cli)["/docs/use/run"] == "/docs/teach/run"
    settled(cli)


def test_an_apply_that_is_given_up_leaves_no_line_that_hides_a_page(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    lines = "".join(f"{BASE}/docs/use/{page},{BASE}/docs/learn/{page},301,reconciler\n" for page in SPACES["use"])
    (cli.root / "p/redirects").mkdir()
    (cli.root / "p/redirects/docs.csv").write_text(f"from,to,status,by\n{lines}")
    cli("urls", "export", "p", "--write", code=0)
    assert table(cli) == {}
    settled(cli)


def test_a_site_that_is_declared_again_at_its_basename_has_no_line_over_its_pages(cli: Cli) -> None:
    gone = {"redirects": ["nginx"], "gone": [{"url": f"{BASE}/blog/**", "reason": "closed"}]}
    both = {"docs": site("docs", {"start": "start"}), "blog": site("blog", {"use": "use"})}
    apply(cli, urls=gone, **both)
    apply(cli, urls=gone, docs=both["docs"])
    assert "/blog/use/install" in table(cli, "blog"), "410"
    apply(cli, urls=gone, **both)
    assert table(cli, "blog") == {}, "no 410 of urls.gone covers what came back"
    settled(cli)


def test_a_new_section_at_a_path_that_another_left_is_not_covered(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn", "staff": "use"}))
    lines = table(cli)
    assert "/docs/use/install" not in lines, "the new section has a page of that name"
    assert "/docs/use/salaries" not in lines
    assert lines["/docs/use/run"] == "/docs/learn/run"
    settled(cli)


@pytest.mark.parametrize("condition", ["visitor.claims.staff", "!visitor.claims.staff"], ids=["for staff", "for all others"])
def test_sections_that_swap_addresses_catch_no_page_of_the_other(cli: Cli, condition: str) -> None:
    rows, when = {"start": "start", "use": "use", "staff": "staff"}, {"staff": condition}
    apply(cli, docs=site("docs", rows, when))
    swapped = site("docs", {**rows, "use": "staff", "staff": "use"}, when)
    declare(cli, docs=swapped)
    if condition.startswith("visitor"):
        refused = apply(cli, code=exits.REFUSED)
        assert "/use/install" in refused.stderr, "who has no claim finds nothing there"
    apply(cli, docs=swapped, dead="/**")
    lines = table(cli)
    assert not {"/docs/use/install", "/docs/use/salaries", "/docs/staff/install", "/docs/staff/run"} & lines.keys()
    assert lines["/docs/use/run"] == "/docs/staff/run"
    settled(cli)


def test_a_section_with_a_negated_condition_is_public(cli: Cli) -> None:
    rows, when = {"start": "start", "use": "use"}, {"use": "!visitor.claims.staff"}
    apply(cli, docs=site("docs", rows, when))
    assert "answers" in cli("urls", "where", f"{BASE}/docs/use/install", "p", code=0).stdout
    refused = apply(cli, docs=site("docs", {"start": "start"}), code=exits.REFUSED)
    assert "/use/install" in refused.stderr
    apply(cli, docs=site("docs", {**rows, "use": "learn"}, when))
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_who_a_new_negated_condition_keeps_out_is_named(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS, adaptiveContent={"enabled": True}))
    narrowed = site("docs", PATHS, {"use": "!visitor.claims.staff"})
    refused = apply(cli, docs=narrowed, code=exits.REFUSED)
    assert "only some of its readers" in refused.stderr
    apply(cli, docs=narrowed, dead="/**")
    settled(cli)


@pytest.mark.parametrize("closed", [{"visibility": "visitor-auth"}, {"published": False}], ids=["login", "unpublished"])
def test_a_public_site_that_was_closed_by_hand_is_opened_and_moved_by_one_apply(cli: Cli, closed: dict[str, Any]) -> None:
    apply(cli, docs=site("docs", {**PATHS, "old": "v1"}))

    def close(value: dict[str, Any]) -> bool:
        value |= closed
        return value.get("basename") == "docs"

    edit(cli, "site", close)
    moved = site("docs", {**PATHS, "use": "learn"})
    refused = apply(cli, docs=moved, code=exits.REFUSED)
    assert "/v1/past" in refused.stderr, "it was public, as the ledger knows"
    apply(cli, docs=moved, dead="/v1/**")
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_the_ledger_stays_right_while_urls_is_taken_out_for_one_apply(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, urls=None, docs=site("docs", {**PATHS, "use": "learn"}))
    assert "answers" in cli("urls", "where", f"{BASE}/docs/learn/install", "p", code=0).stdout
    assert "moved to" in cli("urls", "where", f"{BASE}/docs/use/install", "p", code=0).stdout
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_urls_that_comes_with_the_commit_that_moves_a_part_to_a_new_site_keeps_its_redirects(cli: Cli) -> None:
    apply(cli, urls=None, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {"start": "start"}), guide=site("guide", {"use": "use"}), dead="/**")
    assert table(cli)["/docs/use/install"] == "/guide/use/install"
    settled(cli)


def test_a_url_is_known_as_the_plan_printed_it(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    declare(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    printed = re.findall(r"http://\S+/use\b\S*", cli("plan", "p", "--full", code=0).stdout)
    assert printed
    apply(cli)
    for url in printed:
        assert "moved to" in cli("urls", "where", f"{url}/install", "p", code=0).stdout


LINES = [
    ("an anchor in the target", f"{BASE}/docs/quota,{BASE}/docs/learn/install#limits,301,ada"),
    ("a query in the target", f"{BASE}/docs/shop,https://shop.acme.example/buy?from=docs,301,ada"),
    ("a query in the source", f"{BASE}/docs/page?id=7,{BASE}/docs/learn/install,301,ada"),
]


@pytest.mark.parametrize("line", [line for _, line in LINES], ids=[name for name, _ in LINES])
def test_lines_of_people_keep_their_anchors_and_queries(cli: Cli, line: str) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    path = cli.root / "p/redirects/docs.csv"
    path.write_text(f"{path.read_text()}{line}\n")
    apply(cli)
    assert line in path.read_text().splitlines()
    apply(cli, docs=site("docs", {**PATHS, "use": "teach"}))
    assert line.replace("/learn/", "/teach/") in path.read_text().splitlines(), "its page moved"
    settled(cli)


def test_an_anchor_in_a_source_is_refused_at_its_line(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    (cli.root / "p/redirects").mkdir()
    (cli.root / "p/redirects/docs.csv").write_text(f"from,to,status,by\n{BASE}/docs/x#y,{BASE}/docs/use/run,301,ada\n")
    assert "redirects/docs.csv:2" in cli("plan", "p", code=exits.WRONG).stderr


@pytest.mark.parametrize("where", ["ledger", "files"])
def test_a_run_that_is_killed_between_its_requests_and_its_files_loses_no_redirect(cli: Cli, where: str) -> None:
    apply(cli, docs=site("docs", PATHS))
    declare(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    killed(cli, where)
    assert not (cli.root / "p/redirects").exists()
    if where == "files":
        cli("urls", "export", "p", "--write", code=0)
    else:
        apply(cli)
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_a_plan_without_changes_reads_no_pages(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    settled(cli)
    asked = cli("-vv", "plan", "p", code=0).stderr
    assert "/sites" in asked
    assert "/content/pages" not in asked
    rename_page(cli, "pag_use_run", "start")
    assert cli("-vv", "plan", "p", code=0).stderr.count("/content/pages") == 1, "the pages that changed"
