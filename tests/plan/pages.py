"""The pages of the book of plans: what is edited, by us in the YAML and by others in the service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from reconciler.address import Address
from reconciler.model import Actual, Guards, Intent, Rules
from tests.engine.small import node
from tests.plan.recording import World

Tree = dict[str, Any]
SITE, FLAT = "/orgs/org_acme/sites/site-docs", "/orgs/org_acme/sites/site-flat"
SPACES = "/orgs/org_acme/members/usr_ada/spaces"
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
            value[:] = [one for one in value if _key(one) not in keys]
            for one in value:
                if isinstance(one, dict):
                    lose(one, *keys)
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
    world.bindings = {(new if at == old else at): one for at, one in world.bindings.items()}


def ruled(percent: float = 50, least: int = 10, admins: int = 1, protect: frozenset[str] = frozenset(), **prune: str) -> Any:
    rules = Rules(Guards(percent, least, admins), prune, protect)
    return lambda world: world.state.update(rules=rules)


def sites_protected(world: World) -> None:
    for one in world.bindings.values():
        one["protected"] = one["protected"] or one["kind"] == "site"


def unfinished(world: World) -> None:
    world.state.update(unfinished=True)


def permit(world: World, id: str, **flags: bool) -> Any:
    for one in (world.answers.get("/orgs/org_acme") or {}, *[each for each in _every(world) if each.get("id") == id]):
        if one.get("id") == id:
            one["permissions"] = {**one.get("permissions", {}), **flags}


def _every(world: World) -> list[Tree]:
    return [one for document in world.answers.values() for one in document.get("items", []) if isinstance(one, dict)]


def node_to(tree: Tree, key: str, holder: str | None, at: int = 99) -> Any:
    """Move a node of the content below a collection, or to the root."""
    moving = node(tree, key)
    lose({"content": tree["content"]}, key)
    (tree["content"] if holder is None else node(tree, holder).setdefault("content", [])).insert(at, moving)


def turned(tree: Tree, holder: str | None) -> Any:
    row = tree["content"] if holder is None else node(tree, holder).get("content") or node(tree, holder)["structure"]
    row.reverse()


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


TEAMS, SITES = "/orgs/org_acme/teams", "/orgs/org_acme/sites"
LATE = Address.parse("acme/team/late")

PAGES: tuple[Page, ...] = (
    Page("nothing is edited"),
    # -- fields
    Page("a title", lambda t: node(t, "one").update(title="Uno")),
    Page("many fields of a space", lambda t: node(t, "one").update(title="Uno", emoji="📗", editMode="locked", defaultLevel="edit")),
    Page("what cannot be changed", lambda t: node(t, "product").update(title="Produce")),
    Page("what cannot be changed, to be made anew", lambda t: node(t, "product").update(title="Produce"), allow_replace=("**",)),
    Page("a site of another type", lambda t: docs(t).update(type="ultimate")),
    Page("a site is no longer published", lambda t: docs(t).update(published=False)),
    Page("a site is published", lambda t: t["sites"]["flat"].update(published=True, basename="flat")),
    Page("another basename and no proxy", lambda t: docs(t).update(basename="manual", proxy=None)),
    Page("another proxy", lambda t: docs(t).update(proxy="acme.example/new")),
    Page("a site for nobody", lambda t: docs(t).update(visibility="visitor-auth")),
    Page("a site for nobody at another place", lambda t: docs(t).update(visibility="visitor-auth", basename="manual")),
    Page("the organization", lambda t: t.update(title="Inc", defaultRole="create", emailDomains=["b.example"], inviteLinks=True, sso=True)),
    Page("another default site", lambda t: t.update(defaultContent={"site": "flat"})),
    Page("no default site", lambda t: t.update(defaultContent=None)),
    Page("another provider's secret", lambda t: t["saml"]["okta"].update(certificate="OTHER", ssoURL="https://evil.example")),
    Page("fields that are no longer written", lambda t: [node(t, "one").pop(name) for name in ("emoji", "editMode", "language")]),
    Page("a secret that is no longer written", lambda t: t["saml"]["okta"].pop("defaultTeam")),
    Page("rules that are no longer written", lambda t: [t.pop("mergeRules"), docs(t).pop("proxy"), node(t, "guides").pop("default")]),
    Page("the description's source", lambda t: t["openapi"]["pets"].update(source={"url": "https://pets.example/2.json"})),
    Page("roles", lambda t: t["members"].update({"linus@acme.example": "admin"})),
    Page("another admin", lambda t: t["members"].update({"linus@acme.example": "admin", "ada@acme.example": "edit"})),
    Page("no admin", lambda t: t["members"].update({"ada@acme.example": "edit"})),
    Page(
        "two admins are asked for", lambda t: t["members"].update({"ada@acme.example": "edit"}), lambda w: w.set("usr_linus", role="admin"),
        top={"guards": {"minAdmins": 2}},
    ),
    Page(
        "one of two admins goes", lambda t: t["members"].update({"linus@acme.example": "edit"}), lambda w: w.set("usr_linus", role="admin"),
    ),
    Page("a member goes", lambda t: t["members"].pop("linus@acme.example")),
    Page("a member who is not there", lambda t: t["members"].update({"grace@acme.example": "edit"})),
    Page("a team has other members", lambda t: t["teams"]["writers"].update(members=["ada@acme.example"])),
    # -- comes
    Page("a team", lambda t: t["teams"].update(new={"title": "New"})),
    Page("a team where another is in doubt", lambda t: t["teams"].update(new={"title": "New"}),
         lambda w: w.state.update(held=frozenset({("team", Address.parse("acme"))}))),
    Page("a section where another is in doubt, and one in another site", lambda t: (new_section(t), t["sites"].update(new={
        "title": "New", "structure": [{"section": "a", "title": "AA", "default": True, "spaces": ["one"]}]})),
         lambda w: w.state.update(held=frozenset({("section", Address.parse("acme/site/docs"))}))),
    Page("a site with all", lambda t: t["sites"].update(new={
        "title": "New", "basename": "new", "published": True, "visibility": "public", "structure": [
            {"group": "g", "title": "G", "structure": [{"section": "a", "title": "AA", "default": True, "spaces": ["one", "two"]}]},
            {"section": "b", "title": "BB", "spaces": ["four"]}], "shareLinks": {"p": {"name": "P", "active": True}}})),
    Page("a site of new spaces", both(
        lambda t: t["content"].append({"collection": "n", "title": "N", "content": [{"space": "n1", "title": "N1", "emoji": "📗"}]}),
        lambda t: t["sites"].update(new={"title": "New", "structure": [{"space": "n1", "default": True}]}))),
    Page("a space in the middle", lambda t: node(t, "product")["content"].insert(1, {"space": "mid", "title": "Mid"})),
    Page("a space at the end", lambda t: node(t, "product")["content"].append({"space": "end", "title": "End", "duplicateOf": "one"})),
    Page("a copy of what changes", both(
        lambda t: node(t, "product")["content"].append({"space": "end", "title": "End", "duplicateOf": "one"}),
        lambda t: node(t, "one").update(title="Uno", editMode="locked"))),
    Page("copies of a new one", lambda t: node(t, "product")["content"].extend(
        [{"space": "a", "title": "A", "duplicateOf": "b"}, {"space": "b", "title": "B", "duplicateOf": "one"}])),
    Page("spaces at the root", lambda t: (t["content"].insert(0, {"space": "r0", "title": "R0"}), t["content"].append(
        {"space": "r9", "title": "R9"}))),
    Page("a collection", lambda t: t["content"].insert(1, {"collection": "n", "title": "N", "description": "D", "content": []})),
    Page("a section", new_section),
    Page("a section that is the default",
        lambda t: (new_section(t), node(t, "guides").pop("default"), node(t, "news").update(default=True))),
    Page("two sections, the first without a space", lambda t: docs(t)["structure"].extend(
        [{"section": "n", "title": "NN", "spaces": []}, {"section": "m", "title": "MM", "spaces": ["six"]}])),
    Page("two of each in a new site, and no default", lambda t: t["sites"].update(new={"title": "New", "structure": [
        {"section": "a", "title": "AA", "spaces": ["one", "two"]}, {"section": "b", "title": "BB", "spaces": ["four", "five"]}],
        "shareLinks": {"p": {"name": "P", "active": True}, "q": {"name": "Q", "active": True}}})),
    Page("a section in a group and one beside it in a new site, and no default", lambda t: t["sites"].update(new={
        "title": "New", "structure": [
            {"group": "g", "title": "GG", "structure": [{"section": "a", "title": "AA", "spaces": ["one"]}]},
            {"section": "b", "title": "BB", "spaces": ["four"]}, {"section": "c", "title": "CC", "spaces": ["five"]}]})),
    Page("two providers where none was, and no default site", lambda t: (t.pop("defaultContent"), t.update(saml={
        key: {"label": key, "entityID": f"https://{key}.example", "ssoURL": f"https://{key}.example/sso", "certificate": "C"}
        for key in ("first", "second")})), lambda w: (w.drop("saml-okta"), w.bindings.pop("acme/saml/okta"))),
    Page("a section in a group", lambda t: node(t, "reference")["structure"].insert(1, {"section": "n", "title": "NN", "spaces": ["six"]})),
    Page("a section without a space", lambda t: docs(t)["structure"].append({"section": "n", "title": "NN", "spaces": []})),
    Page("a variant", lambda t: node(t, "guides")["spaces"].insert(0, "six")),
    Page("the first section of a site", to_sections),
    Page("a share link", lambda t: docs(t)["shareLinks"].update(n={"name": "N", "active": True})),
    Page("a collection and what stands in it, in doubt", lambda t: t["content"].append(
        {"collection": "n", "title": "N", "content": [{"space": "s", "title": "S"}]}), doubt("acme/collection/n", "collection")),
    Page("a variant beside one whose path changes", lambda t: (
        node(t, "guides")["spaces"].insert(0, "six"), node(t, "guides")["spaces"][1].update(path="v9"))),
    Page("a section beside one whose path changes", lambda t: (node(t, "more").update(path="further"), new_section(t))),
    Page("a section beside one whose path changes and refers to it", lambda t: (
        node(t, "guides").update(path="start"), node(t, "guides")["spaces"][0].update(path="v9"), new_section(t),
        node(t, "news").update(path="guides"))),
    Page("two variants and a path that is free", lambda t: (
        node(t, "guides")["spaces"].insert(0, {"space": "six", "path": "v2"}), node(t, "guides")["spaces"].append("box"),
        node(t, "guides")["spaces"][1].update(path="v9"))),
    # -- order
    Page("the spaces turned", lambda t: turned(t, "product")),
    Page("the root turned", lambda t: turned(t, None)),
    Page("the sections turned", lambda t: docs(t)["structure"].reverse()),
    Page("the sections in a group turned", lambda t: turned(t, "reference")),
    Page("the variants turned", lambda t: node(t, "guides")["spaces"].reverse()),
    Page("the spaces turned outside", outside=lambda w: w.answers["/collections/collection-product/spaces"]["items"].reverse()),
    Page("the sections turned outside", outside=lambda w: w.answers[f"{SITE}/sections"]["items"].reverse()),
    Page("the variants turned outside", outside=lambda w: w.answers[f"{SITE}/site-spaces"]["items"].reverse()),
    Page("turned by both",
        lambda t: turned(t, "product"), lambda w: w.answers["/collections/collection-product/spaces"]["items"].reverse()),
    Page("the spaces turned, one of them meant", lambda t: turned(t, "product"), targets=("acme/space/four",)),
    Page("the spaces turned, two of them meant", lambda t: turned(t, "product"), targets=("acme/space/four", "acme/space/one")),
    Page("the root turned, one of it meant", lambda t: turned(t, None), targets=("acme/collection/other",)),
    Page("the root turned, one space meant", lambda t: turned(t, None), targets=("acme/space/six",)),
    Page("the order was never remembered", outside=lambda w: [one.update(place=None) for one in w.bindings.values()]),
    Page("a stranger stands between", lambda t: turned(t, "product"),
         lambda w: w.add("/collections/collection-product/spaces", "space-one", "stranger", title="Stranger")),
    # -- moves
    Page("a space to another collection", lambda t: node_to(t, "one", "other", 0)),
    Page("a space to the root", lambda t: node_to(t, "one", None, 0)),
    Page("a space to the end of the root", lambda t: node_to(t, "two", None)),
    Page("a space from the root", lambda t: node_to(t, "six", "deep", 0)),
    Page("a collection into another", lambda t: node_to(t, "deep", "other", 0)),
    Page("a collection to the root", lambda t: node_to(t, "attic", None)),
    Page("two collections change places", nested),
    Page("two spaces change places", lambda t: (node_to(t, "one", "other", 0), node_to(t, "five", "product", 0))),
    Page("a space moved outside", outside=lambda w: w.set("space-one", parent="collection-other")),
    Page("a collection moved outside", outside=lambda w: w.set("collection-attic", parent="collection-product")),
    Page("a section into a group", lambda t: section_to(t, "more", "reference")),
    Page("a section out of its group", lambda t: section_to(t, "cli", None)),
    Page("a variant to another section", lambda t: (node(t, "guides")["spaces"].pop(), node(t, "more")["spaces"].append("four"))),
    Page("a variant to another section, allowed", lambda t: (node(t, "guides")["spaces"].pop(), node(t, "more")["spaces"].append("four")),
         allow_replace=("**",)),
    Page("the only variant shows something else", lambda t: node(t, "api").update(spaces=["six"])),
    Page("a variant shows something else", lambda t: node(t, "guides")["spaces"][0].update(space="six", key="one"), allow_replace=("**",)),
    Page("values change places", swap_paths),
    Page("values move on", lambda t: (node(t, "guides")["spaces"][0].update(path="v3"), node(t, "guides")["spaces"][1].update(path="v2"))),
    Page("another path before the end of an address", lambda t: node(t, "more").update(path="further"), lambda w: w.set(
        "site-docs-section-more", urls={"published": "http://127.0.0.1/published/site-docs/more/index"})),
    Page("a value for a newcomer", lambda t: (lose(docs(t), "more"), docs(t)["structure"].append(
        {"section": "last", "title": "Last", "path": "more", "spaces": ["five"]}))),
    Page("basenames change places", lambda t: (docs(t).update(basename="b"), t["sites"]["flat"].update(basename="docs"))),
    # -- goes
    Page("a team goes", lambda t: (t["teams"].pop("writers"), t["saml"]["okta"].pop("defaultTeam"))),
    Page("a team goes that was used", lambda t: (t["teams"].pop("writers"), t["saml"]["okta"].update(defaultTeam="readers"))),
    Page("a space goes", gone("six")),
    Page("a protected space goes", gone("six"), lambda w: w.bindings["acme/space/six"].update(protected=True)),
    Page("a protected space goes, said",
        gone("six"), lambda w: w.bindings["acme/space/six"].update(protected=True), top=removed("acme/space/six")),
    Page("a protected space is let go of", gone("six"), lambda w: w.bindings["acme/space/six"].update(protected=True),
         top=removed("acme/space/six", action="forget")),
    Page("a space goes that a site shows otherwise",
        lambda t: (lose(t, "five"), node(t, "cli")["spaces"][0].update(space="box"), node(t, "more")["spaces"][0].update(space="box"))),
    Page("a space goes and its places", lambda t: lose(t, "five", "cli-five", "more-five", "more", "cli")),
    Page("a collection goes with all", gone("other", "cli", "more")),
    Page("a collection goes, its spaces stay", lambda t: (node_to(t, "five", None), node_to(t, "attic", None), lose(t, "other"))),
    Page("a collection goes, one in it is protected",
        gone("other", "cli", "more"), lambda w: w.bindings["acme/space/box"].update(protected=True)),
    Page("a collection goes that holds a stranger", gone("attic"),
         lambda w: w.add("/collections/collection-attic/spaces", "space-box", "stranger", title="Stranger")),
    Page("a collection goes, strangers in it and deeper", gone("other", "cli", "more"), both(
        lambda w: w.add("/collections/collection-attic/spaces", "space-box", "stranger", title="Stranger"),
        lambda w: w.add("/collections/collection-other/spaces", "space-five", "other-stranger", title="Other"))),
    Page("a collection goes, a stranger in it, and what is deeper is said to go", gone("other", "cli", "more"),
         lambda w: w.add("/collections/collection-other/spaces", "space-five", "stranger", title="Stranger"),
         top=removed("acme/collection/attic", "acme/space/box")),
    Page("a site goes that holds strangers, a section of it said", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None)), both(
        lambda w: w.add(f"{SITE}/share-links", "site-docs-share-link-press", "stranger", name="Stranger"),
        lambda w: w.add(f"{SITE}/site-spaces", "site-docs-site-space-more-five", "s2", path="strange")),
         top=removed("acme/site/docs/section/more")),
    Page("a collection is let go of, and a site goes that holds a stranger", lambda t: (
        lose(t, "attic"), t["sites"].pop("docs"), t.update(defaultContent=None)),
         lambda w: w.add(f"{SITE}/share-links", "site-docs-share-link-press", "stranger", name="Stranger"),
         top=removed("acme/collection/attic", "acme/space/box", action="forget")),
    Page("many strangers keep a site", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None)), both(*[
        lambda w, n=n: w.add(f"{SITE}/share-links", "site-docs-share-link-press", f"stranger-{n}", name=f"S{n}")
        for n in range(7)])),
    Page("a collection is let go of", gone("other", "cli", "more"), top=removed("acme/collection/other", action="forget")),
    Page("a collection goes whose spaces nobody could read", gone("attic"),
         lambda w: w.failing.add("/collections/collection-attic/spaces")),
    Page("a section goes", gone("more")),
    Page("a section goes that holds a stranger",
        gone("more"), lambda w: w.add(f"{SITE}/site-spaces", "site-docs-site-space-more-five", "stranger",
                                                                               path="strange")),
    Page("a section goes that holds a stranger, said", gone("more"),
         lambda w: w.add(f"{SITE}/site-spaces", "site-docs-site-space-more-five", "stranger", path="strange"),
         top=removed("acme/site/docs/section/more", action="delete-all")),
    Page("a section goes, its variant stays",
        lambda t: (lose(t, "more"), node(t, "api")["spaces"].append({"key": "more-five", "space": "five"})),
         allow_replace=("**",)),
    Page("a group goes", lambda t: (section_to(t, "api", None), section_to(t, "cli", None), lose(t, "reference"))),
    Page("a group goes with all", gone("reference")),
    Page("the default section goes", gone("guides")),
    Page("the last section of a site", to_flat),
    Page("the last variant goes", lambda t: t["sites"]["flat"].update(structure=[])),
    Page("a variant goes", lambda t: node(t, "guides")["spaces"].pop()),
    Page("a site goes", lambda t: t["sites"].pop("flat")),
    Page("the default site goes", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None))),
    Page("a site goes that holds a stranger", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None)),
         lambda w: w.add(f"{SITE}/share-links", "site-docs-share-link-press", "stranger", name="Stranger")),
    Page("a provider goes", lambda t: t["saml"].clear()),
    Page("a provider goes that single sign-on needs", lambda t: (t["saml"].clear(), t.update(sso=True)),
         lambda w: w.set("org_acme", sso=True)),
    Page("a provider goes, a stranger's is left", lambda t: t["saml"].clear(),
         lambda w: w.add("/orgs/org_acme/saml", "saml-okta", "stranger", label="Other", entityID="https://other.example")),
    Page("a provider goes when single sign-on does", lambda t: (t["saml"].clear(), t.update(sso=False)),
         lambda w: w.set("org_acme", sso=True)),
    Page("a share link goes", lambda t: docs(t)["shareLinks"].pop("press")),
    Page("a share link is let go of", lambda t: docs(t)["shareLinks"].pop("press"),
         top=removed("acme/site/docs/share-link/press", action="forget")),
    Page("nothing is pruned", lambda t: (lose(t, "six"), t["teams"].pop("readers")), top={"prune": {"space": "none", "team": "none"}}),
    Page("what goes is in doubt", gone("six"), doubt("acme/space/six", "space", "update")),
    Page("what goes could not be read", lambda t: t["teams"].pop("readers"), lambda w: w.failing.add(TEAMS)),
    Page("an organization goes", lambda t: t.update({name: {} for name in ("teams", "saml", "openapi")})),
    Page("the last section of a site, allowed", to_flat, allow_replace=("**",)),
    Page("all sections of a site go", lambda t: docs(t).update(structure=[])),
    Page("the first section of a site, allowed", to_sections, allow_replace=("**",)),
    Page("the first section of a site, and a variant goes", lambda t: t["sites"]["flat"].update(
        structure=[{"section": "all", "title": "All", "default": True, "spaces": ["one"]}])),
    Page("the first section of a site, beside its variants", lambda t: (to_sections(t), t["sites"]["flat"].pop("published"),
                                                                         node(t, "all")["spaces"].append({"space": "six", "path": "six"}))),
    Page("the first section of a site, and another path", lambda t: t["sites"]["flat"].update(
        structure=[{"section": "all", "title": "All", "default": True, "spaces": [
            {"space": "one", "path": "uno"}, {"space": "two", "path": "due"}]}])),
    Page("the last section of a site, and what is new in it", lambda t: docs(t).update(
        structure=[{"space": "six", "default": True, "path": "new"}, {"space": "one", "path": "v2"}])),
    Page("a group that is left empty", lambda t: (section_to(t, "api", None), section_to(t, "cli", None))),
    Page("a site is let go of", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None)),
         top=removed("acme/site/docs", action="forget")),
    Page("a site is let go of, and a section in it deleted", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None)),
         top={"removed": [*removed("acme/site/docs", action="forget")["removed"], *removed("acme/site/docs/section/more")["removed"]]}),
    Page("a protected site goes", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None)),
         lambda w: w.bindings["acme/site/docs"].update(protected=True)),
    Page("a site goes whose share links nobody could read", lambda t: (t["sites"].pop("docs"), t.update(defaultContent=None)),
         lambda w: w.failing.add(f"{SITE}/share-links")),
    Page("a site goes of which nobody could read the share links and none is known", lambda t: t["sites"].pop("flat"),
         lambda w: w.failing.add(f"{FLAT}/share-links")),
    Page("what would take its place cannot come", lambda t: (node(t, "guides")["spaces"].pop(), node(t, "api").update(spaces=["four"]))),
    Page("what takes its place comes", lambda t: (node(t, "guides")["spaces"].pop(), node(t, "api").update(spaces=["four"])),
         allow_replace=("**",)),
    Page("another organization was declared", outside=lambda w: w.bindings.update({
        "beta": {**w.bindings["acme"], "id": "org_beta"}, "beta/team/x": {**w.bindings["acme/team/readers"], "id": "team-x"}})),
    Page("a member who is gone", outside=lambda w: w.drop("usr_linus")),
    Page("a member who is no longer declared and gone",
        lambda t: (t["members"].pop("linus@acme.example"), t["teams"]["writers"].pop("members")),
         lambda w: w.drop("usr_linus")),
    Page("the space that all are copies of is gone", outside=lambda w: w.drop("spc_blank"), allow_replace=("**",)),
    Page("the last admin's place, by a removal", lambda t: t["members"].pop("ada@acme.example"), top={"prune": {"member": "owned"}}),
    Page("strangers between the sections", lambda t: docs(t)["structure"].reverse(), both(
        lambda w: w.add(f"{SITE}/sections", "site-docs-section-more", "stranger", title="Stranger"),
        lambda w: w.answers[f"{SITE}/sections"]["items"].insert(0, w.answers[f"{SITE}/sections"]["items"].pop()))),
    Page("strangers in a stranger", lambda t: docs(t)["structure"].reverse(), both(
        lambda w: w.add(f"{SITE}/section-groups", "site-docs-group-reference", "stranger", title="Strange", children=[]),
        lambda w: w.add(f"{SITE}/sections", "site-docs-section-more", "inner", title="Inner", sectionGroup="stranger"))),
    # -- renames
    Page("a team has another key", rename_team),
    Page("a team has another key and title", lambda t: (rename_team(t), t["teams"]["authors"].update(title="Authors"))),
    Page("a team has another key, said", previously),
    Page("a site has another key, said", site_renamed),
    Page("a team has another key, moved", rename_team,
         top={"moved": [{"from": "acme/team/writers", "to": "acme/team/authors"}]}),
    Page("a chain of former names", lambda t: (rename_team(t), t["teams"]["authors"].update(previously=["scribes", "writers"]))),
    Page("a site was renamed, and a section in it",
        lambda t: (site_renamed(t), node(t, "more").update(section="further", previously=["more"]))),
    Page("a container was renamed that nothing remembers", site_renamed, forgotten("acme/site/docs")),
    Page("a section has another key", lambda t: node(t, "more").update(section="further")),
    Page("a section has another key and title", lambda t: node(t, "more").update(section="further", title="Further")),
    Page("a space has another key", lambda t: (node(t, "box").update(space="crate"))),
    Page("a space has another key and title", lambda t: (node(t, "box").update(space="crate", title="Crate"))),
    Page("a variant has another key", lambda t: node(t, "cli")["spaces"][0].update(key="cli-5")),
    # -- others were here
    Page("values changed outside", outside=both(lambda w: w.set("space-one", title="Eins"), lambda w: w.set("team-readers", title="Leser"),
                                                lambda w: w.set("site-docs", visibility="unlisted"))),
    Page("values changed by both", lambda t: node(t, "one").update(title="Uno"), lambda w: w.set("space-one", title="Eins")),
    Page("values changed by both to the same", lambda t: node(t, "one").update(title="Uno"), lambda w: w.set("space-one", title="Uno")),
    Page("objects deleted outside",
        outside=lambda w: w.drop("team-readers", "site-docs-share-link-press", "site-docs-section-more", "site-docs-site-space-more-five")),
    Page("a site deleted outside, and a line of it no longer written", lambda t: t["sites"]["flat"].pop("structure"),
         lambda w: w.drop("site-flat")),
    Page("a site deleted outside, and a field of it no longer written", lambda t: docs(t).pop("proxy"), lambda w: w.drop("site-docs")),
    Page("a site deleted outside", outside=lambda w: w.drop("site-flat")),
    Page("a collection deleted outside", outside=lambda w: w.drop("collection-attic")),
    Page("deleted outside and no longer declared", lambda t: (t["teams"].pop("readers"), t["sites"].pop("flat")),
         lambda w: w.drop("team-readers", "site-flat")),
    Page("a space deleted an hour ago", outside=deleted("space-six", timedelta(hours=1, minutes=5)), seen=dated),
    Page("a space deleted days ago", outside=deleted("space-six", timedelta(days=6, hours=1)), seen=dated),
    Page("a space deleted a day ago", outside=deleted("space-six", timedelta(days=1)), seen=dated),
    Page("a space deleted just now", outside=deleted("space-six", timedelta(seconds=20)), seen=dated),
    Page("a space deleted minutes ago", outside=deleted("space-one", timedelta(minutes=7)), seen=dated),
    Page("a space deleted too long ago", outside=deleted("space-six", timedelta(days=7)), seen=dated),
    Page("a space deleted too long ago, allowed", outside=deleted("space-six", timedelta(days=8)), seen=dated, allow_replace=("**",)),
    Page("a deleted space by a service without a clock", outside=deleted("space-six", timedelta(days=8))),
    Page("a deleted space goes", gone("six"), deleted("space-six", timedelta(days=1)), dated),
    Page("strangers", outside=both(lambda w: w.add(TEAMS, "team-readers", "stranger", title="Stranger"),
                                   lambda w: w.add(SITES, "site-flat", "site-stranger", title="Strange site"))),
    Page("strangers are pruned",
        outside=lambda w: w.add(TEAMS, "team-readers", "stranger", title="Stranger"), top={"prune": {"team": "all"}}),
    Page("strangers of a protected kind", outside=lambda w: w.add(SITES, "site-flat", "stranger", title="Strange"),
         top={"prune": {"site": "all"}, "protect": ["site"]}),
    Page("strangers in what is pruned and not read", outside=lambda w: w.failing.add(TEAMS), top={"prune": {"team": "all"}}),
    Page("strangers of another project are not pruned", outside=both(
        lambda w: w.add(TEAMS, "team-readers", "stranger", title="Stranger"),
        lambda w: w.state.update(foreign=frozenset({("team", "stranger")}))), top={"prune": {"team": "all"}}),
    # -- finding
    Page("nothing is remembered", outside=lambda w: w.bindings.clear()),
    Page("a part is not remembered", outside=forgotten("acme/team/readers", "acme/space/one", "acme/site/docs/section/more")),
    Page("two could be meant", outside=both(forgotten("acme/team/readers"), lambda w: w.add(TEAMS, "team-readers", "twin"))),
    Page("five could be meant", outside=both(forgotten("acme/team/readers"), *[
        lambda w, n=n: w.add(TEAMS, "team-readers", f"twin-{n}") for n in range(4)])),
    Page("six could be meant", outside=both(forgotten("acme/team/readers"), *[
        lambda w, n=n: w.add(TEAMS, "team-readers", f"twin-{n}") for n in range(5)])),
    Page("what is another project's is left to it", outside=both(
        forgotten("acme/team/readers"), lambda w: w.state.update(foreign=frozenset({("team", "team-readers")})))),
    Page("what is another project's, never adopted", lambda t: t["teams"]["readers"].update(adopt="never"), both(
        forgotten("acme/team/readers"), lambda w: w.state.update(foreign=frozenset({("team", "team-readers")})))),
    Page("never adopted", lambda t: t["teams"]["readers"].update(adopt="never"), forgotten("acme/team/readers")),
    Page("found by id", lambda t: t["teams"]["readers"].update(id="team-readers"), forgotten("acme/team/readers")),
    Page("found by an id in what is unknown", lambda t: docs(t)["shareLinks"]["press"].update(id="gone"), both(
        forgotten("acme/site/docs/share-link/press"), lambda w: w.failing.add(f"{SITE}/share-links"))),
    Page("found by the id of another project", lambda t: t["teams"]["readers"].update(id="team-readers"), both(
        forgotten("acme/team/readers"), lambda w: w.state.update(foreign=frozenset({("team", "team-readers")})))),
    Page("an id of something in another site", lambda t: t["sites"]["flat"].update(
        shareLinks={"x": {"name": "Press", "id": "site-docs-share-link-press"}})),
    Page("an id of something in another site, that nothing remembers", lambda t: (
        docs(t)["shareLinks"].pop("press"), t["sites"]["flat"].update(
            shareLinks={"x": {"name": "Press", "id": "site-docs-share-link-press"}})), forgotten("acme/site/docs/share-link/press")),
    Page("no such id", lambda t: (t["teams"]["readers"].update(id="nobody"), t["sites"]["flat"].update(id="nowhere")),
         forgotten("acme/team/readers", "acme/site/flat")),
    Page("no such id and not read", lambda t: t["teams"]["readers"].update(id="nobody"), both(
        forgotten("acme/team/readers"), lambda w: w.failing.add(TEAMS))),
    Page("another id than the one it is bound to", lambda t: t["teams"]["readers"].update(id="team-writers")),
    Page("the same name in another place", lambda t: node(t, "attic")["content"].append({"space": "other-four", "title": "Four"}),
         forgotten("acme/space/four")),
    Page("the same name in another site", lambda t: t["sites"]["flat"].update(shareLinks={"own": {"name": "Own"}}), both(
        forgotten("acme/site/docs/share-link/press"), lambda w: w.answers.update({f"{FLAT}/share-links": {"items": [
            {"object": "share-link", "id": "other-press", "name": "Press", "active": True}]}}))),
    Page("the same name elsewhere", lambda t: node_to(t, "four", "other"), forgotten("acme/space/four")),
    Page("the same name elsewhere, never adopted", lambda t: (node_to(t, "four", "other"), node(t, "four").update(adopt="never")),
         forgotten("acme/space/four")),
    Page("the same name elsewhere, another project's", lambda t: node_to(t, "four", "other"), both(
        forgotten("acme/space/four"), lambda w: w.state.update(foreign=frozenset({("space", "space-four")})))),
    Page("another address holds it now",
        lambda t: t["teams"].update(authors={"title": "Readers", "id": "team-readers"}) or t["teams"].pop("readers")),
    Page("bound to a kind that is no more", outside=lambda w: w.bindings.update(
        {"acme/badge/x": {**w.bindings["acme/team/readers"], "kind": "badge", "id": "badge-x"}})),
    # -- unreadable
    Page("teams could not be read", outside=lambda w: w.failing.add(TEAMS)),
    Page("a site's sections could not be read", outside=lambda w: w.failing.add(f"{SITE}/sections")),
    Page("the sites could not be read", outside=lambda w: w.failing.add(SITES)),
    Page("the spaces of a collection could not be read", outside=lambda w: w.failing.add("/collections/collection-product/spaces")),
    Page("the spaces at the root could not be read", outside=lambda w: w.failing.add(SPACES)),
    Page("the collections could not be read", outside=lambda w: w.failing.add("/orgs/org_acme/collections")),
    Page("not read and not remembered", outside=both(lambda w: w.failing.add(TEAMS), lambda w: w.failing.add(f"{SITE}/sections"),
                                                     forgotten("acme/team/readers", "acme/site/docs/section/more"))),
    Page("spaces not read and not remembered", outside=both(lambda w: w.failing.add("/collections/collection-product/spaces"),
                                                            forgotten("acme/space/one", "acme/space/box"))),
    # -- late, doubtful, unfinished
    Page("what came late", lambda t: t["teams"].update(late={"title": "Late"}), both(
        lambda w: w.add(TEAMS, "team-readers", "came", title="mark-1"), lambda w: w.state.update(marks={("team", "mark-1"): LATE}))),
    Page("what came late and nobody wants", outside=both(
        lambda w: w.add(TEAMS, "team-readers", "came", title="mark-1"), lambda w: w.state.update(marks={("team", "mark-1"): LATE}))),
    Page("what came late twice", lambda t: t["teams"].update(late={"title": "Late"}), both(
        lambda w: w.add(TEAMS, "team-readers", "came-1", title="mark-1"), lambda w: w.add(TEAMS, "team-readers", "came-2", title="mark-2"),
        lambda w: w.state.update(marks={("team", "mark-1"): LATE, ("team", "mark-2"): LATE, ("badge", "m"): LATE, ("space", "m"): LATE}))),
    Page("what came late is another's", lambda t: t["teams"].update(late={"title": "Late"}), both(
        lambda w: w.add(TEAMS, "team-readers", "came", title="mark-1"),
        lambda w: w.state.update(marks={("team", "mark-1"): LATE}, foreign=frozenset({("team", "came")})))),
    Page("written a moment ago", outside=both(
        lambda w: w.drop("site-docs-share-link-press"),
        lambda w: w.state.update(recent={Address.parse("acme/site/docs/share-link/press"): NOW}))),
    Page("written long enough ago", outside=both(
        lambda w: w.drop("site-docs-share-link-press"),
        lambda w: w.state.update(recent={Address.parse("acme/site/docs/share-link/press"): NOW})), seen=dated),
    Page("an update in doubt", lambda t: node(t, "one").update(title="Uno"), doubt("acme/space/one", "space", "update")),
    Page("an unfinished run made it", lambda t: (t["sites"]["flat"].update(published=True), docs(t).update(agentsContext="included")), both(
        unfinished, lambda w: [w.bindings["acme/site/flat"]["sent"].pop("published", None)])),
    Page("an unfinished run had sent it before", lambda t: docs(t).update(adaptiveContent={"enabled": False}), unfinished),
    Page("an unfinished run adopted it", lambda t: t["sites"]["flat"].update(published=True), both(
        unfinished, lambda w: w.bindings["acme/site/flat"].update(origin="adopted"),
        lambda w: w.bindings["acme/site/flat"]["sent"].pop("published", None))),
    Page("an unfinished run made what it stands in", lambda t: docs(t)["shareLinks"].update(n={"name": "N", "active": True}), unfinished),
    # -- openings
    Page("opened outside", outside=lambda w: w.set("site-docs", visibility="visitor-auth")),
    Page("no condition", lambda t: (node(t, "more").update(condition=None), node(t, "guides")["spaces"][0].update(condition=None))),
    Page("a public description is made anew",
        lambda t: t["openapi"].update(more={"source": {"url": "https://m.example"}, "visibility": "public"})),
    Page("protected by its own line", lambda t: node(t, "one").update(protect=True)),
    Page("no longer protected by its own line", lambda t: node(t, "one").update(protect=False),
         lambda w: w.bindings["acme/space/one"].update(protected=True), top={"protect": ["space"]}),
    Page("kinds are no longer protected", outside=both(
        sites_protected, ruled(protect=frozenset({"site"})))),
    Page("kinds are no longer protected, one by its line", lambda t: docs(t).update(protect=False), both(
        sites_protected, ruled(protect=frozenset({"site"})))),
    Page("looser rules", outside=ruled(10, 3, 2, team="none", space="owned"),
         top={"guards": {"maxDelete": {"percent": 12.5, "atLeast": 4}, "minAdmins": 1}, "prune": {"team": "all", "space": "owned"}}),
    Page("tighter rules", outside=ruled(90, 30, 1, team="all", space="owned"),
         top={"guards": {"maxDelete": {"percent": 12.5, "atLeast": 4}}, "prune": {"team": "none", "space": "none"}}),
    Page("looser rules in a run about others", outside=ruled(10, 3, 2), only=("acme/space/one",)),
    # -- permissions
    Page("what the token may not", lambda t: (node(t, "one").update(title="Uno"), node(t, "product")["content"].append(
        {"space": "n", "title": "N"}), t["sites"].update(n={"title": "Ny"}), lose(t, "box", "attic")),
         both(lambda w: permit(w, "space-one", edit=False), lambda w: permit(w, "org_acme", createContent=False),
              lambda w: permit(w, "collection-attic", create=False))),
    Page("what the token may not, of all kinds", lambda t: (
        t["teams"].update(n={"title": "N"}), t["teams"].pop("readers"), t["members"].update({"linus@acme.example": "admin"}),
        t["openapi"].clear(), node(t, "more").update(title="Further"), t.update(title="Inc"), node(t, "deep").update(title="Deeper"),
        docs(t)["shareLinks"].pop("press"), t["saml"].clear()),
         both(lambda w: permit(w, "org_acme", createContent=False, admin=False, update=False, manageTeams=False, edit=False),
              lambda w: permit(w, "collection-deep", create=False, edit=False))),
    # -- what a run is about
    Page("a variant in a group of targets", lambda t: node(t, "guides")["spaces"].reverse(), targets=("acme/site/docs/site-space/two",)),
    Page("a newcomer in a row of which one is meant", lambda t: (
        docs(t)["structure"].reverse(), docs(t)["structure"].insert(1, {"section": "n", "title": "NN", "spaces": ["six"]})),
         targets=("acme/site/docs/section/n",)),
    Page("a collection between spaces, alone", lambda t: t["content"].insert(0, t["content"].pop(1)), targets=("acme/collection/product",)),
    Page("a newcomer behind a collection, alone", lambda t: t["content"].insert(
        t["content"].index(node(t, "product")) + 1, {"space": "r", "title": "R"}), targets=("acme/space/r",)),
    Page("a newcomer behind a collection, with one that stays", lambda t: t["content"].insert(
        t["content"].index(node(t, "product")) + 1, {"space": "r", "title": "R"}), targets=("acme/space/r", "acme/space/six")),
    Page("a space before a collection, alone", lambda t: t["content"].insert(1, t["content"].pop()), targets=("acme/space/six",)),
    Page("many of the root, alone", lambda t: (turned(t, None), t["content"].insert(1, {"space": "r", "title": "R"})),
         targets=("acme/space/r", "acme/collection/product")),
    Page("all but a deferred one", to_sections, targets=("acme/site/flat/**",), allow_replace=("**",)),
    Page("a target alone", lambda t: (node(t, "one").update(title="Uno"), node(t, "two").update(title="Due")), targets=("acme/space/one",)),
    Page("all but one", lambda t: (node(t, "one").update(title="Uno"), node(t, "two").update(title="Due")), excludes=("acme/space/one",)),
    Page("a target with what it needs", both(
        lambda t: t["content"].append({"collection": "n", "title": "N", "content": [
            {"space": "n1", "title": "N1"}, {"space": "n2", "title": "N2"}]}),
        lambda t: docs(t)["structure"].append({"section": "nn", "title": "NN", "spaces": ["n1"]})), targets=("acme/site/docs/section/nn",)),
    Page("a target without what it needs", lambda t: t["content"].append(
        {"collection": "n", "title": "N", "content": [{"space": "n1", "title": "N1"}]}),
         targets=("acme/space/n1",), excludes=("acme/collection/n",)),
    Page("a target that moves into what is new", lambda t: (
        t["content"].append({"collection": "n", "title": "N", "content": []}), node_to(t, "one", "n")), targets=("acme/space/one",)),
    Page("a target that waits brings nothing along", both(
        lambda t: t["content"].append({"space": "n1", "title": "N1"}),
        lambda t: docs(t)["structure"].append({"section": "nn", "title": "NN", "spaces": ["n1"]})),
         lambda w: w.state.update(held=frozenset({("section", Address.parse("acme/site/docs"))})), targets=("acme/site/docs/section/nn",)),
    Page("a target that goes", gone("six", "attic"), targets=("acme/space/six",)),
    Page("a target that is made anew", lambda t: (node(t, "guides")["spaces"].pop(), node(t, "more")["spaces"].append("four")),
         targets=("acme/site/docs/site-space/four",), allow_replace=("**",)),
    Page("a run about these addresses", lambda t: (node(t, "one").update(title="Uno"), node(t, "two").update(title="Due")),
         only=("acme/space/two",)),
)  # fmt: skip
