"""`null` clears every field that the service can clear: apply, drift, accepted drift, undo and import agree about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.kinds import load as kinds
from tests.apply.test_random import everything as shown
from tests.harness import Org
from tests.importer.imported import imported
from tests.importer.test_accept import accept
from tests.outside import CASES, Case, drifted, edit, everything
from tests.small import applied, node
from tests.undo.undoing import runs, undo

CLEARED = [
    Case(kind.name, field.name, case.address, None)
    for kind in kinds().values()
    for field in kind.fields.values()
    for case in CASES
    if field.clear and (case.kind, case.field) == (kind.name, field.name)
]


def cleared(tree: dict[str, Any]) -> dict[str, Any]:
    """The organization of `everything` with `null` wherever it is allowed."""
    tree |= {"logo": None, "defaultContent": None}
    tree["sites"]["docs"]["proxy"] = None
    node(tree, "other")["description"] = node(tree, "one")["emoji"] = node(tree, "reference")["icon"] = None
    node(tree, "guides").update(icon=None, description=None, condition=None)
    node(tree, "guides")["spaces"][0]["condition"] = None
    return tree


def test_each_field_that_can_be_cleared_has_a_case() -> None:
    every = {(kind.name, field.name) for kind in kinds().values() for field in kind.fields.values() if field.clear}
    assert {(case.kind, case.field) for case in CLEARED} == every
    assert every >= {("section", "icon"), ("group", "icon"), ("section", "description"), ("collection", "description"), ("space", "emoji")}


def test_what_is_cleared_comes_back_by_undo_and_goes_again(org: Org) -> None:
    applied(org, everything())
    before = shown(org)
    applied(org, cleared(everything()))
    after = shown(org)
    assert before != after
    for expected in (before, after):
        undo(org, runs(org)[0].id)
        assert shown(org) == expected


@pytest.mark.parametrize("write_null", [False, True], ids=["somebody clears it", "somebody sets it"])
def test_what_somebody_else_clears_or_sets_is_drift_that_the_yaml_can_accept(org: Org, write_null: bool) -> None:
    applied(org, cleared(everything()) if write_null else everything())
    values = {case.address + "." + case.field: case for case in CASES}
    seen = [case for case in CLEARED if not (write_null and kinds()[case.kind].fields[case.field].hosted)]  # nothing tells which image
    for case in seen:
        name = f"{case.address}.{case.field}"
        other = values[name] if values[name].value is not None else Case(case.kind, case.field, case.address, "visitor.claims.z")
        edit(org, other if write_null else case)
    found = {f"{one.address}.{field.name}" for one in drifted(org).resources for field in one.fields}
    expected = {f"{case.address}.{case.field}" for case in seen}
    assert found == expected
    accept(org, *sorted(expected))
    assert drifted(org).resources == ()
    made = org.plan()
    assert (made.changes, made.steps, made.blocked) == ((), (), ())
    resources = {str(address): declared for address, declared in org.load().desired.resources.items()}
    assert [resources[case.address].values[case.field] is None for case in seen] == [not write_null] * len(seen)


def test_an_import_omits_what_is_cleared_and_writes_what_is_set(org: Org, tmp_path: Path) -> None:
    for name, tree in (("set", everything()), ("cleared", cleared(everything()))):
        applied(org, tree)
        _, made = imported(org, tmp_path / name)
        assert (made.changes, made.steps, made.blocked) == ((), (), ())
        written = [one for one in load(tmp_path / name, kinds()).desired.resources.values() if not one.implied]
        present = {(one.kind, field) for one in written for field, value in one.values.items() if value is not None}
        expected = {(case.kind, case.field) for case in CLEARED} - {("organization", "logo")}  # the service shows its own copy
        assert (present & expected == expected) if name == "set" else not present & {("section", "description"), ("space", "emoji")}
