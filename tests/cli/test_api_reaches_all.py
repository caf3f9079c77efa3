"""`reconciler api` reaches every operation of the service: the tour, typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from reconciler.sandbox.seed import seed
from tests.cli.conftest import Cli
from tests.sandbox.serving import serving

TOKEN = {"RECONCILER_TOKEN": "t0p"}
ROOT = Path(__file__).parents[2]
PLAN = yaml.safe_load((ROOT / "schemas" / "tour.yaml").read_text(encoding="utf-8"))


def _filled(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\{([A-Za-z]+)\}", lambda found: known[found[1]], text)


def test_every_operation_of_the_service_can_be_called(cli: Cli) -> None:
    db = cli.root / "x.db"
    seed(db, PLAN["seed"])
    known: dict[str, str] = dict(PLAN["known"])
    called = set()
    with serving(db) as base:
        for method, path, *more in PLAN["calls"]:
            body = _filled(json.dumps(more[0]), known) if more and more[0] is not None else None
            words = ["--input", "-"] if body is not None else []
            done = cli("api", method, _filled(path, known), *words, "--base-url", base, "--quiet", env=TOKEN, input=body)
            assert (done.exit_code, done.stderr) == (0, ""), (method, path, done.stderr)
            called.add(f"{method} {path.partition('?')[0]}")
            if len(more) > 1:
                answer: Any = json.loads(done.stdout)
                first = answer["items"][0] if "items" in answer else answer
                known[more[1]] = first.get("issue", first)["id"]
    assert len(called) == 152


def test_a_list_whose_items_have_no_id_is_read_to_its_end(cli: Cli) -> None:
    same = "[start](start) [start](start) [start](start)"
    pages = [{"id": "pag_start", "title": "Start", "slug": "start", "path": "start", "markdown": same}]
    seed(cli.root / "x.db", PLAN["seed"] | {"spaces": [{"organization": "org_acme", "id": "spc_x", "title": "X", "pages": pages}]})
    done = cli("api", "GET", "/spaces/spc_x/links", "-f", "limit=2", "--paginate", "--jq", ".[].status", "--sandbox", "x.db")
    assert (done.exit_code, done.stdout) == (0, "ok\n" * 3)


def test_the_body_comes_from_a_file(cli: Cli) -> None:
    seed(cli.root / "x.db", PLAN["seed"])
    cli.write("talk.json", '[{"id": "c1", "parts": []}, {"id": "c2", "parts": []}]')
    assert cli("api", "POST", "/orgs/org_acme/conversations", "--input", "talk.json", "--sandbox", "x.db").exit_code == 0
    listed = cli("api", "GET", "/orgs/org_acme/conversations", "--paginate", "--jq", ".[].id", "--sandbox", "x.db")
    assert sorted(listed.stdout.split()) == ["c1", "c2"]


def test_a_body_that_is_not_json_or_is_given_twice_is_refused(cli: Cli) -> None:
    cli.write("broken.json", '{"a": ')
    wrong = cli("api", "POST", "/orgs/org_acme/conversations", "--input", "broken.json", "--sandbox", "x.db")
    assert (wrong.exit_code, "broken.json is not JSON" in wrong.stderr) == (3, True)
    for words in (["-f", "a=1"], []):
        twice = cli("api", "POST" if words else "GET", "/orgs", "--input", "broken.json", *words, "--sandbox", "x.db")
        assert (twice.exit_code, "--input is the complete body" in twice.stderr) == (3, True)
    assert not (cli.root / "x.db").exists()
