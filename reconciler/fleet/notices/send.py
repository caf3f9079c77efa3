"""Sending a message through apprise: the only module that imports it. A URL of apprise is a secret, and so is every part of it."""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from reconciler.fleet.model import SecretReference
from reconciler.fleet.secrets import resolved
from reconciler.text.redact import Mask

REASON_MAX: Final = 300  # characters
PART_MIN: Final = 4  # characters of a part of a URL that is masked by itself
_PARTS: Final = re.compile(r"[/:@?&=#,\s]+")
_ONE_AT_A_TIME: Final = threading.Lock()
"""apprise reports failures to a logger that all threads share."""


class NotSent(Exception):
    """Why a message was not sent, without any part of the URL."""


def send(target: SecretReference, title: str, text: str, severity: str) -> None:
    """Send a message. `severity`: a type of apprise, which services show as a colour or a sign. Raises `NotSent`, or `MissingSecret`."""
    url = resolved(target, f"the URL of the notifications {target}")
    if find_spec("apprise") is None:
        raise NotSent("apprise is not installed on this worker")
    with _ONE_AT_A_TIME, _listening() as logged, warnings.catch_warnings(action="ignore"):  # of packages of its plugins
        try:
            import apprise

            service = apprise.Apprise()
            known = service.add(url)
            shown = apprise.NotifyType(severity)
            sent = known and bool(service.notify(body=text or title, title=title, notify_type=shown, body_format=apprise.NotifyFormat.TEXT))
        except Exception as error:  # whatever a plugin raises, the message is retried
            raise NotSent(_reason(url, [type(error).__name__])) from None
    if not known:
        raise NotSent(f"{target} is not a URL that apprise knows")
    if not sent:
        raise NotSent(_reason(url, logged))


def _reason(url: str, logged: list[str]) -> str:
    """The error that apprise reported, without any part of the URL."""
    secrets = {url, *(part for part in _PARTS.split(url) if len(part) >= PART_MIN)}
    text = Mask(secrets).text("; ".join(dict.fromkeys(logged))) or "the service did not accept it"
    return "".join(character if character.isprintable() else " " for character in text)[:REASON_MAX]


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Collect the messages of apprise's logger, which go nowhere else."""
    logged: list[str] = []

    def kept(record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING:
            logged.append(record.getMessage())
        return False

    logger = logging.getLogger("apprise")
    logger.addFilter(kept)
    try:
        yield logged
    finally:
        logger.removeFilter(kept)
