"""Organizations: the root of everything; adopted by id, never created or deleted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final

from reconciler.kinds._values import LOOSER, NO_CASE, ROLES, MemberRole, MergeRules, Uri
from reconciler.resource import (
    PATCH,
    UNSET,
    Checked,
    Exposes,
    JsonSchema,
    Keyed,
    Len,
    Listing,
    One,
    Permission,
    PlanLimit,
    Resource,
    ReviewList,
    SearchList,
    Spelled,
    To,
    TopicList,
    Verbs,
    field,
)
from reconciler.text.names import quoted

_SITE = To("site")
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def _default_content(value: Any) -> Any:
    """`{site: key}` -> the service's `{type: site, site: …}`; `null` clears."""
    if value is None:
        return None
    if isinstance(value, Mapping) and set(value) == {"site"}:
        return {"type": "site", "site": _SITE.part(value["site"])}
    raise ValueError("expected {site: KEY} or null")


def _seen_content(raw: Mapping[str, Any]) -> Any:
    """The site that members see first, without the other keys that the service may show."""
    content = raw.get("defaultContent", UNSET)
    if isinstance(content, Mapping) and content.get("type") == "site" and "site" in content:
        return {"type": "site", "site": content["site"]}
    return content


def _written(value: Any, name: Callable[[str, str], Any]) -> Any:
    if isinstance(value, Mapping) and set(value) == {"type", "site"} and value["type"] == "site":
        return {"site": name("site", value["site"])}
    return value


DefaultContent = Annotated[
    Any,
    Spelled(_written),
    Checked(_default_content),
    JsonSchema(
        {
            "anyOf": [
                {"type": "object", "properties": {"site": _SITE.json_schema}, "required": ["site"], "additionalProperties": False},
                {"type": "null"},
            ]
        }
    ),
]


def _limits(raw: Mapping[str, Any]) -> Iterator[PlanLimit]:
    """Why the service may refuse requests in it."""
    blocked, billing = raw.get("blocked"), raw.get("billing")
    if isinstance(blocked, Mapping):
        reason = blocked.get("reason")
        yield PlanLimit("is blocked by the service" + (f": {quoted(reason)}" if isinstance(reason, str) and reason else ""))
    if isinstance(billing, Mapping) and billing.get("hasPaymentFailed") is True:
        yield PlanLimit("has a payment that failed")
    if isinstance(billing, Mapping) and billing.get("isScheduledToCancel") is True:
        end = billing.get("endDate")
        day = end[:10] if isinstance(end, str) and DAY.match(end) else ""
        yield PlanLimit("has a subscription that ends" + (f" on {day}" if day else ""), day)


class Organization(
    Resource,
    kind="organization",
    place=Keyed("organizations"),
    seeds="organizations",
    permission=Permission("admin"),
    search=SearchList("/orgs/{id}/search", query="query", within="id", pages="pages", url="path"),
    reviews=ReviewList(
        "change request",
        "/orgs/{id}/change-requests",
        of="space",
        title="subject",
        author="createdBy.displayName",
        since="createdAt",
        outdated="outdated",
    ),
    limited=_limits,
    topics=TopicList("/orgs/{id}/conversations-clusters", title="label", size="stats.conversations"),
):
    """The account that contains members, teams, content and sites."""

    # No create and no delete: an organization is a contract with the service.
    reads = (Listing("/orgs"), One("/orgs/{id}"))
    api = Verbs(update=PATCH("/orgs/{id}"))

    title: Annotated[str, Len(2, 255)] = field("The name.")
    emailDomains: Annotated[frozenset[str], NO_CASE] = field(
        "Domains whose verified addresses may join.", exposes=Exposes("everybody with such an address may join", added=True)
    )
    # The default for public content (the API reference, "Organization"): a change breaks every URL that begins with it.
    hostname: Annotated[str, Len(3, 32), NO_CASE] = field("The default hostname of public content.", address="whole")
    defaultRole: MemberRole = field("The role of new members.", exposes=Exposes("new members may do more", ROLES))
    defaultContent: DefaultContent = field("The site that members see first.", clear=True, read=_seen_content)
    # The update takes `logo`; answers show `urls.logo`, the address of a copy that the service hosts.
    logo: Uri | None = field("The URL of an image; the service hosts a copy.", clear=True, read="urls.logo", lossy=True, hosted=True)
    sso: bool = field(
        "Enforce single sign-on; requires a SAML provider.", exposes=Exposes("people can sign in without it", (True, False), rule=True)
    )
    ai: bool = field("Enable AI features.")
    inviteLinks: bool = field("Enable invite links.", exposes=Exposes("everybody with a link may join", (False, True)))
    mergeRules: MergeRules = field("Who must review a change request.", exposes=LOOSER)
