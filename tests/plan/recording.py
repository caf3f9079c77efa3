"""An organization that is applied once in a process and read: what the service answered, so that each plan needs no service.

Ids are made from addresses, so that a record differs only where the service or the reading does.
"""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from reconciler.address import Address, bare
from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Binding, Desired, Origin, Position, State
from reconciler.observe import observe
from tests.harness import BASE, TOKEN, Org, Still
from tests.outside import everything
from tests.small import applied, node
from tests.storms import Recorded, record
from tests.transports import Through


def organization() -> dict[str, Any]:
    """The organization that is recorded: every field of every kind, and a second of what may be the last."""
    tree = everything()
    del (
        tree["agentInstructions"],
        tree["translations"],
        tree["integrations"],
        tree["installations"],
        tree["sites"]["docs"]["adaptiveSchema"],
    )  # the record is of before these kinds
    del tree["members"]["linus@acme.example"]["sso"]  # and of before this field
    tree["teams"]["readers"] = {"title": "Readers"}
    tree["sites"]["docs"]["shareLinks"]["press"] = {"name": "Press", "active": False}
    node(tree, "other")["content"].append({"collection": "attic", "title": "Attic", "content": [{"space": "box", "title": "Box"}]})
    return tree


@dataclass
class World:
    """What a service answers, by path, and what is remembered; both may be edited before it is read."""

    answers: dict[str, Any]
    bindings: dict[str, dict[str, Any]]
    state: dict[str, Any] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    hidden: tuple[str, ...] = ()

    @classmethod
    def recorded(cls) -> World:
        kept = json.loads(_record())
        # Lists that nobody reads while nothing declared is in them.
        unread = [f"/orgs/org_acme/sites/site-flat/{name}" for name in ("sections", "section-groups", "share-links")]
        return cls({**{path: {"items": []} for path in (*unread, "/orgs/org_acme/translations")}, **kept["answers"]}, kept["bindings"])

    def set(self, id: str, **values: Any) -> None:
        """Let somebody else change an object, wherever it is shown."""
        for document in self.answers.values():
            for object in _objects(document):
                if object.get("id") == id:
                    object.update(values)

    def add(self, list: str, like: str, id: str, **values: Any) -> None:
        """Let somebody else make an object in a list, as a copy of one that is in it, and in that one's container where that shows it."""
        documents = [*self.answers.values()]
        source = next(value for document in documents for value in _objects(document) if value.get("id") == like)
        new = {**copy.deepcopy(source), "id": id, **values}
        shown = [items for document in documents for item in document.get("items", ()) for items in _lists(item)]
        own = self.answers.get(list, {"items": []})  # a site with sections shows its variants in them only
        for items in (own["items"], *shown):
            if any(item["id"] == like for item in items):
                items.append(copy.deepcopy(new))
        if "count" in own:
            own["count"] += 1

    def drop(self, *ids: str) -> None:
        """Let somebody else delete objects: no list shows them, and their ids answer 404."""
        for path, document in list(self.answers.items()):
            if path.rsplit("/", 1)[-1] in ids or any(f"/{id}/" in path for id in ids):
                del self.answers[path]
            elif "items" in document:
                document["items"] = [member for member in document["items"] if (member.get("space") or member).get("id") not in ids]
                for items in (items for item in document["items"] for items in _lists(item)):
                    items[:] = [entry for entry in items if entry["id"] not in ids]
                document |= {"count": len(document["items"])} if "count" in document else {}
        self.hidden = (*self.hidden, *ids)

    def remembered(self) -> State:
        bindings = {}
        for text, binding in self.bindings.items():
            place = binding["place"] and Position(
                Address.parse(binding["place"]["parent"]) if binding["place"]["parent"] else None, binding["place"]["index"]
            )
            address = Address.parse(text)
            bindings[address] = Binding(address, **{**binding, "origin": Origin(binding["origin"]), "place": place})
        return State("lineage", 7, bindings, **self.state)

    def read(self, desired: Desired, state: State) -> Actual:
        """One observation, as `plan` makes it."""

        async def look() -> Actual:
            answers = {path: (200, json.dumps(document).encode()) for path, document in self.answers.items()}
            transport = Recorded(answers, lambda *_: (403, b"{}"), lambda path, _: path in self.failing, hidden=self.hidden)
            async with Reader(ClientSettings(BASE, TOKEN), transport=Through(transport), clock=Still(), jitter=lambda: 0.5) as reader:
                return await observe(reader, kinds(), desired, state)

        return asyncio.run(look())


def _objects(value: Any) -> list[dict[str, Any]]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, dict) else []) + [object for part in below for object in _objects(part)]


def _lists(item: dict[str, Any]) -> Iterator[list[Any]]:
    """The lists of objects in an item."""
    yield from (
        value for value in item.values() if isinstance(value, list) and all(isinstance(entry, dict) and "id" in entry for entry in value)
    )


@cache
def _record() -> str:
    """What the service answers and the state has after the organization was applied to a sandbox, as JSON."""
    with tempfile.TemporaryDirectory() as root:
        org = Org(Path(root))
        applied(org, organization())
        kept = record(org)
    bindings = {
        str(address): {
            "kind": binding.kind, "id": binding.id, "origin": str(binding.origin), "sent": dict(binding.sent), "seen": dict(binding.seen),
            "protected": binding.protected,
            "place": {"parent": str(binding.place.parent or ""), "index": binding.place.index} if binding.place else None,
        }
        for address, binding in sorted(kept.state.bindings.items())
    }  # fmt: skip
    text = json.dumps({"answers": {path: json.loads(body) for path, (_, body) in sorted(kept.answers.items())}, "bindings": bindings})
    for address, binding in kept.state.bindings.items():
        if address.container is not None and bare(binding.id) not in ("spc_blank", "usr_ada", "usr_linus"):
            text = text.replace(binding.id, "-".join(str(address).split("/")[1:]))
    return text
