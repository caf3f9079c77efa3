"""What a plan is made from, for an organization of any size, without a service: the creating plan is carried out on the model of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Desired, Observed, Plan, State
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.planner import plan
from reconciler.plan.prove import carried_out
from reconciler.resource import UNSET
from tests.growth.edits import ADA, BLANK, Edit, Tree, nothing
from tests.organizations import IDS, ORGANIZATION, project

OTHER = IDS["other"]
NOW = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Scene:
    """What a plan is made from."""

    desired: Desired
    state: State
    actual: Actual

    def identify(self) -> Matches:
        return identify(kinds(), self.desired, self.state, self.actual)

    def plan(self) -> Plan:
        return plan(kinds(), self.desired, self.state, self.actual, allow_replace=("**",))


def desired(folder: Path, tree: Tree) -> Desired:
    """The project that declares one organization."""
    return load(written(folder, tree), kinds()).desired


def written(folder: Path, tree: Tree, *, other: Tree | None = None, moved: Sequence[tuple[str, str]] = ()) -> Path:
    """The folder with the project that declares one organization, or two."""
    prune = dict.fromkeys(("space", "collection", "site", "openapi"), "owned")
    document = project({"acme": tree} if other is None else {"acme": tree, "other": other}, transfers=moved, prune=prune)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reconciler.yaml").write_text(yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
    return folder


def _empty(people: Tree, organization: str = ORGANIZATION, blank_space: str = "spc_blank") -> Actual:
    """An organization with its people and one space."""
    everything = kinds()
    within = {"organization": organization}

    def seen(kind: str, id: str, outer: dict[str, str], raw: dict[str, Any], **values: Any) -> Observed:
        blank = {name: None if field.clear or field.container else UNSET for name, field in everything[kind].fields.items()}
        return Observed(kind, id, {**blank, **values}, outer, {"id": id, **raw})

    members = {"ada@acme.example": {"role": "admin", "id": "usr_ada"}} | {
        mail: who for mail, who in people.items() if isinstance(who, dict)
    }
    objects = {
        "organization": {organization: seen("organization", organization, {}, {"title": "Acme"}, title="Acme")},
        "member": {
            f"{organization}/{who['id']}": seen(
                "member", f"{organization}/{who['id']}", within, {"email": mail}, email=mail, role=who["role"]
            )
            for mail, who in members.items()
        },
        "space": {blank_space: seen("space", blank_space, within, {"title": "Blank"}, title="Blank", parent=None)},
    }
    return Actual(objects, complete=frozenset((name, organization) for name, kind in everything.items() if kind.within == "organization"))


@lru_cache(maxsize=4)
def applied(first: Callable[[int], Tree], many: int) -> tuple[State, Actual]:
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
        state, actual = applied(edit.before, many)
    return Scene(desired(folder, edit.after(many)), State("lineage", 0) if edit.lost else state, actual)


def ring(folder: Path, many: int) -> Scene:
    """Two organizations exchange all their spaces, each of which gets the key that another one leaves: all go together."""
    base = {"title": "Acme", "members": ADA}
    content = lambda title, keys: [{"space": f"s{i}", "title": f"{title} {i}"} for i in keys]  # noqa: E731
    there = BLANK | {"id": "spc_other"}
    first = [{**base, "content": [blank, *content(title, range(many))]} for blank, title in ((BLANK, "Here"), (there, "There"))]
    before = load(written(folder / "before", first[0], other=first[1]), kinds()).desired
    state, actual = State("lineage", 0), _empty({})
    more = _empty({}, OTHER, "spc_other")
    objects = {name: {**some, **more.objects[name]} for name, some in actual.objects.items()}
    actual = Actual(objects, complete=actual.complete | more.complete)
    state, actual = carried_out(kinds(), before, state, actual, plan(kinds(), before, state, actual))
    away = [(f"acme/space/s{i}", f"other/space/s{i}") for i in range(many)]
    back = [(f"other/space/s{i}", f"acme/space/s{i + 1}") for i in range(many)]
    here = {**base, "content": [BLANK, *({**node, "space": f"s{i + 1}"} for i, node in enumerate(content("There", range(many))))]}
    last = written(folder / "after", here, other={**base, "content": [there, *content("Here", range(many))]}, moved=away + back)
    return Scene(load(last, kinds()).desired, state, actual)
