"""What a pull request says in `urls:` does not judge itself where `--rules-from` names its branch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_diff import git
from tests.cli.test_rules_from import RULES, write
from tests.features.urls.test_commands import FIRST, NGINX, apply, project, with_pages
from tests.proofs import costly

LOOSER_URLS: dict[str, Any] = {
    "everything is gone": {"redirects": ["nginx"], "gone": [{"url": "/**", "reason": "x"}, {"url": "http://*/**", "reason": "x"}]},
    "the site has no redirects": {"redirects": ["nginx"], "sites": {"docs": []}},
    "no site has redirects": {"redirects": []},
    "nothing is said of URLs": None,
}


@costly
@pytest.mark.parametrize("name", LOOSER_URLS)
@pytest.mark.parametrize("guards", [{}, {"guards": {"deadUrls": "block"}}], ids=["usual", "written"])
def test_what_the_branch_says_of_dead_urls_is_not_suspended_by_the_pull_request(tmp_path: Path, name: str, guards: dict[str, Any]) -> None:
    cli = with_pages(tmp_path)
    apply(cli, FIRST, NGINX, **guards)
    git(cli.root, "init", "-q", "-b", "main")
    git(cli.root, "add", "p/reconciler.yaml")
    git(cli.root, "commit", "-q", "-m", "one")
    ended = {key: path for key, path in FIRST.items() if key != "old"}
    write(cli, project(ended, LOOSER_URLS[name], **guards))
    assert "RC-dead-urls" in cli("plan", "p", *RULES, code=4).stderr
    write(cli, project({**FIRST, "use": "product"}, LOOSER_URLS[name], **guards))
    planned = cli.json("plan", "p", *RULES, "--allow-exposure", "**")
    assert "redirects/docs.nginx.conf" in json.dumps(planned["redirects"]), "the site has redirects on the branch"


def test_the_urls_of_gone_come_from_the_branch(tmp_path: Path) -> None:
    cli, gone = with_pages(tmp_path), {**NGINX, "gone": [{"url": "/v1/**", "reason": "no longer supported"}]}
    apply(cli, FIRST, gone)
    git(cli.root, "init", "-q", "-b", "main")
    git(cli.root, "add", "p/reconciler.yaml")
    git(cli.root, "commit", "-q", "-m", "one")
    write(cli, project({key: path for key, path in FIRST.items() if key != "old"}, NGINX))
    cli("plan", "p", code=4)
    cli("plan", "p", *RULES, code=0)
