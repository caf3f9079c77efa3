"""What a colleague does on a twin: the requests of the API that edit or delete one object, from the declarations of its kind.

In: an address, values in the written form, the ids of the twin. Out: requests, or why there are none; and whether one was refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import httpx2

from reconciler.address import Address, bare
from reconciler.model import Actual, Observed
from reconciler.model.codec import path_ids, request
from reconciler.resource import UNSET, FieldRole, Kind, Kinds, Verb
from reconciler.text.names import a

Call = tuple[str, str, Any]
"""A method, a path below /v1, and a body; None for none."""

PATIENCE: Final = 30.0  # seconds
_HOLE: Final = re.compile(r"\{([^{}]*)\}")


def calls_of_edit(
    kinds: Kinds, address: Address, values: Mapping[str, Any], ids: Mapping[Address, str], observed: Observed | None
) -> list[Call] | str:
    """The requests that set fields of an object, as few as possible; a sentence if one cannot be set."""
    kind = kinds.of(address)
    wanted = {name: request(kind.fields[name], value, ids) for name, value in values.items()}
    # The request of such a field has no value: it would do the opposite.
    if final := [name for name, value in wanted.items() if kind.fields[name].one_way and not value]:
        return f"edit: no request takes back {', '.join(final)} of an existing {kind.name}"
    calls: list[Call] = []
    for verb in kind.update_verbs:
        carried = [field for field in kind.sent_by(verb.name) if field.name in wanted]
        if not carried:
            continue
        body = {field.wire: wanted[field.name] for field in carried if not field.one_way}
        if verb.whole and observed is not None:
            others = [field for field in kind.sent_by(verb.name) if field.role is FieldRole.VALUE and not field.hosted]
            seen = {field.wire: observed.values.get(field.name, UNSET) for field in others}
            body = {**{name: value for name, value in seen.items() if value is not UNSET and value is not None}, **body}
        calls.append((verb.method, _path(kinds, verb, address, ids, observed), body or None))
        wanted = {name: value for name, value in wanted.items() if name not in {field.name for field in carried}}
    return f"edit: no request changes {', '.join(wanted)} of an existing {kind.name}" if wanted else calls


def calls_of_create(kinds: Kinds, address: Address, values: Mapping[str, Any], ids: Mapping[Address, str]) -> list[Call]:
    """The request that creates an object at an address. `values`: plain; a text that is an address in a field for references is one."""
    kind = kinds.of(address)
    verb, known = kind.api["create"], {str(known): known for known in ids}
    fields = {field.name: field for field in kind.sent_by("create")}
    references = {name for name, field in fields.items() if field.refers or field.to}
    wanted = {
        name: request(fields[name], known.get(value, value) if name in references and isinstance(value, str) else value, ids)
        for name, value in values.items()
    }
    holes = {**path_ids(kinds, address.container, ids.get), **({kind.place.key_is: address.key} if kind.place.key_is else {})}
    holes |= {name: value for name, value in wanted.items() if isinstance(value, str)}
    body = {fields[name].wire: value for name, value in wanted.items() if f"{{{name}}}" not in verb.path}
    body |= {field.wire: holes[str(field.to)] for field in fields.values() if field.role is FieldRole.WITHIN}
    return [(verb.method, _HOLE.sub(lambda hole: bare(holes.get(hole[1], "unknown")), verb.path), body or None)]


def calls_of_delete(kinds: Kinds, address: Address, ids: Mapping[Address, str], actual: Actual) -> list[Call] | str:
    """The request that deletes an object; a sentence if there is none."""
    kind = kinds.of(address)
    verb = kind.api.get("delete")
    if verb is None:
        return f"delete: the API has no request that deletes {a(kind.name)}"
    return [(verb.method, _path(kinds, verb, address, ids, actual.find(kind.name, ids[address])), None)]


def _path(kinds: Kinds, verb: Verb, address: Address, ids: Mapping[Address, str], observed: Observed | None) -> str:
    kind = kinds.of(address)
    holes: dict[str, str] = {**path_ids(kinds, address.container, ids.get), "id": bare(ids[address])}
    return _HOLE.sub(lambda hole: holes.get(hole[1]) or _key(kind, hole[1], observed), verb.path)


def _key(kind: Kind, name: str, observed: Observed | None) -> str:
    """The value of a key field in a path, as the service shows it."""
    value = observed.values.get(name) if observed is not None else None
    return str(value) if isinstance(value, str) else "unknown"


def substituted(path: str, body: Any, ids: Mapping[Address, str]) -> tuple[str, Any, tuple[str, ...]]:
    """A path and a body with ids in place of `{ADDRESS}`; and the addresses that have none."""
    known, missing = {str(address): bare(id) for address, id in ids.items()}, dict[str, None]()

    def filled(text: str, *, all: bool) -> str:
        def id(hole: re.Match[str]) -> str:
            if hole[1] in known:
                return known[hole[1]]
            if all or "/" in hole[1]:
                missing[hole[1]] = None
            return hole[0]

        return _HOLE.sub(id, text)

    def within(value: Any) -> Any:
        if isinstance(value, str):
            return filled(value, all=False)  # a text of a body may contain braces of its own
        if isinstance(value, dict):
            return {name: within(part) for name, part in value.items()}
        return [within(part) for part in value] if isinstance(value, list) else value

    return filled(path, all=True), within(body), tuple(missing)


def send(base_url: str, token: str, method: str, path: str, body: Any) -> str | None:
    """Send one request; why it was refused, or None."""
    # Without the environment: a twin is on this machine, where no proxy leads.
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
        answer = client.request(method, f"{base_url}/v1{path}", headers={"Authorization": f"Bearer {token}"}, json=body)
    if answer.is_success:
        return None
    try:
        message = answer.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = ""
    return f"{answer.status_code} {message}".rstrip()
