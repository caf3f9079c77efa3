"""What the planner predicted is compared with what the copy shows; whatever differs is reported as a defect of Reconciler."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler import exits
from reconciler.model import Action, BrokenUrl, Plan
from reconciler.run import applying, opened
from reconciler.run.planning import make
from reconciler.run.stages import Planned
from tests.command_line import Cli
from tests.features.rehearsal.test_rehearse import Tree, _tree, _write_with
from tests.organizations import pair, project, with_readers
from tests.proofs import costly

EXAMPLES = Path(__file__).parents[3] / "examples"
EXAMPLED = ("acme", "agents", "environments", "handbook", "integrations", "languages", "minimal", "transfers", "urls", "versions")
ALL = ("--allow-exposure", "**", "--allow-delete", "1000", "--max-exposed", "100000", "--allow-replace", "**")


def _changed() -> Tree:
    """A section with another path, a shown space, and a section that nobody sees any more."""
    tree = _tree()
    first, second = tree["sites"]["docs"]["structure"]
    first["path"] = "use"
    first["spaces"].append("plans")
    second["condition"] = "visitor.claims.staff == true"
    tree["sites"]["docs"]["adaptiveContent"] = {"enabled": True}
    return tree


def _with_plans(tree: Tree) -> Tree:
    tree["content"].append({"space": "plans", "title": "Plans", "duplicateOf": "blank"})
    return tree


@pytest.fixture
def changed(cli: Cli) -> Cli:
    """A project that was applied, and then changed."""
    _write_with(cli, _with_plans(_tree()))
    cli("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    _write_with(cli, _with_plans(_changed()))
    return cli


def _rehearsed(cli: Cli, *, code: int = exits.DONE) -> Any:
    return json.loads(cli("rehearse", ".", "--sandbox", "living.db", "--format", "json", code=code).stdout)


def _mistaken(monkeypatch: pytest.MonkeyPatch, edit: Callable[[Plan], Plan]) -> None:
    """A planner that makes a mistake."""

    async def wrong(*arguments: Any, **options: Any) -> Planned:
        planned = await make(*arguments, **options)
        return replace(planned, plan=edit(planned.plan))

    monkeypatch.setattr(opened, "make", wrong)
    monkeypatch.setattr(applying, "make", wrong)


def _underived(plan: Plan) -> Plan:
    """Another path for what is created."""
    changes = [
        replace(
            change,
            fields=tuple(replace(delta, after="elsewhere") if delta.name == "path" and delta.note else delta for delta in change.fields),
        )
        if Action.CREATE in change.actions
        else change
        for change in plan.changes
    ]
    return replace(plan, changes=tuple(changes))


def _elsewhere(plan: Plan) -> Plan:
    return replace(plan, broken=tuple(replace(line, after=f"{line.after}-2" if line.after else None) for line in plan.broken))


def _unbroken(plan: Plan) -> Plan:
    address = next((change.address for change in plan.changes if change.kind == "site-space"), None)
    if address is None:
        return plan
    url = next(line.before for line in plan.broken if line.before is not None)
    other = f"{url.partition('/guides')[0]}/internal"
    return replace(plan, broken=(*plan.broken, BrokenUrl(address, "site-space", other, url, "path changes")))


MISTAKES: Mapping[str, tuple[Callable[[Plan], Plan], str, str]] = {
    "exposures": (lambda plan: replace(plan, exposures=()), "nobody can newly read it", "can newly read it"),
    "losses": (lambda plan: replace(plan, lost_readers={}), "everybody who reads it still can", "can no longer read it"),
    "broken URLs": (lambda plan: replace(plan, broken=()), "its published URL answers", "no longer answers"),
    "new URLs": (_elsewhere, "is now", "does not answer"),
    "URLs that do not break": (_unbroken, "no longer answers", "it answers"),
    "derived values": (_underived, "path is elsewhere", "path is "),
}


def test_a_planner_that_is_right_differs_in_nothing(changed: Cli) -> None:
    document = _rehearsed(changed)
    assert document["divergences"] == []
    assert document["readers"]["gained"]
    assert document["readers"]["lost"]
    assert document["urls"]["moved"]


@costly
@pytest.mark.parametrize("sort", MISTAKES)
def test_a_mistake_of_the_planner_is_reported_with_all_that_a_report_needs(
    changed: Cli, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    edit, prediction, observation = MISTAKES[sort]
    _mistaken(monkeypatch, edit)
    differences = _rehearsed(changed, code=exits.FAILED)["divergences"]
    fitting = [entry for entry in differences if prediction in entry["prediction"] and observation in entry["observation"]]
    assert fitting, differences
    assert all(entry["address"] is not None for entry in fitting)
    text = changed("rehearse", ".", "--sandbox", "living.db", code=exits.FAILED).stdout
    assert "Reconciler did something other than planned: please report it" in text
    assert fitting[0]["address"] in text


def test_a_request_of_the_second_plan_that_nobody_announced_is_a_defect(changed: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    _mistaken(monkeypatch, lambda plan: replace(plan, steps=plan.steps[:-1] if len(plan.steps) > 1 else plan.steps))
    document = _rehearsed(changed, code=exits.FAILED)
    assert not document["secondPlanEmpty"]
    assert any("second plan" in entry["prediction"] and entry["address"] for entry in document["divergences"])


# -- what is right stays quiet -----------------------------------------------------------------------------------------------------


@costly
@pytest.mark.parametrize("name", EXAMPLED)
def test_no_example_differs(cli: Cli, name: str) -> None:
    """All but that with secrets, which requires a program."""
    environment = ["--env", "staging"] if name == "environments" else []
    options = ("--sandbox", str(cli.root / "living.db"), "--state", f"sqlite:///{cli.root}/state.db", *environment)
    text = cli("rehearse", str(EXAMPLES / name), *options).stdout
    assert ", as planned" in text
    assert "something other than planned" not in text


def test_what_only_the_holders_of_a_new_link_could_read_on_the_way_differs_in_nothing(cli: Cli) -> None:
    def write(link: Mapping[str, Any], shown: list[str]) -> None:
        structure = [
            {"section": "guides", "title": "Guides", "path": "guides", "spaces": [{"space": name, "path": name} for name in shown]}
        ]
        tree = _tree(visibility="share-link", shareLinks=link, structure=structure)
        tree["content"] = [{"space": name, "id": f"spc_{name}", "title": name} for name in ("blank", "old", "more", "plans")]
        _write_with(cli, tree)

    write({"partners": {"name": "Partners", "active": False}}, ["old"])
    cli("apply", ".", "--sandbox", "living.db", "--yes", *ALL, code=exits.DONE)
    write({"press": {"name": "Press", "active": True}}, ["more", "plans"])
    document = _rehearsed(cli)
    assert any(moment["readersGained"] for moment in document["moments"][:-1])
    assert document["divergences"] == []


def test_every_example_is_rehearsed() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if (path / "reconciler.yaml").exists()} == {*EXAMPLED, "secrets"}


def _differs_in_nothing(cli: Cli, number: int) -> None:
    chance = random.Random(number)
    before, after = pair(chance) if number % 2 else (with_readers(chance), with_readers(chance))
    cli.write("reconciler.yaml", yaml.dump(project({"acme": before}), sort_keys=False))
    cli("apply", ".", "--sandbox", f"{number}.db", "--yes", *ALL)
    cli.write("reconciler.yaml", yaml.dump(project({"acme": after}), sort_keys=False))
    document = json.loads(cli("rehearse", ".", "--sandbox", f"{number}.db", "--format", "json", *ALL).stdout)
    assert document["divergences"] == [], number


@costly
@pytest.mark.parametrize("number", [8, 15])
def test_a_random_edit_differs_in_nothing(cli: Cli, number: int) -> None:
    _differs_in_nothing(cli, number)


@pytest.mark.proof
@pytest.mark.parametrize("start", range(1000, 2000, 25))
def test_random_edits_differ_in_nothing(cli: Cli, start: int) -> None:
    for number in range(start, start + 25):
        _differs_in_nothing(cli, number)
