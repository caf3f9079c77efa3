"""`reconciler health` on a sandbox with each defect: named, with its cost; and what could not be looked at is never healthy."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.command_line import Cli
from tests.documents import valid
from tests.harness import Still
from tests.proofs import costly

EVIL = "Old \x1b[31m<b>page</b>"
SEED: dict[str, Any] = {
    "members": [
        {"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_acme", "id": "usr_grace", "email": "grace@acme.example", "displayName": "Grace", "role": "edit"},
    ],
    "organizations": [{"id": "org_acme", "title": "Acme"}],
    "spaces": [
        {
            "organization": "org_acme",
            "id": "spc_guides",
            "title": "Guides",
            "pages": [
                {"title": "Start", "slug": "start", "markdown": "[gone](/spaces/spc_nowhere) and [old](./missing)"},
                {
                    "title": EVIL,
                    "slug": "old",
                    "path": "account/reset",
                    "markdown": "reset your password",
                    "updatedAt": "2020-01-01T00:00:00Z",
                },
            ],
            "changeRequests": [
                {"subject": "Rewrite for v3", "createdBy": "usr_grace", "status": "open", "createdAt": "2020-02-02T00:00:00Z"},
                {"subject": "A draft", "createdBy": "usr_grace", "createdAt": "2020-02-02T00:00:00Z"},
            ],
        },
        {"organization": "org_acme", "id": "spc_empty", "title": "Empty", "pages": []},
    ],
}
ALL = {
    "brokenLinks": 0,
    "startPages": True,
    "stalePages": 365,
    "changeRequests": 30,
    "outdated": True,
    "topics": 2,
    "search": [{"site": "docs", "query": "reset password", "finds": "/account/**"}],
}


def document(**health: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "project": "p",
        "service": {"sandbox": ".reconciler/sandbox.db", "member": "ada@acme.example"},
        **({"health": health} if health else {}),
        "organizations": {
            "acme": {
                "id": "org_acme",
                "content": [
                    {"space": "guides", "id": "spc_guides", "title": "Guides", "template": True},
                    {"space": "empty", "id": "spc_empty", "title": "Empty", "template": True},
                ],
                "openapi": {"pets": {"source": {"url": "https://nowhere.example/openapi.json"}}},
                "sites": {
                    "docs": {
                        "title": "Docs",
                        "visibility": "public",
                        "published": True,
                        "structure": [{"space": "guides", "default": True}, "empty"],
                        "shareLinks": {"old": {"name": "Partners until 2020-01-01", "active": True}},
                    },
                    "bare": {"title": "Bare", "visibility": "public", "published": True, "structure": ["empty"]},
                },
            }
        },
    }


def write(cli: Cli, project: dict[str, Any]) -> None:
    cli.write("p/reconciler.yaml", yaml.safe_dump(project, sort_keys=False))


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cli = Cli(tmp_path_factory.mktemp("health"))
    write(cli, document())
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(SEED))
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    cli("sandbox", "clock", "--advance", "120", "--db", "p/.reconciler/sandbox.db", code=0)
    talk = {"id": "c1", "subject": "reset password", "parts": [{"type": "message", "role": "user", "body": "How do I reset my password?"}]}
    cli.write("talk.json", json.dumps([talk]))
    cli("api", "POST", "/orgs/org_acme/conversations", "--input", "talk.json", "--sandbox", "p/.reconciler/sandbox.db", code=0)
    return cli.root


@pytest.fixture
def cli(living: Path, tmp_path: Path) -> Cli:
    shutil.copytree(living, tmp_path, dirs_exist_ok=True)
    return Cli(tmp_path, clock=Still())


def checks(cli: Cli) -> dict[str, dict[str, Any]]:
    shown = json.loads(cli("health", "p", "--format", "json").stdout)
    valid(shown, "health")
    return {str(check["name"]): check for check in shown["checks"]}


def sentences(check: dict[str, Any]) -> list[str]:
    return [f"{concern['address']}: {concern['sentence']}" for concern in check["concerns"]]


def test_what_costs_requests_is_off_until_the_project_asks(cli: Cli) -> None:
    made = checks(cli)
    off = {name for name, check in made.items() if check["status"] == "off"}
    assert off == {"brokenLinks", "startPages", "stalePages", "changeRequests", "outdated", "search", "topics"}
    assert all(check["operations"] and check["cost"] != "no request" for name, check in made.items() if name in off)
    assert sum(check["requests"] for check in made.values()) == 0


def test_each_defect_is_named_with_what_it_cost(cli: Cli) -> None:
    write(cli, document(**ALL))
    made = checks(cli)
    assert made["expiry"]["status"] == made["processing"]["status"] == made["brokenLinks"]["status"] == "broken"
    (links,) = sentences(made["brokenLinks"])
    assert links == 'acme/space/guides: 2 links in it lead nowhere, on "Start"'
    (start,) = sentences(made["startPages"])
    assert start.startswith("acme/site/bare: its readers find no page at ")
    assert made["stalePages"]["status"] == made["changeRequests"]["status"] == "warning"
    (stale,) = sentences(made["stalePages"])
    assert stale.endswith("since 2020-01-01")
    (review,) = sentences(made["changeRequests"])
    assert '1 change request open for more than 30 days; the oldest is "Rewrite for v3" by Grace, since 2020-02-02' in review
    assert (made["search"]["status"], made["topics"]["status"], made["outdated"]["status"]) == ("healthy", "healthy", "healthy")
    assert len(made["topics"]["concerns"]) == 1, "information does not make anything worse"
    costs = {name: check["requests"] for name, check in made.items() if check["requests"]}
    assert costs == {"brokenLinks": 2, "startPages": 2, "changeRequests": 1, "search": 1, "topics": 1}, "trees and lists are read once"
    assert all(check["at"] is not None for check in made.values())


def test_the_requests_are_those_that_the_checks_name_and_only_gets(cli: Cli) -> None:
    plain = requests(cli)
    write(cli, document(**ALL))
    more = requests(cli) - plain
    assert sum(more.values()) == 7
    assert {method for method, _ in more} == {"GET"}


def requests(cli: Cli) -> Counter[tuple[str, str]]:
    lines = cli("health", "p", "-v").stderr.splitlines()
    asked = (line.split() for line in lines if line.split()[:1] and line.split()[0] in ("GET", "POST", "PUT", "PATCH", "DELETE"))
    return Counter((parts[0], parts[1]) for parts in asked)


SEARCHES = [
    # finds, whether it is found
    ("/account/**", True),
    ("/account/reset", True),
    ("account/*", True),
    ("/guides/account/reset", True),
    ("/account", False),
    ("/install/**", False),
]


@pytest.mark.parametrize(("finds", "found"), SEARCHES)
def test_a_search_finds_a_page_by_each_of_its_paths(cli: Cli, finds: str, found: bool) -> None:
    write(cli, document(search=[{"site": "docs", "query": "reset password", "finds": finds}]))
    search = checks(cli)["search"]
    assert search["status"] == ("healthy" if found else "broken"), search


def test_an_outdated_change_request_is_a_warning(cli: Cli) -> None:
    sandbox = ("--sandbox", "p/.reconciler/sandbox.db")
    made = json.loads(cli("api", "POST", "/spaces/spc_guides/change-requests", "-f", "subject=Later", *sandbox, code=0).stdout)
    cli("api", "POST", f"/spaces/spc_guides/change-requests/{made['id']}/merge", *sandbox, code=0)
    write(cli, document(outdated=True))
    outdated = checks(cli)["outdated"]
    if outdated["concerns"]:
        assert (outdated["status"], len(outdated["concerns"])) == ("warning", 1)


OPERATIONS = {
    "brokenLinks": "GET /spaces/*/links",
    "startPages": "GET /spaces/*/content/pages",
    "stalePages": "GET /spaces/*/content/pages",
    "changeRequests": "GET /orgs/*/change-requests",
    "outdated": "GET /orgs/*/change-requests",
    "search": "GET /orgs/*/search",
    "topics": "GET /orgs/*/conversations-clusters",
}
ANSWERS: list[dict[str, Any]] = [{"fault": "forbidden"}, {"fault": "error", "status": 500}, {"fault": "not-json"}]


def healthy(**health: Any) -> dict[str, Any]:
    """A project of which nothing is broken but what a check finds."""
    project = document(**health)
    acme = project["organizations"]["acme"]
    del acme["openapi"]
    acme["sites"]["docs"]["shareLinks"]["old"]["name"] = "Partners"
    return project


@pytest.fixture
def well(cli: Cli) -> Cli:
    """The same without the defects that cost nothing to see."""
    project = healthy()
    project["removed"] = [{"address": "acme/openapi/pets", "action": "delete"}]
    write(cli, project)
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    return cli


@costly
@pytest.mark.parametrize("answer", ANSWERS, ids=["403", "500", "garbage"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_check_that_could_not_be_made_is_unknown_and_never_healthy(well: Cli, name: str, answer: dict[str, Any]) -> None:
    write(well, healthy(**{name: ALL[name]}))
    rule = json.dumps({**answer, "operation": OPERATIONS[name]})
    well("sandbox", "faults", "set", "--db", "p/.reconciler/sandbox.db", "--rule", rule, code=0)
    shown = well("health", "p", code=5)
    assert "Unknown." in shown.stdout
    assert "Healthy" not in shown.stdout
    made = checks(well)[name]
    assert made["status"] == "unknown"
    assert made["unknown"]
    well("sandbox", "faults", "clear", "--db", "p/.reconciler/sandbox.db", code=0)


CODES = [
    ({}, 0, "Healthy."),
    ({"stalePages": 365}, 0, "Warning."),
    ({"brokenLinks": 0}, 2, "Broken."),
    ({"brokenLinks": 2}, 0, "Healthy."),
    ({"topics": 3}, 0, "Healthy."),
    ({"search": [{"site": "dosc", "query": "x", "finds": "/y"}]}, 5, "Unknown."),
]


@costly
@pytest.mark.parametrize(("health", "code", "word"), CODES)
def test_the_exit_code_is_that_of_the_worst_check(well: Cli, health: dict[str, Any], code: int, word: str) -> None:
    project = healthy(**health)
    write(well, project)
    shown = well("health", "p", code=code)
    assert shown.stdout.startswith(word)


def test_a_site_that_is_misspelled_gets_a_suggestion(well: Cli) -> None:
    write(well, healthy(search=[{"site": "dosc", "query": "x", "finds": "/y"}]))
    assert 'nothing published is called "dosc"; did you mean "docs"?' in " ".join(well("health", "p", code=5).stdout.split())


MISTAKES = [
    ({"brokenLinks": "many"}, "health.brokenLinks must be a number"),
    ({"startPages": 3}, "health.startPages must be true or false"),
    ({"stalePage": 3}, 'did you mean "stalePages"?'),
    ({"search": [{"site": "docs", "query": "x"}]}, "a search must have finds"),
    ({"search": ["docs"]}, "a search must be a map"),
    ({"search": {"site": "docs"}}, "search must be a list"),
]


@pytest.mark.parametrize(("health", "says"), MISTAKES)
def test_a_mistake_in_the_keys_is_an_error_at_its_position(cli: Cli, health: dict[str, Any], says: str) -> None:
    write(cli, document(**health))
    refused = cli("health", "p", code=3)
    assert says in refused.stderr
    assert "reconciler.yaml:" in refused.stderr


def test_every_report_has_the_concerns_and_no_text_of_the_service_acts_in_it(cli: Cli) -> None:
    write(cli, document(**ALL))
    files = {name: cli.root / f"h.{name}" for name in ("json", "markdown", "html", "junit", "sarif", "github", "codequality")}
    shown = cli("health", "p", *(word for name, path in files.items() for word in ("--report", f"{name}={path}")), code=2)
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    for name, text in {"text": shown.stdout, **texts}.items():
        assert "\x1b[31m" not in text, name
        assert "lead nowhere" in text, name
    assert "<b>" not in texts["html"]
    valid(json.loads(texts["json"]), "health")
    suite = ElementTree.fromstring(texts["junit"])
    assert int(suite.attrib["failures"]) >= 3
    rules = {result["ruleId"] for result in json.loads(texts["sarif"])["runs"][0]["results"]}
    assert {"RC-broken-link", "RC-stale-pages", "RC-edits-wait", "RC-not-processed", "RC-ends-soon"} <= rules


def test_a_state_that_has_never_seen_the_project_is_unknown(cli: Cli) -> None:
    shutil.rmtree(cli.root / "p/.reconciler", ignore_errors=True)
    shown = cli("health", "p", code=5)
    assert "has never seen" in shown.stdout


def test_payments_are_warnings_and_a_subscription_that_ends_has_a_day(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    write(cli, document())
    billing = {"hasPaymentFailed": True, "isScheduledToCancel": True, "endDate": "2020-01-31T00:00:00Z"}
    seed = {**SEED, "organizations": [{"id": "org_acme", "title": "Acme", "billing": billing}]}
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(seed))
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    check = checks(cli)["payments"]
    assert (check["status"], check["requests"]) == ("broken", 0)
    assert sentences(check) == ["acme: it has a payment that failed", "acme: it has a subscription that ends on 2020-01-31"]
