"""The words of `reconciler api`: fields, paths, selections.

`reconciler api` reaches every operation of the service: the tour, typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.commands.api import body, pick, selection, target, typed
from reconciler.errors import UsageError
from reconciler.sandbox.seed import seed
from tests.command_line import Cli
from tests.proofs import costly
from tests.sandbox.serving import serving


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None), ("true", True), ("false", False), ("0", 0), ("-12", -12), ("1.5", 1.5), ("1e3", 1000.0),
        ("007", "007"), ("1.", "1."), ("+1", "+1"), ("NaN", "NaN"), ("True", "True"), ("", ""), ("a=b", "a=b"),
    ],
)  # fmt: skip
def test_a_value_has_the_type_it_looks_like(text: str, value: Any) -> None:
    assert typed(text) == value
    assert type(typed(text)) is type(value)


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ((), None),
        (("title=Guides", "active=true"), {"title": "Guides", "active": True}),
        (("a[b]=c", "a[d][e]=1"), {"a": {"b": "c", "d": {"e": 1}}}),
        (("a[]=1", "a[]=x"), {"a": [1, "x"]}),
        (("a[][b]=1", "a[][b]=2"), {"a": [{"b": 1}, {"b": 2}]}),
        (("a[][b]=1", "a[][c]=2", "a[][b]=3"), {"a": [{"b": 1, "c": 2}, {"b": 3}]}),
        (("url=https://x.example/?a=b",), {"url": "https://x.example/?a=b"}),
        (("empty=",), {"empty": ""}),
    ],
)
def test_fields_make_a_body(fields: tuple[str, ...], made: Any) -> None:
    assert body(fields) == made


@pytest.mark.parametrize(
    "fields", [("title",), ("=x",), ("a[b=c",), ("a]b=c",), ("a=1", "a=2"), ("a=1", "a[b]=2"), ("a[]=1", "a[b]=2"), ("a[b]=1", "a[]=2")]
)
def test_fields_that_cannot_be_followed_are_refused(fields: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        body(fields)


@pytest.mark.parametrize(
    ("path", "place", "query"),
    [
        ("/orgs", "/orgs", {}),
        ("orgs/org_acme/", "/orgs/org_acme", {}),
        ("/v1/orgs", "/orgs", {}),
        ("/orgs?limit=5&page=a%20b&empty=", "/orgs", {"limit": "5", "page": "a b", "empty": ""}),
        ("/orgs/a b", "/orgs/a%20b", {}),
        ("/orgs/a%2Fb", "/orgs/a%2Fb", {}),
    ],
)
def test_a_path_is_encoded_as_the_client_wants_it(path: str, place: str, query: dict[str, str]) -> None:
    assert target(path) == (place, query)


@pytest.mark.parametrize("path", ["", "/", "//x", "/orgs//x", "/orgs/../x", "https://x.example/orgs", "/orgs/./x"])
def test_an_invalid_path_of_the_service_is_refused(path: str) -> None:
    with pytest.raises(UsageError):
        target(path)


ANSWER = {"items": [{"id": "a", "tags": ["x", "y"]}, {"id": "b"}], "next": {"page": "t"}, "odd key": 1}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (".", [ANSWER]),
        (".next.page", ["t"]),
        (".items[].id", ["a", "b"]),
        (".items[1].id", ["b"]),
        (".items[7].id", [None]),
        (".items[].tags[]", ["x", "y"]),
        ('.["odd key"]', [1]),
        (".nothing.there", [None]),
        (".items[0]", [ANSWER["items"][0]]),  # type: ignore[index]
    ],
)
def test_a_selection_finds_what_jq_would(expression: str, found: list[Any]) -> None:
    assert pick(ANSWER, selection(expression)) == found


@pytest.mark.parametrize("expression", ["items", ".items[", ".a | .b", "..", ".items[-1]", "map(.x)"])
def test_more_than_a_path_is_refused(expression: str) -> None:
    with pytest.raises(UsageError):
        selection(expression)


TOKEN = {"RECONCILER_TOKEN": "t0p"}
ROOT = Path(__file__).parents[2]
PLAN = yaml.safe_load((ROOT / "schemas" / "tour.yaml").read_text(encoding="utf-8"))


def _filled(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\{([A-Za-z]+)\}", lambda found: known[found[1]], text)


@costly
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
