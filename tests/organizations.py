"""The organizations that tests apply: a small one with a resource of every kind, and random ones of every shape.

    SMALL                what most tests of the engine start from
    organization, pair   random: something of every kind, from a seed or from Hypothesis
    with_readers         random: whatever decides who can read what
    SEED, SERVICE        what the service holds before: nothing but people, or templates too; TWO, THREE: in several organizations
    project              the YAML of one or several organizations, without guards

Organizations of any size, one kind at a time, are in `tests.growth.edits`.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from tests.certificates import IDP, OTHER, pem

Tree = dict[str, Any]

# -- the service -----------------------------------------------------------------------------------------------------------------------

TOKEN: Final = "token-of-ada"
ORGANIZATION: Final = "org_acme"
SEED: dict[str, Any] = {
    "organizations": [{"id": ORGANIZATION, "title": "Acme"}],
    "members": [
        {"organization": ORGANIZATION, "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": ORGANIZATION, "id": "usr_linus", "email": "linus@acme.example", "displayName": "Linus", "role": "read"},
    ],
    "tokens": [{"token": TOKEN, "member": "usr_ada", "access": "write"}],
    "spaces": [{"organization": ORGANIZATION, "id": "spc_blank", "title": "Blank", "parent": None}],
}

SERVICE: dict[str, Any] = {
    **SEED,
    "members": [*SEED["members"], {"organization": ORGANIZATION, "id": "usr_grace", "email": "grace@acme.example", "role": "edit"}],
    "spaces": [
        *SEED["spaces"],
        {
            "organization": ORGANIZATION,
            "id": "spc_template",
            "title": "Template",
            "parent": None,
            "emoji": "📗",
            "pages": [{"title": "Start", "slug": "start"}, {"title": "More", "slug": "more"}],
        },
    ],
}

BETA: Final = "org_beta"
GAMMA: Final = "org_gamma"
IDS: Final = {"acme": ORGANIZATION, "beta": BETA, "gamma": GAMMA, "other": "org_other"}

TWO_SEED: dict[str, Any] = {
    **SEED,
    "organizations": [*SEED["organizations"], {"id": BETA, "title": "Beta"}],
    "members": [*SEED["members"], {**SEED["members"][0], "organization": BETA}],
    "spaces": [*SEED["spaces"], {"organization": BETA, "id": "spc_base", "title": "Base", "parent": None}],
}

THREE_SEED: dict[str, Any] = {
    **TWO_SEED,
    "organizations": [*TWO_SEED["organizations"], {"id": GAMMA, "title": "Gamma"}],
    "members": [*TWO_SEED["members"], {**SEED["members"][0], "organization": GAMMA}],
    "spaces": [*TWO_SEED["spaces"], {"organization": GAMMA, "id": "spc_plain", "title": "Plain", "parent": None}],
}


def project(organizations: Mapping[str, Mapping[str, Any]], *, transfers: Sequence[tuple[str, str]] = (), **top: Any) -> Tree:
    """A project of these organizations, by key, in which guards allow everything; `transfers`: lines of `moved` as (from, to).

    `top`: more keys, or other values; a key of which the value is None is left out.
    """
    document = {
        "version": 1,
        "project": "test",
        "service": {"member": "ada@acme.example"},
        "protect": [],
        "guards": {"maxDelete": {"percent": 100, "atLeast": 100_000}},
        "defaults": {"space": {"duplicateOf": "blank"}},
        **({"moved": [{"from": old, "to": new} for old, new in transfers]} if transfers else {}),
        **top,
        "organizations": {key: {"id": IDS.get(key, ORGANIZATION), **tree} for key, tree in organizations.items()},
    }
    return {key: value for key, value in document.items() if value is not None}


# -- a small organization --------------------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    "title": "Acme",
    "defaultRole": "read",
    "defaultContent": {"site": "docs"},
    "mergeRules": {"reviewers": ["ada@acme.example"]},
    "members": {"ada@acme.example": "admin", "linus@acme.example": {"role": "edit"}},
    "teams": {"writers": {"title": "Writers", "members": ["linus@acme.example"]}},
    "content": [
        {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
        {
            "collection": "product",
            "title": "Product",
            "content": [
                {"space": "one", "title": "One", "emoji": "📘"},
                {"space": "two", "title": "Two"},
                {"collection": "deep", "title": "Deep", "content": [{"space": "three", "title": "Three"}]},
                {"space": "four", "title": "Four"},
            ],
        },
        {"collection": "other", "title": "Other", "description": "The rest", "content": [{"space": "five", "title": "Five"}]},
        {"space": "six", "title": "Six"},
    ],
    "saml": {
        "okta": {
            "label": "Okta",
            "entityID": "http://okta.example/1",
            "ssoURL": "https://okta.example/sso",
            "certificate": IDP,
            "defaultTeam": "writers",
            "defaultRole": "guest",
        }
    },
    "openapi": {"pets": {"source": {"url": "https://pets.example/openapi.json"}, "visibility": "public"}},
    "sites": {
        "docs": {
            "title": "Docs",
            "visibility": "public",
            "basename": "docs",
            "published": True,
            "proxy": "acme.example/docs",
            "structure": [
                {
                    "section": "guides",
                    "title": "Guides",
                    "path": "guides",
                    "default": True,
                    "spaces": [{"space": "one", "path": "v2"}, {"space": "two", "path": "v1", "default": True}, "four"],
                },
                {
                    "group": "reference",
                    "title": "Reference",
                    "structure": [
                        {"section": "api", "title": "API", "spaces": ["three"]},
                        {"section": "cli", "title": "CLI", "spaces": [{"key": "cli-five", "space": "five"}]},
                    ],
                },
                {"section": "more", "title": "More", "condition": "visitor.claims.x", "spaces": [{"key": "more-five", "space": "five"}]},
            ],
            "shareLinks": {"partners": {"name": "Partners", "active": True}},
        },
        "flat": {"title": "Flat", "structure": [{"space": "one", "default": True}, "two"]},
    },
}


def small() -> Tree:
    """A copy to change."""
    return copy.deepcopy(SMALL)


def below(value: Any) -> Iterator[Tree]:
    """Every resource that is written as a map, at any depth."""
    for part in value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []:
        if isinstance(part, dict):
            yield part
        yield from below(part)


def node(tree: Tree, name: str) -> Tree:
    """The collection, space, section or group of that key, at any depth."""
    tags = ("space", "collection", "section", "group")
    return next(part for part in below(tree) if "title" in part and name in [part.get(tag) for tag in tags])


# -- random organizations with something of every kind -----------------------------------------------------------------------------------

KEYS = ("a", "b", "c", "d", "e", "f")
GREEK = dict(zip(KEYS, "αβγδεζ", strict=True))  # titles that differ, of which the service derives the same path
WORDS = ("Guides", "API", "Überblick", "مرحبا", "A B", "🚀 Go", "x" * 40, "Guides 2")
ROLES = ("admin", "create", "review", "edit", "comment", "read", "guest")
RULES: tuple[Any, ...] = ("inherit", {"reviewers": ["ada@acme.example"]}, {"reviewers": ["ada@acme.example", "grace@acme.example"]})
PEOPLE = ("linus@acme.example", "grace@acme.example")


@dataclass
class Drawing:
    """One organization in the making, of random choices that a seed or Hypothesis makes.

    `profile`: two of the same write the same fields of the same resources, so that the first comes back when it is applied again. None:
    which fields are written is a choice too; such an organization is plain: it needs no more than `SEED`, and any other can be applied
    after it. `full`: every field is written that a copy would have from its source, or the service derive.
    """

    chance: random.Random
    profile: int | None = None
    full: bool = False

    @property
    def plain(self) -> bool:
        return self.profile is None

    @property
    def people(self) -> tuple[str, ...]:
        return PEOPLE[:1] if self.plain else PEOPLE

    def managed(self, kind: str, key: str, name: str) -> bool:
        if self.plain:
            return self.chance.choice((True, False))
        return random.Random(f"{self.profile}:{kind}:{key}:{name}").random() < 0.5

    def fixed(self, kind: str, key: str, name: str, values: tuple[Any, ...]) -> Any:
        """A value that cannot be changed later: the same in every organization of the profile."""
        return random.Random(f"{self.profile}:{kind}:{key}:{name}:value").choice(values)

    def write(self, node: Tree, kind: str, key: str, name: str, values: tuple[Any, ...], *, always: bool = False) -> None:
        if always or self.managed(kind, key, name):
            node[name] = self.chance.choice(values)

    def title(self, kind: str, key: str) -> str:
        """A title of one of two sorts: of the one sort two titles give two paths, of the other they give the same."""
        word = self.chance.choice(WORDS)
        marks = (key,) if self.full else (key, GREEK[key])
        return f"{word} {self.chance.choice(marks)}"

    def some(self, values: tuple[Any, ...], least: int, most: int) -> list[Any]:
        return self.chance.sample(values, self.chance.randint(least, min(most, len(values))))

    def put(self, lists: list[list[Tree]], node: Tree) -> None:
        row = self.chance.choice(lists)
        row.insert(self.chance.randint(0, len(row)), node)

    # -- the parts ---------------------------------------------------------------------------------------------------------------

    def organization(self) -> Tree:
        tree: Tree = {}
        for name, values in (
            ("title", ("Acme", "Überblick", "A B")),
            ("emailDomains", ([], ["a.example"], ["b.example", "a.example"])),
            ("hostname", ("acme", "acme-docs")),
            ("defaultRole", ROLES),
            ("ai", (True, False)),
            ("inviteLinks", (True, False)),
            ("mergeRules", RULES[: len(self.people) + 1]),
        ):
            self.write(tree, "organization", "acme", name, values)
        tree["members"] = {"ada@acme.example": "admin"} | {
            email: self.chance.choice([role, {"role": role}])
            for email in self.people
            if self.managed("member", email, "role")
            for role in [self.chance.choice(ROLES)]
        }
        tree["teams"] = {
            key: {"title": self.title("team", key)}
            | (
                {"members": self.fixed("team", key, "members", ([], ["linus@acme.example"], list(self.people)))}
                if self.managed("team", key, "m")
                else {}
            )
            for key in self.some(KEYS[:3], 0, 3)
        }
        tree["content"], spaces = self.content()
        # The last provider of an organization is deleted only where a line asks for it, which no other resource needs.
        providers = [] if self.plain else self.some(KEYS[:2], 0, 2)
        tree["saml"] = {key: self.saml(key, list(tree["teams"])) for key in providers}
        tree["openapi"] = {key: self.openapi(key) for key in self.some(("pets", "pay"), 0, 2)}
        tree["sites"] = {key: self.site(key, spaces) for key in self.some(("docs", "help"), 0, 2)}
        if self.managed("organization", "acme", "defaultContent"):
            sites: list[Any] = [None, *({"site": key} for key in sorted(tree["sites"]))]
            tree["defaultContent"] = self.chance.choice(sites)
        return tree

    def saml(self, key: str, teams: list[str]) -> Tree:
        node: Tree = {"label": self.title("saml", key)[:30], "entityID": f"https://id.example/{key}"}
        for name, values in (("ssoURL", ("https://sso.example/1", "https://sso.example/2")), ("certificate", (pem(IDP), pem(OTHER)))):
            self.write(node, "saml", key, name, values, always=True)
        if teams and self.managed("saml", key, "defaultTeam"):
            node["defaultTeam"] = self.chance.choice(sorted(teams))
        self.write(node, "saml", key, "defaultRole", ROLES)
        return node

    def openapi(self, key: str) -> Tree:
        node: Tree = {"source": {"url": f"https://{self.chance.choice(['a', 'b'])}.example/{key}.json"}}
        self.write(node, "openapi", key, "visibility", ("private", "public"))
        return node

    def content(self) -> tuple[list[Tree], list[str]]:
        """The tree of collections and spaces, and the keys of its spaces."""
        root: list[Tree] = [{"space": "blank", "id": "spc_blank", "title": "Blank"}]
        if not self.plain:
            root.append({"space": "template", "id": "spc_template", "title": "Template"})
        lists = [root]
        for key in self.some(KEYS[:4], 0, 3):
            node: Tree = {"collection": key, "title": self.title("collection", key)}
            for name, values in (("description", ("", "Some", "Other")), ("defaultLevel", ROLES)):
                self.write(node, "collection", key, name, values)
            node["content"] = []
            self.put(lists, node)
            lists.append(node["content"])
        spaces = self.some(KEYS, 1, 5)
        sources = spaces if self.plain else [*spaces, "template"]
        for key in spaces:
            node = {"space": key, "title": self.title("space", key)}
            for name, values in (
                ("emoji", ("📘", "🚀")),
                ("editMode", ("live", "locked")),
                ("defaultLevel", ROLES),
                ("language", ("en", "no")),
                ("mergeRules", RULES[: len(self.people) + 1]),
            ):
                self.write(node, "space", key, name, values, always=self.full)
            self.put(lists, node)
            source = self.fixed("space", key, "duplicateOf", ("blank", "template", *KEYS[: KEYS.index(key)]))
            node["duplicateOf"] = source if source in sources else "blank"
        return root, [*spaces, "blank"]

    def site(self, key: str, spaces: list[str]) -> Tree:
        site: Tree = {"title": f"{self.title('site', key[0] if key[0] in KEYS else 'a')} {key}"}
        for name, values in (
            ("visibility", ("public", "unlisted", "share-link", "visitor-auth")),
            ("basename", (f"{key}-1", f"{key}-2")),
            ("agentsContext", ("included", "excluded")),
            ("adaptiveContent", ({"enabled": True}, {"enabled": False})),
            ("proxy", (None, f"acme.example/{key}")),
        ):
            self.write(site, "site", key, name, values)
        if not self.plain and self.managed("site", key, "type"):  # it cannot be changed later
            site["type"] = self.fixed("site", key, "type", ("basic", "premium"))
        if self.managed("site", key, "published"):
            site["published"] = True
        if self.plain or self.chance.choice((True, True, True, False)):  # between sections and none lie two runs
            site["structure"] = self.sections(key, spaces)
        else:
            site["structure"] = self.variants(key, "", spaces)
        names = self.some(KEYS[:3], 0, 3)
        site["shareLinks"] = {link: {"name": self.title("share-link", link)[:50]} for link in names}
        for link in names:
            self.write(site["shareLinks"][link], "share-link", link, "active", (True, False))
        return site

    def sections(self, site: str, spaces: list[str]) -> list[Tree]:
        structure: list[Tree] = []
        lists = [structure]
        for key in self.some(KEYS[:2], 0, 2):
            group: Tree = {"group": key, "title": self.title("group", key)}
            self.write(group, "group", key, "icon", ("gear", "book"))
            group["structure"] = []
            self.put(lists, group)
            lists.append(group["structure"])
        chosen = self.some(KEYS[:4], 1, 3)
        sections = []
        for key in chosen:
            section: Tree = {"section": key, "title": self.title("section", key)}
            self.write(section, "section", key, "path", (f"{key}-1", f"{key}-2"), always=self.full)
            for name, values in (
                ("icon", ("gear", "book")),
                ("description", ("", "Some")),
                ("condition", (None, "visitor.claims.x", "visitor.claims.y")),
            ):
                self.write(section, "section", f"{site}-{key}", name, values)
            section["spaces"] = self.variants(site, key, spaces)
            sections.append(section)
            self.put(lists, section)
        if self.full or self.managed("site", site, "default"):
            self.chance.choice(sections)["default"] = True
        return structure

    def variants(self, site: str, section: str, spaces: list[str]) -> list[Any]:
        row: list[Tree] = []
        for space in self.some(tuple(spaces), 1, 3):
            key = f"{section}-{space}" if section else f"flat-{space}"
            node: Tree = {"key": key, "space": space}
            self.write(node, "site-space", f"{site}-{key}", "path", (f"{space}-1", f"{space}-2"), always=self.full)
            self.write(node, "site-space", f"{site}-{key}", "condition", (None, "visitor.claims.x"))
            row.append(node)
        if self.full or self.managed("site-space", f"{site}-{section}", "default"):
            self.chance.choice(row)["default"] = True
        return row


def pair(chance: random.Random, *, full: bool = True) -> tuple[Tree, Tree]:
    """Two organizations that manage the same fields of the resources they share; either can be applied after the other."""
    profile = chance.randint(0, 2**20)
    return Drawing(chance, profile, full).organization(), Drawing(chance, profile, full).organization()


def anything() -> st.SearchStrategy[Tree]:
    """Organizations that have in common what cannot be changed, and nothing else."""
    return CHANCE.map(lambda chance: Drawing(chance).organization())


def organizations(*, full: bool = False) -> st.SearchStrategy[Tree]:
    return CHANCE.map(lambda chance: Drawing(chance, chance.randint(0, 2**20), full).organization())


def pairs(*, full: bool = True) -> st.SearchStrategy[tuple[Tree, Tree]]:
    return CHANCE.map(lambda chance: pair(chance, full=full))


CHANCE: Final = st.randoms(use_true_random=False)

# -- random organizations whose parts have readers -----------------------------------------------------------------------------------------

SPACES = ("salaries", "plans", "guide", "draft")
COLLECTIONS = ("shut", "open", "deep")
LEVELS = ("guest", "read", "comment", "edit", "admin")
VISIBILITIES = ("public", "unlisted", "share-link", "visitor-auth")
CONDITIONS = ("visitor.claims.staff", "visitor.claims.partner", "visitor.claims.unsigned.beta")
SITES = ("docs", "help")


def with_readers(chance: random.Random) -> Tree:
    """An organization of collections with levels, spaces, one or two sites with sections, conditions, variants and share links."""
    tree: Tree = {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}]}
    lists = [tree["content"]]
    for key in COLLECTIONS[: chance.randint(1, 3)]:
        node: Tree = {"collection": key, "title": key.title(), "defaultLevel": chance.choice(LEVELS), "content": []}
        chance.choice(lists).append(node)
        lists.append(node["content"])
    for key in SPACES:
        chance.choice(lists).append({"space": key, "title": key.title(), "defaultLevel": chance.choice(LEVELS)})
    tree["openapi"] = {"pets": {"source": {"url": "https://pets.example/api.json"}, "visibility": chance.choice(("private", "public"))}}
    tree["sites"] = {key: _site_with_readers(key, chance) for key in SITES[: chance.randint(1, 2)]}
    return tree


def _site_with_readers(key: str, chance: random.Random) -> Tree:
    site: Tree = {
        "title": f"Site {key}",
        "visibility": chance.choice(VISIBILITIES),
        "published": chance.random() < 0.8,
        "agentsContext": chance.choice(("included", "excluded")),
        "adaptiveContent": {"enabled": chance.random() < 0.7},
        "structure": [section_with_readers(key, number, chance) for number in range(chance.randint(1, 3))],
    }
    names = [name for name in ("partners", "press") if chance.random() < 0.5]
    site["shareLinks"] = {name: {"name": f"{key} {name}", "active": chance.random() < 0.7} for name in names}
    return site


def section_with_readers(site: str, number: int, chance: random.Random) -> Tree:
    key = f"{site}-{number}"
    spaces = chance.sample(SPACES, chance.randint(1, 2))
    section = {
        "section": key,
        "title": f"Section {key}",
        "condition": _condition(chance),
        "spaces": [variant_with_readers(key, space, chance) for space in spaces],
    }
    return {name: value for name, value in section.items() if value is not None}


def variant_with_readers(section: str, space: str, chance: random.Random) -> Tree:
    """A variant; its path does not follow from a title."""
    condition = _condition(chance) if chance.random() < 0.5 else None
    return {"key": f"{section}-{space}", "space": space, "path": space, **({"condition": condition} if condition else {})}


def _condition(chance: random.Random) -> str | None:
    return chance.choice(CONDITIONS) if chance.random() < 0.5 else None
