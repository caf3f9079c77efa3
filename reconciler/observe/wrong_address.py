"""Whether it is the service that answers, where it shows none of the declared roots: a wrong base address answers 404 to everything.

One list is asked for then, and only then, so that a run which finds its roots costs no request more.
"""

from __future__ import annotations

from reconciler.client import Reader
from reconciler.errors import NotFound, Rejected, ServiceError, Unavailable
from reconciler.model.codec import is_kind
from reconciler.observe.readings import Readings
from reconciler.resource import Kind, Listing
from reconciler.text.suggest import a


async def look_for_roots(readings: Readings) -> None:
    """Note which roots the token reaches, where none of those that were asked for exists.

    Raises `ServiceError` where the list of roots is no list of roots either: then nothing that was answered means anything.
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
        return  # it may be the service, which does not list them now or to this token
    except ServiceError as error:
        raise not_the_service(reader, error.message) from None
    if not all(is_kind(kind, item) for item in listed):
        raise not_the_service(reader, f"GET /v1{reading.path} answered something that is not {a(kind.name)}")
    readings.note_roots(kind, tuple(sorted(str(item["id"]) for item in listed)))


def not_the_service(reader: Reader, reason: str) -> ServiceError:
    """The error for an address behind which something else answers."""
    return ServiceError(
        f"{reader.base_url} is not the URL of the service: {reason}",
        id="RC-wrong-service",
        hint="Correct service.baseUrl, --base-url or RECONCILER_BASE_URL; /v1 is added automatically.",
    )
