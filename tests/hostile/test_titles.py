"""Titles that attack, through whole lives of an organization: they arrive everywhere as they were written, and nowhere are they obeyed."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from html import escape as escaped
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from click.testing import Result

from reconciler.features.drift.model import Drift, Drifted, DriftWord
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.model import Action, Cause, Delta, StepStatus, Unmanaged
from reconciler.report.formats.html import html
from reconciler.report.formats.markdown import markdown
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet
from reconciler.sandbox.app import create_app
from reconciler.sandbox.seed import seed as plant
from reconciler.text.escape import terminal
from tests.cli.test_end_to_end import at_a_terminal
from tests.command_line import Cli
from tests.harness import BASE, ORGANIZATION, SEED, TOKEN
from tests.hostile.sinks import OURS, controls, in_a_browser, in_a_comment, in_a_page, orders
from tests.hostile.titles import TITLES, other, seed
from tests.report.made import at, change, outcome, plan, result

NARROW = {"COLUMNS": "50"}
REPORTS = [part for one in ("json", "markdown", "html", "github") for part in ("--report", f"{one}=r.{one}")]
ORG = f"/orgs/{ORGANIZATION}"


def words_of(name: str) -> str:
    return name.split()[0]


class Watched(Cli):
    """A command line every output of which is looked at; what is wrong with one stands in `wrong`."""

    wrong: list[str]

    def __call__(self, *words: str, **given: Any) -> Result:
        made = super().__call__(*words, **given)
        name = " ".join(words)
        format = words[words.index("--format") + 1] if "--format" in words else "text"
        self._note(f"{name}: stderr", controls(made.stderr) + orders(made.stderr))
        self._look(f"{name}: stdout", format, made.stdout)
        for file in sorted(self.root.glob("r.*")):
            self._look(f"{name}: {file.name}", file.suffix[1:], file.read_text(encoding="utf-8"))
            if file.suffix == ".html":
                file.replace(self.root / f"page-{len(list(self.root.glob('page-*')))}.html")
            else:
                file.unlink()
        return made

    def _look(self, name: str, format: str, text: str) -> None:
        found = controls(text)
        match format:
            case "github":
                found += [line for line in text.splitlines() if not OURS.fullmatch(line)]
            case "markdown":
                found += in_a_comment(text)
            case "html":
                found += in_a_page(text)
            case "json":
                found += orders(text)
                json.loads(text or "null")
            case _ if words_of(name) != "api":  # its lines are data for scripts
                found += orders(text)
        self._note(name, found)

    def _note(self, name: str, found: list[str]) -> None:
        self.__dict__.setdefault("wrong", [])
        self.wrong += [f"{name}: {one}" for one in found]


@pytest.fixture
def cli(tmp_path: Path) -> Watched:
    return Watched(tmp_path, env=dict(NARROW))


class Service:
    """The service as somebody else sees it."""

    def __init__(self, file: Path) -> None:
        self.app = create_app(file)

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        async def call() -> Any:
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE) as client:
                answer = await client.request(method, f"/v1{path}", json=body, headers={"Authorization": f"Bearer {TOKEN}"})
                assert answer.status_code < 300, f"{method} {path}: {answer.text}"
                return answer.json() if answer.content else None

        return asyncio.run(call())

    def items(self, path: str) -> list[Any]:
        return list(self("GET", f"{path}?limit=1000")["items"])


def written(title: Any = lambda one: one) -> str:
    """A project that gives every one of the titles to a space, a collection, a team and a share link, some to the parts of sites."""
    texts = {f"n{number}": title(one).replace("${{", "$${{") for number, one in enumerate(TITLES.values())}
    few = dict(list(texts.items())[:8])
    spaces = [{"space": key, "title": one} for key, one in few.items()]
    document = {
        "version": 1,
        "project": "p",
        "service": {"sandbox": "sandbox.db", "member": "ada@acme.example"},
        "defaults": {"space": {"duplicateOf": "blank"}},
        "guards": {"maxDelete": {"percent": 100, "atLeast": 1000}},
        "organizations": {
            "acme": {
                "id": ORGANIZATION,
                "title": texts["n17"],
                "teams": {key: {"title": one} for key, one in texts.items()},
                "content": [
                    {"space": "blank", "id": "spc_blank", "title": "Blank"},
                    *({"collection": f"c{key}", "title": one, "content": []} for key, one in texts.items()),
                    *spaces,
                ],
                "sites": {
                    "docs": {
                        "title": texts["n16"],
                        "structure": [
                            {"group": "g", "title": texts["n14"], "structure": [{"section": "s", "title": texts["n11"], "spaces": ["n0"]}]},
                            {"section": "t", "title": texts["n15"], "spaces": ["n1"]},
                        ],
                        "shareLinks": {key: {"name": one, "active": True} for key, one in few.items()},
                    }
                },
            }
        },
    }
    return yaml.safe_dump(document, allow_unicode=False, sort_keys=False)


def begun(cli: Cli) -> None:
    """That project, and its service before it."""
    cli.write("p/reconciler.yaml", written())
    plant(cli.root / "p/sandbox.db", SEED)


def titles(service: Service) -> list[str]:
    return sorted(item["title"] for item in service.items(f"{ORG}/teams"))


def test_titles_from_the_files_live_a_whole_life_and_command_nobody(cli: Watched) -> None:
    begun(cli)
    service = Service(cli.root / "p/sandbox.db")
    given = ("p", "--full")
    assert re.search(r"\n +: :add-mask::e\n", cli("plan", *given, *REPORTS, code=0).stdout)
    assert cli("plan", *given, "--color", "always", "--out", "plan.json").exit_code == 0
    assert controls((cli.root / "plan.json").read_text()) == []
    for words in (("graph",), ("graph", "--format", "dot"), ("graph", "--steps"), ("config", "render"), ("validate",)):
        assert cli(*words, "p").exit_code == 0
    cli("fmt", "--diff", "p")
    cli("apply", "p", "--plan", "plan.json", "-v", *REPORTS, "--allow-exposure", "**", code=0)
    assert titles(service) == sorted(TITLES.values())
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0

    for team in service.items(f"{ORG}/teams"):
        service("PATCH", f"{ORG}/teams/{team['id']}", {"title": other(team["title"])})
    for space in service.items(f"{ORG}/members/usr_ada/spaces"):
        if space["space"]["id"] != "spc_blank":
            service("PATCH", f"/spaces/{space['space']['id']}", {"title": other(space["space"]["title"])})
    service("PATCH", ORG, {"title": TITLES["table"]})
    service("PUT", f"{ORG}/teams", {"title": TITLES["script"]})  # unmanaged
    for format in ("text", "json", "markdown", "html", "github"):
        assert cli("drift", *given, "--format", format, "--coverage").exit_code == 2
        assert cli("plan", *given, "--format", format).exit_code == 0
    assert cli("drift", *given, *REPORTS).exit_code == 2
    drifted = [one["address"] for one in cli.json("drift", "p")["resources"]]
    assert len(drifted) == len(TITLES) + 9
    cli("drift", "p", *(word for address in drifted for word in ("--accept", address)), code=0)
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0
    assert sorted(map(other, TITLES.values())) == [one for one in titles(service) if one != TITLES["script"]]

    cli.write("p/reconciler.yaml", written())
    assert cli("apply", "p", "--yes", *REPORTS, "--full", "-v").exit_code == 0
    for words in (("history", "p"), ("show", "last", "p"), ("state", "list", "p"), ("state", "show", "acme/team/n3", "p")):
        for format in ("text", "json"):
            assert cli(*words, "--format", format).exit_code == 0
    assert cli("undo", "last", "p", "--yes", "--full", "-v").exit_code in (0, 5)
    assert sorted(map(other, TITLES.values())) == [one for one in titles(service) if one != TITLES["script"]]
    assert cli.wrong == []


def test_titles_from_the_service_are_imported_and_the_plan_after_it_is_empty(cli: Watched) -> None:
    plant(cli.root / "s.db", seed())
    service = Service(cli.root / "s.db")
    site = service.items(f"{ORG}/sites")[0]["id"]
    for number, title in enumerate(TITLES.values()):
        service("POST", f"{ORG}/sites/{site}/share-links", {"name": title})
        assert service("POST", f"{ORG}/sites/{site}/sections", {"title": title, "spaceId": f"spc_{number}"})["title"] == title
    cli.env |= {"RECONCILER_STATE": f"sqlite:///{cli.root}/state.db"}
    assert cli("import", "--sandbox", "s.db").exit_code == 0
    assert cli("import", "new", "--org", ORGANIZATION, "--sandbox", "s.db", "--dry-run").exit_code == 0
    cli("import", "new", "--org", ORGANIZATION, "--sandbox", "s.db", "-v", code=0)
    for file in sorted((cli.root / "new").rglob("*.yaml")):
        assert controls(file.read_text(encoding="utf-8").replace("\u200d", "")) == [], file  # what joins emoji stays
        assert file.resolve().is_relative_to(cli.root / "new")
    assert cli("fmt", "--check", "new").exit_code == 0
    cli("plan", "new", "--detailed-exitcode", "-v", code=0)
    again = cli("import", "new", "--into", "--sandbox", "s.db")
    assert again.stdout.startswith("Wrote 0 files"), again.stdout
    assert cli("api", "GET", f"{ORG}/teams", "--sandbox", "s.db", "--jq", ".title").exit_code in (0, 3)
    assert cli.wrong == []


def test_a_terminal_that_watches_an_apply_shows_only_its_own_messages(cli: Watched) -> None:
    begun(cli)
    code, shown = at_a_terminal(cli, b"n\n", "apply", "p", "--allow-exposure", "**")
    assert code == 1, shown
    for order in ("\x1b[2J", "\x1b]", "\x1b[31mred", "\x07", "\x9b", "\b", "\u202e", "\u200b", "\ue000", "\u2028"):
        assert order not in shown, ascii(order)


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
def test_a_title_in_a_sentence_of_a_comment_is_text(title: str) -> None:
    assert in_a_comment(markdown(plan_sheet(plan(change("acme/team/a", Action.DELETE, title=title), notes=(title,))))) == []


def pages() -> dict[str, Sheet]:
    """A report of each sort, with every one of the titles wherever a text can stand."""
    texts = tuple(TITLES.values())
    fields = tuple(Delta(f"f{number}", one, other(one), Cause.DRIFT, last=one, note=one) for number, one in enumerate(texts))
    drifted = Drifted(at("acme/team/a"), "team", DriftWord.CHANGED, fields)
    unmanaged = tuple(Unmanaged("team", f"team_{number}", one) for number, one in enumerate(texts))
    return {
        "drift": drift_sheet(Drift("p", None, resources=(drifted,), unmanaged=unmanaged, notes=texts), full=True),
        "outcome": outcome_sheet(
            outcome(*(result(number, f"acme/team/t{number}", StepStatus.FAILED, one) for number, one in enumerate(texts, 1)))
        ),
    }


@pytest.mark.parametrize("sort", ["drift", "outcome"])
def test_no_browser_builds_anything_of_a_title_in_other_reports(sort: str, tmp_path: Path) -> None:
    text = html(pages()[sort], created_at=datetime(2026, 11, 21, tzinfo=UTC))
    assert all(escaped(terminal(one)) in text for one in TITLES.values())
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert in_a_page(text) == []
    assert in_a_comment(markdown(pages()[sort])) == []
    assert in_a_browser(tmp_path / "page.html") == []


def test_no_browser_runs_or_builds_anything_of_a_title(cli: Watched) -> None:
    begun(cli)
    assert cli("plan", "p", "--full", *REPORTS).exit_code == 0
    assert in_a_browser(cli.root / "page-0.html") == []
    opened = (cli.root / "page-0.html").read_text(encoding="utf-8").replace("default-src 'none'; ", "").replace("&lt;img", "<img")
    (cli.root / "opened.html").write_text(opened, encoding="utf-8")
    assert "img" in in_a_browser(cli.root / "opened.html")  # so it would have been seen
