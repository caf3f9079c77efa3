"""The organization that most engine tests start from: small, with one of everything; and what must hold after every apply of it."""

from __future__ import annotations

import copy
from typing import Any
from zlib import crc32

from reconciler.model import Outcome, Plan, StepStatus
from tests.certificates import IDP
from tests.harness import Org
from tests.prepared import applied_once
from tests.proofs import long

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


def small() -> dict[str, Any]:
    """A copy to change."""
    return copy.deepcopy(SMALL)


def node(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """The content node, section or group of that key, wherever it stands."""
    found = _find([tree], name)
    assert found is not None, name
    return found


def _find(nodes: list[Any], name: str) -> dict[str, Any] | None:
    for one in nodes:
        if not isinstance(one, dict):
            continue
        if name in (one.get("space"), one.get("collection"), one.get("section"), one.get("group")) and "title" in one:
            return one
        for below in one.values():
            parts = below if isinstance(below, list) else list(below.values()) if isinstance(below, dict) else []
            found = _find(parts, name)
            if found is not None:
                return found
    return None


def applied(org: Org, tree: dict[str, Any], **top: Any) -> Outcome:
    """Write, apply, and hold that nothing is left to do.

    What was applied to a fresh sandbox before, and was found to be so, is copied. Of one organization in four it is also held that the
    plan after it is empty and that planning only reads; of the others, what their tests plan next shows it.
    """
    org.write(tree, **top)
    return applied_once(org, lambda: _applied(org))


def _looked_at_again(org: Org) -> bool:
    """Whether an organization is one of the sample, or all are."""
    return long() or crc32((org.project / "reconciler.yaml").read_bytes()) % 4 == 0


def _applied(org: Org) -> Outcome:
    outcome = org.apply()
    assert [(str(one.step.address), one.step.verb, one.error) for one in outcome.results if one.status is not StepStatus.DONE] == []
    assert outcome.leftover == ()
    if _looked_at_again(org):
        settled(org)
    org.requests[:] = [request for request in org.requests if request[0] == "GET"]
    return outcome


def settled(org: Org) -> None:
    org.requests.clear()
    plan = org.plan()
    assert described(plan) == []
    assert plan.steps == ()
    assert plan.blocked == ()
    assert {method for method, _ in org.requests} == {"GET"}


def described(plan: Plan) -> list[str]:
    return [
        f"{change.address}: {' '.join(change.actions)} {' '.join(one.name for one in change.fields)}".strip() for change in plan.changes
    ]


def verbs(outcome: Outcome) -> list[str]:
    return [f"{one.step.verb} {one.step.address}" for one in outcome.results]
