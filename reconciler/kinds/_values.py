"""Types of values that several kinds share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from reconciler.kinds._shapes import MERGE_RULES, shaped
from reconciler.resource import UNSET, Checked, Exposes, Grant, JsonSchema, Len, Shape, Spelled, To, WireForm, WithheldError
from reconciler.resource.conditions import excludes_nobody
from reconciler.resource.risks import ANYONE, ANYONE_WITH_THE_URL, BY_ROLE, GUEST, MEMBERS, VISITORS
from reconciler.text.certificate import NoCertificate, certificate_content


# "Where marked nullable the value may be null (null means guest for organization roles)": the API reference, "Conventions".
def _guest_to_null(value: Any) -> Any:
    return None if value == "guest" else value


def _null_to_guest(value: Any) -> Any:
    return "guest" if value is None else value


MemberRole = Annotated[
    Literal["admin", "create", "review", "edit", "comment", "read", "guest"],
    WireForm(body=_guest_to_null, show=_null_to_guest),
]
"""A role; the service spells guest `null`."""

Level = Annotated[
    Literal["admin", "create", "review", "edit", "comment", "read", "guest", "inherit"],
    WireForm(body=_guest_to_null, show=_null_to_guest),
]
"""What members may do with an object; `inherit`: the same as with its container."""

Language = Literal[
    "en", "fr", "de", "es", "it", "pt", "pt-br", "ru", "ja", "zh", "zh-tw", "yue", "ko", "ar", "hi", "nl", "pl", "tr", "sv", "no",
    "da", "fi", "el", "cs", "hu", "ro", "th", "vi", "id", "ms", "he", "uk", "sk", "bg", "hr", "lt", "lv", "et", "sl",
]  # fmt: skip
"""The languages that the service has a code for."""

# `null` is the least: a guest.
ROLES = (None, "read", "comment", "edit", "review", "create", "admin")
"""The roles as requests have them, from the least permitted to the most."""


# The level that is set nearest to an object counts, not the highest; `inherit` asks what the object is part of, and at the top the role of
# each member (public documentation of the service, "Permissions and inheritance").
def level_of_members(values: Mapping[str, Any]) -> Iterator[Grant]:
    """What a `defaultLevel` lets every member do who is not an admin; nothing where only admins may, or where it is inherited."""
    level = values.get("defaultLevel")
    if level in ROLES[1:]:
        yield Grant(MEMBERS, str(level), conditional=False, of="organization")


def inherits_level(values: Mapping[str, Any]) -> bool:
    """Whether what an object is part of decides what members may do. An unread level counts as inherited, as it is for new content."""
    return values.get("defaultLevel", UNSET) in ("inherit", UNSET)


OWN_ROLES: Final = tuple(Grant(who, role, conditional=False, of="organization") for who, role in BY_ROLE.items() if role != GUEST)
"""The members of an organization, each with the level of their own role; a guest has none."""
WITH_A_ROLE: Final = tuple(Grant(who, of="organization") for who, role in BY_ROLE.items() if role != GUEST)
"""The members of an organization who are not guests, as readers."""


def visitor_condition(values: Mapping[str, Any]) -> str | None:
    """The condition that a visitor must meet; None if there is none, or one that anybody can meet."""
    condition = values.get("condition")
    return condition if isinstance(condition, str) and not excludes_nobody(condition) else None


def is_shown(values: Mapping[str, Any]) -> bool:
    """Whether readers of a site are shown a part of it: a draft is shown to nobody."""
    return values.get("draft") is not True


def is_hidden(values: Mapping[str, Any]) -> bool:
    """Whether a part of a site is left out of its navigation: who knows its URL can read it all the same."""
    return values.get("hidden") is True


READERS: Final = {"public": ANYONE, "unlisted": ANYONE_WITH_THE_URL, "visitor-auth": VISITORS}
"""The readers that a `visibility` admits; of the other values, `share-link` admits through its links, and the rest only members."""

NODES: Final = {"space": {"type": "space", "space": "{id}"}, "collection": {"type": "collection", "collection": "{id}"}}
"""How a move names a sibling in a content list."""


def blank_to_null(value: Any) -> Any:
    return None if value == "" else value


# The service compares names of hosts and addresses without case, and an address may be typed with combining characters.
def _lower(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return [_lower(part) for part in value]
    return unicodedata.normalize("NFC", value.lower()) if isinstance(value, str) else value


def _unchanged(value: Any) -> Any:
    return value


BLANK_IS_NULL = WireForm(body=blank_to_null, show=_unchanged)
"""For a text that `null` clears: the service may show an absent text as an empty one."""

URI_MAX: Final = 2048
# The API reference names only the format `uri` and the length. The service refuses what RFC 3986 does not allow, so a plan would end in a
# refused request; these are the characters that it allows.
_URI: Final = r"^[A-Za-z][A-Za-z0-9+.-]*:(?://[^\s/?#\"<>\\^`{|}]+)?[^\s\"<>\\^`{|}]*$"
# The pattern of the service's own document: a host and at least one segment.
_PROXY: Final = r"^(?:[A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]+\.[A-Za-z]{2,}(?:/[A-Za-z0-9_-]+)+$"


def _uri(value: str) -> str:
    rest = value.partition(":")[2]
    if not value.isascii() or re.fullmatch(_URI, value) is None or rest in ("", "//") or re.search(r"%(?![0-9A-Fa-f]{2})", value):
        raise ValueError("expected a URL such as https://acme.example/x, with other characters escaped as %41")
    if re.match(r"https?:", value, re.IGNORECASE) and not re.match(r"//[^/?#]", rest):
        raise ValueError("expected a URL with a host, such as https://acme.example/x")
    return value


def _proxy(value: str) -> str:
    if re.fullmatch(_PROXY, value) is None:
        raise ValueError(
            "expected a host and a path, such as acme.example/docs: no https://, no port, and only letters, digits, - and _ between slashes"
        )
    return value


def _host_lower(value: Any) -> Any:
    """A URL with its scheme and its host in lower case: they have no case."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*:)(?://([^/?#]*@)?([^/?#]*))?", value) if isinstance(value, str) else None
    if match is None:
        return value
    scheme, account, host = match[1].lower(), match[2] or "", match[3]
    return f"{scheme}{f'//{account}{host.lower()}' if host is not None else ''}{value[match.end() :]}"


Uri = Annotated[
    str,
    Len(1, URI_MAX),
    Checked(_uri),
    WireForm(body=_host_lower, show=_unchanged),
    JsonSchema({"format": "uri", "examples": ["https://acme.example/x"]}),
]
"""An absolute URL."""


def _first_lower(value: Any) -> Any:
    """A host and a path with the host in lower case."""
    host, slash, path = value.partition("/") if isinstance(value, str) else ("", "", "")
    return f"{host.lower()}{slash}{path}" if host else value


Proxy = Annotated[
    str,
    Len(1, 512),
    Checked(_proxy),
    WireForm(body=_first_lower, show=_unchanged),
    JsonSchema({"pattern": _PROXY, "examples": ["acme.example/docs"]}),
]
"""A host and at least one segment of a path."""

NO_CASE: Final = WireForm(body=_lower, show=_unchanged)
"""For names of hosts and domains, which have no case, and lists of them."""

CERTIFICATE_MAX: Final = 10_000


def _certificate(value: str) -> str:

    try:
        content = certificate_content(value)
    except NoCertificate as error:
        raise WithheldError(f"is not a certificate: {error}") from None
    if len(content) > CERTIFICATE_MAX:
        raise WithheldError(f"is {len(content):,} characters long without the text around it; the service allows {CERTIFICATE_MAX:,}")
    return content


def _same_certificate(value: Any) -> Any:
    """The certificates in a text without what is around them; the value itself where it is none, as the service may have it."""
    try:
        return certificate_content(value) if isinstance(value, str) else value
    except NoCertificate:
        return value


Certificate = Annotated[
    str,
    Checked(_certificate),
    WireForm(body=_same_certificate, show=_unchanged),
    JsonSchema({"minLength": 1, "maxLength": 10 * CERTIFICATE_MAX}),  # text around certificates does not count
]
"""Certificates in PEM format: one, or a chain with the provider's own first. They are compared by content."""

Icon = Annotated[Annotated[str, Len(1, 50)] | None, BLANK_IS_NULL]
Condition = Annotated[str, Len(1, 1024)]
Path = Annotated[str, Len(1, 100)]


_own_rules = shaped(MERGE_RULES)


def _merge_rules(value: Any) -> Any:
    """`inherit`, `none`, `{reviewers: […]}` or the service's own object -> the service's own object."""
    if value in ("inherit", "none"):
        return {"type": value}
    if isinstance(value, Mapping) and set(value) == {"reviewers"} and isinstance(value["reviewers"], list):
        users = To("member").parts(value["reviewers"])
        return {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": users}]}
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        return _own_rules(dict(value))
    raise ValueError("expected inherit, none, {reviewers: [e-mail, …]} or the service's own object with a type")


def _merge_rules_written(value: Any, name: Callable[[str, str], Any]) -> Any:
    """The service's own object -> its short form, if it has one."""
    if value in ({"type": "inherit"}, {"type": "none"}):
        return value["type"]
    rules = value.get("rules") if isinstance(value, Mapping) and value.get("type") == "rules" else None
    only = rules[0] if isinstance(rules, list) and len(rules) == 1 else None
    if isinstance(only, Mapping) and set(only) == {"rule", "users"} and only["rule"] == "require_specific_reviewers":
        return {"reviewers": [name("member", user) for user in only["users"]]}
    return value


# The reference does not say how a path follows from a title. This is how the service does it for Latin letters; of others the plan says
# that only the service knows the path.
def slug(title: str) -> str:
    """The path that the service derives from a title; "" if the title contains no letter."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:90]


def path_of_title(raw: Mapping[str, Any]) -> Any:
    """The path that the service gives an object for which nobody chose one."""
    title = raw.get("title")
    return slug(title) if isinstance(title, str) else UNSET


_REVIEWED: Final = Shape(known=frozenset({"rule", "users"}), keys={"users": Shape(unordered=True)}, tag="rule")
_MERGED: Final = Shape(known=frozenset({"type", "rules"}), keys={"rules": Shape(items=_REVIEWED, unordered=True)}, tag="type")
"""Neither the rules nor the reviewers of a rule have an order."""

MergeRules = Annotated[
    # The reference shows two forms and says that there are more, so an object of the service is accepted as it is.
    Any,
    _MERGED,
    Spelled(_merge_rules_written),
    Checked(_merge_rules),
    JsonSchema(
        {
            "description": "inherit, none, {reviewers: [e-mail, …]}, or the service's own object for other rules.",
            "anyOf": [
                {"enum": ["inherit", "none"]},
                {
                    "type": "object",
                    "properties": {"reviewers": {"type": "array", "items": To("member").json_schema}},
                    "required": ["reviewers"],
                    "additionalProperties": False,
                },
                {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
            ],
        }
    ),
]


def _rules(value: Any) -> list[Any] | None:
    """The rules that must be met; None if they are defined elsewhere (inherited, or of a kind unknown here)."""
    if value == {"type": "none"}:
        return []
    rules = value.get("rules", []) if isinstance(value, Mapping) and value.get("type") == "rules" else None
    return rules if isinstance(rules, list) else None


def _loosened(before: Any, after: Any) -> bool:
    """Whether change requests may be merged that could not be before, as far as is known: a rule is missing or different."""
    # What the service inherits or a later version adds is unknown here: such a rule counts as kept only if it is the same.
    held, kept = _rules(before), _rules(after)
    if kept is None:
        return held is None or bool(held)
    return not kept if held is None else any(rule not in kept for rule in held)


LOOSER = Exposes("merging may require fewer reviews than before", when=_loosened, rule=True)
"""For merge rules."""


CONDITION = Exposes("more visitors can see it")
"""For conditions."""


def _email(value: str) -> str:
    name, _, host = value.partition("@")
    if not name or not host or "@" in host:
        raise ValueError("expected an e-mail address such as ada@acme.example")
    return str(_lower(value))


Email = Annotated[str, Checked(_email), WireForm(body=_lower, show=_lower), JsonSchema({"examples": ["ada@acme.example"]})]
"""An e-mail address; neither its case nor its Unicode form has a meaning."""
