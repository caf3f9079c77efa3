"""Every limit of a run, by each way in which people meet it: the same plan is refused everywhere, and passes everywhere with the same
option.

The rows are the fields of `Limits`: a new guard without a row here is a test that fails.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from mcp import Client

import reconciler
from reconciler.cli.option_table import ROWS
from reconciler.cli.terminal.screen import Screen
from reconciler.fleet.program.child import child
from reconciler.interface.refusals import way_of
from reconciler.run.operation import EVERYTHING, Limits
from tests.command_line import CLEAN, Cli
from tests.features.mcp.client import Agent, text_of
from tests.proofs import costly

Project = dict[str, Any]
EXPOSES = "RC-consent-required"

SEED: Mapping[str, Any] = {
    "organizations": [{"id": "org_acme", "title": "Acme"}],
    "members": [{"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"}],
    "spaces": [
        {"organization": "org_acme", "id": f"spc_{name}", "title": name.title(), "pages": [{"title": "Start"}]}
        for name in ("guides", "old", "third")
    ],
}  # fmt: skip


REPLACED = "acme/site/docs/site-space/third"


def project() -> Project:
    return {
        "version": 1,
        "project": "p",
        "service": {"sandbox": ".reconciler/sandbox.db", "member": "ada@acme.example"},
        "guards": {"maxDelete": {"percent": 0, "atLeast": 3}},
        "urls": {"redirects": ["csv"]},
        "protect": [],
        "organizations": {
            "acme": {
                "id": "org_acme",
                "teams": {f"t{number}": {"title": f"T{number}"} for number in range(5)},
                "content": [
                    {"space": "guides", "id": "spc_guides", "title": "Guides"},
                    {"space": "old", "id": "spc_old", "title": "Old"},
                    {"space": "third", "id": "spc_third", "title": "Third"},
                ],
                "sites": {
                    "docs": {
                        "title": "Docs", "type": "premium", "visibility": "unlisted", "basename": "docs", "published": True,
                        "structure": [
                            {"section": "guides", "title": "Guides", "path": "guides", "spaces": [{"space": "guides"}, {"space": "third"}]},
                            {"section": "old", "title": "Old", "path": "old", "spaces": [{"space": "old", "path": "all"}]},
                        ],
                    }
                },
            }
        },
    }  # fmt: skip


def acme(document: Project) -> Any:
    return document["organizations"]["acme"]


def without_teams(document: Project) -> None:
    acme(document)["teams"] = {"t0": {"title": "T0"}}


def public(document: Project) -> None:
    acme(document)["sites"]["docs"]["visibility"] = "public"


def public_for_none(document: Project) -> None:
    public(document)
    document["guards"]["maxExposed"] = 0


def without_section(document: Project) -> None:
    acme(document)["sites"]["docs"]["structure"].pop()


def without_space(document: Project) -> None:
    without_section(document)
    acme(document)["content"].pop(1)


def variant_in_another_section(document: Project) -> None:
    first, second = acme(document)["sites"]["docs"]["structure"]
    second["spaces"].append(first["spaces"].pop())


def nothing(document: Project) -> None:
    """The change is made by hand."""


@dataclass(frozen=True)
class Row:
    """How a plan meets a limit. `change`: of the project. `option`: what passes it. `id`: of the refusal; "" where the address is blocked
    instead. `by_hand`: requests before the plan. `also`: options for what the same change meets besides."""

    change: Callable[[Project], None]
    option: tuple[str, ...]
    id: str
    by_hand: tuple[tuple[str, ...], ...] = ()
    also: tuple[str, ...] = ()


DEAD = ("--allow-dead-urls", "/**")
WORK = ("POST", "/spaces/spc_old/change-requests", "-f", "subject=Draft")
ROW: Mapping[str, Row] = {
    "replacements": Row(variant_in_another_section, ("--allow-replace", REPLACED), "", also=DEAD),
    "deletions": Row(without_teams, ("--allow-delete", "4"), "RC-delete-limit"),
    "exposures": Row(public, ("--allow-exposure", "acme/site/docs"), EXPOSES),
    "exposed": Row(public_for_none, ("--max-exposed", "9"), "RC-exposure-limit", also=("--allow-exposure", "**")),
    "dead_urls": Row(without_section, ("--allow-dead-urls", "/old/**"), "RC-dead-urls"),
    "open_work": Row(without_space, ("--allow-open-work", "acme/space/old"), "RC-open-work", by_hand=(WORK,), also=DEAD),
    "gone": Row(nothing, ("--accept-gone", "5"), "RC-many-missing"),
}


NO_CONSENTS = {"allow-file", "max-concurrency", "max-rps", "max-urls"}


def test_there_is_a_row_and_an_option_for_each_limit_and_everything_is_each_of_them() -> None:
    names = [known.name for known in fields(Limits)]
    assert sorted(ROW) == sorted(names)
    assert sorted(row.limit for row in ROWS if row.limit) == sorted(names)
    consents = {row.name for row in ROWS if row.name.startswith(("allow-", "accept-", "max-")) and row.name not in NO_CONSENTS}
    assert consents == {row.name for row in ROWS if row.limit}, "an option that gives consent is a limit"
    assert all(getattr(EVERYTHING, name) != getattr(Limits(), name) for name in names)


def _applied(root: Path) -> Path:
    cli = Cli(root)
    _write(cli, project())
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(dict(SEED)))
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    return cli.root


def _write(cli: Cli, document: Project) -> None:
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _applied(tmp_path_factory.mktemp("every"))


def changed(applied: Path, folder: Path, row: Row) -> Cli:
    """The applied project, with the change of a row."""
    shutil.copytree(applied, folder, dirs_exist_ok=True)
    cli, document = Cli(folder), project()
    by_hand(cli, row)
    row.change(document)
    _write(cli, document)
    return cli


def by_hand(cli: Cli, row: Row, old: str = "spc_old") -> None:
    """The requests of a row. `old`: the id of the space in which somebody works."""
    for call in row.by_hand:
        cli("api", *(word.replace("spc_old", old) for word in call), "--sandbox", "p/.reconciler/sandbox.db", code=0)
    if row.change is nothing:
        for team in json.loads(cli("api", "GET", "/orgs/org_acme/teams", "--sandbox", "p/.reconciler/sandbox.db").stdout)["items"]:
            cli("api", "DELETE", f"/orgs/org_acme/teams/{team['id']}", "--sandbox", "p/.reconciler/sandbox.db", code=0)


# -- ways: each says whether it refuses, or blocks, what the row changes ----------------------------------------------------------------


def plans(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    answer = cli("plan", "p", *options, "--format", "json")
    return answer.exit_code != 0 or bool(json.loads(answer.stdout)["blocked"])


def applies(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    answer = cli("apply", "p", "--yes", *options)
    assert answer.exit_code == 0 or not row.id or f"[{row.id}]" in answer.stderr
    return answer.exit_code != 0


def rehearses(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    answer = cli("rehearse", "p", *options, "--format", "json")
    return not answer.stdout or bool(json.loads(answer.stdout)["refusals"])


def asks_an_agent(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    """The tool `plan`, to which nobody can give a consent."""
    agent = Agent(cli.root)

    async def work(client: Client) -> str:
        return text_of(await client.call_tool("plan", {}))

    answer = agent.session(["p"], work)
    return any(word in answer for word in ("apply would refuse this", "blocked", "The call failed"))


def reads_for_a_fleet(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    """The process of a fleet's run, whose project's guards are what its approvals cannot allow."""
    (cli.root / "read").mkdir()
    with contextlib.chdir(cli.root):
        words = ["read", "p", "--allowed-project", "p", "--folder", "read", "--path", ""]
        CliRunner().invoke(child, words, env={**CLEAN, **cli.user}, obj=Screen())
    if not (cli.root / "read" / "plan.json").exists():
        return True  # the reading itself was refused
    documents = {name: json.loads((cli.root / "read" / f"{name}.json").read_text()) for name in ("plan", "reading")}
    return bool(documents["reading"]["refused"] or documents["plan"]["blocked"])


def saves(cli: Cli, row: Row) -> None:
    """Save the plan with the consent of the row."""
    cli("plan", "p", *row.option, *row.also, "--out", "saved.json", code=0)


def applies_what_was_saved(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    saves(cli, row)
    return cli("apply", "p", "--yes", "--plan", "saved.json", *typed_again(row, options)).exit_code != 0


def rehearses_what_was_saved(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    saves(cli, row)
    answer = cli("rehearse", "p", "--plan", "saved.json", *typed_again(row, options), "--format", "json")
    return not answer.stdout or bool(json.loads(answer.stdout)["refusals"])


def typed_again(row: Row, options: tuple[str, ...]) -> tuple[str, ...]:
    """What may be typed with a saved plan: the scope of the run is in the file, and is refused a second time."""
    scopes = {f"--{known.name}" for known in ROWS if known.saved == "scope"}
    pairs = zip(options[::2], options[1::2], strict=True)
    return tuple(word for name, value in pairs if name not in scopes for word in (name, value))


def is_tested(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    """A test of the project, with the consents that its step says: all where the option is given, else none."""
    consents = row.option == options[: len(row.option)]
    step: Any = "apply" if consents else {"apply": None, "consent": "none"}
    before: list[Any] = [{"api": {"method": call[0], "path": call[1], "body": dict([call[3].split("=")])}} for call in row.by_hand]
    if row.change is nothing:
        before = ["apply", *({"delete": f"acme/team/t{number}"} for number in range(5))]
    wanted: list[Any] = [] if consents else [{"refused": row.id}] if row.id else [{"blocked": REPLACED}]
    test = {"name": "guarded", "given": {"project": "before.yaml"}, "steps": [*before, step], "expect": wanted or [{"plan": "empty"}]}
    document = {"tests": [test]}
    cli.write("p/before.yaml", yaml.safe_dump(project(), sort_keys=False))
    cli.write("p/guarded.test.yaml", yaml.safe_dump(document, sort_keys=False))
    answer = cli("test", "p")
    assert answer.exit_code == 0, answer.stdout + answer.stderr
    return not consents


def calls_from_python(cli: Cli, row: Row, options: tuple[str, ...]) -> bool:
    """A program, whose limits are those that the hint of a refusal writes for these options."""
    given = way_of(shlex.join(options)).removeprefix("limits=") or "Limits()"
    limits = eval(given, {"Limits": reconciler.Limits, "Glob": reconciler.Glob})
    project = reconciler.open(cli.root / "p", limits=limits)
    reasons: Sequence[reconciler.Refused] = ()
    plan = None
    try:
        plan = project.plan()
        project.apply(plan)
    except reconciler.Refused as refused:
        reasons = refused.reasons
    assert not reasons or row.id in {reason.id for reason in reasons}
    assert plan is None or {refused.id for refused in plan.refusals} == {reason.id for reason in reasons}
    return bool(reasons) or plan is None or bool(plan.blocked)


Way = Callable[[Cli, Row, tuple[str, ...]], bool]
ALL = frozenset(ROW)
SEEN = ALL - {"exposures"}  # which refuse nothing where somebody sees them first
TYPED = frozenset(row.limit for row in ROWS if row.limit and row.saved not in ("scope", "grant"))
WAYS: tuple[tuple[Way, frozenset[str], bool], ...] = (
    # way, limits that it refuses without the option, whether it takes the option
    (plans, SEEN, True),
    (applies, ALL, True),
    (rehearses, ALL, True),
    (applies_what_was_saved, TYPED, True),
    (rehearses_what_was_saved, TYPED, True),
    (is_tested, ALL, True),
    (calls_from_python, ALL, True),
    (asks_an_agent, SEEN, False),
    (reads_for_a_fleet, SEEN, False),
)  # fmt: skip


@costly
@pytest.mark.parametrize("limit", ROW)
@pytest.mark.parametrize(("way", "refused", "takes_options"), WAYS, ids=[way.__name__ for way, _, _ in WAYS])
def test_every_way_refuses_the_same_and_passes_with_the_same_option(
    applied: Path, tmp_path: Path, way: Way, refused: frozenset[str], takes_options: bool, limit: str
) -> None:
    row = ROW[limit]
    assert way(changed(applied, tmp_path / "without", row), row, row.also) is (limit in refused)
    if takes_options:
        assert way(changed(applied, tmp_path / "with", row), row, (*row.option, *row.also)) is False


@pytest.mark.parametrize("limit", sorted(ALL - {"replacements"}))  # an undo replaces nothing, and has no option for it
def test_an_undo_is_refused_as_an_apply_is(applied: Path, tmp_path: Path, limit: str) -> None:
    """The change of a row is the state from which somebody came, and the undo leads back to it."""
    row, cli = ROW[limit], Cli(tmp_path)
    shutil.copytree(applied, cli.root, dirs_exist_ok=True)
    document = project()
    (row.change if row.change is not nothing else public)(document)
    _write(cli, document)
    cli("apply", "p", "--yes", *row.option, *row.also, "--allow-exposure", "**", code=0)
    back = project()
    back["guards"] = document["guards"]
    if row.change is without_space:  # what was deleted is created again, with another id
        acme(back)["content"][1] = {"space": "old", "duplicateOf": "guides", "title": "Old"}
    _write(cli, back)
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    tracked = {one["address"]: one["id"] for one in json.loads(cli("state", "list", "p", "--format", "json", code=0).stdout)["bindings"]}
    by_hand(cli, row, str(tracked["acme/space/old"]))
    answer = cli("undo", "last", "p", "--yes", *row.also)
    assert answer.exit_code != 0
    assert f"[{row.id}]" in answer.stderr
    assert f"[{row.id}]" not in cli("undo", "last", "p", "--yes", *row.option, *row.also).stderr


def test_the_approval_of_a_deletion_in_a_fleet_is_the_consent_to_the_work_that_it_ends_at_every_step(tmp_path: Path) -> None:
    cli, document = Cli(tmp_path), project()
    acme(document)["sites"] = {}
    _write(cli, document)
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(dict(SEED)))
    cli("apply", "p", "--yes", code=0)
    cli("api", *WORK, "--sandbox", "p/.reconciler/sandbox.db", code=0)
    acme(document)["content"].pop(1)
    _write(cli, document)
    for approved, ends in ((), False), (("--approved", "delete"), True):
        assert bool(told(cli, "read", "--path", "", "--keep", "--save", *approved)["refused"]) is not ends
        reading = told(cli, "read", "--path", "", "--keep", *approved)
        sent = ("--sent", reading["digest"], "--reading", reading["reading"])
        assert bool(told(cli, "rehearse", *sent, *approved)["refusals"]) is not ends
        assert (cli.root / "read" / "saved.json").exists() is ends
    with contextlib.chdir(cli.root):
        answer = CliRunner().invoke(child, ["apply", "p", "--yes", "--plan", "read/saved.json"], env={**CLEAN, **cli.user}, obj=Screen())
    assert answer.exit_code == 0, answer.output


def told(cli: Cli, command: str, *options: str) -> Any:
    """The document about what the process of a fleet's run found."""
    folder = cli.root / "read"
    folder.mkdir(exist_ok=True)
    with contextlib.chdir(cli.root):
        words = [command, "p", "--allowed-project", "p", "--folder", "read", *options]
        CliRunner().invoke(child, words, env={**CLEAN, **cli.user}, obj=Screen())
    return json.loads((folder / {"read": "reading.json", "rehearse": "rehearsal.json"}[command]).read_text())
