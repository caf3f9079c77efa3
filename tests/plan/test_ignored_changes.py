"""`ignoreChanges`: a field is sent when the object is created, and left alone afterwards; what differs is counted and not forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.report.documents import drift_document, outcome_document
from reconciler.report.plan import summary
from tests.harness import Org, kinds
from tests.outside import drifted, everything
from tests.small import applied, described, node, small
from tests.undo.undoing import runs, undo

TITLES = {"one": "Uno", "two": "Due"}


def ignoring(tree: dict[str, Any], name: str, *fields: str) -> dict[str, Any]:
    node(tree, name)["ignoreChanges"] = list(fields)
    return tree


def order(org: Org, collection: str = "acme/collection/product") -> list[str]:
    return [space["title"] for space in org.items(f"/collections/{org.id(collection)}/spaces")]


def renamed(org: Org, name: str, title: str) -> None:
    org.call("PATCH", f"/spaces/{org.id(f'acme/space/{name}')}", {"title": title})


def test_a_field_is_sent_at_creation_and_never_updated_after(org: Org) -> None:
    tree = ignoring(small(), "one", "title", "emoji")
    applied(org, tree)
    assert order(org)[0] == "One"
    renamed(org, "one", "Somebody's")
    node(tree, "one")["emoji"] = "📗"
    org.write(tree)
    plan = org.plan()
    assert (plan.steps, plan.differing, described(plan)) == ((), {}, [])
    assert [(str(address), [delta.name for delta in deltas]) for address, deltas in plan.ignored.items()] == [
        ("acme/space/one", ["title", "emoji"])
    ]
    assert summary(plan).endswith("2 differences ignored.")
    org.apply()
    assert order(org)[0] == "Somebody's"


def test_it_is_not_drift_and_is_counted_everywhere(org: Org) -> None:
    applied(org, ignoring(small(), "one", "title"))
    renamed(org, "one", "Somebody's")
    drift = drifted(org)
    assert drift.resources == ()
    document: Any = drift_document(drift)
    assert (document["ignored"], document["summary"]["ignored"]) == ([{"address": "acme/space/one", "field": "title"}], 1)
    tree = ignoring(small(), "one", "title")
    node(tree, "two")["title"] = "Due"
    org.write(tree)
    outcome: Any = outcome_document(org.apply())
    assert outcome["ignored"] == [{"address": "acme/space/one", "field": "title"}]


def test_without_the_line_drift_shows_what_changed_meanwhile(org: Org) -> None:
    applied(org, ignoring(small(), "one", "title"))
    renamed(org, "one", "Somebody's")
    org.apply()
    tree = ignoring(small(), "one", "title")
    node(tree, "two")["title"] = "Due"
    org.write(tree)
    org.apply()
    org.write(small())
    (drift,) = [result for result in drifted(org).resources if str(result.address) == "acme/space/one"]
    assert [(delta.name, delta.last, delta.before, delta.after) for delta in drift.fields] == [("title", "One", "Somebody's", "One")]
    org.apply()
    assert "Somebody's" not in order(org)


def test_what_is_adopted_is_not_overwritten_and_its_value_is_the_baseline(org: Org) -> None:
    tree = {"members": {"linus@acme.example": {"role": "edit", "ignoreChanges": ["role"]}}}
    applied(org, tree)
    roles = {member["user"]["email"]: member["role"] for member in org.items("/orgs/org_acme/members")}
    assert roles["linus@acme.example"] == "read"
    member = next(member["id"] for member in org.items("/orgs/org_acme/members") if member["user"]["email"] == "linus@acme.example")
    org.call("PATCH", f"/orgs/org_acme/members/{member}", {"role": "comment"})
    org.write({"members": {"linus@acme.example": {"role": "read"}}})
    (drift,) = drifted(org).resources
    assert [(delta.last, delta.before) for delta in drift.fields] == [("read", "comment")]


def test_order_is_the_order_among_siblings(org: Org) -> None:
    tree = small()
    for name in ("one", "two", "deep", "four"):
        ignoring(tree, name, "order")
    applied(org, tree)
    assert order(org) == ["One", "Two", "Four"]
    org.call("POST", f"/spaces/{org.id('acme/space/one')}/move", {"parent": org.id("acme/collection/product")})
    assert order(org) == ["Two", "Four", "One"]
    plan = org.plan()
    assert (plan.steps, plan.moved_outside, drifted(org).resources) == ((), {}, ())
    assert "acme/space/one" in map(str, plan.ignored)
    node(tree, "product")["content"].insert(0, {"space": "zero", "title": "Zero"})
    org.write(tree)
    org.apply()
    assert sorted(order(org)) == ["Four", "One", "Two", "Zero"]
    assert [title for title in order(org) if title != "Zero"] == ["Two", "Four", "One"]
    assert org.plan().steps == ()


def test_one_sibling_keeps_its_position_while_others_are_ordered(org: Org) -> None:
    tree = ignoring(small(), "one", "order")
    applied(org, tree)
    content = node(tree, "product")["content"]
    content[:] = [content[3], content[2], content[1], content[0]]  # four, deep, two, one
    org.write(tree)
    org.apply()
    assert [title for title in order(org) if title != "One"] == ["Four", "Two"]
    assert org.plan().steps == ()


@pytest.mark.parametrize("pattern", ["space", "acme/space/*", "acme/**", "acme/space/one"])
def test_a_kind_or_a_pattern_ignores_for_many(org: Org, pattern: str) -> None:
    ignored = {"ignoreChanges": {pattern: ["title"]}}
    applied(org, small(), **ignored)
    renamed(org, "one", "Somebody's")
    plan = org.plan()
    assert (plan.steps, plan.ignored_count) == ((), 1)


def test_to_ignore_a_field_that_can_expose_requires_consent_once(org: Org) -> None:
    tree = everything()
    applied(org, tree)
    node(tree, "one")["ignoreChanges"] = ["defaultLevel", "title"]
    org.write(tree)
    plan = org.plan()
    assert [(str(exposure.address), exposure.field, exposure.id) for exposure in plan.exposures] == [
        ("acme/space/one", "defaultLevel", "RC-changes-ignored")
    ]
    assert plan.steps == ()
    org.apply()
    assert org.plan().exposures == ()
    node(tree, "one")["ignoreChanges"] = ["title"]
    org.write(tree)
    assert org.plan().exposures == ()


def test_what_is_new_may_ignore_from_its_creation_without_consent(org: Org) -> None:
    applied(org, small())
    tree = small()
    node(tree, "product")["content"].append({"space": "nine", "title": "Nine", "defaultLevel": "read", "ignoreChanges": ["defaultLevel"]})
    org.write(tree)
    assert [exposure.id for exposure in org.plan().exposures if exposure.id == "RC-changes-ignored"] == []


def test_undo_of_a_run_reverts_only_what_the_run_did(org: Org) -> None:
    tree = ignoring(small(), "one", "title")
    applied(org, tree)
    renamed(org, "one", "Somebody's")
    node(tree, "one")["emoji"] = "📗"
    node(tree, "two")["title"] = "Due"
    org.write(tree)
    org.apply()
    undo(org, runs(org)[0].id)
    assert order(org)[:2] == ["Somebody's", "Two"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ignoreChanges: [titel]", 'did you mean "title"?'),
        ("ignoreChanges: [order]", "order"),
        ("ignoreChanges: title", "must be a list of fields"),
        ("ignoreChanges: [members]", "no request changes"),
    ],
)
def test_names_that_mean_nothing_are_errors(org: Org, line: str, says: str) -> None:
    org.write(
        f"version: 1\nproject: test\norganizations:\n  acme:\n    id: org_acme\n    teams:\n      writers: {{title: Writers, {line}}}\n"
    )
    with pytest.raises(ConfigError) as error:
        load(org.project, kinds())
    assert says in str(error.value)
    assert "reconciler.yaml:7:" in str(error.value)


@pytest.mark.parametrize(("pattern", "names", "says"), [("spaec", "[title]", 'did you mean "space"?'), ("space", "[tilte]", "title")])
def test_settings_that_mean_nothing_are_errors(org: Org, pattern: str, names: str, says: str) -> None:
    org.write(f"version: 1\nproject: test\nignoreChanges: {{{pattern}: {names}}}\norganizations: {{acme: {{id: org_acme}}}}\n")
    with pytest.raises(ConfigError) as error:
        load(org.project, kinds())
    assert says in str(error.value)


def test_a_pattern_that_matches_nothing_is_a_warning(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write({}, ignoreChanges={"acme/site/none/**": ["title"], "site": ["title"], "organization": ["logo"]})
    assert [warning.partition("  ")[2] for warning in org.load().warnings] == [
        "ignoreChanges: nothing is ignored by acme/site/none/**; correct it, or remove it",
        "ignoreChanges: nothing is ignored by site; correct it, or remove it",
    ]
