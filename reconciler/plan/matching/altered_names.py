"""Objects that may be a resource under a name which the service altered: `Docs (1)` for `Docs`, or a long name that was cut. Pure.

In: the objects of a kind, what is declared, and a resource for which an object would be created. Out: the objects that may be it. Where the
state is lost, nothing else shows that the object exists already; so it is left to people.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from reconciler.address import Address
from reconciler.model import Actual, Declared, Desired, Observed
from reconciler.model.codec import is_chosen_name
from reconciler.resource import Kind
from reconciler.text.names import canonical

CUT_MIN: Final = 20  # characters: shorter names that begin alike are usually two names
_NUMBERED: Final = re.compile(r"(.*\S) \(\d+\)")


class AlteredNames:
    """The names of a kind that services may have made of others, by fixed container."""

    def __init__(self, kind: Kind, desired: Desired, actual: Actual) -> None:
        self.field = next(filter(is_chosen_name, kind.keys), None)
        self._declared: set[tuple[Address | None, str]] = set()
        for resource in desired.resources.values() if self.field is not None else ():
            name = resource.values.get(self.field.name) if resource.kind == kind.name and self.field is not None else None
            if isinstance(name, str):
                self._declared.add((resource.address.container, canonical(name)))
        self._numbered: dict[tuple[str, str], list[Observed]] = defaultdict(list)
        self._longest: dict[str, list[tuple[str, Observed]]] = defaultdict(list)
        for observed in actual.objects.get(kind.name, {}).values() if self.field is not None else ():
            name = observed.values.get(self.field.name) if self.field is not None and observed.deleted_at is None else None
            if isinstance(name, str):
                self._add(observed.within.get(kind.within or "", ""), canonical(name), observed)

    def _add(self, scope: str, name: str, observed: Observed) -> None:
        numbered = _NUMBERED.fullmatch(name)
        if numbered is not None:
            self._numbered[scope, numbered[1]].append(observed)
        longest = self._longest[scope]
        if longest and len(name) > len(longest[0][0]):
            longest.clear()
        if len(name) >= CUT_MIN and (not longest or len(name) == len(longest[0][0])):
            longest.append((name, observed))

    def of(self, scope: str, declared: Declared) -> Iterator[Observed]:
        """The objects whose name may have been made of that of a resource, and is not the name of another one. A service that cuts names
        leaves none that is longer."""
        name = declared.values.get(self.field.name) if self.field is not None else None
        if self.field is None or not isinstance(name, str):
            return
        sent = canonical(name)
        cut = [observed for shown, observed in self._longest.get(scope, ()) if sent != shown and sent.startswith(shown)]
        for observed in (*self._numbered.get((scope, sent), ()), *cut):
            if (declared.address.container, canonical(str(observed.values[self.field.name]))) not in self._declared:
                yield observed
