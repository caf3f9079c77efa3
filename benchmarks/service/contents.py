"""What a service has after the first apply of a project: the project carried out in memory."""

from __future__ import annotations

from typing import Any

from benchmarks import projects
from benchmarks.service import objects
from benchmarks.service.memory import Memory, Object

SPACE = ("emoji", "language", "editMode", "defaultLevel")


def before(shape: str, size: int) -> Memory:
    """The organization before the first apply: it has its members, who cannot be created, and one space."""
    tree = projects.SHAPES[shape](size)
    memory = objects.empty(tree["id"], tree["title"])
    for number, (email, role) in enumerate(tree["members"].items()):
        if email != projects.ADMIN:
            objects.member(memory, f"usr_{number}", email, role)
    return memory


def contents(shape: str, size: int) -> Memory:
    """The organization after it."""
    tree = projects.SHAPES[shape](size)
    memory = before(shape, size)
    for team in tree.get("teams", {}).values():
        objects.team(memory, team["title"], [])
    ids = {"blank": "spc_blank"}
    _content(memory, tree["content"], None, ids)
    for site in tree.get("sites", {}).values():
        _site(memory, site, ids)
    return memory


def _content(memory: Memory, nodes: list[projects.Tree], parent: str | None, ids: dict[str, str]) -> None:
    for node in nodes:
        if "collection" in node:
            data = objects.collection(memory, node["title"], parent)
            data["description"] = node["description"]
            _content(memory, node["content"], data["id"], ids)
        elif "id" not in node:
            values = {name: node[name] for name in SPACE}
            ids[node["space"]] = objects.space(memory, node["title"], parent=parent, **values)["id"]


def _site(memory: Memory, declared: projects.Tree, ids: dict[str, str]) -> None:
    data = objects.site(memory, {"title": declared["title"]})
    for node in declared["structure"]:
        if "group" in node:
            group = objects.group(memory, data, node)
            for inner in node["structure"]:
                objects.join(memory, data, group, _section(memory, data, inner, ids))
        else:
            _section(memory, data, node, ids)
    for link in declared.get("shareLinks", {}).values():
        objects.share_link(memory, data, link)


def _section(memory: Memory, site: Object, declared: projects.Tree, ids: dict[str, str]) -> Object:
    shown: list[Any] = [memory.get("space", ids[key]) for key in declared["spaces"]]
    section = objects.section(memory, site, {"title": declared["title"], "icon": declared["icon"], "spaceId": shown[0]["id"]})
    for space in shown[1:]:
        objects.site_space(memory, site, space, section["id"])
    return section
