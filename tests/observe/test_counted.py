"""How many objects a reading says that it has read."""

from __future__ import annotations

import asyncio
from pathlib import Path

from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.model import Actual, Listener
from reconciler.observe.everything import read_all
from tests.harness import BASE, ORGANIZATION, TOKEN, Org, kinds
from tests.transports import Through


class Counting(Listener):
    """Adds up the objects that it is told of."""

    def __init__(self) -> None:
        self.objects = 0

    def read(self, objects: int) -> None:
        self.objects += objects


def test_each_object_is_counted_once_whichever_lists_show_it(tmp_path: Path) -> None:
    org, counting = Org(tmp_path), Counting()
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}
    org.write({"content": [blank, {"collection": "c", "title": "C", "content": [{"space": f"s{n}", "title": f"S{n}"} for n in range(3)]}]})
    org.apply()

    async def read() -> Actual:
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(org.transport()), listener=counting) as reader:
            return await read_all(reader, kinds(), [ORGANIZATION])

    actual = asyncio.run(read())
    assert counting.objects == sum(map(len, actual.objects.values())) > 3
