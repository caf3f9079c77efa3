"""How a kind declares its readers and the risks of a change. Frozen data.

Readers: which ones its own fields admit, and from which objects it inherits readers. The model behind them is in
`docs/decisions/0007-audiences.md`; `plan/audience/` evaluates it. Risks: what a change opens, which published URLs it breaks, which
permission it requires; and where an object shows that the service is still processing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

# -- Readers -------------------------------------------------------------------------------------------------------------------------

LEVELS: Final = ("read", "comment", "edit", "review", "create", "admin")
"""What a reader may do with an object, from the least to the most; each level includes those before it."""

GUEST: Final = "guest"
ROLES: Final = (GUEST, *LEVELS)
"""The roles of members, from the least permitted to the most."""

ANYONE: Final = "anyone"
ANYONE_WITH_THE_URL: Final = "anyone with the URL"
VISITORS: Final = "signed-in visitors"
LINK_HOLDERS: Final = "whoever has the share link"
AGENTS: Final = "agents"
MEMBERS: Final = "members"
"""All members who are not admins, guests too. Admins read everything, and are no class of their own."""


def by_role(role: str) -> str:
    """The members with a role: one of ROLES but the last."""
    return "guests" if role == GUEST else f"members with the role {role}"


BY_ROLE: Final[Mapping[str, str]] = {by_role(role): role for role in ROLES[:-1]}
"""The classes that members are divided into, each with its role."""
EACH_BY_ROLE: Final = "members with a role"
"""What people read where each of these classes but guests has the level of its role."""

INCLUDES: Final[Mapping[str, frozenset[str]]] = {
    ANYONE: frozenset({ANYONE_WITH_THE_URL, VISITORS, LINK_HOLDERS, MEMBERS, *BY_ROLE}),
    ANYONE_WITH_THE_URL: frozenset({VISITORS, LINK_HOLDERS}),
    MEMBERS: frozenset(BY_ROLE),
}
"""The classes of readers that a class includes besides itself."""


@dataclass(frozen=True)
class Grant:
    """Readers that the fields of an object admit by themselves.

    `who`: one of the classes above. `level`: one of LEVELS. `conditional`: whether the conditions of the objects they read narrow them.
    `own`: each object with such a grant has its own readers, as each share link has. `of`: the kind of the container whose people they are,
    so that they differ by container; "" if they are the same everywhere.
    """

    who: str
    level: str = "read"
    conditional: bool = True
    own: bool = False
    of: str = ""


Values = Mapping[str, Any]
"""The fields of an object in the request form; UNSET if unknown."""


class Audience(NamedTuple):
    """Who can read the objects of a kind.

    `gates`: the fields that `grants`, `condition`, `asks`, `unlisted` and `admits` look at. `grants`: the readers that those fields admit.
    `condition`: the condition that a visitor must meet, None where every visitor may. `inherits`: fields that name the object that this one
    is part of; readers of the first of these that is set can read this object. `asks`: whether they can; where not, its own fields decide.
    `at_top`: the readers of an object that asks and is part of nothing. `unlisted`: whether of those who can read it only who knows the URL
    does. `shows`: fields that name an object; readers of this one can read that one. `opens`: the kind of the container that readers of
    this object can read too, if the container's `admits` says so. `unread`: the class of readers that an object may admit if the object
    could not be read. `unconditional`: whether readers who come through an object that `opens` this one meet no conditions anywhere in it.
    `closed`: why its fields admit nobody of a class, as the end of a sentence that begins with the object; `ANYONE` means all readers who
    are not agents.
    """

    gates: tuple[str, ...] = ()
    grants: Callable[[Values], Iterable[Grant]] | None = None
    condition: Callable[[Values], str | None] | None = None
    inherits: tuple[str, ...] = ()
    asks: Callable[[Values], bool] | None = None
    at_top: tuple[Grant, ...] = ()
    unlisted: Callable[[Values], bool] | None = None
    shows: tuple[str, ...] = ()
    opens: str | None = None
    unread: str = ANYONE
    admits: Callable[[Values], bool] | None = None
    unconditional: Callable[[Values], bool] | None = None
    closed: Callable[[Values], Mapping[str, str]] | None = None

    def admitting(self, values: Values, who: str) -> list[str]:
        """The fields without whose values the object itself would admit nobody of a class of readers."""
        grants = self.grants
        if grants is None or all(grant.who != who for grant in grants(values)):
            return []
        others = {field: {name: value for name, value in values.items() if name != field} for field in self.gates if field in values}
        return [field for field, rest in others.items() if all(grant.who != who for grant in grants(rest))]

    @classmethod
    def by(cls, field: str, readers: Mapping[str, Grant], otherwise: tuple[Grant, ...] = ()) -> Audience:
        """The readers that the value of one field admits, by value. `otherwise`: the readers that every other value admits."""

        def grants(values: Values) -> Iterator[Grant]:
            own = readers.get(str(values.get(field)))
            yield from otherwise if own is None else (own,)

        return cls(gates=(field,), grants=grants)


# -- Risks ---------------------------------------------------------------------------------------------------------------------------

AddressPart = Literal["", "segment", "whole"]


class Exposes(NamedTuple):
    """Which changes of a field give more access or remove a protection; all values in the request's form.

    `says`: the consequence, as the end of a sentence. `order`: the values from closed to open; a value that is not listed, or unknown,
    counts as closed. `when`: instead of `order`, whether a change from one value to another gives more access; pure. `added`: the value is
    a list, and every item added to it gives more access. `rule`: the field is a rule for how people work: a change loosens it, and gives
    nobody access. `grades`: the values from the least permitted to the most, where only some of them require consent. For a field that the
    kind's `audience` reads, the audiences before and after the plan decide instead.
    """

    says: str
    order: tuple[Any, ...] = ()
    when: Callable[[Any, Any], bool] | None = None
    added: bool = False
    rule: bool = False
    grades: tuple[Any, ...] = ()

    def opened(self, before: Any, after: Any) -> bool:
        """Whether a change gives more access."""
        if self.added:
            return any(value not in (before or ()) for value in after or ())
        if self.when is not None:
            return self.when(before, after)
        return self._rank(after) > self._rank(before)

    def widened(self, before: Any, after: Any) -> bool:
        """Whether a change permits more, also where no consent to it is asked for."""
        if self.opened(before, after):
            return True
        return before in self.grades and after in self.grades and self.grades.index(after) > self.grades.index(before)

    def may_open(self, after: Any) -> bool:
        """Whether a change to this value may give more access, whatever the value was before."""
        return self.added or self.when is not None or after in (self.order[1:] or self.order)

    def _rank(self, value: Any) -> int:
        return self.order.index(value) + 1 if value in self.order else 0


class PublishedField(NamedTuple):
    """The field that contains an object's published URL: a dotted path.

    `unless`: (field, value): with that value, the object and everything in it is not published. `secret`: the URL is never shown.
    """

    at: str
    unless: tuple[str, Any] | None = None
    secret: bool = False


class Permission(NamedTuple):
    """The flag among an object's `permissions` that a request requires. `of`: the kind of the container that has it; None: the object."""

    flag: str
    of: str | None = None


class SyncedFrom(NamedTuple):
    """Where an object shows that a Git repository is synchronized with it, which then governs the structure in it, and the fields with
    `synced`. `name`, `url`: of the repository, dotted paths."""

    at: str
    name: str
    url: str


class PlanLimit(NamedTuple):
    """Something about payments because of which the service may refuse requests about an object and what it contains.

    `says`: the end of a sentence that begins with the object. `until`: the day on which it begins to limit, as the service shows it; "" if
    it does now.
    """

    says: str
    until: str = ""


class ProcessingField(NamedTuple):
    """Where an object shows whether the service has finished processing it; all are dotted paths of the answer.

    `state`: with one of the values `done`, processing has finished. `error`: has a value only if processing failed. `changed_at`: when the
    object last changed; a copy (`output(copies=…)`) has its own time there. `label`: what is processed, where it has no title. `start`: the
    path of the POST that starts the processing, where the service does not start it by itself.
    """

    state: str
    done: tuple[str, ...]
    changed_at: str
    error: str = ""
    label: str = ""
    start: str = ""


class Needed(NamedTuple):
    """An object of this kind is in use while a field of its fixed container has this value; the last one is always in use.

    The field gets the value only where there is an object of this kind. `of`: kinds in the same container with a field of the same name,
    of which that is true as well.
    """

    field: str
    value: Any
    of: tuple[str, ...] = ()
