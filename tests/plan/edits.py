"""A page of the book of plans, and the edits that several of them make: by us in the YAML, by others in the service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from reconciler.address import Address
from reconciler.model import Actual, Consent, Guards, Intent, Rules
from tests.plan.recording import World
from tests.small import node

Tree = dict[str, Any]
SITE, FLAT = "/orgs/org_acme/sites/site-docs", "/orgs/org_acme/sites/site-flat"
SPACES = "/orgs/org_acme/members/usr_ada/spaces"
TEAMS, SITES = "/orgs/org_acme/teams", "/orgs/org_acme/sites"
LATE = Address.parse("acme/team/late")
NOW = datetime(2027, 1, 8, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Page:
    """An edit of what is declared, one of the service and what is remembered, and how the plan is asked for."""

    name: str
    edit: Callable[[Tree], Any] = lambda tree: None
    outside: Callable[[World], Any] = lambda world: None
    seen: Callable[[Actual], Actual] = lambda actual: actual
    top: dict[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    allow_replace: tuple[str, ...] = ()


def docs(tree: Tree) -> Tree:
    return dict.__getitem__(tree["sites"], "docs")


def lose(tree: Tree, *keys: str) -> Any:
    """Take the lines of nodes out, wherever they stand."""
    for value in list(tree.values()):
        if isinstance(value, list):
            value[:] = [item for item in value if _key(item) not in keys]
            for entry in value:
                if isinstance(entry, dict):
                    lose(entry, *keys)
        elif isinstance(value, dict):
            lose(value, *keys)


def _key(one: Any) -> str | None:
    if not isinstance(one, dict):
        return one if isinstance(one, str) else None
    return next((one[word] for word in ("key", "collection", "section", "group", "space") if word in one), None)


def both(*edits: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda thing: [edit(thing) for edit in edits]


def gone(*keys: str) -> Callable[[Tree], Any]:
    return lambda tree: lose(tree, *keys)


def removed(*addresses: str, action: str = "delete") -> Tree:
    return {"removed": [{"address": address, "action": action} for address in addresses]}


def dated(actual: Actual) -> Actual:
    return replace(actual, date=NOW)


def deleted(id: str, ago: timedelta) -> Callable[[World], Any]:
    return lambda world: world.set(id, deletedAt=(NOW - ago).isoformat())


def doubt(address: str, kind: str, verb: str = "create") -> Callable[[World], Any]:
    intent = Intent(1, "r", 1, Address.parse(address), kind, verb, "POST", "/", None, {}, frozenset(), None, None)
    return lambda world: world.state.update(intents=(intent,))


def forgotten(*addresses: str) -> Callable[[World], Any]:
    """What is there and no longer remembered."""
    return lambda world: [world.bindings.pop(address) for address in addresses]


def renamed(world: World, old: str, new: str) -> Any:
    world.bindings = {(new if at == old else at): binding for at, binding in world.bindings.items()}


def ruled(percent: float = 50, least: int = 10, admins: int = 1, protect: frozenset[str] = frozenset(), **prune: str) -> Any:
    rules = Rules(Guards(percent, least, admins), prune, protect)
    return lambda world: world.state.update(rules=rules)


def sites_protected(world: World) -> None:
    for binding in world.bindings.values():
        binding["protected"] = binding["protected"] or binding["kind"] == "site"


def unfinished(world: World) -> None:
    world.state.update(unfinished=True)


def allowed(address: str, field: str, value: str) -> Any:
    """An unfinished run was allowed to open that."""
    consent = Consent(address, field, "", "", "", value)
    return lambda world: world.state.update(unfinished=True, consents=world.state.get("consents", frozenset()) | {consent})


def permit(world: World, id: str, **flags: bool) -> Any:
    for entry in (world.answers.get("/orgs/org_acme") or {}, *[item for item in _every(world) if item.get("id") == id]):
        if entry.get("id") == id:
            entry["permissions"] = {**entry.get("permissions", {}), **flags}


def _every(world: World) -> list[Tree]:
    return [entry for document in world.answers.values() for entry in document.get("items", []) if isinstance(entry, dict)]


def node_to(tree: Tree, key: str, holder: str | None, at: int = 99) -> Any:
    """Move a node of the content below a collection, or to the root."""
    moving = node(tree, key)
    lose({"content": tree["content"]}, key)
    (tree["content"] if holder is None else node(tree, holder).setdefault("content", [])).insert(at, moving)


def turned(tree: Tree, holder: str | None) -> Any:
    (tree["content"] if holder is None else node(tree, holder).get("content") or node(tree, holder)["structure"]).reverse()


def swap_paths(tree: Tree) -> Any:
    spaces = node(tree, "guides")["spaces"]
    spaces[0]["path"], spaces[1]["path"] = spaces[1]["path"], spaces[0]["path"]


def rename_team(tree: Tree) -> Any:
    tree["teams"]["authors"] = tree["teams"].pop("writers")
    tree["saml"]["okta"]["defaultTeam"] = "authors"


def previously(tree: Tree) -> None:
    rename_team(tree)
    tree["teams"]["authors"]["previously"] = ["writers"]


def site_renamed(tree: Tree) -> None:
    tree["sites"]["handbook"] = {**tree["sites"].pop("docs"), "previously": ["docs"]}
    tree["defaultContent"] = {"site": "handbook"}


def nested(tree: Tree) -> None:
    """Two collections change places."""
    product, deep = node(tree, "product"), node(tree, "deep")
    product["content"].remove(deep)
    tree["content"][tree["content"].index(product)] = deep
    deep["content"].append(product)


def section_to(tree: Tree, key: str, group: str | None) -> Any:
    moving = node(docs(tree), key)
    lose({"structure": docs(tree)["structure"]}, key)
    (docs(tree)["structure"] if group is None else node(docs(tree), group)["structure"]).append(moving)


def new_section(tree: Tree) -> Any:
    docs(tree)["structure"].insert(0, {"section": "news", "title": "News", "spaces": ["six", {"key": "news-two", "space": "two"}]})


def to_sections(tree: Tree) -> None:
    tree["sites"]["flat"]["structure"] = [{"section": "all", "title": "All", "default": True, "spaces": ["one", "two"]}]


def to_flat(tree: Tree) -> Any:
    docs(tree)["structure"] = [{"space": "one", "path": "v2", "default": True}, "two"]
