"""The functions of policy expressions. Pure; the day is an argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from reconciler.config.language.bounds import ExpressionError, Function, known
from reconciler.config.language.expressions import JSON, RANGE
from reconciler.policies.scene import Scene, Subject
from reconciler.text.certificate import expiry
from reconciler.text.names import until


def functions(scene: Scene, today: date, subject: Callable[[], Subject]) -> Mapping[str, Any]:
    """The functions by name. `subject`: the present resource."""
    return {
        "json": JSON,
        "range": RANGE,
        "days": Function("days", lambda day: (_day(day) - today).days),
        "until": Function("until", _until),
        "expires": Function("expires", _expires),
        "count": Function("count", lambda action, kind=None: scene.count(_text(action), None if kind is None else _text(kind))),
        "others": Function("others", lambda field: scene.others(subject(), _text(field))),
        "inside": Function("inside", lambda kind, *about: scene.inside(subject(), _text(kind), *map(known, about))),
    }


def _text(value: Any) -> str:
    if isinstance(known(value), str):
        return str(value)
    raise TypeError


def _day(value: Any) -> date:
    try:
        return date.fromisoformat(_text(value))
    except ValueError:
        raise ExpressionError("days requires a day: YYYY-MM-DD", id="RC-function-arguments") from None


def _until(value: Any) -> str | None:
    """The day after the last word `until` in a text."""
    return until(_text(value))


def _expires(value: Any) -> str:
    day = expiry(_text(value))
    if day is None:
        raise ExpressionError("expires requires a certificate in PEM format", id="RC-function-arguments")
    return day.isoformat()
