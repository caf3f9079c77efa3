"""Single readers, described by all that they bring: which objects each of them can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from reconciler.sandbox.organization.levels import member_level
from reconciler.sandbox.sites.audience import Audience, Path
from reconciler.sandbox.sites.readers import Reader, is_deleted, opened
from reconciler.sandbox.store import Object

GUEST: Final = "guest"


class AskedReader(NamedTuple):
    """One reader. `role`: as a member of the organization that an object belongs to; None for everybody else."""

    reader: Reader
    role: str | None = None


def readable(audience: Audience, asked: AskedReader) -> Iterator[tuple[str, str]]:
    """The kind and id of every object that this reader can read."""
    for kind, data, paths in audience.reached:
        if not (kind == "space" and is_deleted(data)) and _reads(audience, asked, kind, data, paths):
            yield kind, data["id"]


def _reads(audience: Audience, asked: AskedReader, kind: str, data: Object, paths: list[Path]) -> bool:
    reader, role = asked
    if role == "admin" or any(gate.opens(reader) and reader.passes(conditions) for gate, conditions in paths):
        return True
    if kind not in ("space", "openapi"):
        return False
    if not reader.agent and opened(str(data.get("visibility", "private")), reader, has_key=False):
        return True
    if role in (None, GUEST):
        return False
    return kind == "openapi" or member_level(audience.ranks, role, data) is not None
