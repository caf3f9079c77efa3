"""What is edited outside is told exactly, and set back where the service can set it.

`ignoreChanges`: a field is sent when the object is created, and left alone afterwards; what differs is counted and not forgotten."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.features.drift.model import DriftWord
from reconciler.features.drift.report.document import drift_document
from reconciler.model import Cause
from reconciler.report.documents import outcome_document
from reconciler.report.plan import summary
from reconciler.resource import UNSET
from tests.features.drift.outside import drifted, said
from tests.features.undo.undoing import undo
from tests.harness import Org, kinds, runs
from tests.outside import CASES, Case, edit, everything, fields
from tests.proofs import costly, proof
from tests.small import applied, described, node, settled, small


@pytest.fixture
def full(org: Org) -> Org:
    """A sandbox to which a project with every field was applied."""
    applied(org, everything())
    return org


def test_every_field_that_can_drift_has_a_case() -> None:
    assert {(case.kind, case.field) for case in CASES} == {(kind.name, field.name) for kind, field in fields()}


def test_what_nobody_touched_has_not_drifted(full: Org) -> None:
    full.requests.clear()
    drift = drifted(full)
    assert (drift.resources, drift.unknown, drift.unread) == ((), (), ())
    assert {method for method, _ in full.requests} == {"GET"}


@costly
def test_edited_fields_are_the_only_drift_and_apply_sets_back_those_that_it_can(full: Org) -> None:
    cases = [case for case in CASES if case.shown is None]
    for case in cases:
        edit(full, case)
    changed = {(str(resource.address), delta.name): delta for resource in drifted(full).resources for delta in resource.fields}
    assert changed.keys() == {(case.address, case.field) for case in cases}
    for case in cases:
        delta = changed[case.address, case.field]
        assert delta.cause is Cause.DRIFT
        assert delta.before != delta.last
        assert delta.last == delta.after or kinds()[case.kind].fields[case.field].lossy or case.field == "sectionGroup"
    lasting = [(address, name) for (address, name), delta in changed.items() if delta.note is not None]
    assert lasting == [("acme/member/linus@acme.example", "sso"), ("acme/site/flat", "published")], "the contract's table says why"
    full.apply()
    assert said(drifted(full)) == [f"{address}: changed {name}" for address, name in lasting]


@proof
@pytest.mark.parametrize("case", [case for case in CASES if case.shown is None], ids=str)
def test_an_edited_field_is_the_only_drift_and_apply_sets_it_back(full: Org, case: Case) -> None:
    edit(full, case)
    drift = drifted(full)
    status = "moved" if drift.resources and drift.resources[0].fields[0].container else "changed"
    assert said(drift) == [f"{case.address}: {status} {case.field}"]
    (delta,) = drift.resources[0].fields
    assert delta.cause is Cause.DRIFT
    assert delta.before != delta.last
    if not kinds()[case.kind].fields[case.field].lossy:
        assert delta.last == delta.after
    if delta.note is not None:
        assert case.field == "published", "the contract's table says what happens instead"
        return
    full.apply()
    assert said(drifted(full)) == []
    settled(full)


@pytest.mark.parametrize("case", [case for case in CASES if case.shown is not None], ids=str)
def test_a_field_that_no_request_changes_is_shown_as_one_that_cannot_be_set(full: Org, case: Case) -> None:
    drift = drifted(full, case=case)
    assert [str(resource.address) for resource in drift.resources] == [case.address]
    (delta,) = drift.resources[0].fields
    assert (delta.name, delta.cause, drift.resources[0].cannot_be_set) == (case.field, Cause.DRIFT, True)
    assert delta.note is not None
    assert "cannot be changed on an existing" in delta.note


def test_a_change_of_the_yaml_alone_is_not_drift_and_a_change_by_both_says_so(acme: Org) -> None:
    tree = small()
    node(tree, "one")["title"] = "Uno"
    node(tree, "two")["title"] = "Due"
    acme.write(tree)
    assert said(drifted(acme)) == []
    acme.call("PATCH", f"/spaces/{acme.id('acme/space/two')}", {"title": "Deux"})
    (one,) = drifted(acme).resources
    (delta,) = one.fields
    assert (delta.last, delta.before, delta.after, delta.cause) == ("Two", "Deux", "Due", Cause.BOTH)


def test_a_declaration_that_is_not_applied_yet_is_not_drift(org: Org) -> None:
    org.write(small())
    assert said(drifted(org)) == []


def test_an_edit_that_matches_the_present_yaml_is_not_drift(acme: Org) -> None:
    tree = small()
    node(tree, "one")["title"] = "Uno"
    acme.write(tree)
    acme.call("PATCH", f"/spaces/{acme.id('acme/space/one')}", {"title": "Uno"})
    assert said(drifted(acme)) == []


def test_a_moved_sibling_is_reported_and_its_neighbours_are_not(acme: Org) -> None:
    section = acme.id("acme/site/docs/section/more")
    anchor = {"position": {"before": {"type": "site-section", "siteSection": acme.id("acme/site/docs/section/guides")}}}
    site = acme.id("acme/site/docs")
    acme.call("POST", f"/orgs/org_acme/sites/{site}/sections/{section}/move", anchor)
    (one,) = drifted(acme).resources
    assert (str(one.address), one.status, one.fields) == ("acme/site/docs/section/more", DriftWord.MOVED, ())
    assert one.place is not None
    assert [str(spot.previous or "") for spot in one.place] == ["acme/site/docs/section/guides", ""]
    acme.apply()
    assert said(drifted(acme)) == []


def test_lines_that_changed_places_in_the_yaml_are_no_drift(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"].reverse()
    acme.write(tree)
    assert acme.plan().steps
    assert said(drifted(acme)) == []


def test_a_deleted_space_says_how_long_it_can_be_restored(acme: Org) -> None:
    acme.call("DELETE", f"/spaces/{acme.id('acme/space/six')}")
    (one,) = drifted(acme).resources
    assert (str(one.address), one.status, one.fields) == ("acme/space/six", DriftWord.DELETED, ())
    assert one.deleted_at is not None
    assert timedelta(days=6) < (one.left or timedelta()) <= timedelta(days=7)
    acme.apply()
    assert said(drifted(acme)) == []


def test_what_was_deleted_with_all_it_held_is_deleted(acme: Org) -> None:
    acme.call("DELETE", f"/orgs/org_acme/sites/{acme.id('acme/site/flat')}")
    drift = drifted(acme)
    assert {str(item.address) for item in drift.resources} == {
        "acme/site/flat", "acme/site/flat/site-space/one", "acme/site/flat/site-space/two",
    }  # fmt: skip
    assert {entry.status for entry in drift.resources} == {DriftWord.DELETED}
    assert {resource.left for resource in drift.resources} == {None}


def test_what_the_service_does_not_show_never_drifts_and_the_yaml_still_says_what_it_was_made_with(acme: Org) -> None:
    assert [field.name for field in kinds()["team"].fields.values() if not field.readable] == ["members"]
    tree = small()
    tree["teams"]["writers"]["members"] = ["ada@acme.example"]
    acme.write(tree)
    assert said(drifted(acme)) == []
    assert acme.plan().steps == ()
    assert [note for note in acme.plan().notes if "members" in note]


def test_what_cannot_be_read_is_said_and_not_called_drift(acme: Org) -> None:
    acme.call("PATCH", f"/orgs/org_acme/teams/{acme.id('acme/team/writers')}", {"title": "Authors"})
    drift = drifted(acme, failing=("teams",))
    assert said(drift) == []
    assert [failure.kind for failure in drift.unknown] == ["team"]
    assert [str(unread.address) for unread in drift.unread] == ["acme/team/writers"]


def test_coverage_reads_what_no_declared_object_needs(acme: Org) -> None:
    acme.call("POST", "/orgs/org_acme/collections", {"title": "Wild"})
    site = acme.call("POST", "/orgs/org_acme/sites", {"title": "Blog", "spaces": [acme.id("acme/space/one")]})
    narrow, whole = drifted(acme), drifted(acme, whole=True)
    assert {item.kind for item in narrow.unmanaged} == {"collection", "site"}
    assert {entry.kind for entry in whole.unmanaged} == {"collection", "site", "site-space"}
    assert site["id"] in {unmanaged.id for unmanaged in narrow.unmanaged}
    share = whole.coverage["site"]
    assert (share.managed, share.seen, share.ratio) == (2, 3, 0.66)
    assert (whole.coverage["space"].managed, whole.coverage["space"].seen) == (7, 7)
    assert (whole.resources, whole.unknown) == ((), ())


def test_values_of_what_was_never_seen_are_unset_and_no_reason_for_drift(acme: Org) -> None:
    tree = small()
    node(tree, "one")["editMode"] = "locked"
    acme.write(tree)
    assert acme.plan().differing[acme.load().desired.lister.root.child("space", "one")][0].last is UNSET  # type: ignore[union-attr]
    assert said(drifted(acme)) == []


def test_a_space_that_was_just_deleted_can_be_restored_for_seven_days(acme: Org) -> None:
    acme.call("DELETE", f"/spaces/{acme.id('acme/space/one')}")
    acme.write(small())
    (restored,) = [change for change in acme.plan().changes if str(change.address) == "acme/space/one"]
    assert restored.reason is not None
    assert restored.reason.endswith("7 days left")
    deleted_at = datetime.fromisoformat(acme.call("GET", f"/spaces/{acme.id('acme/space/one')}")["deletedAt"])
    assert restored.until == deleted_at + timedelta(days=7)


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
    applied(org, {"members": {"linus@acme.example": {"role": "edit", "ignoreChanges": ["role"]}}})
    assert {member["user"]["email"]: member["role"] for member in org.items("/orgs/org_acme/members")}["linus@acme.example"] == "read"
    member = next(member["id"] for member in org.items("/orgs/org_acme/members") if member["user"]["email"] == "linus@acme.example")
    org.call("PATCH", f"/orgs/org_acme/members/{member}", {"role": "comment"})
    org.write({"members": {"linus@acme.example": {"role": "read"}}})
    (drift,) = drifted(org).resources
    assert [(delta.last, delta.before) for delta in drift.fields] == [("read", "comment")]


@costly
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


@pytest.mark.parametrize("after", ["two", "four"])
def test_a_sibling_whose_order_is_ignored_is_moved_by_hand_and_no_other_is_moved_or_accused(org: Org, after: str) -> None:
    applied(org, ignoring(small(), "one", "order"))
    was = [title for title in order(org) if title != "One"]
    anchor = {"position": {"after": {"type": "space", "space": org.id(f"acme/space/{after}")}}, "parent": org.id("acme/collection/product")}
    org.call("POST", f"/spaces/{org.id('acme/space/one')}/move", anchor)
    moved = order(org)
    assert moved[0] != "One"
    assert (org.plan().steps, said(drifted(org))) == ((), [])
    org.apply()
    assert order(org) == moved
    assert [title for title in moved if title != "One"] == was


@costly
@pytest.mark.parametrize("pattern", ["space", "acme/space/*", "acme/**", "acme/space/one"])
def test_a_kind_or_a_pattern_ignores_for_many(org: Org, pattern: str) -> None:
    applied(org, small(), ignoreChanges={pattern: ["title"]})
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
