"""The settings of warnings and notifications in a fleet file. Pure; problems are reported."""

from __future__ import annotations

from typing import Any, Final

from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, MapEntry, Scalar
from reconciler.config.source.problems import described, wrong_form
from reconciler.fleet.declared import values
from reconciler.fleet.declared.keys import EVENTS
from reconciler.fleet.health import SOON_DEFAULT
from reconciler.fleet.model import Event
from reconciler.text.suggest import did_you_mean, one_of

SOON_MIN: Final = 60
SOON_MAX: Final = 366 * 86_400
ON_DEFAULT: Final = tuple(event for event in EVENTS if event is not Event.APPLIED)


def settings(words: KeyReader) -> dict[str, Any]:
    """These settings as JSON. URLs are references."""
    made: dict[str, Any] = {}
    soon = values.duration(words, "expiresSoon", SOON_DEFAULT, least=SOON_MIN, most=SOON_MAX)
    if "expiresSoon" in words.entries:
        made["expiresSoon"] = soon
    if (entry := words.entry("notifications")) is not None:
        made["notifications"] = _notifications(words, entry)
    return made


def _notifications(words: KeyReader, entry: MapEntry) -> list[dict[str, Any]]:
    if not isinstance(entry.node, List):
        wrong = f"notifications must be a list, not {described(entry.node)}; write [{{url: {{env: NAME}}}}]"
        words.problems.add(entry.node.at, wrong, id=wrong_form(entry.node))
        return []
    made = []
    for number, item in enumerate(entry.node.items):
        inner = KeyReader.of(f"notifications[{number}]", MapEntry("", item.at, item), words.problems, example="url: {env: NAME}")
        url, events, tenants = values.reference(inner, "url"), _texts(inner, "on", EVENTS), _texts(inner, "tenants")
        inner.rest()
        if inner.entries and "url" not in inner.entries and not inner.meant("url"):
            words.problems.add(item.at, f"{inner.name} has no url; write url: {{env: NAME}}", id="RC-missing-key")
        if url is not None:
            made.append({"url": str(url), "on": list(events or ON_DEFAULT), "tenants": list(tenants) if tenants is not None else None})
    return made


def _texts(words: KeyReader, key: str, known: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    """A list of texts; None if there is none. `known`: all allowed values."""
    entry = words.entry(key)
    if entry is None:
        return None
    if not isinstance(entry.node, List) or not entry.node.items:
        example = ", ".join(known[:2]) or "NAME"
        words.problems.add(entry.node.at, f"{words.path(key)} must be a list, such as [{example}]", id="RC-wrong-form")
        return ()
    made = []
    for item in entry.node.items:
        text = item.text if isinstance(item, Scalar) else ""
        if known and text not in known:
            wrong = f"{words.path(key)} contains {described(item)}; {one_of(known)}{did_you_mean(text, known)}"
            words.problems.add(item.at, wrong, id="RC-unknown-choice")
        elif not text:
            words.problems.add(item.at, f"{words.path(key)} contains {described(item)}; it must be a name", id="RC-wrong-form")
        else:
            made.append(text)
    return tuple(dict.fromkeys(made))
