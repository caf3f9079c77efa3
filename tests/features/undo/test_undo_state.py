"""Undo of what a run changed in the state alone: what it stopped managing, the fields that it began to manage, what it renamed; and undo
of that."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.features.undo.undoing import undo
from tests.harness import Org, runs
from tests.outside import everything
from tests.proofs import costly
from tests.small import applied, described, node, small

Tree = dict[str, Any]
Edit = Callable[[Tree], Any]


def tracked(org: Org) -> dict[str, tuple[str, bool]]:
    return {str(address): (binding.id, binding.protected) for address, binding in org.remembered().bindings.items()}


def managed(org: Org) -> dict[str, set[str]]:
    return {str(address): {*binding.sent, *binding.seen} for address, binding in org.remembered().bindings.items()}


def no_longer_managed(tree: Tree) -> None:
    tree["teams"]["writers"].pop("members")
    del tree["members"]["linus@acme.example"]


def swapped_keys(tree: Tree) -> None:
    one, two = node(tree, "one"), node(tree, "two")
    one.update(space="two", previously=["one"])
    two.update(space="one", previously=["two"])


def swapped_keys_and_titles(tree: Tree) -> None:
    swapped_keys(tree)
    one, two = node(tree, "one"), node(tree, "two")
    one["title"], two["title"] = two["title"], one["title"]


def swapped_titles(tree: Tree) -> None:
    node(tree, "one")["title"], node(tree, "two")["title"] = "Two", "One"


def renamed_team(tree: Tree) -> None:
    tree["teams"]["authors"] = {**tree["teams"].pop("writers"), "previously": ["writers"]}
    tree["saml"]["okta"]["defaultTeam"] = "authors"


@costly
@pytest.mark.parametrize(
    ("edit", "addresses"),
    [
        (no_longer_managed, {"acme/member/linus@acme.example"}),
        (lambda tree: tree.pop("installations"), {"acme/installation/charts"}),
        (lambda tree: tree.pop("agentInstructions"), {"acme/agent-instructions"}),
        (lambda tree: tree["sites"]["docs"].pop("adaptiveSchema"), {"acme/site/docs/adaptive-schema"}),
    ],
    ids=["member", "installation", "agent instructions", "adaptive schema"],
)
def test_what_is_never_deleted_is_tracked_again_by_an_undo_and_forgotten_by_its_undo(org: Org, edit: Edit, addresses: set[str]) -> None:
    tree = everything()
    del tree["members"]["linus@acme.example"]["sso"]
    applied(org, tree)
    before = tracked(org)
    without = copy.deepcopy(tree)
    edit(without)
    applied(org, without)
    assert tracked(org).keys() == before.keys() - addresses
    outcome, inverse, _ = undo(org, runs(org)[0].id)
    assert (inverse.cannot, outcome.plan.blocked, outcome.results) == ((), (), ())
    assert tracked(org) == before
    undo(org, runs(org)[0].id)
    assert tracked(org).keys() == before.keys() - addresses


def test_an_installation_of_an_integration_that_nothing_declares_is_found_again(org: Org) -> None:
    tree = everything()
    del tree["members"]["linus@acme.example"]["sso"]
    applied(org, tree)
    without = copy.deepcopy(tree)
    del without["integrations"], without["installations"]
    applied(org, without, removed=[{"address": "acme/integration/acme-charts", "action": "forget"}])
    _, inverse, _ = undo(org, runs(org)[0].id)
    assert inverse.cannot == ()
    assert tracked(org).keys() >= {"acme/integration/acme-charts", "acme/installation/charts"}


@costly
@pytest.mark.parametrize(
    "edit",
    [
        lambda tree: tree["sites"]["flat"].update(visibility="unlisted"),
        lambda tree: node(tree, "two").update(emoji="📗"),
        lambda tree: node(tree, "product").update(description="All of it", defaultLevel="read"),
        lambda tree: node(tree, "guides").update(condition="visitor.claims.x"),
        lambda tree: node(tree, "two").update(language="fr"),
    ],
    ids=["visibility", "emoji", "two fields", "condition", "language"],
)
def test_a_field_that_was_not_managed_is_not_managed_after_an_undo(acme: Org, edit: Edit) -> None:
    before = managed(acme)
    tree = small()
    edit(tree)
    applied(acme, tree)
    undo(acme, runs(acme)[0].id)
    assert managed(acme) == before
    acme.write(small())
    plan = acme.plan()
    assert (described(plan), plan.steps) == ([], ())
    acme.write(tree)
    assert acme.plan().steps != ()
    undo(acme, runs(acme)[0].id)
    assert described(acme.plan()) == [], "an undo of the undo manages it again"


def test_a_field_that_was_managed_before_stays_managed_after_an_undo(acme: Org) -> None:
    before = managed(acme)
    tree = small()
    node(tree, "one")["emoji"] = "📗"
    applied(acme, tree)
    undo(acme, runs(acme)[0].id)
    assert managed(acme) == before


def test_a_run_that_only_recorded_values_is_the_last_run_and_its_undo_sends_nothing(acme: Org) -> None:
    tree = small()
    tree["sites"]["flat"]["visibility"] = "public"  # as it is
    applied(acme, tree)
    (newest, *_) = runs(acme)
    assert dict(newest.turned) == {"record": 1}
    outcome, inverse, lines = undo(acme, newest.id)
    assert (outcome.results, outcome.plan.changes, inverse.only, inverse.state_changes, lines) == ((), (), frozenset(), (), ())


@costly
@pytest.mark.parametrize("edit", [swapped_titles, swapped_keys, swapped_keys_and_titles, renamed_team])
def test_an_undo_of_an_undo_does_the_run_again_for_good(acme: Org, edit: Edit) -> None:
    before, swapped = tracked(acme), small()
    edit(swapped)
    applied(acme, swapped)
    after = tracked(acme)
    for expected, tree in ((before, small()), (after, swapped), (before, small()), (after, swapped)):
        outcome, inverse, _ = undo(acme, runs(acme)[0].id)
        assert (inverse.cannot, outcome.plan.blocked) == ((), ())
        assert tracked(acme) == expected
        acme.write(tree)
        plan = acme.plan()
        assert (described(plan), plan.steps) == ([], ())


@costly
@pytest.mark.parametrize("edit", [swapped_titles, swapped_keys, swapped_keys_and_titles, renamed_team])
def test_a_run_that_is_undone_twice_is_undone_once(acme: Org, edit: Edit) -> None:
    before, swapped = tracked(acme), small()
    edit(swapped)
    applied(acme, swapped)
    run = runs(acme)[0].id
    undo(acme, run)
    outcome, inverse, lines = undo(acme, run)
    assert (outcome.results, inverse.state_changes, inverse.cannot, lines) == ((), (), (), ())
    assert tracked(acme) == before
