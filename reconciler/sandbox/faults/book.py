"""The rules in force with what they saw and did, kept in the sandbox's file so that a restart or another process changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from reconciler.sandbox.faults import limits, log
from reconciler.sandbox.faults.rules import AnyRule, Call, One, RateLimit, label
from reconciler.sandbox.store import Store

KEY: Final = "faults"
OF_HEADER: Final = "header"


@dataclass
class Entry:
    """One rule. `seen`: matching requests; `injected`: how many of them went wrong; `kept`: of a rate limit."""

    rule: AnyRule
    label: str
    seen: int = 0
    injected: int = 0
    kept: limits.Kept | None = None

    def shown(self) -> dict[str, Any]:
        rule = self.rule.model_dump(exclude_none=True)
        return {**rule, "name": self.label, "seen": self.seen, "injected": self.injected}


@dataclass(frozen=True)
class Chosen:
    """One misbehaviour of one request, written down already."""

    rule: AnyRule
    label: str
    number: int
    verdict: limits.Verdict | None = None


def set_rules(store: Store, rules: Sequence[AnyRule]) -> list[Entry]:
    """Put rules in place of all others; they have seen nothing yet."""
    entries = [Entry(rule, label(rule, index)) for index, rule in enumerate(rules)]
    _write(store, entries)
    return entries


def read(store: Store) -> list[Entry]:
    """The rules in force, in their order."""
    text = store.meta(KEY)
    if text is None:
        return []
    return [
        Entry(
            One.validate_python(entry["rule"]),
            entry["label"],
            entry["seen"],
            entry["injected"],
            tuple(entry["kept"]) if entry["kept"] else None,
        )
        for entry in json.loads(text)
    ]


def _write(store: Store, entries: Sequence[Entry]) -> None:
    kept = [
        {"rule": entry.rule.model_dump(), "label": entry.label, "seen": entry.seen, "injected": entry.injected, "kept": entry.kept}
        for entry in entries
    ]
    if kept:
        store.set_meta(KEY, json.dumps(kept))
    else:
        with store.write():
            store.connection.execute("delete from meta where key = ?", (KEY,))


def choose(store: Store, call: Call, own: Sequence[AnyRule]) -> tuple[list[Chosen], dict[str, str]]:
    """Deletions wrong with a request, and the headers of its answer: by the rules in force, then by its own."""
    chosen: list[Chosen] = []
    headers: dict[str, str] = {}
    now = store.now().timestamp()
    with store.write():
        # the counts are kept in the file under its write lock, so that two requests at once are never both "the third one"
        standing = read(store)
        for entry in [*standing, *(Entry(rule, rule.name or OF_HEADER) for rule in own)]:
            rule, verdict = entry.rule, None
            if not rule.matches(call):
                continue
            entry.seen += 1
            if not rule.picks(entry.seen) or (rule.times is not None and entry.injected >= rule.times):
                continue
            if isinstance(rule, RateLimit):
                measure = limits.window if rule.kind == "window" else limits.bucket
                verdict, entry.kept = measure(rule.limit, rule.window, entry.kept, now)
                headers |= verdict.headers()
                if verdict.allowed:
                    continue
            entry.injected += 1
            number = log.note(store, entry.label, rule.fault, call.method, call.path)
            chosen.append(Chosen(rule, entry.label, number, verdict))
            if rule.ends:
                break
        if standing:
            _write(store, standing)
    return chosen, headers


def retract(store: Store, chosen: Chosen) -> None:
    """The misbehaviour could not be seen after all: there was nothing it could change."""
    with store.write():
        log.retract(store, chosen.number)
        entries = read(store)
        for entry in entries:
            if entry.label == chosen.label and entry.injected:
                entry.injected -= 1
        if entries:
            _write(store, entries)
