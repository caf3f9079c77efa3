"""What is edited outside is told exactly, and set back where the service can set it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from reconciler.kinds import load as kinds
from reconciler.model import Cause
from reconciler.model.drift import DriftWord
from reconciler.resource import UNSET
from tests.harness import Org
from tests.outside import CASES, Case, drifted, edit, everything, fields, said
from tests.proofs import proof
from tests.small import applied, node, settled, small


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
    unreadable = [field.name for field in kinds()["team"].fields.values() if not field.readable]
    assert unreadable == ["members"]
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
