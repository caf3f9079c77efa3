"""The HTTP client: no other module sends requests.

get, list, send      service.py        the interface for the rest of the program
  ask                conversation.py   attempts, until an answer or an error
    enter            pacing.py         the gate, fed by hints.py; quota.py: a limit in headers
    run              exchange.py       one request within one deadline
      the seam       transport.py      httpx's interface; wire.py is aiohttp behind it
    classify         retry.py          the meaning of an outcome
    ask              answers.py        what is known already is not asked for again
  read_all           paging.py         all pages of a list
  encode             paths.py          a value cannot leave its segment
Settings, normalise  settings.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.deferred import deferred

if TYPE_CHECKING:
    from reconciler.client.answers import Answer, KnownAnswers
    from reconciler.client.conversation import Listener, Silent
    from reconciler.client.pacing import Clock
    from reconciler.client.paging import PAGE_SIZE, WholeList
    from reconciler.client.paths import encode, joined
    from reconciler.client.retry import RetryClass
    from reconciler.client.service import Reader, SystemClock, Writer
    from reconciler.client.settings import ClientSettings, normalise
    from reconciler.client.transport import WriteRefused

__all__ = [
    "PAGE_SIZE",
    "Answer",
    "ClientSettings",
    "Clock",
    "KnownAnswers",
    "Listener",
    "Reader",
    "RetryClass",
    "Silent",
    "SystemClock",
    "WholeList",
    "WriteRefused",
    "Writer",
    "encode",
    "joined",
    "normalise",
]

if not TYPE_CHECKING:
    __getattr__ = deferred(
        __name__,
        {
            "answers": "Answer KnownAnswers",
            "conversation": "Listener Silent",
            "pacing": "Clock",
            "paging": "PAGE_SIZE WholeList",
            "paths": "encode joined",
            "retry": "RetryClass",
            "service": "Reader SystemClock Writer",
            "settings": "ClientSettings normalise",
            "transport": "WriteRefused",
        },
    )
