"""Values of fields: as a person reads them, as plain JSON data, and what differs between two of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from reconciler.address import Address
from reconciler.plan.matching.differences import explain
from reconciler.resource import UNSET, Foreign
from reconciler.text.certificate import FINGERPRINT, certificate

HIDDEN: Final = "(sensitive)"
# Characters. A longer text (a page, a key) would bury the plan; its digest still shows whether it is the expected one.
LONG: Final = 1_000
# Texts that YAML or a reader would take for something else: a number, `a -> b`, quotes, a text with spaces at its ends.
_OTHER: Final = re.compile(r"(null|true|false|-?[0-9][0-9.eE+-]*)?|.* -> .*|\s.*|.*\s|[\"'\[{(].*", re.DOTALL)


def data(value: Any) -> Any:
    """The JSON form of a value; UNSET becomes null."""
    match value:
        case _ if value is UNSET:
            return None
        # JSON has no infinity.
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)
        case Address():
            return str(value)
        case Foreign():
            return {"id": value.id}
        case Mapping():
            return {str(key): data(part) for key, part in value.items()}
        case set() | frozenset():
            # A set has no order of its own, and the same plan must give the same bytes.
            return sorted((data(part) for part in value), key=repr)
        case list() | tuple():
            return [data(part) for part in value]
        case datetime():
            return value.isoformat()
        case _:
            return str(value)


def shown(value: Any) -> str:
    """A value on one line: text without quotes if it is unambiguous, everything else as YAML flow style."""
    if value is UNSET:
        return "(not known)"
    value = data(value)
    summary = certificate(value) if isinstance(value, str) else None
    if summary is not None:
        return summary
    if isinstance(value, str) and len(value) > LONG:
        return f"{len(value):,} characters, sha256 {sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:FINGERPRINT]}…"
    return value if isinstance(value, str) and not _OTHER.fullmatch(value) else _flow(value)


def _flow(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in value.items()) + "}"
        case list():
            return "[" + ", ".join(_flow(part) for part in value) + "]"
        case str() if (summary := certificate(value)) is not None:
            return f"({summary})"
        case str() if value and not _OTHER.fullmatch(value) and not set(value) & set(",:[]{}#"):
            return value
        case str() if value and not _OTHER.fullmatch(value) and re.fullmatch(r"[^\s,\[\]{}#]+", value):
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)


def difference_lines(name: str, before: Any, after: Any) -> list[tuple[str, str]]:
    """Names and texts: `mergeRules.rules.0.users.0` and `usr_ada -> usr_bob`; the field itself if it has no parts."""
    if before is UNSET or after is UNSET or not (_nested(before) and _nested(after)):
        return [(name, f"{shown(before)} -> {shown(after)}")]

    differences = explain(data(before), data(after)) or (("", before, after),)
    return [(f"{name}.{path}" if path else name, _change(was, now)) for path, was, now in differences]


def _nested(value: Any) -> bool:
    """Whether a value has parts that differ separately; a list of plain values is compared as a whole."""
    plain = data(value)
    return isinstance(plain, dict) or (isinstance(plain, list) and any(isinstance(part, dict | list) for part in plain))


def _change(before: Any, after: Any) -> str:
    if before is UNSET:
        return f"{shown(after)} (added)"
    if after is UNSET:
        return f"{shown(before)} (removed)"
    return f"{shown(before)} -> {shown(after)}"
