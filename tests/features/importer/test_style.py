"""How imported YAML looks: values that are shared are defaults, namesakes are named alike, people are in order, certificates are files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.config import load
from reconciler.features.importer.project import LIMITS, SPLIT, FileSizes
from reconciler.kinds import load as load_kinds
from tests.certificates import IDP, pem
from tests.features.importer.imported import added, fits, imported
from tests.harness import ORGANIZATION, SEED, Org, kinds
from tests.newer import newer

BASE = f"/orgs/{ORGANIZATION}"
FEW = FileSizes(lines=0)


def seeded(folder: Path, **lists: list[dict[str, Any]]) -> Org:
    """A sandbox with more objects; their ids and organizations are filled in."""
    seed = copy.deepcopy(SEED)
    for name, some in lists.items():
        entries = [{"organization": ORGANIZATION, "id": f"{name}_{number}", **entry} for number, entry in enumerate(some)]
        seed[name] = [*seed.get(name, []), *entries]
    return newer(folder, seed, ["suggest"])


def spaces(*titles: str, **values: Any) -> list[dict[str, Any]]:
    return [{"title": title, "parent": None, **values} for title in titles]


def data(folder: Path) -> dict[str, Any]:
    document = yaml.safe_load((folder / "reconciler.yaml").read_text())
    assert fits(folder) == []
    return dict(document)


def nodes(folder: Path) -> dict[str, dict[str, Any]]:
    """The nodes of the content by title."""
    (organization,) = data(folder)["organizations"].values()
    return {node["title"]: node for node in organization["content"]}


# -- defaults --------------------------------------------------------------------------------------------------------------------------


def test_a_value_that_most_share_is_a_default_and_the_others_write_theirs(tmp_path: Path) -> None:
    some = [*spaces("A", "B", "C", "D", editMode="locked", emoji="📘"), *spaces("E", editMode="live", emoji="🚀")]
    _, plan = imported(seeded(tmp_path, spaces=some), tmp_path / "new")
    assert plan.empty
    assert data(tmp_path / "new")["defaults"]["space"] == {"emoji": "📘", "editMode": "locked", "defaultLevel": "guest"}
    written = nodes(tmp_path / "new")
    assert "editMode" not in written["A"]
    assert (written["E"]["editMode"], written["E"]["emoji"]) == ("live", "🚀")
    # It has neither: what is left out elsewhere is written where a default would set it.
    assert (written["Blank"]["editMode"], written["Blank"]["emoji"]) == ("live", None)


def test_what_a_minority_has_is_not_a_default(tmp_path: Path) -> None:
    _, plan = imported(seeded(tmp_path, spaces=[*spaces("A", "B"), *spaces("C", editMode="locked")]), tmp_path / "new")
    assert plan.empty
    assert data(tmp_path / "new")["defaults"]["space"] == {"defaultLevel": "guest"}  # what all of them have


def test_nothing_that_opens_or_cannot_be_undone_is_a_default(tmp_path: Path) -> None:
    site = {"visibility": "unlisted", "published": True, "agentsContext": "excluded"}
    org = seeded(tmp_path, sites=[{"title": title, **site} for title in ("Docs", "Help", "API", "Blog")])
    _, plan = imported(org, tmp_path / "new")
    assert plan.empty
    document = data(tmp_path / "new")
    assert document["defaults"]["site"] == {"type": "basic", "agentsContext": "excluded"}
    assert document["organizations"]["acme"]["sites"]["docs"] == {"title": "Docs", "visibility": "unlisted", "published": True}


def test_no_value_that_gives_access_is_a_default_whatever_the_kind(tmp_path: Path) -> None:
    site = {"visibility": "public", "published": True, "agentsContext": "included"}
    some = [space | {"defaultLevel": "edit", "visibility": "public"} for space in spaces("A", "B", "C", "D", "E", "F")]
    collections = [{"id": f"col_{n}", "title": f"Collection {n}", "defaultLevel": "read"} for n in range(8)]
    org = seeded(tmp_path, sites=[{"title": title, **site} for title in ("Docs", "Help", "API", "Blog")], spaces=some)
    for body in collections:
        made = org.call("POST", "/orgs/org_acme/collections", {"title": body["title"]})
        org.call("PATCH", f"/collections/{made['id']}", {"defaultLevel": "read"})
    _, plan = imported(org, tmp_path / "new")
    assert plan.empty
    kinds = load_kinds()
    for name, values in data(tmp_path / "new").get("defaults", {}).items():
        assert not [field for field, value in values.items() if kinds[name].may_open(field, value)], (name, values)
    assert data(tmp_path / "new")["organizations"]["acme"]["sites"]["docs"]["visibility"] == "public"
    opening = {"site": ("visibility", "public"), "space": ("defaultLevel", "edit"), "collection": ("defaultLevel", "read")}
    opening |= {"share-link": ("active", True), "openapi": ("visibility", "public"), "member": ("role", "admin")}
    assert all(kinds[name].may_open(field, value) for name, (field, value) in opening.items())
    closed = {"site": ("agentsContext", "excluded"), "space": ("defaultLevel", "guest"), "openapi": ("visibility", "private")}
    assert not any(kinds[name].may_open(field, value) for name, (field, value) in closed.items())


def test_a_field_that_one_of_them_cannot_write_gets_none(tmp_path: Path) -> None:
    some = [*spaces("A", "B", "C", "D", editMode="locked"), *spaces("E", editMode="suggest")]
    found, plan = imported(seeded(tmp_path, spaces=some), tmp_path / "new")
    assert plan.empty
    assert "editMode" not in data(tmp_path / "new").get("defaults", {}).get("space", {})
    assert '# editMode is "suggest", which is left as it is' in found.files["reconciler.yaml"]


def test_later_objects_take_the_defaults_of_their_project(tmp_path: Path) -> None:
    org = seeded(tmp_path, spaces=spaces("A", "B", "C", "D", editMode="locked", emoji="📘"))
    imported(org, tmp_path / "new")
    for title, body in (("Same", {"editMode": "locked", "emoji": "📘"}), ("Other", {"editMode": "live", "emoji": None})):
        space = org.call("POST", "/spaces/spc_blank/duplicate")
        org.call("PATCH", f"/spaces/{space['id']}", {"title": title, **body})
    _, plan = added(org, tmp_path / "new")
    assert plan.empty
    written = nodes(tmp_path / "new")
    assert "editMode" not in written["Same"]
    assert (written["Other"]["editMode"], written["Other"]["emoji"]) == ("live", None)


# -- names -----------------------------------------------------------------------------------------------------------------------------


def test_namesakes_are_all_called_after_what_contains_them(tmp_path: Path) -> None:
    collections = [
        {"title": "Loki", "parent": None},
        {"title": "Mimir", "parent": None},
        {"title": "Deep", "parent": "collections_0"},
        {"title": "Deep", "parent": "collections_1"},
    ]
    some = [{"title": "Get started", "parent": f"collections_{number}"} for number in (0, 1)]
    some += [{"title": "Notes", "parent": f"collections_{number}"} for number in (2, 3)]
    some += [*spaces("Only one", "Twice", "Twice"), {"title": "Loki get started", "parent": None}]
    imported(seeded(tmp_path, collections=collections, spaces=some), tmp_path / "new")
    keys = {address.key for address, resource in load(tmp_path / "new", kinds()).desired.resources.items() if resource.kind == "space"}
    assert keys == {
        "blank", "loki-get-started-2", "mimir-get-started", "loki-deep-notes", "mimir-deep-notes", "only-one", "twice", "twice-2",
        "loki-get-started",
    }  # fmt: skip


def test_people_are_in_the_order_of_their_addresses(tmp_path: Path) -> None:
    members = [{"email": f"{name}@acme.example", "role": "read"} for name in ("zoe", "bob", "mia")]
    imported(seeded(tmp_path, members=members), tmp_path / "new")
    names = [*data(tmp_path / "new")["organizations"]["acme"]["members"]]
    assert names == sorted(names)


# -- files -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [pem(IDP), pem(IDP).replace("\n", "\r\n"), f"${{{{ vars.x }}}}\n{pem(IDP)}"], ids=["plain", "crlf", "hostile"]
)
def test_a_certificate_is_a_file_with_the_text_that_the_service_shows(tmp_path: Path, text: str) -> None:
    org = Org(tmp_path)
    for label in ("Okta", "Entra"):
        body = {"label": label, "entityID": label, "ssoURL": "https://u.example/in", "certificate": text}
        org.call("POST", f"{BASE}/saml", body)
    found, plan = imported(org, tmp_path / "new")
    assert plan.empty
    providers = data(tmp_path / "new")["organizations"]["acme"]["saml"]
    assert len(providers) == 2
    for provider in providers.values():
        path = provider["certificate"].removeprefix('${{ file("').removesuffix('") }}')
        assert path in found.files
        assert path.startswith("certs/")
        assert "BEGIN CERTIFICATE" in found.files[path]


def test_a_small_project_is_one_file_and_a_larger_one_a_file_for_each_part(tmp_path: Path) -> None:
    org = seeded(tmp_path, collections=[{"title": "Loki", "parent": None}], spaces=[{"title": "Guides", "parent": "collections_0"}])
    org.call("POST", f"{BASE}/sites", {"title": "Docs"})
    files = {}
    for name, limits in (("one", LIMITS), ("several", FEW), ("split", SPLIT)):
        found, plan = imported(org, tmp_path / name, limits)
        assert plan.empty
        assert fits(tmp_path / name) == []
        files[name] = sorted(found.files)
    assert files == {
        "one": ["reconciler.yaml"],
        "several": ["content.yaml", "reconciler.yaml", "sites/docs.yaml"],
        "split": ["content/loki.yaml", "content/spaces.yaml", "reconciler.yaml", "sites/docs.yaml"],
    }


def test_a_node_is_on_one_line_where_it_fits(tmp_path: Path) -> None:
    found, _ = imported(seeded(tmp_path, spaces=spaces("A" * 40, "B" * 49)), tmp_path / "new")
    text = found.files["reconciler.yaml"]
    assert f"      - {{space: {'a' * 40}, id: spaces_0, title: {'A' * 40}}}\n" not in text  # 105 characters
    assert f"      - space: {'a' * 40}\n        id: spaces_0\n        title: {'A' * 40}\n" in text
    assert "      - {space: blank, id: spc_blank, title: Blank}\n" in text


@pytest.mark.parametrize(
    "title", ["no", "012", "~", "1e5", "a\tb", "\x07bell", "x" * 50, "${{ vars.x }}", "two\nlines", "- {a: b}", " spaced "]
)
def test_a_hostile_title_comes_back_as_it_is(tmp_path: Path, title: str) -> None:
    some = [*spaces(title, title, editMode="locked"), *spaces("C", "D", editMode="locked", emoji=title[:10])]
    _, plan = imported(seeded(tmp_path, spaces=some), tmp_path / "new")
    assert plan.empty
    assert fits(tmp_path / "new") == []
    titles = [
        resource.values["title"] for resource in load(tmp_path / "new", kinds()).desired.resources.values() if resource.kind == "space"
    ]
    assert titles.count(title) == 2
