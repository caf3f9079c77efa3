"""What a plan is made from, for an organization of any size, without a service: the creating plan is carried out on the model of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, Observed, Plan, State
from reconciler.plan import Matches, match, plan
from reconciler.plan.prove import carried_out
from reconciler.resource import UNSET
from tests.growth.edits import Edit, Tree, nothing

ORGANIZATION = "org_acme"


@dataclass(frozen=True)
class Scene:
    """What a plan is made from."""

    desired: Desired
    state: State
    actual: Actual

    def match(self) -> Matches:
        return match(kinds(), self.desired, self.state, self.actual)

    def plan(self) -> Plan:
        return plan(kinds(), self.desired, self.state, self.actual, allow_replace=("**",))


def desired(folder: Path, tree: Tree) -> Desired:
    """The project that declares one organization."""
    return load(written(folder, tree), kinds()).desired


def written(folder: Path, tree: Tree) -> Path:
    """The folder with the project that declares one organization."""
    document = {
        "version": 1,
        "project": "test",
        "service": {"member": "ada@acme.example"},
        "protect": [],
        "prune": {"space": "owned", "collection": "owned", "site": "owned", "openapi": "owned"},
        "guards": {"maxDelete": {"percent": 100, "atLeast": 100000}},
        "defaults": {"space": {"duplicateOf": "blank"}},
        "organizations": {"acme": {"id": ORGANIZATION, **tree}},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reconciler.yaml").write_text(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
    return folder


def _empty(people: Tree) -> Actual:
    """An organization with its people and one space."""
    everything = kinds()
    within = {"organization": ORGANIZATION}

    def seen(kind: str, id: str, outer: dict[str, str], raw: dict[str, Any], **values: Any) -> Observed:
        blank = {name: None if field.clear or field.container else UNSET for name, field in everything[kind].fields.items()}
        return Observed(kind, id, {**blank, **values}, outer, {"id": id, **raw})

    members = {"ada@acme.example": {"role": "admin", "id": "usr_ada"}} | {
        mail: who for mail, who in people.items() if isinstance(who, dict)
    }
    objects = {
        "organization": {ORGANIZATION: seen("organization", ORGANIZATION, {}, {"title": "Acme"}, title="Acme")},
        "member": {
            f"{ORGANIZATION}/{who['id']}": seen(
                "member", f"{ORGANIZATION}/{who['id']}", within, {"email": mail}, email=mail, role=who["role"]
            )
            for mail, who in members.items()
        },
        "space": {"spc_blank": seen("space", "spc_blank", within, {"title": "Blank"}, title="Blank", parent=None)},
    }
    complete = frozenset((name, ORGANIZATION) for name, kind in everything.items() if kind.within == "organization")
    return Actual(objects, complete=complete)


@lru_cache(maxsize=4)
def _applied(first: Callable[[int], Tree], many: int) -> tuple[State, Actual]:
    """What there is where that has been applied. Edits that begin alike share it; nothing that plans changes it."""
    tree = first(many)
    with TemporaryDirectory() as folder:
        before = desired(Path(folder), tree)
    state, actual = State("lineage", 0), _empty(tree["members"])
    return carried_out(kinds(), before, state, actual, plan(kinds(), before, state, actual))


def scene(folder: Path, edit: Edit, many: int) -> Scene:
    """What the plan of an edit is made from."""
    state, actual = State("lineage", 0), _empty(nothing(many)["members"])
    if edit.before is not None:
        state, actual = _applied(edit.before, many)
    return Scene(desired(folder, edit.after(many)), State("lineage", 0) if edit.lost else state, actual)
