"""A rehearsal judges the URLs that die as `apply` does, and asks the copy whether the redirects of the plan lead to pages that answer."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler import exits
from reconciler.features.urls import stages
from reconciler.features.urls.model.planned import REDIRECTS
from reconciler.features.urls.model.redirects import Redirect
from reconciler.features.urls.redirects.planned import with_redirects
from reconciler.model import Plan
from tests.command_line import Cli
from tests.proofs import costly

EXAMPLE = Path(__file__).parents[3] / "examples" / "urls"
GONE = '  gone:\n    - {url: "/v1/**", reason: Version 1 is no longer supported}\n'


@pytest.fixture
def living(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    cli("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    return cli


def rehearsed(cli: Cli, *options: str, code: int = exits.DONE) -> Any:
    words = ("rehearse", "reorganized.yaml", "--sandbox", "living.db", "--format", "json")
    return json.loads(cli(*words, *options, code=code).stdout)


def undeclared(cli: Cli) -> None:
    """What dies is no longer declared as gone."""
    file = cli.root / "reorganized.yaml"
    file.write_text(file.read_text().replace(GONE, ""))


@costly
def test_a_url_that_dies_is_among_what_apply_would_refuse(living: Cli) -> None:
    assert rehearsed(living)["refusals"] == []
    undeclared(living)
    refusals = rehearsed(living)["refusals"]
    paths = [refusal.partition("/published/docs")[2] for refusal in refusals]
    why = "its page is no longer published; this requires consent"
    assert paths == [f"{path}: {why}" for path in ("/v1", "/v1/all", "/v1/all/install", "/v1/install")]
    refused = living("apply", "reorganized.yaml", "--sandbox", "living.db", "--yes", code=exits.REFUSED)
    assert "[RC-dead-urls]" in refused.stderr
    assert rehearsed(living, "--allow-dead-urls", "/v1/**")["refusals"] == []


def test_each_redirect_of_the_plan_leads_to_a_page_of_the_copy(living: Cli) -> None:
    document = rehearsed(living)
    assert document["urls"]["redirects"] == {"asked": 16, "broken": []}
    assert (document["divergences"], not (living.root / "redirects").exists()) == ([], True)


def test_an_earlier_redirect_that_leads_nowhere_is_removed_by_the_plan(living: Cli) -> None:
    living("apply", "reorganized.yaml", "--sandbox", "living.db", "--yes", code=exits.DONE)
    assert rehearsed(living)["urls"]["redirects"]["broken"] == []
    table = living.root / "redirects/docs.csv"
    base = "http://127.0.0.1/published/docs"
    # A page answers at the source of the second line, and nothing at the target of the first.
    table.write_text(table.read_text() + f"{base}/old,{base}/nowhere,301,ada\n{base}/learn,{base}/reference,301,ada\n")
    assert rehearsed(living)["urls"]["redirects"]["broken"] == []
    planned = living.json("plan", "reorganized.yaml", "--sandbox", "living.db")["redirects"]
    assert [url["url"] for url in planned["ended"]] == [f"{base}/old"]
    living("apply", "reorganized.yaml", "--sandbox", "living.db", "--yes", code=exits.DONE)
    assert not {f"{base}/old,", f"{base}/learn,"} & {line.partition(",")[0] + "," for line in table.read_text().splitlines()}


def test_a_redirect_of_the_plan_that_leads_nowhere_is_a_defect(living: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*arguments: Any) -> Plan:
        plan = with_redirects(*arguments)
        if plan.feature(REDIRECTS) is None or not plan.feature(REDIRECTS).redirects:
            return plan
        first, *rest = plan.feature(REDIRECTS).redirects
        wrong = Redirect(first.site, first.source, f"{first.target}x")
        return plan.with_feature(REDIRECTS, replace(plan.feature(REDIRECTS), redirects=(wrong, *rest)))

    monkeypatch.setattr(stages, "with_redirects", mistaken)
    document = rehearsed(living, code=exits.FAILED)
    (defect,) = document["divergences"]
    assert defect["address"] == "example/site/docs"
    assert defect["prediction"].endswith("/published/docs/learnx")
    assert defect["observation"] == "nothing answers there"


def test_a_project_without_redirects_asks_nothing(living: Cli) -> None:
    file = living.root / "reorganized.yaml"
    file.write_text(file.read_text().partition("urls:")[0])
    assert rehearsed(living)["urls"]["redirects"] == {"asked": 0, "broken": []}
