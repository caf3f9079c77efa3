"""Expiries in the fleet: certificates and share links, as the last readings saw them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from sqlalchemy import Connection, text

from reconciler.dataclass import dataclass
from reconciler.fleet.store.schema import SCHEMA

_ENDINGS: Final = text(f"""
SELECT CAST(c->>'until' AS date) AS day, p.name AS project, p.tenant, c->>'address' AS address, c->>'sentence' AS sentence
FROM {SCHEMA}.projects p CROSS JOIN LATERAL jsonb_array_elements(p.health->'concerns') c
WHERE p.orphaned_at IS NULL AND c->>'until' IS NOT NULL
  AND (CAST(:tenants AS text[]) IS NULL OR p.tenant = ANY(CAST(:tenants AS text[])))
  AND (CAST(:first AS date) IS NULL OR CAST(c->>'until' AS date) >= CAST(:first AS date))
  AND (CAST(:last AS date) IS NULL OR CAST(c->>'until' AS date) <= CAST(:last AS date))
ORDER BY 1, 2, 4 LIMIT :limit
""")  # noqa: S608  the schema's name is a constant
LIMIT: Final = 10_000


@dataclass(frozen=True)
class Expiry:
    """`day`: the last valid one. `address`: of the object that expires. `sentence`: without its full stop."""

    day: date
    project: str
    tenant: str
    address: str
    sentence: str


def endings(
    connection: Connection, tenants: Sequence[str] | None, *, first: date | None = None, last: date | None = None, limit: int = LIMIT
) -> list[Expiry]:
    """The expiries between two days, the first one first. `tenants`: those whose projects are meant; None for all."""
    values = {"tenants": list(tenants) if tenants is not None else None, "first": first, "last": last, "limit": limit}
    return [Expiry(**row) for row in connection.execute(_ENDINGS, values).mappings()]
