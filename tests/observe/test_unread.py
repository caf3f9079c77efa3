"""What cannot be read is unknown: never a reason for a replacement, a refusal, or a request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import Org
from tests.plan.test_sections import SECTIONS, SITE, tree
from tests.proofs import spread

LISTS = (
    "organizations", "members", "teams", "collections", "spaces", "sites", "sections", "section-groups", "site-spaces", "share-links",
    "saml", "openapi",
)  # fmt: skip


def wrongly(org: Org, *failing: str, allow_replace: tuple[str, ...] = ()) -> list[str]:
    """What a plan says that cannot be known."""
    plan = org.plan(failing=failing, allow_replace=allow_replace)
    said = [f"{step.verb} {step.address}" for step in plan.steps]
    said += [
        f"{refusal.address}: {refusal.reason} ({refusal.remedy})"
        for refusal in plan.blocked
        if "replace" in refusal.remedy or "cannot be changed" in refusal.reason
    ]
    return said


@pytest.mark.parametrize("name", spread(list(LISTS), 4))
def test_a_list_that_cannot_be_read_changes_nothing_of_an_organization_as_it_is_declared(acme: Org, name: str) -> None:
    assert (wrongly(acme, name), wrongly(acme, name, allow_replace=("**",))) == ([], [])


@pytest.mark.parametrize("name", ["sections", "section-groups", "site-spaces"])
def test_nor_where_the_state_is_lost(acme: Org, name: str) -> None:
    (acme.root / "state.db").unlink()
    assert wrongly(acme, name, allow_replace=("**",)) == []


def test_sections_that_cannot_be_read_are_no_reason_to_replace_what_moves_between_them(org: Org) -> None:
    org.write(tree(SECTIONS))
    org.apply()
    moved: list[Any] = [{**SECTIONS[0], "spaces": ["a", "c"]}, {**SECTIONS[1], "spaces": ["b", "d"]}, SECTIONS[2]]
    for structure in (moved, [*"abcdef"], [{"section": "w", "title": "Other", "spaces": ["a", "b"]}, *SECTIONS[1:]]):
        org.write(tree(structure))
        assert (wrongly(org, "sections", allow_replace=("**",)), wrongly(org, "sections")) == ([], [])
    org.write(tree(moved))
    blocked = {str(refusal.address): refusal for refusal in org.plan(failing=("sections",)).blocked}
    one = blocked[f"{SITE}/site-space/b"]
    assert one.reason.startswith(f"section cannot be compared, {SITE}/section/y could not be read: ")
    assert one.remedy == "run again when the service answers"


def test_nothing_is_created_outside_sections_that_cannot_be_read(org: Org) -> None:
    org.write(tree(SECTIONS))
    org.apply()
    org.write(tree(["a", {"key": "again", "space": "b"}]))
    reasons = {str(refusal.address): refusal.reason for refusal in org.plan(failing=("sections",)).blocked}
    assert "the sections of acme/site/docs could not be read" in reasons[f"{SITE}/site-space/again"]


def test_no_field_that_refers_to_what_could_not_be_read_counts_as_drift(acme: Org) -> None:
    for name in LISTS:
        assert acme.plan(failing=(name,)).differing == {}
