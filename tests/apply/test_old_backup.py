"""An old backup of the state is no worse than none: nothing is created twice, and nothing that is declared is deleted."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from reconciler.model import Action, Plan, StepStatus
from tests.harness import ORGANIZATION, Org
from tests.organizations import anything
from tests.proofs import sampled, tries
from tests.small import applied, node, small


class Backup:
    """The state as it is now, to be restored later."""

    def __init__(self, org: Org) -> None:
        self.org, self.kept = org, org.root / "backup"
        self.kept.mkdir()
        for file in org.root.glob("state.db*"):
            shutil.copy(file, self.kept)

    def restore(self) -> None:
        for file in self.org.root.glob("state.db*"):
            file.unlink()
        for file in self.kept.iterdir():
            shutil.copy(file, self.org.root)


def ids(org: Org) -> set[str]:
    with org.store() as store:
        return {binding.id for binding in store.read().bindings.values()}


def run(org: Org, tree: dict[str, Any]) -> None:
    org.write(tree)
    assert [
        (str(result.step.address), result.step.verb, result.error) for result in org.apply().results if result.status is not StepStatus.DONE
    ] == []


def done(made: Plan, action: Action) -> list[str]:
    return [str(change.address) for change in made.changes if action in change.actions]


def counted(org: Org) -> list[tuple[str, ...]]:
    """Every object of the service under its name, without ids."""
    found = [("space", str(item["space"]["title"])) for item in org.items(f"/orgs/{ORGANIZATION}/members/usr_ada/spaces")]
    found += [("collection", str(one["title"])) for one in org.items(f"/orgs/{ORGANIZATION}/collections")]
    found += [("team", str(one["title"])) for one in org.items(f"/orgs/{ORGANIZATION}/teams")]
    for site in org.items(f"/orgs/{ORGANIZATION}/sites"):
        path = f"/orgs/{ORGANIZATION}/sites/{site['id']}"
        found.append(("site", str(site["title"])))
        found += [("section", str(site["title"]), str(one["title"])) for one in org.items(f"{path}/sections")]
        found += [("link", str(site["title"]), str(one["name"])) for one in org.items(f"{path}/share-links")]
        found += [("site-space", str(site["title"]), str(one["space"]["title"])) for one in org.items(f"{path}/site-spaces")]
    return sorted(found)


def recreated(org: Org) -> dict[str, Any]:
    """Everything that can be deleted and created again is; then some is new."""
    without = small()
    without["teams"].clear()
    without["saml"].clear()
    without["sites"].clear()
    without["defaultContent"] = None
    without["content"] = without["content"][:1]
    run(org, without)
    run(org, small())
    tree = small()
    tree["teams"]["more"] = {"title": "More"}
    node(tree, "product")["content"] += [{"space": "seven", "title": "Seven"}, {"collection": "new", "title": "New", "content": []}]
    node(tree, "new")["content"].append({"space": "eight", "title": "Eight"})
    run(org, tree)
    return tree


def test_what_was_deleted_created_again_and_added_since_is_recognized(org: Org) -> None:
    applied(org, small())
    backup = Backup(org)
    recreated(org)
    latest, before = ids(org), counted(org)
    backup.restore()
    made = org.plan()
    assert done(made, Action.CREATE) == done(made, Action.DELETE) == done(made, Action.RESTORE) == []
    assert made.steps == ()
    assert made.blocked == ()
    org.apply()
    assert ids(org) == latest
    assert counted(org) == before


def test_a_key_that_was_renamed_since_waits_for_a_word_and_is_neither_deleted_nor_created(org: Org) -> None:
    applied(org, small())
    backup = Backup(org)
    tree = small()
    tree["teams"] = {"authors": {**tree["teams"]["writers"], "previously": ["writers"]}}
    tree["saml"]["okta"]["defaultTeam"] = "authors"
    run(org, tree)
    before = counted(org)
    backup.restore()
    made = org.plan()
    assert made.steps == ()
    del tree["teams"]["authors"]["previously"]
    org.write(tree)
    backup.restore()
    made = org.plan()
    assert done(made, Action.CREATE) == done(made, Action.DELETE) == []
    assert {"acme/team/authors", "acme/team/writers"} <= {str(refusal.address) for refusal in made.blocked}
    org.apply()
    assert counted(org) == before


@sampled
@settings(
    max_examples=tries(12, 2),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(anything(), anything())
def test_any_change_since_is_recognized(first: dict[str, Any], second: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        run(org, first)
        backup = Backup(org)
        run(org, {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}], "sites": {}, "defaultContent": None, "teams": {}})
        run(org, second)
        latest = ids(org)
        backup.restore()
        made = org.plan(allow_replace=("**",))
        assert done(made, Action.CREATE) == done(made, Action.RESTORE) == []
        assert [str(one.address) for one in made.steps if one.verb == "delete" and one.target in latest] == []
        assert {step.verb for step in made.steps} <= {"move"}  # a restored space keeps its id, and no list shows the order at the root
        org.apply()
        assert ids(org) == latest
