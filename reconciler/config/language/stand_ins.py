"""What stands for a value that nobody knows, where that is no problem: a text that says which one it is. Pure.

`diff` compares files alone: a variable that nobody sets is `unknown.vars.NAME` in it, and a secret `unknown.secrets.NAME`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from reconciler.config.source.nodes import Entry, Map, StandIn, plain


def stand_in(names: Iterable[str]) -> StandIn:
    """What stands for a value that is made of these: `unknown.vars.brand`."""
    return StandIn("+".join(f"unknown.{name if '.' in name else f'vars.{name}'}" for name in sorted(names)))


def take_unset(entry: Entry | None, given: Mapping[str, Any], environ: Mapping[str, str], others: Collection[str]) -> dict[str, Entry]:
    """Take out of `vars` what has no value. `given`: `--var` pairs; `others`: the names that other files set."""
    if entry is None or not isinstance(entry.node, Map):
        return {}
    unset = {
        name: each for name, each in entry.node.entries.items() if _is_unset(each, environ) and name not in given and name not in others
    }
    for name in unset:
        del entry.node.entries[name]
    return unset


def _is_unset(declared: Entry, environ: Mapping[str, str]) -> bool:
    if not isinstance(declared.node, Map) or "default" in declared.node.entries:
        return False
    env = declared.node.entries.get("env")
    return env is None or plain(env.node) not in environ
