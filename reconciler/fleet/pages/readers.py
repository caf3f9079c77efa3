"""The readers that an object gains and loses, from the document of a plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.fleet.pages.views import ReadersView


def gained(plan: Mapping[str, Any]) -> tuple[ReadersView, ...]:
    """Objects that become readable, or that more people may change. Those that require consent come first."""
    exposures = sorted(plan["exposures"], key=lambda exposure: not exposure["asked"])
    return tuple(
        ReadersView(
            address=exposure["address"],
            says=exposure["says"],
            readers=tuple(exposure["readers"]),
            path=tuple(exposure["path"]) if len(exposure["path"]) > 1 else (),
            reaches=tuple(exposure["reaches"]),
            where=_where(exposure["source"]),
        )
        for exposure in exposures
    )


def lost(plan: Mapping[str, Any]) -> tuple[ReadersView, ...]:
    """Published URLs that stop working, and deleted objects."""
    urls = [ReadersView(entry["address"], _broken(entry), where=_where(entry["source"])) for entry in plan["broken"]]
    named = {entry["address"] for entry in plan["broken"]}
    deleted = [
        ReadersView(entry["address"], "it is deleted, so nobody can read it afterwards", where=_where(entry["source"]))
        for entry in plan["changes"]
        if "delete" in entry["actions"] and entry["address"] not in named
    ]
    return (*urls, *deleted)


def _broken(entry: Mapping[str, Any]) -> str:
    url = entry["before"] or "its secret URL"
    return f"{url} stops working" + (f"; the content is at {entry['after']} afterwards" if entry["after"] else f": {entry['reason']}")


def _where(source: Mapping[str, Any] | None) -> str:
    return f"{source['file']}:{source['line']}" if source is not None else ""
