"""The words that say who can read an object: which readers its own fields admit, and from what it takes the readers of others. Frozen data.

The model behind them is in `docs/decisions/0007-audiences.md`; `plan/audience.py` evaluates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from reconciler.dataclass import dataclass

LEVELS: Final = ("read", "comment", "edit", "review", "create", "admin")
"""What a reader may do with an object, from the least; each level includes those before it."""

GUEST: Final = "guest"
ROLES: Final = (GUEST, *LEVELS)
"""The roles of members, from the one that may least."""

ANYONE: Final = "anyone"
ANYONE_WITH_THE_URL: Final = "anyone with the URL"
VISITORS: Final = "signed-in visitors"
LINK_HOLDERS: Final = "whoever has the share link"
AGENTS: Final = "agents"
MEMBERS: Final = "members"
MEMBERS_THROUGH: Final = "members through its container"

INCLUDES: Final[Mapping[str, frozenset[str]]] = {
    ANYONE: frozenset({ANYONE_WITH_THE_URL, VISITORS, LINK_HOLDERS, MEMBERS, MEMBERS_THROUGH}),
    ANYONE_WITH_THE_URL: frozenset({VISITORS, LINK_HOLDERS}),
    MEMBERS: frozenset({MEMBERS_THROUGH}),
}
"""The readers that a class of readers includes besides itself."""


@dataclass(frozen=True)
class Grant:
    """Readers that the fields of an object admit by themselves.

    `who`: one of the classes above. `level`: one of LEVELS. `conditional`: whether the conditions of what they read there narrow them.
    `own`: each object with such a grant has readers of its own, as each share link has. `through`: what these readers are to the objects
    that this one contains, "" where they are the same. `of`: the kind of the container whose people they are, which are others in another
    container; "" where they are the same everywhere.
    """

    who: str
    level: str = "read"
    conditional: bool = True
    own: bool = False
    through: str = ""
    of: str = ""


Values = Mapping[str, Any]
"""The fields of an object in the request form; UNSET where nothing is known."""


class Audience(NamedTuple):
    """Who can read the objects of a kind.

    `gates`: the fields that `grants`, `condition` and `admits` look at. `grants`: the readers that those fields admit. `condition`: the
    condition that a visitor must meet, None where every visitor may. `inherits`: fields that name what the object is part of; whoever reads
    the first of these that is set reads the object. `shows`: fields that name an object; whoever reads this one reads that.
    `opens`: the kind of the container that whoever reads this object can read too, if the container's `admits` says so. `unread`: the
    class of readers that such an object may admit where it could not be read. `unconditional`: whether no condition narrows those who come
    through what `opens` this object, wherever they go in it. `closed`: why its fields admit nobody of a class, as the end of a sentence
    that begins with the object; `ANYONE` stands for all who are not agents.
    """

    gates: tuple[str, ...] = ()
    grants: Callable[[Values], Iterable[Grant]] | None = None
    condition: Callable[[Values], str | None] | None = None
    inherits: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    opens: str | None = None
    unread: str = ANYONE
    admits: Callable[[Values], bool] | None = None
    unconditional: Callable[[Values], bool] | None = None
    closed: Callable[[Values], Mapping[str, str]] | None = None

    def admitting(self, values: Values, who: str) -> list[str]:
        """The fields without whose values nobody of a class of readers would be admitted by the object itself."""
        grants = self.grants
        if grants is None or all(grant.who != who for grant in grants(values)):
            return []
        others = {field: {name: value for name, value in values.items() if name != field} for field in self.gates if field in values}
        return [field for field, rest in others.items() if all(grant.who != who for grant in grants(rest))]

    @classmethod
    def by(cls, field: str, readers: Mapping[str, Grant], otherwise: Grant | None = None) -> Audience:
        """Those whom the value of one field admits, by value. `otherwise`: whom every other value admits."""

        def grants(values: Values) -> Iterator[Grant]:
            grant = readers.get(str(values.get(field)), otherwise)
            if grant is not None:
                yield grant

        return cls(gates=(field,), grants=grants)
