"""Random organizations with something of every kind, as the data of their YAML.

Which fields of a resource are written is a matter of its key and of a `profile`: two organizations of one profile manage the same fields
of the same resources, so the first comes back when it is applied again. A title belongs to its key, or two keys would look like a rename.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.certificates import IDP, OTHER, pem
from tests.harness import ORGANIZATION, SEED

Tree = dict[str, Any]

KEYS = ("a", "b", "c", "d", "e", "f")
GREEK = dict(zip(KEYS, "αβγδεζ", strict=True))  # titles that differ, of which the service derives the same path
WORDS = ("Guides", "API", "Überblick", "مرحبا", "A B", "🚀 Go", "x" * 40, "Guides 2")
ROLES = ("admin", "create", "review", "edit", "comment", "read", "guest")
RULES: tuple[Any, ...] = ("inherit", {"reviewers": ["ada@acme.example"]}, {"reviewers": ["ada@acme.example", "grace@acme.example"]})
PEOPLE = ("grace@acme.example", "linus@acme.example")

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


@dataclass
class Drawing:
    """One organization in the making. `full`: every field is written that a copy would have from its source, or the service derive."""

    draw: st.DrawFn
    profile: int
    full: bool
    titles: dict[tuple[str, str], str] = field(default_factory=dict)

    def managed(self, kind: str, key: str, name: str) -> bool:
        return random.Random(f"{self.profile}:{kind}:{key}:{name}").random() < 0.5

    def fixed(self, kind: str, key: str, name: str, values: tuple[Any, ...]) -> Any:
        """A value that is the same in every organization of the profile."""
        return random.Random(f"{self.profile}:{kind}:{key}:{name}:value").choice(values)

    def write(self, node: Tree, kind: str, key: str, name: str, values: tuple[Any, ...], *, always: bool = False) -> None:
        if always or self.managed(kind, key, name):
            node[name] = self.draw(st.sampled_from(values))

    def title(self, kind: str, key: str) -> str:
        """A title of one of two sorts: of the one sort two titles give two paths, of the other they give the same."""
        noun = self.draw(st.sampled_from(WORDS))
        marks = (key,) if self.full else (key, GREEK[key])
        return f"{noun} {self.draw(st.sampled_from(marks))}"

    def some(self, values: tuple[Any, ...], least: int, most: int) -> list[Any]:
        return list(self.draw(st.permutations(values)))[: self.draw(st.integers(least, min(most, len(values))))]

    def put(self, lists: list[list[Tree]], node: Tree) -> None:
        row = self.draw(st.sampled_from(lists))
        row.insert(self.draw(st.integers(0, len(row))), node)

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
            ("mergeRules", RULES),
        ):
            self.write(tree, "organization", "acme", name, values)
        tree["members"] = {"ada@acme.example": "admin"} | {
            email: self.draw(st.sampled_from([role, {"role": role}]))
            for email in PEOPLE
            if self.managed("member", email, "role")
            for role in [self.draw(st.sampled_from(ROLES))]
        }
        tree["teams"] = {
            key: {"title": self.title("team", key)}
            | (
                {"members": self.fixed("team", key, "members", ([], ["linus@acme.example"], list(PEOPLE)))}
                if self.managed("team", key, "m")
                else {}
            )
            for key in self.some(KEYS[:3], 0, 3)
        }
        tree["content"], spaces = self.content()
        tree["saml"] = {key: self.saml(key, list(tree["teams"])) for key in self.some(KEYS[:2], 0, 2)}
        tree["openapi"] = {key: self.openapi(key) for key in self.some(("pets", "pay"), 0, 2)}
        tree["sites"] = {key: self.site(key, spaces) for key in self.some(("docs", "help"), 0, 2)}
        if self.managed("organization", "acme", "defaultContent"):
            sites: list[Any] = [None, *({"site": key} for key in sorted(tree["sites"]))]
            tree["defaultContent"] = self.draw(st.sampled_from(sites))
        return tree

    def saml(self, key: str, teams: list[str]) -> Tree:
        node: Tree = {"label": self.title("saml", key)[:30], "entityID": f"https://id.example/{key}"}
        for name, values in (("ssoURL", ("https://sso.example/1", "https://sso.example/2")), ("certificate", (pem(IDP), pem(OTHER)))):
            self.write(node, "saml", key, name, values, always=True)
        if teams and self.managed("saml", key, "defaultTeam"):
            node["defaultTeam"] = self.draw(st.sampled_from(sorted(teams)))
        self.write(node, "saml", key, "defaultRole", ROLES)
        return node

    def openapi(self, key: str) -> Tree:
        node: Tree = {"source": {"url": f"https://{self.draw(st.sampled_from(['a', 'b']))}.example/{key}.json"}}
        self.write(node, "openapi", key, "visibility", ("private", "public"))
        return node

    def content(self) -> tuple[list[Tree], list[str]]:
        """The tree of collections and spaces, and the keys of its spaces."""
        root: list[Tree] = [
            {"space": "blank", "id": "spc_blank", "title": "Blank"},
            {"space": "template", "id": "spc_template", "title": "Template"},
        ]
        lists = [root]
        for key in self.some(KEYS[:4], 0, 3):
            node: Tree = {"collection": key, "title": self.title("collection", key)}
            for name, values in (("description", ("", "Some", "Other")), ("defaultLevel", ROLES)):
                self.write(node, "collection", key, name, values)
            node["content"] = []
            self.put(lists, node)
            lists.append(node["content"])
        spaces = self.some(KEYS, 1, 5)
        for key in spaces:
            node = {"space": key, "title": self.title("space", key)}
            for name, values in (
                ("emoji", ("📘", "🚀")),
                ("editMode", ("live", "locked")),
                ("defaultLevel", ROLES),
                ("language", ("en", "no")),
                ("mergeRules", RULES),
            ):
                self.write(node, "space", key, name, values, always=self.full)
            self.put(lists, node)
            source = self.fixed("space", key, "duplicateOf", ("blank", "template", *KEYS[: KEYS.index(key)]))
            node["duplicateOf"] = source if source in (*spaces, "template") else "blank"
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
        if self.managed("site", key, "type"):
            site["type"] = self.fixed("site", key, "type", ("basic", "premium"))
        if self.managed("site", key, "published"):
            site["published"] = True
        if self.draw(st.booleans()) or self.draw(st.booleans()):
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
            self.draw(st.sampled_from(sections))["default"] = True
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
            self.draw(st.sampled_from(row))["default"] = True
        return row


@st.composite
def organizations(draw: st.DrawFn, *, full: bool = False) -> Tree:
    """One organization."""
    return Drawing(draw, draw(st.integers(0, 2**20)), full).organization()


@st.composite
def pairs(draw: st.DrawFn, *, full: bool = True) -> tuple[Tree, Tree]:
    """Two organizations that manage the same fields of the resources they share; either can be applied after the other."""
    profile = draw(st.integers(0, 2**20))
    return Drawing(draw, profile, full).organization(), Drawing(draw, profile, full).organization()


def nodes(tree: Mapping[str, Any]) -> list[Tree]:
    """Every resource that is written as a map, at any depth."""
    result: list[Tree] = []
    for value in tree.values():
        parts = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        for part in parts:
            if isinstance(part, dict):
                result += [part, *nodes(part)]
    return result
