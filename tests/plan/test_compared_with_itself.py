"""The files compared with themselves need nothing: what `diff` and `fleet preview` compare with is the project as it is written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.config.project import FileAccess, load_evaluated
from reconciler.model import Plan
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.offline import as_declared, declared_objects
from reconciler.plan.planner import plan
from reconciler.run.comparison import comparing_kinds
from tests.organizations import SMALL, Drawing, below, project, with_readers
from tests.proofs import spread

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/reconciler.yaml"))
NAMED = ("space", "collection", "section", "group")


def compared(folder: Path, environment: str | None = None) -> Plan:
    """The plan from a project to itself."""
    kinds = comparing_kinds()
    loaded, _ = load_evaluated(folder, kinds, environment=environment, environ={}, access=FileAccess(decrypt=False, stand_ins=True))
    state, actual = as_declared(kinds, loaded.desired, loaded.desired)
    return plan(kinds, loaded.desired, state, actual)


def identified(tree: Any, chance: random.Random, share: float) -> Any:
    """An organization in which some objects have an id, so that they exist already."""
    for number, node in enumerate(below(tree)):
        name = next((name for name in NAMED if isinstance(node, dict) and isinstance(node.get(name), str) and "title" in node), None)
        if name is not None and chance.random() < share:
            node.pop("duplicateOf", None)
            node["id"] = f"x_{name}_{number}"
        elif isinstance(node, dict) and "space" in node and "key" in node and chance.random() < share:
            node["id"] = f"x_variant_{number}"
    for key, site in tree.get("sites", {}).items():
        site |= {"id": f"site_{key}"} if chance.random() < share else {}
    return tree


@pytest.mark.sampled
@pytest.mark.parametrize("seed", spread(range(300), 12))
def test_a_project_compared_with_itself_changes_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    drawn = (lambda: with_readers(chance), lambda: Drawing(chance, chance.randint(0, 2**20), bool(seed % 2)).organization())
    tree = identified(drawn[seed % 2](), chance, chance.choice([0.3, 0.6, 1]))
    (tmp_path / "reconciler.yaml").write_text(yaml.safe_dump(project({"acme": tree}), sort_keys=False), encoding="utf-8")
    found = compared(tmp_path)
    assert (found.steps, found.changes, found.blocked, found.deferred) == ((), (), (), {})


@pytest.mark.sampled
@pytest.mark.parametrize("seed", spread(range(300), 6))
def test_who_can_read_what_follows_from_each_object_as_it_is_written(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tree = identified(with_readers(chance), chance, chance.choice([0, 0.3]))
    (tmp_path / "reconciler.yaml").write_text(yaml.safe_dump(project({"acme": tree}), sort_keys=False), encoding="utf-8")
    kinds = comparing_kinds()
    desired = load_evaluated(tmp_path, kinds, environ={})[0].desired
    state, applied = as_declared(kinds, desired, desired)
    ids, alone = declared_objects(kinds, desired)
    whole, parts = (Audiences(kinds, actual.objects, complete=actual.complete) for actual in (applied, alone))
    for address, binding in state.bindings.items():
        read = whole.of((binding.kind, binding.id)), parts.of((binding.kind, ids[address]))
        assert sorted(map(str, read[0])) == sorted(map(str, read[1])), address


def test_sections_with_ids_in_a_group_beside_others_do_not_move(tmp_path: Path) -> None:
    tree = identified(yaml.safe_load(yaml.safe_dump(SMALL)), random.Random(0), 0)
    group = tree["sites"]["docs"]["structure"][1]
    group["id"], group["structure"][0]["id"] = "x_group", "x_section"
    (tmp_path / "reconciler.yaml").write_text(yaml.safe_dump(project({"acme": tree}), sort_keys=False), encoding="utf-8")
    assert compared(tmp_path).empty


def test_sections_of_one_key_in_two_sites_are_two_of_which_only_the_contents_have_ids(tmp_path: Path) -> None:
    def site(name: str) -> dict[str, Any]:
        variant = {"key": "start", "space": "blank", "id": f"x_{name}"}
        return {"title": name, "id": f"site_{name}", "structure": [{"section": "start", "title": "Start", "spaces": [variant]}]}

    tree = {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}], "sites": {name: site(name) for name in ("docs", "help")}}
    (tmp_path / "reconciler.yaml").write_text(yaml.safe_dump(project({"acme": tree}), sort_keys=False), encoding="utf-8")
    assert compared(tmp_path).empty


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_each_example_compared_with_itself_changes_nothing(folder: Path) -> None:
    environments = [path.stem for path in (folder / "environments").glob("*.yaml")] or [None]
    assert all(compared(folder, environment).empty for environment in environments)
