"""Send one message of the database, and store the result."""

from __future__ import annotations

from reconciler.errors import ReconcilerError
from reconciler.fleet.notices.send import NotSent, send
from reconciler.fleet.store import FleetDatabase, notices


def deliver(database: FleetDatabase) -> bool:
    """Send a message that is due; False if there is none."""
    with database.transaction() as connection:
        notice = notices.take(connection)
    if notice is None:
        return False
    why = None
    try:
        send(notice.target, notice.title, notice.text)
    except NotSent as error:
        why = str(error)
    except ReconcilerError as error:
        why = error.message
    with database.transaction() as connection:
        if why is None:
            notices.sent(connection, notice)
        else:
            notices.failed(connection, notice, why)
    return True
