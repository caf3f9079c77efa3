"""Whether the base URL is that of the service, where none of the declared roots exists: a wrong URL answers 404 to everything.

One list is read only in that case, so a run that finds its roots sends no additional request.
"""

from __future__ import annotations

from reconciler.client.service import Reader
from reconciler.errors import NotFound, Rejected, ServiceError, Unavailable
from reconciler.model.codec import is_kind
from reconciler.observe.readings import Readings
from reconciler.resource import Kind, Listing
from reconciler.text.suggest import a


async def look_for_roots(readings: Readings) -> None:
    """Record which roots the token reaches, where none of the requested ones exists.

    Raises `ServiceError` where the list of roots is not one either: then no response means anything.
    """
    for kind in readings.missing_roots():
        for reading in kind.listings:
            await _look(readings, kind, reading)


async def _look(readings: Readings, kind: Kind, reading: Listing) -> None:
    reader = readings.reader
    try:
        listed = (await reader.list(reading.path)).items
    except NotFound:
        raise not_the_service(reader, f"it answered 404 to GET /v1{reading.path} too") from None
    except (Rejected, Unavailable):
        return  # it may be the service, which does not list them now or for this token
    except ServiceError as error:
        raise not_the_service(reader, error.message) from None
    if not all(is_kind(kind, item) for item in listed):
        raise not_the_service(reader, f"GET /v1{reading.path} answered something that is not {a(kind.name)}")
    readings.note_roots(kind, tuple(sorted(str(item["id"]) for item in listed)))


def not_the_service(reader: Reader, reason: str) -> ServiceError:
    """The error for a URL at which something other than the service answers."""
    return ServiceError(
        f"{reader.base_url} is not the URL of the service: {reason}",
        id="RC-wrong-service",
        hint="Correct service.baseUrl, --base-url or RECONCILER_BASE_URL; /v1 is added automatically.",
    )
