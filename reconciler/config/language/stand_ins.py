"""Placeholder texts for values that are unknown where a project is checked without them: `unknown.vars.brand`. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from reconciler.config.source.nodes import Map, MapEntry, StandIn, plain

UNKNOWN: Final = "unknown."
_STANDS: Final = re.compile(re.escape(UNKNOWN) + r"(vars|secrets)\b")


def stand_in(names: Iterable[str]) -> StandIn:
    """The placeholder for a value that depends on these: `unknown.vars.brand`."""
    return StandIn("+".join(f"{UNKNOWN}{name if '.' in name else f'vars.{name}'}" for name in sorted(names)))


def is_unknown(text: str) -> bool:
    """Whether a text contains one of these."""
    return _STANDS.search(text) is not None


def take_unset(
    entry: MapEntry | None, given: Mapping[str, Any], environ: Mapping[str, str], others: Collection[str]
) -> dict[str, MapEntry]:
    """Remove and return the variables of `vars` without a value. `given`: `--var` pairs; `others`: the names that other files set."""
    if entry is None or not isinstance(entry.node, Map):
        return {}
    unset = {
        name: declared
        for name, declared in entry.node.entries.items()
        if _is_unset(declared, environ) and name not in given and name not in others
    }
    for name in unset:
        del entry.node.entries[name]
    return unset


def _is_unset(declared: MapEntry, environ: Mapping[str, str]) -> bool:
    if not isinstance(declared.node, Map) or "default" in declared.node.entries:
        return False
    env = declared.node.entries.get("env")
    return env is None or plain(env.node) not in environ
