"""The published URLs that follow from the paths of objects and of what contains them. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from reconciler.model import Actual, Observed
from reconciler.resource import Kind, Kinds


class PublishedUrls:
    """Gives objects the published URLs that follow from the paths of what contains them. Without a host, which files do not contain."""

    def __init__(self, kinds: Kinds, shown: Actual) -> None:
        self.kinds, self.shown = kinds, shown
        self._urls: dict[tuple[str, str], str | None] = {}
        self._segments = {
            name: segment
            for name, kind in kinds.items()
            if kind.published is not None
            and (segment := next((field for field in kind.fields.values() if field.address == "segment"), None))
        }

    def actual(self) -> Actual:
        """The given objects, with the URLs."""
        objects = dict(self.shown.objects)
        for name in self._segments:
            objects[name] = {id: self._addressed(self.kinds[name], observed) for id, observed in objects.get(name, {}).items()}
        return replace(self.shown, objects=objects)

    def _addressed(self, kind: Kind, observed: Observed) -> Observed:
        url = self._url(kind, observed)
        if url is None or kind.published is None:
            return observed
        raw: Any = url
        for key in reversed(kind.published.at.split(".")):
            raw = {key: raw}
        return replace(observed, raw={**observed.raw, **raw})

    def _url(self, kind: Kind, observed: Observed) -> str | None:
        key = (kind.name, observed.id)
        if key not in self._urls:
            path = observed.values.get(self._segments[kind.name].name)
            outer = self._outer(kind, observed)
            start = self._url(*outer) if outer is not None else ""
            self._urls[key] = "/".join(filter(None, [start, quote(path)])) if isinstance(path, str) and start is not None else None
        return self._urls[key]

    def _outer(self, kind: Kind, observed: Observed) -> tuple[Kind, Observed] | None:
        """The nearest object with a path of its own that contains an object; None where there is none."""
        ids = [(str(field.to), str(observed.values.get(field.name))) for field in kind.location_fields]
        for name, id in (*ids, *reversed(tuple(observed.within.items()))):
            item = self.shown.find(name, id) if name in self._segments else None
            if item is not None:
                return self.kinds[name], item
        return None
