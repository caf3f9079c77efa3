"""The HTTP client: no other module sends requests.

get, list, send      service.py        Reader and Writer, for the rest of the program
  ask                conversation.py   attempts, until an answer or an error
    enter            pacing.py         the gate; quota.py: limits in headers
    run              exchange.py       one request within one deadline
      send           transport.py      Request, Response: the seam to the network, which tests put a sandbox behind
        connections  wire.py           aiohttp, and what the environment says about proxies
    classify         retry.py          the meaning of an outcome
    ask              answers.py        what this run was just answered is not asked for again
  read_all           answers.py        all pages of a list
  encode             paths.py          a value cannot leave its segment
ClientSettings       settings.py

Not exported here: `service`, which alone imports aiohttp (0.15 s). Many a command needs the settings or an encoded path, and sends nothing.
"""

from __future__ import annotations

from reconciler.client.answers import PAGE_SIZE as PAGE_SIZE, Answer as Answer, WholeList as WholeList
from reconciler.client.pacing import Clock as Clock, SharedBudget as SharedBudget
from reconciler.client.paths import encode as encode, joined as joined
from reconciler.client.retry import RetryClass as RetryClass
from reconciler.client.settings import ClientSettings as ClientSettings
from reconciler.client.transport import (
    Broken as Broken,
    NeverSent as NeverSent,
    Request as Request,
    Response as Response,
    Transport as Transport,
)
