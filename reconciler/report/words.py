"""The words and symbols of reports: one for each action, and numbers with their nouns.

Values of fields: as a person reads them, as plain JSON data, and what differs between two of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.model import Action, Severity, StepStatus
from reconciler.plan.matching.differences import explain
from reconciler.report.layout import Style
from reconciler.resource import UNSET, Foreign
from reconciler.text.certificate import FINGERPRINT, certificate


class Level(StrEnum):
    """The severity of a check; `SKIPPED`: it could not be run."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    PROBLEM = "problem"


SYMBOLS: Final = {
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.MOVE: ">",
    Action.REPLACE: "-/+",
    Action.DELETE: "-",
    Action.ADOPT: "=",
    Action.RENAME: "→",
    Action.FORGET: ".",
    Action.RESTORE: "↑",
    Action.TRANSFER: "»",
}

# Of a plan, for its legend; a line of `!` has a word of its own.
SIGNS: Final = {
    **{symbol: action.value for action, symbol in SYMBOLS.items()},
    SYMBOLS[Action.FORGET]: "no longer managed",
    "!": "needs your attention",
    "?": "not known",
}

STYLES: Final = {
    Action.CREATE: Style.CREATE,
    Action.UPDATE: Style.UPDATE,
    Action.MOVE: Style.MOVE,
    Action.REPLACE: Style.DELETE,
    Action.DELETE: Style.DELETE,
    Action.ADOPT: Style.CREATE,
    Action.RENAME: Style.MOVE,
    Action.FORGET: Style.UPDATE,
    Action.RESTORE: Style.CREATE,
    Action.TRANSFER: Style.MOVE,
}

# Destructive ones last: the end of a sentence is read best.
SUMMARY_ORDER: Final = (
    Action.CREATE, Action.UPDATE, Action.MOVE, Action.TRANSFER, Action.RESTORE, Action.ADOPT, Action.RENAME, Action.FORGET, Action.REPLACE,
    Action.DELETE,
)  # fmt: skip

RULES: Final = {Severity.ERROR: (Style.BLOCKED, "violation"), Severity.WARNING: (Style.UPDATE, "warning")}

# Every way to end but `done`, in the order of summaries.
ENDINGS: Final = {
    StepStatus.FAILED: ("!", "failed"),
    StepStatus.ASKED: ("?", "asked for, not done"),
    StepStatus.IN_DOUBT: ("?", "in doubt"),
    StepStatus.STALE: ("≠", "stale"),
    StepStatus.SKIPPED: (".", "skipped"),
}

# A status is its own cause only where the step does not name a better one.
CAUSES: Final = {
    StepStatus.FAILED: "RC-request-refused",
    StepStatus.ASKED: "RC-asked-not-done",
    StepStatus.IN_DOUBT: "RC-outcome-unknown",
    StepStatus.STALE: "RC-changed-since-plan",
    StepStatus.SKIPPED: "RC-skipped",
}


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 request`, `3 requests`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def id_and_title(id: str | None, title: str | None) -> str:
    """`team_1 "Writers"`: an object of the service; its id alone if it has no title of its own."""
    own = bare(id) if id else ""
    return " ".join(part for part in (own, f'"{title}"' if title and title != own else "") if part)


def listed(names: list[str], most: int) -> str:
    """`a, b and c`, or `a, b and 7 more`."""
    if len(names) > most:
        return ", ".join(names[: most - 1]) + f" and {len(names) - most + 1:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


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
