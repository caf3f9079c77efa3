"""Transfers with what else people do in the same plan: a project before and after, by name; a number is one of endlessly many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.transfers.drawn import drawn
from tests.transfers.two import THREE_SEED, TWO_SEED, collection, document, space


@dataclass(frozen=True)
class Step:
    """A project before and after a transfer. `seed`: what the service holds at first."""

    before: str
    after: str
    seed: Mapping[str, Any] = field(default_factory=lambda: TWO_SEED)


def of(name: str) -> Step:
    """The step of that name."""
    if name in NAMED:
        return NAMED[name]
    draw = drawn(name)
    return Step(document(*draw.first, protect=[]), document(*draw.last, *draw.moved, protect=[]))


def site(key: str, *spaces: str | dict[str, Any]) -> dict[str, Any]:
    """A site with a section of these spaces."""
    return {"sites": {key: {"title": key.title(), "structure": [{"section": key, "title": key.title(), "spaces": list(spaces)}]}}}


SWAPPED = Step(
    document(
        [collection("product", space("one"), collection("deep", space("two")), space("stays")), space("swap", "Acme's")],
        [space("swap", "Beta's", of="base"), collection("empty")],
        protect=[],
    ),
    document(
        [space("stays"), space("swap", "Beta's")],
        [
            collection("product", space("one", "First", of="base"), collection("deep", space("two", of="base"))),
            collection("empty", space("swap", "Acme's", of="base")),
        ],
        ("acme/collection/product", "beta/collection/product"),
        ("acme/space/swap", "beta/space/swap"),
        ("beta/space/swap", "acme/space/swap"),
        protect=[],
    ),
)
"""A collection that leaves something behind, and two spaces that change places."""

MIXED = Step(
    document(
        [collection("product", space("one"), collection("deep", space("two")), space("gone")), *map(space, ("handbook", "old", "pages"))],
        [collection("help", space("first", of="base"), space("last", of="base"))],
        protect=[],
        acme_more={**site("docs", "handbook", "pages"), "teams": {"writers": {"title": "Writers"}}},
        beta_more=site("help", "first"),
    ),
    document(
        [space("guide", "Guide", previously=["handbook"]), space("more")],
        [
            collection("products", space("one", of="base"), collection("deep", space("two", "Second", of="base"))),
            collection("help", space("pages", of="base"), space("first", "First steps", of="base"), space("new", of="base")),
        ],
        ("acme/collection/product", "beta/collection/products"),
        ("acme/space/pages", "beta/space/pages"),
        protect=[],
        acme_more={
            **site("docs", "more", {"space": "guide", "previously": ["handbook"]}),
            "teams": {"editors": {"title": "Editors", "previously": ["writers"]}},
        },
        beta_more={**site("help", "one", "first", "pages"), "teams": {"readers": {"title": "Readers"}}},
    ),
)
"""Both organizations change beside it: renames, deletes, creates, a site that stops showing it and one that starts to."""

KEPT = Step(
    document(
        [collection("product", space("one"), collection("deep", space("two")), space("stays")), space("pages"), space("handbook")],
        [collection("help", space("first", of="base"))],
        protect=[],
        acme_more=site("docs", "handbook", "pages"),
        beta_more=site("help", "first"),
    ),
    document(
        [space("guide", "Guide", previously=["handbook"]), space("stays")],
        [
            collection("products", space("one", of="base"), collection("deep", space("two", "Second", of="base"))),
            collection("help", space("pages", of="base"), space("first", "First steps", of="base")),
        ],
        ("acme/collection/product", "beta/collection/products"),
        ("acme/space/pages", "beta/space/pages"),
        protect=[],
        acme_more=site("docs", {"space": "guide", "previously": ["handbook"]}),
        beta_more=site("help", "first", "pages"),
    ),
)
"""Two transfers, renames and other sites, but nothing is created or deleted in the content."""

PARTS = Step(
    document(
        [collection("product", space("one"), collection("deep", space("two"), space("three")), space("gone")), space("ring", "From acme")],
        [collection("shelf", space("four", of="base")), space("ring", "From beta", of="base")],
        gamma=[collection("box", space("five", of="plain")), space("ring", "From gamma", of="plain")],
        protect=[],
    ),
    document(
        [space("ring", "From gamma"), space("five")],
        [
            collection("shelf", space("three", of="base")),
            collection("product", space("one", of="base")),
            space("ring", "From acme", of="base"),
        ],
        ("acme/collection/product", "beta/collection/product"),
        ("acme/collection/deep", "gamma/collection/deep"),
        ("acme/space/three", "beta/space/three"),
        ("beta/space/four", "gamma/space/four"),
        ("gamma/space/five", "acme/space/five"),
        ("acme/space/ring", "beta/space/ring"),
        ("beta/space/ring", "gamma/space/ring"),
        ("gamma/space/ring", "acme/space/ring"),
        gamma=[
            collection("deep", space("four", of="plain"), space("two", of="plain")),
            collection("box"),
            space("ring", "From beta", of="plain"),
        ],
        protect=[],
    ),
    THREE_SEED,
)
"""Parts of a collection go to two other organizations, one is deleted, and three spaces change places in a circle."""

NAMED: Mapping[str, Step] = {"swapped": SWAPPED, "mixed": MIXED, "kept": KEPT, "parts": PARTS}
