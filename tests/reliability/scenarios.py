"""What is applied: a first apply, a change and a clearing out of an example, of a small organization, and of random ones.

Every service holds things of others too, which no run may touch.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.run.connection.embedded import own_seed, seed_document
from tests.harness import ORGANIZATION, SEED, Org
from tests.organizations import Drawing
from tests.small import node, small
from tests.transfers import steps

Write = Callable[[Org], None]
EXAMPLE = Path(__file__).parents[2] / "examples" / "acme"

OTHERS: dict[str, list[dict[str, Any]]] = {
    "collections": [{"organization": ORGANIZATION, "id": "col_others", "title": "Products of others"}],
    "spaces": [
        {"organization": ORGANIZATION, "id": "spc_others1", "title": "Ones", "parent": "col_others"},
        {"organization": ORGANIZATION, "id": "spc_others2", "title": "Copy of Blank", "parent": None},
    ],
    "teams": [{"organization": ORGANIZATION, "id": "team_others", "title": "Others"}],
    "sites": [{"organization": ORGANIZATION, "id": "site_others", "title": "Docs of others"}],
}
FOREIGN = frozenset({"col_others", "spc_others1", "spc_others2", "team_others", "site_others"})


@dataclass(frozen=True)
class Scenario:
    """`before`: what was applied in peace beforehand, None for nothing; `after`: what is applied now. `seed`: what the service holds."""

    name: str
    after: Write
    before: Write | None = None
    seed: Mapping[str, Any] = field(default_factory=lambda: with_others(SEED))


def with_others(seed: Mapping[str, Any]) -> dict[str, Any]:
    """A seed with objects of others; none has the title of one of ours, which would be adopted, and shown as adopted."""
    return {**seed, **{name: [*seed.get(name, []), *rows] for name, rows in OTHERS.items()}}


def of(name: str) -> Scenario:
    """The scenario of that name; `random-7` is one of endlessly many, and so is `transfers-7`, which is about two organizations.

    Those of `tests.transfers.steps` have names: `transfers-swapped`."""
    sort, _, number = name.partition("-")
    if sort == "transfers":
        between = steps.of(number)
        return Scenario(name, _tree(between.after), _tree(between.before), with_others(between.seed))
    if sort == "random":
        first, second = _random(int(number))
        return Scenario(name, _tree(second), _tree(first))
    return NAMED[name]()


def _tree(tree: Mapping[str, Any] | str) -> Write:
    return lambda org: org.write(tree)


def _random(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    chance = random.Random(number)
    return Drawing(chance).organization(), Drawing(chance).organization()


# -- the small organization ----------------------------------------------------------------------------------------------------------


def tiny() -> dict[str, Any]:
    """A little of most kinds, so that a run is quick."""
    return {
        "teams": {"writers": {"title": "Writers", "members": ["linus@acme.example"]}},
        "content": [
            {"space": "blank", "id": "spc_blank", "title": "Blank"},
            {"collection": "product", "title": "Product", "content": [{"space": "one", "title": "One"}, {"space": "two", "title": "Two"}]},
        ],
        "sites": {
            "docs": {
                "title": "Docs",
                "structure": [{"section": "guides", "title": "Guides", "spaces": ["one"]}],
                "shareLinks": {"partners": {"name": "Partners", "active": True}},
            }
        },
    }


def tiny_changed() -> dict[str, Any]:
    tree = tiny()
    tree["teams"] = {"editors": {"title": "Editors"}}
    product = tree["content"][1]
    product["title"] = "Products"
    product["content"] = [{"space": "three", "title": "Three"}, {"space": "two", "title": "Two 2"}]
    tree["content"].insert(1, {"space": "one", "title": "One"})
    tree["sites"]["docs"]["structure"] = [
        {"section": "more", "title": "More", "spaces": ["three"]},
        {"section": "guides", "title": "Guides", "spaces": ["two", "one"]},
    ]
    return tree


def _small_changed(org: Org) -> None:
    tree = small()
    node(tree, "product").update(title="Products", content=[{"space": "four", "title": "Four"}, {"space": "one", "title": "Uno"}])
    tree["content"][2]["content"] += [{"space": "two", "title": "Two"}, {"collection": "deep", "title": "Deep", "content": []}]
    node(tree, "deep")["content"] = [{"space": "seven", "title": "Seven"}, {"space": "three", "title": "Three"}]
    tree["teams"]["editors"] = {"title": "Editors"}
    docs = tree["sites"]["docs"]
    docs["structure"] = [docs["structure"][2], docs["structure"][0], docs["structure"][1]]
    docs["shareLinks"] = {"friends": {"name": "Friends", "active": True}}
    org.write(tree)


def _bare(org: Org, **top: Any) -> None:
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank"}
    org.write({"content": [blank], "sites": {}, "teams": {}, "saml": {}, "openapi": {}}, **top)


def _small_cleared(org: Org) -> None:
    _bare(org, removed=[{"address": "acme/saml/okta", "action": "delete"}])


# -- the example ----------------------------------------------------------------------------------------------------------------------


def _example(org: Org, *edits: tuple[str, str, str]) -> None:
    shutil.copytree(EXAMPLE, org.project, dirs_exist_ok=True)
    for name, old, new in (
        ("reconciler.yaml", "protect: [collection, saml, site, space]", "protect: []"),
        ("reconciler.yaml", "maxDelete: {percent: 20, atLeast: 3}", "maxDelete: {percent: 100, atLeast: 1000}"),
        *edits,
    ):
        path = org.project / name
        text = path.read_text(encoding="utf-8")
        assert old in text, old
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    org.touch()  # type: ignore[attr-defined]


UPDATE = (
    ("content.yaml", "title: Product\n", "title: Products\n"),
    ("content.yaml", '      - {space: concepts, title: Concepts, emoji: "💡"}\n', ""),
    ("content.yaml", "      - {space: drafts", '      - {space: concepts, title: Ideas, emoji: "💡"}\n      - {space: drafts'),
    ("content.yaml", "          - {space: sdk-go,", "          - {space: sdk-rust, title: Rust SDK}\n          - {space: sdk-go,"),
    ("people.yaml", "    title: Support\n", "    title: Support desk\n  field:\n    title: Field\n"),
    ("people.yaml", "sam@acme.example: read", "sam@acme.example: comment"),
    ("sites/partners.yaml", "{name: Auditors 2025, active: false}", "{name: Auditors 2026, active: true}"),
    (
        "sites/docs.yaml",
        "                  - {space: sdk-go,",
        "                  - {space: sdk-rust, path: rust}\n                  - {space: sdk-go,",
    ),
)


def _example_smaller(org: Org) -> None:
    _example(
        org,
        ("reconciler.yaml", "defaultContent: {site: docs}", "defaultContent: {site: help}"),
        ("content.yaml", "      - {space: partner-guide, title: Partner guide}\n", ""),
        ("content.yaml", "      - {space: handbook, title: Handbook}\n", ""),
        ("content.yaml", "      - {space: drafts, title: Drafts, protect: false}\n", ""),
        ("content.yaml", "          - {space: sdk-go, title: Go SDK}\n", ""),
        ("sites/docs.yaml", "                  - {space: sdk-go, path: go}\n", ""),
        ("people.yaml", "  support:\n    title: Support\n", ""),
    )
    (org.project / "sites" / "partners.yaml").unlink()
    org.touch()  # type: ignore[attr-defined]


def _example_seed() -> dict[str, Any]:
    project = load(EXAMPLE, kinds())
    made = seed_document(project, kinds(), own_seed(project))
    tokens = [*made.get("tokens", []), *SEED["tokens"]]
    return with_others({**made, "tokens": tokens})


NAMED: dict[str, Callable[[], Scenario]] = {
    "tiny": lambda: Scenario("tiny", _tree(tiny())),
    "tiny-changed": lambda: Scenario("tiny-changed", _tree(tiny_changed()), _tree(tiny())),
    "tiny-cleared": lambda: Scenario("tiny-cleared", _bare, _tree(tiny())),
    "small": lambda: Scenario("small", _tree(small())),
    "small-changed": lambda: Scenario("small-changed", _small_changed, _tree(small())),
    "small-cleared": lambda: Scenario("small-cleared", _small_cleared, _tree(small())),
    "acme": lambda: Scenario("acme", _example, None, _example_seed()),
    "acme-changed": lambda: Scenario("acme-changed", lambda org: _example(org, *UPDATE), _example, _example_seed()),
    "acme-smaller": lambda: Scenario("acme-smaller", _example_smaller, _example, _example_seed()),
}
