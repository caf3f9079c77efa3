"""What the service's published request schemas refuse although the sandbox takes it.

Compared by hand with the schemas that the service's own client carries (0.202.0). Where these know less than the reference, the reference
holds: `agentsContext` of a site, the sections of a group, the transfer of a space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.request_bodies import SITE, operation, problems

ORGANIZATION = "/orgs/{organizationId}"
POSITION = ("position.before", "position.after")

NEVER_NULL: dict[tuple[str, str], tuple[str, ...]] = {
    ("post", f"{ORGANIZATION}/collections"): ("parent",),
    ("patch", "/collections/{collectionId}"): ("description",),
    ("post", "/collections/{collectionId}/move"): POSITION,
    ("post", "/spaces/{spaceId}/move"): POSITION,
    ("post", f"{ORGANIZATION}/saml"): ("defaultTeam",),
    ("patch", f"{ORGANIZATION}/saml/{{samlProviderId}}"): ("defaultTeam",),
    ("post", f"{SITE}/section-groups"): ("parent",),
    ("post", f"{SITE}/section-groups/{{siteSectionGroupId}}/move"): POSITION,
    ("post", f"{SITE}/sections/{{siteSectionId}}/move"): POSITION,
    ("post", f"{SITE}/site-spaces"): ("sectionId",),
    ("post", f"{SITE}/site-spaces/{{siteSpaceId}}/move"): POSITION,
}
"""Fields that are left out where they have no value."""

RULES_OF_USERS = frozenset({"require_specific_reviewers", "require_one_of_specific_reviewers", "allow_bypass"})
RULES = frozenset(
    {
        "require_at_least_one_review", "require_at_least_one_approved_review", "require_all_reviews_approved", "require_agent_review",
        "require_up_to_date_change_request", "require_change_request_subject", "require_change_request_description",
        "require_author_to_merge",
    }
)  # fmt: skip


def refusals(method: str, path: str, body: Any) -> list[str]:
    """Why the service would refuse a request; nothing where it takes it. An operation it does not have is refused too."""
    name = operation(method, path)
    if name is None:
        return ["an operation that is not published"]
    found = problems(method, path, body)
    if isinstance(body, Mapping):
        at = (method.lower(), name.removeprefix("/v1"))
        found += [f"$.{field}: null is not published" for field in NEVER_NULL.get(at, ()) if _is_null(body, field)]
        found += [f"$.{problem}" for field, check in CHECKS.get(at, {}).items() if field in body for problem in check(body[field])]
    return found


def _is_null(body: Any, field: str) -> bool:
    first, _, rest = field.partition(".")
    if not isinstance(body, Mapping) or first not in body:
        return False
    return _is_null(body[first], rest) if rest else body[first] is None


def _title(value: Any) -> Iterator[str]:
    if not re.search(r"\S.*\S", value):
        yield "title: at least two characters that are not blank"


def _rules(value: Any) -> Iterator[str]:
    """An organization's rules: there is nothing it could inherit them from."""
    kind = value.get("type")
    if kind not in ("rules", "none"):
        yield f"mergeRules.type: {kind!r} is neither 'rules' nor 'none'"
    if kind == "rules" and "rules" not in value:
        yield "mergeRules: 'rules' is a required property"
    for rule in value.get("rules", ()):
        name = rule["rule"]
        if name in RULES_OF_USERS and "users" not in rule:
            yield f"mergeRules.rules: {name!r} requires 'users'"
        elif name == "custom" and "expression" not in rule:
            yield "mergeRules.rules: 'custom' requires 'expression'"
        elif name not in RULES_OF_USERS | RULES | {"custom"}:
            yield f"mergeRules.rules: {name!r} is not published"


def _rules_of_space(value: Any) -> Iterator[str]:
    if value.get("type") != "inherit":
        yield from _rules(value)


CLAIMS = {"boolean": frozenset[str](), "string": frozenset({"enum"}), "number": frozenset[str]()}
UNSIGNED = "Unsigned claims of the site visitor."
ARRAY, OBJECT = frozenset({"items"}), frozenset({"properties", "additionalProperties"})


def _schema(value: Any) -> Iterator[str]:
    """What a site may know of its visitors: claims with a description each, in objects that allow nothing else."""
    if set(value) - {"$schema"} != {"type", "properties", "additionalProperties"} or value.get("type") != "object":
        yield "jsonSchema: an object with 'type', 'properties' and 'additionalProperties'"
    elif value["additionalProperties"] is not False:
        yield "jsonSchema.additionalProperties: must be false"
    for name, claim in value.get("properties", {}).items():
        yield from _claim(f"jsonSchema.properties.{name}", claim)
        if name == "unsigned" and claim.get("description") != UNSIGNED:
            yield f"jsonSchema.properties.unsigned.description: must be {UNSIGNED!r}"


def _claim(at: str, claim: Any) -> Iterator[str]:
    kind = claim.get("type")
    own = OBJECT if kind == "object" else ARRAY if kind == "array" else CLAIMS.get(kind)
    if own is None:
        yield f"{at}.type: {kind!r} is not published"
        return
    if "description" not in claim:
        yield f"{at}: 'description' is a required property"
    if unknown := set(claim) - own - {"type", "description"}:
        yield f"{at}: {sorted(unknown)} are not published"
    if kind == "array":
        yield from _claim(f"{at}.items", claim.get("items", {}))
    if kind == "object":
        if claim.get("additionalProperties") is not False:
            yield f"{at}.additionalProperties: must be false"
        for name, inner in claim.get("properties", {}).items():
            yield from _claim(f"{at}.properties.{name}", inner)


CHECKS: dict[tuple[str, str], dict[str, Callable[[Any], Iterator[str]]]] = {
    ("patch", ORGANIZATION): {"title": _title, "mergeRules": _rules},
    ("patch", "/spaces/{spaceId}"): {"mergeRules": _rules_of_space},
    ("put", f"{SITE}/adaptive-schema"): {"jsonSchema": _schema},
}
"""What a schema with alternatives says of a field."""
