"""The filters, order and page of a list, from the query of a URL and back. Pure.

Unknown parameters are ignored: a link of an older version shows the list without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Self
from urllib.parse import urlencode

from reconciler.fleet.pages import links

PAGE_SIZE: Final = 50
PAGE_MAX: Final = 1_000_000
TEXT_MAX: Final = 200

STATUSES: Final = ("Unknown", "OutOfSync", "Synced", "orphaned")
HEALTHS: Final = ("Broken", "Warning", "Unknown", "Healthy")
MODES: Final = ("watch", "plan", "apply")
SORTS: Final = ("status", "name", "tenant", "age", "coverage", "health", "mode")
"""The columns that can be sorted. `status`: the worst first. Names break ties."""

_CHOICES: Final = {"status": STATUSES, "health": HEALTHS, "mode": MODES, "sort": SORTS, "order": ("up", "down"), "live": ("on", "off")}


@dataclass(frozen=True)
class Query:
    """`text`: a part of the name, of the tenant or of a cause, in any case. `seen`: the numbers that the viewer was already notified of.
    `live`: whether events update the page."""

    text: str = ""
    status: str = ""
    health: str = ""
    tenant: str = ""
    mode: str = ""
    sort: str = "status"
    order: str = "up"
    page: int = 1
    seen: str = ""
    live: str = "on"

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """The query of the parameters of a URL."""
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name in ("text", "tenant", "seen"):
                values[name] = value.strip()[:TEXT_MAX].replace("\0", "")
            elif value in _CHOICES.get(name, ()):
                values[name] = value
        values["page"] = min(number(given.get("page", ""), 1), PAGE_MAX)
        return cls(**values)

    @property
    def offset(self) -> int:
        """How many rows are before the page."""
        return (self.page - 1) * PAGE_SIZE

    @property
    def filtered(self) -> bool:
        """Whether any filter is set."""
        return bool(self.text or self.status or self.health or self.tenant or self.mode)

    def link(self, path: str = links.LIST, **changes: Any) -> str:
        """The URL of this query with changes. A changed filter or order starts at the first page."""
        return _url(path, replace(self, **{"page": 1, **changes}), {"seen"})

    def sorted_by(self, column: str) -> str:
        """The URL that sorts by a column; a second time, the other way round."""
        turned = self.sort == column and self.order == "up"
        return self.link(sort=column, order="down" if turned else "up")


@dataclass(frozen=True)
class AuditQuery:
    """A part of the audit log. `before`, `after`: ids; 0 for none."""

    person: str = ""
    action: str = ""
    project: str = ""
    before: int = 0
    after: int = 0

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        texts = {name: given[name].strip()[:TEXT_MAX].replace("\0", "") for name in ("person", "action", "project") if name in given}
        return cls(**texts, before=number(given.get("before", ""), 0), after=number(given.get("after", ""), 0))

    def link(self, path: str = links.AUDIT, **changes: Any) -> str:
        return _url(path, replace(self, **{"before": 0, "after": 0, **changes}))


def number(text: str, otherwise: int) -> int:
    """A positive number that PostgreSQL can compare; `otherwise` for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0 else otherwise


def _url(path: str, query: Query | AuditQuery, without: set[str] = frozenset()) -> str:  # type: ignore[assignment]
    values = {field.name: getattr(query, field.name) for field in fields(query) if field.name not in without}
    changed = {name: value for name, value in values.items() if value != getattr(type(query), name)}
    return links.to(f"{path}?{urlencode(changed)}" if changed else path)
