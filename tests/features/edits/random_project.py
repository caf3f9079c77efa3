"""Random projects as data in which every name is an object's, not a text: what a rename by hand means, without any text.

    project.render()                 the files: what the names are now
    project.rename(entity, "new")    gives an entity another key, and it, with what has a line of its own, its former one
    project.render()                 the files that somebody would write by hand

Texts in the data are never searched. Each place that names an entity is a `Key`, an `Whole` address, a `Path` or a `Text` of it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import yaml

from tests.certificates import IDP


@dataclass(eq=False)
class Entity:
    """A resource. `follows`: the entity whose key is also its own. `former`: its earlier keys; `moved`: those that `moved` has. `shows`:
    the entity that a site space shows."""

    kind: str
    container: Entity | None
    own: str
    follows: Entity | None = None
    former: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    shows: Entity | None = None

    @property
    def key(self) -> str:
        return self.follows.key if self.follows is not None else self.own

    @property
    def address(self) -> str:
        return self.key if self.container is None else f"{self.container.address}/{self.kind}/{self.key}"


@dataclass(frozen=True)
class Key:
    of: Entity


@dataclass(frozen=True)
class Whole:
    of: Entity


@dataclass(frozen=True)
class Path:
    """The parts of an address or a pattern."""

    parts: tuple[str | Entity, ...]

    @property
    def text(self) -> str:
        return "/".join(part if isinstance(part, str) else part.key for part in self.parts)


@dataclass(frozen=True)
class Text:
    """A text with the address of an entity in the place of `@`."""

    text: str
    of: Entity


@dataclass(frozen=True)
class Node:
    """The map of a resource; `tag`: the key of a list item that has its key."""

    of: Entity
    fields: dict[str, Any]
    tag: str = ""


@dataclass(frozen=True)
class SiteSpace:
    of: Entity
    space: Entity
    fields: dict[str, Any]


@dataclass(frozen=True)
class Move:
    """A line of `moved`."""

    parts: tuple[str | Entity, ...]
    to: Entity


@dataclass(frozen=True)
class Keyed:
    """A map of resources, with other entries beside them."""

    nodes: tuple[Node, ...]
    others: dict[str, Any] = field(default_factory=dict)


def plain(value: Any) -> Any:
    """Data with the names as they are now."""
    match value:
        case Key():
            return value.of.key
        case Whole():
            return value.of.address
        case Path():
            return value.text
        case Text():
            return value.text.replace("@", value.of.address)
        case Node():
            tag = {value.tag: value.of.key} if value.tag else {}
            return tag | {plain(key): plain(part) for key, part in value.fields.items()} | _former(value.of)
        case SiteSpace():
            own = {} if value.of.follows is not None else {"key": value.of.own}
            fields = own | {key: plain(part) for key, part in value.fields.items()} | _former(value.of)
            return {"space": value.space.key} | fields if fields else value.space.key
        case Keyed():
            return {node.of.key: plain(node) for node in value.nodes} | plain(value.others)
        case Move():
            return {"from": Path(value.parts).text, "to": value.to.address}
        case dict():
            return {plain(key): plain(part) for key, part in value.items()}
        case list():
            parts = [plain(part) for part in value]
            return [part for part in parts if not (isinstance(part, dict) and part.keys() == {"from", "to"} and part["from"] == part["to"])]
    return value


def _former(entity: Entity) -> dict[str, list[str]]:
    return {"previously": list(entity.former)} if entity.former else {}


@dataclass
class RandomProject:
    """`files`: data by name. `partial`: patterns of which a part is a literal, which a rename by hand would leave."""

    files: dict[str, Any] = field(default_factory=dict)
    entities: list[Entity] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)
    environments: tuple[str | None, ...] = (None,)

    def new(self, kind: str, container: Entity | None, key: str, *, follows: Entity | None = None) -> Entity:
        entity = Entity(kind, container, key, follows)
        self.entities.append(entity)
        return entity

    def render(self) -> dict[str, Any]:
        files = {name: plain(content) for name, content in self.files.items()}
        for content in files.values():
            if isinstance(content, dict) and content.get("moved") == []:
                del content["moved"]
        return files

    # -- renames -------------------------------------------------------------------------------------------------------------------

    def followers(self, entity: Entity) -> list[Entity]:
        return [other for other in self.entities if other.follows is entity]

    def rename(self, entity: Entity, key: str) -> None:
        """Rename as a person does who knows what the next run does with each line."""
        follower_lines = [other for other in self.followers(entity) if other.former or other.moved]
        beside = {other.key for other in self.entities if (other.container, other.kind) == (entity.container, entity.kind)}
        # What followed another one until now has the former keys of that one too.
        followed = [*entity.follows.former, *entity.follows.moved] if entity.follows is not None and not entity.former else []
        followed = [old for old in followed if old not in beside]
        for other in (entity, *follower_lines):
            older = [*other.former, *(followed if other is entity else [])]
            other.former = [old for old in dict.fromkeys([*older, other.key]) if old != key]
        entity.moved = [old for old in entity.moved if old != key]
        entity.follows = entity.shows if entity.shows is not None and entity.shows.key == key else None
        entity.own = key

    def refused(self, entity: Entity, key: str) -> str | None:
        """Why a rename is not possible; None if it is."""
        old = [entity, *self.followers(entity)]
        beside = {(other.container, other.kind, other.key) for other in self.entities if other not in old}
        if any((other.container, other.kind, key) in beside for other in old):
            return "taken"
        if any(
            entity.key in other.former
            for other in self.entities
            if other is not entity and (other.container, other.kind) == (entity.container, entity.kind)
        ):
            return "former"
        for other in old:
            name = f"{other.container.address}/{other.kind}/" if other.container is not None else ""
            for pattern in self.partial:
                if fnmatchcase(name + other.key, pattern) != fnmatchcase(name + key, pattern):
                    return "pattern"
        return None


class _Quoted(str):
    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(_Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"'))


def texts(files: dict[str, Any], chance: random.Random) -> dict[str, str]:
    """The files as YAML: in blocks or braces, some texts in quotes, with comments."""
    return {name: _commented(_dumped(content, chance), chance) for name, content in files.items()}


def _dumped(content: Any, chance: random.Random) -> str:
    return str(
        yaml.dump(
            _quoted(content, chance),
            Dumper=_Dumper,
            sort_keys=False,
            width=100_000,
            allow_unicode=True,
            default_flow_style=chance.choice((None, False)),
        )
    )


def _quoted(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {_quoted(key, chance): _quoted(part, chance) for key, part in value.items()}
    if isinstance(value, list):
        return [_quoted(part, chance) for part in value]
    return _Quoted(value) if isinstance(value, str) and chance.random() < 0.1 else value


_ENDS = re.compile(r"previously|\bwas\d|\bold\d|^moved|^- from|^  to:")


def _commented(text: str, chance: random.Random) -> str:
    lines = []
    for number, line in enumerate(text.split("\n")):
        if _ENDS.search(line):  # what a rename back removes with its comments
            lines.append(line)
            continue
        if line and chance.random() < 0.1:
            lines.append(f"{' ' * (len(line) - len(line.lstrip()))}# above {number}")
        lines.append(f"{line}  # beside {number}" if line and chance.random() < 0.1 else line)
    return "\n".join(lines)


# -- drawing -----------------------------------------------------------------------------------------------------------------------------


def random_project(chance: random.Random) -> RandomProject:
    """A project with something of everything that can name a resource."""
    return _Drawing(chance).project()


class _Drawing:
    def __init__(self, chance: random.Random) -> None:
        self.chance, self.made = chance, RandomProject()
        self.number = 0

    def maybe(self, probability: float = 0.5) -> bool:
        return self.chance.random() < probability

    def key(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def some(self, entities: list[Entity], most: int) -> list[Entity]:
        return self.chance.sample(entities, self.chance.randint(0, min(most, len(entities))))

    def of(self, *kinds: str) -> list[Entity]:
        return [entity for entity in self.made.entities if entity.kind in kinds]

    def node(self, entity: Entity, fields: dict[str, Any], tag: str = "") -> Node:
        if self.maybe(0.1):
            entity.former = [self.key("was")]
        return Node(entity, {"title": f"{entity.kind} {entity.own}", **fields}, tag)

    def project(self) -> RandomProject:
        self.org = self.made.new("organization", None, "acme")
        teams = [self.made.new("team", self.org, self.key("t")) for _ in range(self.chance.randint(1, 3))]
        generated = {"gen-${{ each.key }}": {"forEach": ["p", "q"], "title": "Generated ${{ each.key }}"}} if self.maybe() else {}
        organization: dict[str, Any] = {"id": "org_acme", "members": {"ada@acme.example": "admin"}}
        content = self.content(self.org, 0)
        if self.maybe() and self.of("space"):
            source = self.chance.choice(self.of("space"))
            content.append(
                {
                    "forEach": "${{ vars.products }}",
                    "space": "${{ each.key }}-gen",
                    "title": "${{ each.value }}",
                    "duplicateOf": Key(source),
                }
            )
        blank = self.made.new("space", self.org, "blank")
        content.insert(0, Node(blank, {"id": "spc_blank", "title": "Blank"}, "space"))
        sites = [self.site() for _ in range(self.chance.randint(1, 2))]
        sections = {
            "teams": Keyed(tuple(self.node(team, {}) for team in teams), generated),
            "content": content,
            "sites": Keyed(tuple(sites)),
        }
        if self.maybe():
            okta = self.made.new("saml", self.org, self.key("okta"))
            fields = {"entityID": "http://okta.example/1", "ssoURL": "https://okta.example/sso", "certificate": IDP}
            provider = Node(okta, {"label": "Okta", **fields, "defaultTeam": Key(self.chance.choice(teams))})
            sections["saml"] = Keyed((provider,))
        self.organize(organization, sections, blank)
        self.tests()
        return self.made

    def content(self, container: Entity, depth: int) -> list[Any]:
        nodes: list[Any] = []
        for _ in range(self.chance.randint(1, 3)):
            if depth < 2 and self.maybe(0.3):
                collection = self.made.new("collection", self.org, self.key("c"))
                nodes.append(self.node(collection, {"content": self.content(collection, depth + 1)}, "collection"))
            else:
                sources = self.of("space")
                fields: dict[str, Any] = {"emoji": "📘"} if self.maybe(0.3) else {}
                if sources and self.maybe(0.3):
                    fields["duplicateOf"] = Key(self.chance.choice(sources))
                nodes.append(self.node(self.made.new("space", self.org, self.key("s")), fields, "space"))
        return nodes

    def site(self) -> Node:
        site = self.made.new("site", self.org, self.key("site"))
        spaces = self.of("space")
        self.chance.shuffle(spaces)
        fields: dict[str, Any] = {"visibility": self.chance.choice(("public", "unlisted", "share-link")), "published": self.maybe()}
        if self.maybe(0.3):
            fields["structure"] = self.variants(site, spaces[:3])
        else:
            rows = [self.section(site, spaces) for _ in range(self.chance.randint(1, 3))]
            if self.maybe(0.4):
                group = self.made.new("group", site, self.key("g"))
                rows.append(self.node(group, {"structure": [self.section(site, spaces)]}, "group"))
            fields["structure"] = rows
        links = [self.made.new("share-link", site, self.key("link")) for _ in range(self.chance.randint(0, 2))]
        if links:
            fields["shareLinks"] = Keyed(tuple(Node(link, {"name": f"Link {link.own}", "active": self.maybe()}) for link in links))
        return self.node(site, fields)

    def section(self, site: Entity, spaces: list[Entity]) -> Node:
        section = self.made.new("section", site, self.key("sec"))
        chosen = [spaces.pop() for _ in range(min(len(spaces), self.chance.randint(1, 2)))] or self.of("space")[:1]
        return self.node(section, {"spaces": self.variants(site, chosen)}, "section")

    def variants(self, site: Entity, spaces: list[Entity]) -> list[SiteSpace]:
        rows = []
        taken = {entity.follows for entity in self.made.entities if entity.container is site and entity.kind == "site-space"}
        for space in spaces:
            follows = self.maybe(0.7) and space not in taken
            own = space.own if follows else self.key("v")
            variant = self.made.new("site-space", site, own, follows=space if follows else None)
            variant.shows = space
            if self.maybe(0.1):
                variant.former = [self.key("was")]
            rows.append(SiteSpace(variant, space, {}))
        return rows

    # -- what names them ---------------------------------------------------------------------------------------------------------------

    def place(self, *kinds: str) -> Any:
        """An address, or a pattern."""
        entity = self.chance.choice(self.of(*kinds))
        if self.maybe(0.6):
            return Whole(entity)
        if entity.container is not None and entity.container is not self.org and self.maybe():
            return Path((self.org, entity.container.kind, entity.container, "**"))
        if self.maybe(0.2) and entity.container is self.org:
            return self.prefix(entity)
        return Path(("*" if self.maybe(0.3) else self.org, entity.kind, "*")) if entity.container is self.org else Whole(entity)

    def prefix(self, entity: Entity) -> str:
        """A pattern of which the beginning of a key is a part."""
        pattern = f"*/{entity.kind}/{entity.own[:-1]}*"
        self.made.partial.append(pattern)
        return pattern

    def readers(self) -> Any:
        links = self.of("share-link")
        if links and self.maybe():
            link = self.chance.choice(links)
            return {"link": self.chance.choice((Key, Whole))(link)}
        return self.chance.choice(("anyone", {"role": "read"}, "agent"))

    def access(self) -> dict[str, Any]:
        test: dict[str, Any] = {"as": self.readers(), self.chance.choice(("sees", "mustNotSee")): [self.place("space", "site")]}
        return test

    def rules(self, blank: Entity) -> dict[str, Any]:
        sites, spaces, teams = self.of("site"), self.of("space"), self.of("team")
        rules: dict[str, Any] = {"defaults": {"space": {"duplicateOf": Key(blank)}}}
        if self.maybe():
            rules["access"] = [self.access() for _ in range(2)]
        if self.maybe():
            about = self.chance.choice(spaces)
            rules["policies"] = [
                {
                    "id": "named",
                    "on": ["team", self.place("space", "site")],
                    "assert": Text('${{ address != "@" or after.title != "" }}', about),
                    "message": "no title",
                }
            ]
            rules["exceptions"] = [{"policy": "named", "address": self.place("space"), "until": "2099-01-01", "reason": "later"}]
        if self.maybe():
            rules["lint"] = {"ignore": [{"id": "space-on-no-site", "address": self.place("space")}]}
        if self.maybe():
            rules["ignoreChanges"] = {self.place("space"): ["emoji"], "collection": ["description"]}
        if self.maybe():
            site = self.chance.choice(sites)
            rules["health"] = {"search": [{"site": self.chance.choice((Key, Whole))(site), "query": "install", "finds": "/**"}]}
        if self.maybe(0.4):
            rules["urls"] = {"redirects": ["nginx"], "sites": {Key(self.chance.choice(sites)): ["netlify"]}}
        if self.maybe():
            site = self.chance.choice(sites)
            parts = self.chance.choice([(self.org, "team", "gone"), (self.org, "site", site, "section", "gone")])
            rules["removed"] = [{"address": Path(parts), "action": "forget"}]
        if self.maybe():
            entity = self.chance.choice([*teams, *self.of("section"), *self.of("space")[:2]])
            assert entity.container is not None
            inside = (self.org,) if entity.container is self.org else (self.org, "site", entity.container)
            entity.moved = [self.key("old")]
            rules["moved"] = [Move((*inside, entity.kind, *entity.moved), entity)]
        return rules

    def organize(self, organization: dict[str, Any], sections: dict[str, Any], blank: Entity) -> None:
        """Spread the organization over files, with the environments."""
        if self.maybe(0.3):
            organization["defaultContent"] = {"site": Key(self.of("site")[0])}
        top: dict[str, Any] = {"version": 1, "project": "test", "service": {"member": "ada@acme.example"}, "protect": []}
        top["guards"] = {"maxDelete": {"percent": 100, "atLeast": 1000}}
        top["vars"] = {"products": {"type": "map", "default": {"pay": "Payments", "id": "Identity"}}}
        top |= self.rules(blank)
        include = []
        for name in ("content", "sites", "teams"):
            if self.maybe(0.4):
                include.append(f"{name}.yaml")
                self.made.files[f"{name}.yaml"] = ({"organization": Key(self.org)} if self.maybe() else {}) | {name: sections.pop(name)}
            elif self.maybe(0.3):
                self.made.files[f"parts/{name}.yaml"] = sections[name]
                sections[name] = {"include": [f"parts/{name}.yaml"]}
        if include:
            top["include"] = include
        top["organizations"] = Keyed((Node(self.org, organization | sections),))
        self.made.files["reconciler.yaml"] = top
        if self.maybe(0.6):
            self.made.environments = ("production", "staging")
            for name in self.made.environments:
                self.made.files[f"environments/{name}.yaml"] = self.environment(str(name))

    def environment(self, name: str) -> dict[str, Any]:
        patches: list[Any] = [{"match": self.place("space"), "set": {"emoji": "🚀"}}]
        if self.maybe():
            patches.append({"match": self.place("site"), "set": {"title": f"Site in {name}"}} if len(self.of("site")) == 1 else patches[0])
        if self.of("saml") and self.maybe():
            team = self.chance.choice(self.of("team"))
            patches.append({"match": Whole(self.of("saml")[0]), "set": {"defaultTeam": Key(team)}})
        if name == "staging" and self.of("share-link") and self.maybe(0.3) and "access" not in self.made.files["reconciler.yaml"]:
            patches.append({"match": Whole(self.of("share-link")[0]), "remove": True})
        return {"organizations": {Key(self.org): {"id": "org_acme"}}, "patch": patches}

    def tests(self) -> None:
        if not self.maybe():
            return
        space, site = self.chance.choice(self.of("space")), self.chance.choice(self.of("site"))
        steps = [
            "apply",
            {"edit": {"address": Whole(space), "set": {"title": "Other"}}},
            {"delete": Whole(space)},
            {"api": {"method": "PATCH", "path": Text("/spaces/{@}", space), "body": {"title": "x"}}},
        ]
        expect = [
            self.access(),
            {"url": "/x", "site": Whole(site), "shows": Whole(space)},
            {"field": Text("@.title", space), "is": "x"},
            {"blocked": self.place("space")},
        ]
        self.made.files["tests/t.yaml"] = {"tests": [{"name": "a", "steps": steps, "expect": expect}]}


def notes(text: str) -> Iterator[str]:
    """The comments of a text."""
    return (line.partition("# ")[2].strip() for line in text.split("\n") if "# above " in line or "# beside " in line)
