"""The settings of warnings and notifications in a fleet file. Pure; problems are reported."""

from __future__ import annotations

from typing import Any, Final

from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, MapEntry, Scalar
from reconciler.config.source.problems import described, shown, wrong_form
from reconciler.fleet.declared import values
from reconciler.fleet.declared.keys import EVENTS
from reconciler.fleet.drift_groups import MORNING, NEVER, NOW, ZONE
from reconciler.fleet.health import SOON_DEFAULT
from reconciler.fleet.model import Event
from reconciler.model.drift import DriftClass
from reconciler.text.names import did_you_mean, one_of

SOON_MIN: Final = 60
SOON_MAX: Final = 366 * 86_400
ON_DEFAULT: Final = tuple(event for event in EVENTS if event is not Event.APPLIED)


def settings(keys: KeyReader) -> dict[str, Any]:
    """These settings as JSON. URLs are references."""
    settings: dict[str, Any] = {}
    soon = values.duration(keys, "expiresSoon", SOON_DEFAULT, least=SOON_MIN, most=SOON_MAX)
    if "expiresSoon" in keys.entries:
        settings["expiresSoon"] = soon
    if (entry := keys.entry("notifications")) is not None:
        settings["notifications"] = _notifications(keys, entry)
    if (entry := keys.entry("notify")) is not None:
        settings["notify"] = _notify(KeyReader.of("notify", entry, keys.problems, example=f"cosmetic: {MORNING!r}"))
    return settings


def _notify(keys: KeyReader) -> dict[str, str]:
    """When people are notified of each class of drift."""
    times = {}
    for name in DriftClass:
        value = keys.text(name)
        if value is not None and value[0] not in (NOW, NEVER) and values.TIME.fullmatch(value[0]) is None:
            wrong = f"{keys.path(name)} is {shown(value[0])}; write {NOW}, {NEVER}, or a time of day such as {MORNING}"
            keys.problems.add(value[1], wrong, id="RC-unknown-choice")
        elif value is not None:
            times[str(name)] = value[0]
    zone = values.time_zone(keys)
    keys.rest()
    return {**times, ZONE: zone}


def _notifications(keys: KeyReader, entry: MapEntry) -> list[dict[str, Any]]:
    if not isinstance(entry.node, List):
        wrong = f"notifications must be a list, not {described(entry.node)}; write [{{url: {{env: NAME}}}}]"
        keys.problems.add(entry.node.at, wrong, id=wrong_form(entry.node))
        return []
    notifications = []
    for number, item in enumerate(entry.node.items):
        inner = KeyReader.of(f"notifications[{number}]", MapEntry("", item.at, item), keys.problems, example="url: {env: NAME}")
        url, events, tenants = values.reference(inner, "url"), _texts(inner, "on", EVENTS), _texts(inner, "tenants")
        inner.rest()
        if inner.entries and "url" not in inner.entries and not inner.meant("url"):
            keys.problems.add(item.at, f"{inner.name} has no url; write url: {{env: NAME}}", id="RC-missing-key")
        if url is not None:
            scope = list(tenants) if tenants is not None else None
            notifications.append({"url": str(url), "on": list(events or ON_DEFAULT), "tenants": scope})
    return notifications


def _texts(keys: KeyReader, key: str, known: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    """A list of texts; None if there is none. `known`: all allowed values."""
    entry = keys.entry(key)
    if entry is None:
        return None
    if not isinstance(entry.node, List) or not entry.node.items:
        example = ", ".join(known[:2]) or "NAME"
        keys.problems.add(entry.node.at, f"{keys.path(key)} must be a list, such as [{example}]", id="RC-wrong-form")
        return ()
    texts = []
    for item in entry.node.items:
        text = item.text if isinstance(item, Scalar) else ""
        if known and text not in known:
            wrong = f"{keys.path(key)} contains {described(item)}; {one_of(known)}{did_you_mean(text, known)}"
            keys.problems.add(item.at, wrong, id="RC-unknown-choice")
        elif not text:
            keys.problems.add(item.at, f"{keys.path(key)} contains {described(item)}; it must be a name", id="RC-wrong-form")
        else:
            texts.append(text)
    return tuple(dict.fromkeys(texts))
