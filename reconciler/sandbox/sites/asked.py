"""Single readers, described by all that they bring: which objects each of them can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reconciler.sandbox.organization.levels import ADMIN
from reconciler.sandbox.sites.audience import GUEST, Audience, Path
from reconciler.sandbox.sites.readers import Reader, is_deleted, opened
from reconciler.sandbox.store import Object


class AskedReader(NamedTuple):
    """One reader. `role`: as a member of the organization that an object belongs to, who was given nothing; `member`: the id of a member,
    with what they were given. None for everybody else."""

    reader: Reader
    role: str | None = None
    member: str | None = None


def readable(audience: Audience, asked: AskedReader) -> Iterator[tuple[str, str]]:
    """The kind and id of every object that this reader can read."""
    for kind, data, paths in audience.reached:
        if not (kind == "space" and is_deleted(data)) and _reads(audience, asked, kind, data, paths):
            yield kind, data["id"]


def _reads(audience: Audience, asked: AskedReader, kind: str, data: Object, paths: list[Path]) -> bool:
    reader = asked.reader
    if any(gate.opens(reader) and reader.passes(conditions) for gate, conditions in paths) or reads_as_member(audience, asked, kind, data):
        return True
    by_itself = kind in ("space", "openapi") and not reader.agent
    return by_itself and opened(str(data.get("visibility", "private")), reader, has_key=False)


def reads_as_member(audience: Audience, asked: AskedReader, kind: str, data: Object) -> bool:
    """Whether a reader can read an object that is not deleted because they are a member. Guests read only content."""
    member = {"id": "", "role": asked.role if asked.role != GUEST else None} if asked.role else audience.members.get(asked.member or "")
    if member is None:
        return False
    if kind in ("collection", "space"):
        return audience.levels.access(data).of(member) is not None
    return member["role"] == ADMIN or (kind == "openapi" and member["role"] is not None)
