"""A long list is imported as files: one for each collection at its root, and one for the spaces between two of them."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

from reconciler.config import load
from reconciler.kinds import load as kinds
from tests.command_line import Cli
from tests.features.importer.imported import added, fits, imported
from tests.harness import ORGANIZATION, SEED, Org
from tests.proofs import costly


def large(folder: Path, spaces: int) -> Org:
    """Three collections with as many spaces each, and a few between them."""
    seed: dict[str, Any] = copy.deepcopy(SEED)
    seed["collections"] = [
        {"organization": ORGANIZATION, "id": f"col_{name}", "title": title, "parent": None}
        for name, title in (("z", "Zebra"), ("a", "Ant"), ("s", "Spaces"))
    ]
    seed["spaces"] += [
        {"organization": ORGANIZATION, "id": f"spc_{name}_{number}", "title": f"{name} {number}", "parent": f"col_{name}"}
        for name in ("z", "a", "s")
        for number in range(spaces)
    ]
    return Org(folder, seed=seed)


def test_past_300_nodes_each_collection_at_the_root_has_a_file_of_its_own(tmp_path: Path) -> None:
    found, plan = imported(large(tmp_path, 100), tmp_path / "new")
    assert (plan.changes, plan.steps, plan.blocked) == ((), (), ())
    assert fits(tmp_path / "new") == []
    paths = sorted(found.files)
    assert paths == [
        "content/ant.yaml", "content/spaces-2.yaml", "content/spaces.yaml", "content/zebra.yaml", "reconciler.yaml",
    ]  # fmt: skip
    assert "content.yaml" not in found.files["reconciler.yaml"]
    listed = [line for line in found.files["reconciler.yaml"].splitlines() if "include: [content/" in line]
    assert [part.strip(" []") for part in listed[0].partition(":")[2].split(",")] == [
        "content/zebra.yaml", "content/ant.yaml", "content/spaces.yaml", "content/spaces-2.yaml",
    ]  # fmt: skip
    assert found.files["content/ant.yaml"].count("- space:") + found.files["content/ant.yaml"].count("- {space:") == 100


def test_up_to_300_nodes_stay_in_one_file(tmp_path: Path) -> None:
    found, _ = imported(large(tmp_path, 98), tmp_path / "new")
    assert sorted(found.files) == ["content.yaml", "reconciler.yaml"]


@costly
def test_what_came_later_goes_into_the_file_of_its_collection(tmp_path: Path) -> None:
    org, folder = large(tmp_path, 100), tmp_path / "new"
    imported(org, folder)
    made = org.call("POST", "/spaces/spc_blank/duplicate")
    org.call("PATCH", f"/spaces/{made['id']}", {"title": "Later"})
    org.call("POST", f"/spaces/{made['id']}/move", {"parent": "col_a"})
    org.call("POST", f"/orgs/{ORGANIZATION}/collections", {"title": "Later too"})
    _, plan = added(org, folder)
    assert plan.changes == ()
    now = {path: path.read_text() for path in folder.rglob("*.yaml")}
    assert [path.name for path, text in now.items() if re.search(r"title: Later\b(?! too)", text)] == ["ant.yaml"]
    assert len([path for path, text in now.items() if "title: Later too" in text]) == 1
    assert {one.key for one in load(folder, kinds()).desired.resources} >= {"later", "later-too"}


def test_collections_inside_many_others_are_imported_into_files_that_can_be_read(tmp_path: Path) -> None:
    parents = ["null", *(f"col_{level}" for level in range(69))]
    rows = (f"{{id: col_{level}, organization: org_acme, title: Level {level}, parent: {parent}}}" for level, parent in enumerate(parents))
    nested = "".join(f"  - {row}\n" for row in rows)
    cli = Cli(tmp_path)
    cli.write(
        "seed.yaml",
        "organizations: [{id: org_acme, title: Acme}]\n"
        "members: [{organization: org_acme, id: usr_ada, email: ada@acme.example, displayName: Ada, role: admin}]\n"
        f"tokens: [{{token: ada-writes, member: usr_ada, access: write}}]\ncollections:\n{nested}",
    )
    cli("sandbox", "seed", "--db", "sb.db", "seed.yaml", code=0)
    cli("import", "p", "--org", "org_acme", "--sandbox", "sb.db", code=0)
    assert len(list((tmp_path / "p" / "content").glob("*.yaml"))) == 2
    cli("validate", "p", code=0)
    assert "No changes" in cli("plan", "p", "--sandbox", "sb.db", code=0).stdout
