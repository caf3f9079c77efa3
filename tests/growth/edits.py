"""Organizations of any size, one kind at a time, and what somebody may do to all objects of that kind at once. Pure.

An `Edit` is an organization before and after; `many` is how many objects it has of what it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.certificates import IDP

Tree = dict[str, Any]

BLANK: Tree = {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}
ADA: Tree = {"ada@acme.example": "admin"}
PER_COLLECTION = 50
PER_SITE = 10


@dataclass(frozen=True)
class Edit:
    """What an organization of a size is like before and after; `before` None: nothing of it exists yet. `lost`: the state is."""

    name: str
    before: Callable[[int], Tree] | None
    after: Callable[[int], Tree]
    lost: bool = False


def organization(*, members: Tree | None = None, content: list[Tree] | None = None, **more: Any) -> Tree:
    return {"title": "Acme", "members": {**ADA, **(members or {})}, "content": [BLANK, *(content or [])], **more}


# -- by kind ----------------------------------------------------------------------------------------------------------------------


def people(many: int, role: str = "read") -> Tree:
    return organization(members={f"p{i}@acme.example": {"role": role, "id": f"usr_{i}"} for i in range(many)})


def teams(many: int, word: str = "Team", *, key: str = "t", former: str | None = None) -> Tree:
    """`former`: what their keys began with."""
    before = {i: {"previously": [f"{former}{i}"]} if former is not None else {} for i in range(many)}
    return organization(teams={f"{key}{i}": {"title": f"{word} {i}", **before[i]} for i in range(many)})


def space(i: int, word: str = "Space") -> Tree:
    return {"space": f"s{i}", "title": f"{word} {i}"}


def spaces(many: int, word: str = "Space", *, order: int = 1) -> Tree:
    """All of them at the root."""
    return organization(content=[space(i, word) for i in range(many)][::order])


def collections(many: int, word: str = "Collection", *, shift: int = 0, order: int = 1) -> Tree:
    """Collections with many spaces; `shift`: each space is so many collections further on."""
    number = max(2, many // PER_COLLECTION)
    inside: dict[int, list[Tree]] = {c: [] for c in range(number)}
    for i in range(many):
        inside[(i // PER_COLLECTION + shift) % number].append(space(i))
    return organization(
        content=[{"collection": f"c{c}", "title": f"{word} {c}", "content": inside[c][::order]} for c in range(number)][::order]
    )


def empty_collections(many: int, word: str = "Collection") -> Tree:
    return organization(content=[{"collection": f"c{i}", "title": f"{word} {i}"} for i in range(many)])


def nested(many: int, word: str = "Collection") -> Tree:
    """Collections in collections, ten deep."""
    roots = []
    for i in range(max(1, many // 10)):
        node: Tree = {"collection": f"c{i}-9", "title": f"{word} {i} 9"}
        for depth in range(8, -1, -1):
            node = {"collection": f"c{i}-{depth}", "title": f"{word} {i} {depth}", "content": [node]}
        roots.append(node)
    return organization(content=roots)


def chosen(default: bool) -> Tree:
    return {"default": True} if default else {}


def site(number: int, structure: list[Tree], **more: Any) -> tuple[str, Tree]:
    return f"site{number}", {"title": f"Site {number}", "structure": structure, **more}


def section(i: int, word: str = "Section", *, path: str = "x", **more: Any) -> Tree:
    return {"section": f"x{i}", "title": f"{word} {i}", "path": f"{path}{i}", "spaces": [{"key": f"x{i}", "space": "blank"}], **more}


def sites(many: int, word: str = "Site", **more: Any) -> Tree:
    """Sites of one section each."""
    return organization(sites={f"site{i}": {"title": f"{word} {i}", "structure": [section(0)], **more} for i in range(many)})


def sites_with(many: int, *, path: str = "x", default: int = 0) -> Tree:
    """Sites of two sections each."""
    pair = lambda: [section(i, path=path, **chosen(i == default)) for i in range(2)]  # noqa: E731
    return organization(sites=dict(site(number, pair()) for number in range(max(1, many // 2))))


def sections(
    many: int, word: str = "Section", *, path: str = "x", order: int = 1, shift: int = 0, same: bool = False, key: str = "x"
) -> Tree:
    """All of them in one site. `shift`: the path is that of the section so much further on; -1: that of the other one of its pair."""
    found = []
    for i in range(many):
        at = i if many % 2 and i == many - 1 else (i ^ 1 if shift < 0 else (i + shift) % many)
        inner = section(i, word, path=path) | {"section": f"{key}{i}", "path": f"{path}{at}"}
        found.append({**inner, "title": "Guide"} if same else inner)
    return organization(sites=dict([site(0, found[::order])]))


def groups(many: int, word: str = "Group", *, order: int = 1) -> Tree:
    """Groups of one section each."""
    inner = [{"group": f"g{i}", "title": f"{word} {i}", "structure": [section(i)]} for i in range(many)]
    return organization(sites=dict([site(0, inner[::order])]))


def variants(many: int, word: str = "visitor.claims.a", *, path: str = "v", order: int = 1, default: int = 0) -> Tree:
    """Site spaces: many in each section of several sites."""
    found = {}
    for number in range(max(1, many // PER_SITE)):
        inner = [
            {"key": f"v{i}", "space": "blank", "condition": word, "path": f"{path}{i}", **chosen(i == default)} for i in range(PER_SITE)
        ]
        found.update(dict([site(number, [{"section": "all", "title": "All", "path": "all", "spaces": inner[::order]}])]))
    return organization(sites=found)


def links(many: int, word: str = "Link") -> Tree:
    shared = {f"l{i}": {"name": f"{word} {i}", "active": False} for i in range(many)}
    return organization(sites=dict([site(0, [section(0)], shareLinks=shared)]))


def providers(many: int, word: str = "Okta") -> Tree:
    values = {"ssoURL": "https://okta.example/sso", "certificate": IDP}
    return organization(saml={f"k{i}": {"label": f"{word} {i}", "entityID": f"http://okta.example/{i}", **values} for i in range(many)})


def specs(many: int, file: str = "openapi") -> Tree:
    return organization(openapi={f"d{i}": {"source": {"url": f"https://pets.example/{file}{i}.json"}} for i in range(many)})


def translations(many: int, word: str = "Keep our names") -> Tree:
    """Of one space each."""
    tree = spaces(many)
    source = lambda i: {"space": f"s{i}", "language": "en"}  # noqa: E731
    return {**tree, "translations": {f"n{i}": {"source": source(i), "language": "fr", "instructions": f"{word} {i}"} for i in range(many)}}


def integrations(many: int, word: str = "Integration") -> Tree:
    """Each of them installed."""
    made = {f"i{i}": {"title": f"{word} {i}", "script": f"export default {i}"} for i in range(many)}
    return organization(integrations=made, installations={f"n{i}": {"integration": f"i{i}"} for i in range(many)})


def nothing(_: int) -> Tree:
    return organization()


# -- every kind, every action -----------------------------------------------------------------------------------------------------

_KINDS: dict[str, tuple[Callable[..., Tree], str | None]] = {
    "teams": (teams, "word"),
    "spaces at the root": (spaces, "word"),
    "collections with spaces": (collections, "word"),
    "collections": (empty_collections, "word"),
    "nested collections": (nested, "word"),
    "sites": (sites, "word"),
    "sections": (sections, "word"),
    "groups": (groups, "word"),
    "variants": (variants, "word"),
    "share links": (links, "word"),
    "SAML providers": (providers, "word"),
    "specs": (specs, "file"),
    "translations": (translations, "word"),
    "integrations": (integrations, "word"),
}


def _edits() -> list[Edit]:
    found = [Edit("members: update", people, lambda many: people(many, "edit"))]
    for name, (tree, word) in _KINDS.items():
        changed = lambda many, tree=tree, word=word: tree(many, **{word: "visitor.claims.b" if tree is variants else "Other"})  # noqa: E731
        found += [
            Edit(f"{name}: create", None, tree),
            Edit(f"{name}: nothing to do", tree, tree),
            Edit(f"{name}: update", tree, changed),
            Edit(f"{name}: delete", tree, nothing),
        ]
    for name, again in {"spaces at the root": spaces, "sections": sections, "groups": groups, "variants": variants}.items():
        found.append(Edit(f"{name}: reverse", again, lambda many, again=again: again(many, order=-1)))
    found += [
        Edit("collections with spaces: reverse", collections, lambda many: collections(many, order=-1)),
        Edit("spaces: move to another collection", collections, lambda many: collections(many, shift=1)),
        Edit("sections: another path, one site", sections, lambda many: sections(many, path="y")),
        Edit("sections: another path, many sites", sites_with, lambda many: sites_with(many, path="y")),
        Edit("sections: another default, many sites", sites_with, lambda many: sites_with(many, default=1)),
        Edit("sections: each takes the path of the next", sections, lambda many: sections(many, shift=1)),
        Edit("sections: paths in pairs are exchanged", sections, lambda many: sections(many, shift=-1)),
        Edit("sections: the same titles", None, lambda many: sections(many, same=True)),
        Edit("sections: replaced by others", sections, lambda many: sections(many, "Other", path="y", key="y")),
        Edit("teams: some new, the others gone", teams, lambda many: teams(many, "Other", key="u")),
        Edit("variants: another path", variants, lambda many: variants(many, path="w")),
        Edit("variants: another default", variants, lambda many: variants(many, default=1)),
        Edit("sites: another visibility", sites, lambda many: sites(many, visibility="unlisted")),
        Edit("sites: published", sites, lambda many: sites(many, published=True)),
        *(
            Edit(f"{name}: nothing tracked, and half of them declared", tree, lambda many, tree=tree: tree(many // 2), lost=True)
            for name, (tree, _) in _KINDS.items()
        ),
        Edit("teams: renamed keys", teams, lambda many: teams(many, key="u", former="t")),
        Edit("teams: probable renames", teams, lambda many: teams(many, key="u")),
    ]
    return sorted(found, key=lambda edit: edit.name.split(":")[0])  # what begins alike is prepared once


EDITS = _edits()
