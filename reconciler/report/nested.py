"""What differs between two values of a field: in one line, or path by path inside a structured one. Pure."""

from __future__ import annotations

from typing import Any

from reconciler.report.values import data, shown
from reconciler.resource import UNSET


def difference_lines(name: str, before: Any, after: Any) -> list[tuple[str, str]]:
    """Names and texts: `mergeRules.rules.0.users.0` and `usr_ada -> usr_bob`; the field itself if it has no parts."""
    if before is UNSET or after is UNSET or not (_nested(before) and _nested(after)):
        return [(name, f"{shown(before)} -> {shown(after)}")]
    from reconciler.plan.drafts.diff import explain

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
