"""Which reader a page is shown to: by the header for programs, by the query for people, who choose in the bar at its top.

The choice stays in the query (`as=`, `claims=`) of every link of a page, so that a URL can be shared. The key of a share link is replaced
by the link's id, so that no page holds a key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from secrets import compare_digest
from typing import Any, Final

from reconciler.sandbox.service import Fault
from reconciler.sandbox.sites.conditions import UNSIGNED
from reconciler.sandbox.sites.readers import HEADER, Reader
from reconciler.sandbox.sites.visitors import described
from reconciler.sandbox.store import Object, Store

AS, CLAIMS, CLAIM, KEY = "as", "claims", "claim/", "key"
DEPTH_MAX: Final = 10  # of objects in objects in a schema
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Choice:
    """The reader of a page. `name`: as the bar shows it. `query`: what the links of the page need to keep the reader."""

    id: str
    name: str
    reader: Reader
    query: tuple[tuple[str, str], ...] = ()


def choices(store: Store, site: Object) -> list[Choice]:
    """Whom a person can choose beside visitors."""
    links = [
        Choice(id, f"Share link “{link['name']}”", Reader(address=True, shareKey=link["_secret"]), _as(id))
        for link in _links(store, site)
        for id in [f"link:{link['id']}"]
    ]
    return [
        Choice("anyone", "Anyone", Reader()),
        Choice("address", "Anyone with the URL", Reader(address=True), _as("address")),
        *links,
        Choice("agent", "Agents", Reader(agent=True), _as("agent")),
    ]


def chosen(store: Store, site: Object, query: Pairs, header: str | None) -> Choice:
    """The reader whom a request names. Raises 400 for what names nobody."""
    given = dict(query)
    key = given.get(KEY)
    if header is not None:
        reader = described(header)
        return Choice("header", HEADER, reader.model_copy(update={"shareKey": key}) if key else reader)
    if key is not None:
        holder = next((link["id"] for link in _links(store, site) if _is_key(link, key)), None)
        if holder is None:
            return Choice("key", "Somebody with a wrong share key", Reader(shareKey=key))
        given[AS] = f"link:{holder}"
    wanted = given.get(AS) or "anyone"
    if wanted == "visitor":
        return _visitor(site, query)
    choice = next((choice for choice in choices(store, site) if choice.id == wanted), None)
    if choice is None and wanted.startswith("link:"):
        return Choice(wanted, "A share link that is inactive or deleted", Reader(address=True), _as(wanted))
    if choice is None:
        raise Fault(400, f"{AS}: expected anyone, address, link:ID, visitor or agent")
    return choice


def _links(store: Store, site: Object) -> list[Object]:
    return [link for _, link in store.in_site(site["id"], "share-link") if link["active"]]


def _is_key(link: Object, key: str) -> bool:
    return compare_digest(link["_secret"].encode(), key.encode(errors="replace"))


def _as(id: str) -> tuple[tuple[str, str], ...]:
    return ((AS, id),)


# -- visitors ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClaimField:
    """A claim in the form. `kind`: checkbox, select, checkboxes, number, list or text; `options`: the values of the two that have some."""

    path: tuple[str, ...]
    kind: str
    label: str
    description: str = ""
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Of its input; names of claims may contain every character."""
        return CLAIM + "/".join(part.replace("~", "~0").replace("/", "~1") for part in self.path)

    def value(self, texts: Sequence[str]) -> Any:
        """The claim for what the form sends; None for nothing. Raises 400."""
        texts = [text for text in texts if text.strip()]
        if not texts:
            return None
        if self.kind == "checkbox":
            return True
        if self.kind == "number":
            try:
                return json.loads(texts[0], parse_constant=_no_number)
            except ValueError as error:
                raise Fault(400, f"{'.'.join(self.path)}: expected a number") from error
        if self.kind == "checkboxes":
            return list(texts)
        return [part.strip() for part in texts[0].split(",") if part.strip()] if self.kind == "list" else texts[0]

    def texts(self, claims: Mapping[str, Any]) -> list[str]:
        """What the form shows for these claims."""
        current: Any = claims
        for part in self.path:
            current = current.get(part) if isinstance(current, Mapping) else None
        if current is None or current is False:
            return []
        if isinstance(current, list):
            return [", ".join(map(str, current))] if self.kind == "list" else [str(entry) for entry in current]
        return ["true" if current is True else str(current)]


def claim_fields(site: Object) -> list[ClaimField]:
    """The claims that the adaptive schema of a site declares, those that need no signature included."""
    kept = site.get("_adaptiveSchema")
    schema = kept.get("jsonSchema") if isinstance(kept, Mapping) else None
    return list(_fields(schema, ())) if isinstance(schema, Mapping) else []


def _fields(schema: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[ClaimField]:
    properties = schema.get("properties")
    for name, attribute in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(attribute, Mapping):
            continue
        path = (*above, str(name))
        inner = attribute.get("items") if attribute.get("type") == "array" else attribute
        options = inner.get("enum") if isinstance(inner, Mapping) else None
        texts = tuple(map(str, options)) if isinstance(options, list) else ()
        if attribute.get("type") == "object":
            yield from _fields(attribute, path) if len(path) < DEPTH_MAX else ()
            continue
        kinds = {"boolean": "checkbox", "number": "number", "array": "checkboxes" if texts else "list"}
        kind = kinds.get(str(attribute.get("type")), "select" if texts else "text")
        label = attribute.get("title") or ".".join(path)
        yield ClaimField(path, kind, str(label), str(attribute.get("description") or ""), texts)


def _visitor(site: Object, query: Pairs) -> Choice:
    claims = _json(dict(query).get(CLAIMS) or "{}")
    if any(name.startswith(CLAIM) for name, _ in query):
        for field in claim_fields(site):
            _put(claims, field.path, field.value([text for name, text in query if name == field.name]))
    text = json.dumps(claims, ensure_ascii=False, separators=(",", ":"))
    unsigned = claims.get(UNSIGNED)
    own = {name: value for name, value in claims.items() if name != UNSIGNED}
    reader = Reader(claims=own, unsigned=unsigned if isinstance(unsigned, dict) else {})
    return Choice("visitor", "A visitor who is signed in", reader, (*_as("visitor"), *(((CLAIMS, text),) if claims else ())))


def _json(text: str) -> dict[str, Any]:
    try:
        claims = json.loads(text, parse_constant=_no_number)
        json.dumps(claims, ensure_ascii=False).encode()  # half of a pair of code points cannot be sent back
    except (ValueError, RecursionError) as error:
        raise Fault(400, f'{CLAIMS}: expected JSON like {{"staff": true}}') from error
    if not isinstance(claims, dict):
        raise Fault(400, f'{CLAIMS}: expected a JSON object like {{"staff": true}}')
    return claims


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _put(claims: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set or remove one claim; objects on the way to it are created for a value, and removed with their last one."""
    name, *below = path
    if below:
        inner = claims.get(name)
        inner = inner if isinstance(inner, dict) else {}
        _put(inner, tuple(below), value)
        value = inner or None
    if value is None:
        claims.pop(name, None)
    else:
        claims[name] = value


def claims_text(choice: Choice) -> str:
    """All claims of a visitor as JSON; empty without any."""
    return dict(choice.query).get(CLAIMS, "")
