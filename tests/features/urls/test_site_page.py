"""`health --site`: one site on one page, with the history that the state has of it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reconciler import exits
from reconciler.client.service import Reader
from reconciler.features.health.plan import HealthInputs
from reconciler.features.health.site.read import site_pages
from reconciler.features.health.site.report import site_sheet
from reconciler.kinds import load as kinds
from reconciler.model import Actual
from reconciler.report.formats.html import html
from tests.command_line import Cli
from tests.documents import valid
from tests.features.health.made import site_page
from tests.features.health.test_command import ALL, EVIL, cli as broken, document, living, write
from tests.features.urls.test_commands import BASE, FIRST, NGINX, apply, cli
from tests.proofs import costly

__all__ = ["broken", "cli", "living"]

GIT = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@acme.example"]
GONE = {**NGINX, "gone": [{"url": "/v1/**", "reason": "Version 1 is no longer supported"}]}


def page(cli: Cli, site: str = "docs") -> Any:
    result = cli("health", "p", "--site", site, "--format", "json")
    return valid(json.loads(result.stdout), "site-health")


def committed(cli: Cli) -> str:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*GIT, *words], cwd=cli.root / "p", check=True, capture_output=True)
    return subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=cli.root / "p", check=True, capture_output=True, text=True).stdout.strip()


def test_a_site_is_shown_with_its_parts_its_urls_and_the_runs_that_changed_it(cli: Cli) -> None:
    apply(cli, FIRST, GONE)
    commit = committed(cli)
    without = {"start": "start", "use": "product"}
    apply(cli, without, GONE)
    shown = page(cli)
    assert [(part["nodeTitle"], part["space"], part["pages"]) for part in shown["parts"]] == [
        ("Start", "acme/space/start", 1),
        ("Use", "acme/space/use", 5),
    ]
    assert (shown["status"], shown["readers"], shown["unknown"]) == ("healthy", "anyone", None)
    assert shown["parts"][1]["url"].endswith("/published/docs/product/main")
    history = shown["history"]
    assert (shown["urls"], history["complete"]) == (history["answer"], True)
    assert [(group["before"], group["after"]) for group in history["ended"]] == [
        (f"{BASE}/v1/**", None),
        (f"{BASE}/use/**", f"{BASE}/product/**"),
    ]
    last, first = history["runs"]
    assert (last["commit"], first["commit"]) == (commit, None)
    assert (first["begun"], first["ended"], first["live"]) == (first["live"], 0, first["begun"])
    assert last["live"] == first["live"] + last["begun"] - last["ended"] == history["answer"]
    assert last["changed"] == {"update": 1, "delete": 1}
    assert sum(group["urls"] for group in history["ended"]) == last["ended"]
    text = cli("health", "p", "--site", "acme/site/docs", code=0).stdout
    assert re.search(rf"nowhere\s+4 URLs: /v1/\*\*\s+\(\d{{4}}-\d\d-\d\d, run {last['run'][:8]}, commit {commit[:9]}\)", text)
    assert re.search(r"/product/main\s+acme/space/use: 5 pages\s+\(default\)", text)


def test_without_a_ledger_the_history_is_unknown_and_the_page_says_how_to_have_it(cli: Cli) -> None:
    apply(cli, FIRST, None)
    shown = page(cli)
    assert shown["history"] is None
    assert shown["unknown"] == "this project keeps no ledger of its URLs: write urls: {redirects: []}, and the next apply begins one"
    assert shown["urls"] > 0, "how many answer now is known without one"
    assert "<figcaption>Published URLs" not in cli("health", "p", "--site", "docs", "--format", "html").stdout


def test_a_site_that_nothing_was_recorded_of_yet_says_so(cli: Cli) -> None:
    apply(cli, FIRST, None)
    apply_file = cli.root / "p/reconciler.yaml"
    apply_file.write_text(apply_file.read_text() + "urls: {redirects: []}\n")
    assert page(cli)["unknown"] == "the next apply with a request records the first URLs"


@costly
@pytest.mark.parametrize("name", ["dosc", "acme/site/dosc", ""])
def test_a_site_that_does_not_exist_is_an_error_that_lists_those_that_do(cli: Cli, name: str) -> None:
    apply(cli, FIRST, None)
    wrong = cli("health", "p", "--site", name, code=exits.WRONG)
    assert "[RC-site-not-known]" in wrong.stderr
    assert "The sites are: acme/site/docs" in wrong.stderr


def test_the_page_is_the_same_twice_and_writes_nothing(cli: Cli) -> None:
    apply(cli, FIRST, NGINX)
    state = cli.root / "p/.reconciler/state.db"
    before, size = state.read_bytes(), state.stat().st_mtime_ns
    texts = [re.sub(r":\d{5}/|\d\d:\d\d:\d\d|\d\d:\d\d UTC|\.\d+", "", json.dumps(page(cli))) for _ in range(2)]
    assert texts[0] == texts[1]
    assert (state.read_bytes(), state.stat().st_mtime_ns) == (before, size)


def test_only_what_concerns_the_site_is_on_its_page(broken: Cli) -> None:
    write(broken, document(**ALL))
    docs, bare = page(broken), page(broken, "bare")
    whole = {check["name"]: check["requests"] for check in json.loads(broken("health", "p", "--format", "json").stdout)["checks"]}
    addresses = [{line["address"] for check in shown["checks"] for line in check["concerns"]} for shown in (docs, bare)]
    assert not any(address.startswith("acme/site/bare") for address in addresses[0])
    assert not any(address.startswith(("acme/site/docs", "acme/space/guides")) for address in addresses[1])
    assert {"acme/space/guides", "acme/site/docs/share-link/old"} <= addresses[0]
    assert "acme/site/bare" in addresses[1]
    requests = {check["name"]: check["requests"] for check in bare["checks"]}
    assert (requests["search"], requests["topics"]) == (0, 0), "no search is about it, and topics are those of an organization"
    assert requests["brokenLinks"] < whole["brokenLinks"]


def test_what_people_have_begun_is_on_the_page_with_titles_and_ages(broken: Cli) -> None:
    (space,) = page(broken)["work"]
    assert space["address"] == "acme/space/guides"
    assert [(sort["noun"], sort["number"], [item["title"] for item in sort["items"]]) for sort in space["sorts"]] == [
        ("open change request", 1, ["Rewrite for v3"]),
        ("draft change request", 1, ["A draft"]),
    ]
    text = broken("health", "p", "--site", "docs").stdout
    assert re.search(r'1 open change request \("Rewrite for v3", Grace, [\d,]+ days old\)', text)


def test_the_pages_of_an_object_that_no_reading_shows_are_not_requested() -> None:
    inputs = cast(HealthInputs, SimpleNamespace(kinds=kinds(), actual=Actual()))
    assert asyncio.run(site_pages(cast(Reader, None), inputs, [("space", "spc_hidden")], lambda keys: {})) == {}


def test_a_page_of_html_shows_two_pictures_and_runs_nothing() -> None:
    now = datetime(2026, 11, 26, tzinfo=UTC)
    page = html(site_sheet(site_page(EVIL), made_at=now), created_at=now)
    assert page.count("<svg role=") + page.count("<svg viewBox=") == 2
    assert EVIL not in page
    assert "Old \\x1b[31m&lt;b&gt;page&lt;/b&gt;" in page
    assert not re.search(r"<script|<b>|\son\w+=|url\(|https?://(?!docs\.acme\.example)", page)
    assert "default-src 'none'" in page


def test_the_number_of_urls_over_time_is_drawn_from_the_runs() -> None:
    page = site_page("Docs")
    start = datetime(2026, 11, 1, tzinfo=UTC)
    (tree, trend) = site_sheet(page, made_at=start + timedelta(days=30)).figures
    assert [row.number for row in tree.rows] == [12, 10, 8, 2, 2]  # type: ignore[union-attr]
    (unread, _) = site_sheet(site_page("Other"), made_at=start).figures
    assert [row.number for row in unread.rows] == [None, 10, 8, 2, 2, None], "a sum with an unknown part is unknown"  # type: ignore[union-attr]
    assert [number for _, number in trend.points] == [10, 14, 12]  # type: ignore[union-attr]
    text = html(site_sheet(page, made_at=start + timedelta(days=30)), created_at=start)
    assert "H1000" in text
    assert "at most 14 URLs" in text


def test_a_report_in_each_format_is_written(cli: Cli, tmp_path: Path) -> None:
    apply(cli, FIRST, NGINX)
    names = ["json", "markdown", "html", "junit", "sarif"]
    cli("health", "p", "--site", "docs", *(word for name in names for word in ("--report", f"{name}=site.{name}")), code=0)
    assert all((cli.root / f"site.{name}").stat().st_size > 100 for name in names)
    assert (cli.root / "site.markdown").read_text().startswith("<!-- reconciler:site docs:p -->\n### Site docs for p\n")
