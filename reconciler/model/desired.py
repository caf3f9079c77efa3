"""What the project declares, with the lines of the YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from reconciler.address import Address, Glob
from reconciler.model.access import AccessTest
from reconciler.model.policy import Policies
from reconciler.model.source import Source

ORDER: Final = "order"
"""The position among siblings, where it is named like a field."""


@dataclass(frozen=True)
class ExpectedValue:
    """A value that the YAML expects the service to derive, and its line."""

    value: str
    source: Source


@dataclass(frozen=True)
class Declared:
    """One resource of the YAML.

    `values`: the written form by field name, containers, choices and first children included. `parent`: the resource whose map or list
    declares it (None for a root); `section`: the name of that map or list; `index`: its position there, from 0. `implied`: it is only
    referenced, not declared (a member); nothing of it is managed. `previously`: addresses it had before. `protect`: None where not written.
    `aside`: managed fields that this run does not change, on the service and in the state. `expected`: what the service should derive, by
    the name of the field, or `url`. `lines`: the line of each of `previously`. `ignores`: fields that are left alone once the object
    exists, and `order`.
    """

    address: Address
    kind: str
    values: Mapping[str, Any]
    source: Source
    parent: Address | None
    section: str
    index: int
    positions: Mapping[str, Source] = field(default_factory=dict)
    id: str | None = None
    previously: tuple[Address, ...] = ()
    protect: bool | None = None
    adopt: bool = True
    implied: bool = False
    aside: frozenset[str] = frozenset()
    expected: Mapping[str, ExpectedValue] = field(default_factory=dict)
    lines: Mapping[Address, Source] = field(default_factory=dict)
    ignores: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Moved:
    """`moved: [{from, to}]`: an address and everything below it was renamed. `again`: even if that had its effect before."""

    old: Address
    new: Address
    source: Source
    again: bool = False


@dataclass(frozen=True)
class Removed:
    """`removed: [{address, action}]`: what happens to one address that is no longer declared. `says`: the origin of the entry, for
    messages.

    `delete-all`: it is deleted with its unmanaged contents.
    """

    address: Address
    action: Literal["forget", "delete", "delete-all"]
    source: Source
    says: str = "removed: says so"


@dataclass(frozen=True)
class Guards:
    """Limits of a run: at most `percent` of the managed objects may be deleted, but `at_least` always may. `max_exposed`: the most objects
    that one plan may give to more readers; None: as many as somebody consents to."""

    max_delete_percent: float = 20.0  # of managed objects; octoDNS uses 30
    max_delete_at_least: int = 3
    min_admins: int = 1
    max_exposed: int | None = None


@dataclass(frozen=True)
class Rules:
    """The rules of a whole project: the limits of a run, what is pruned by kind, the kinds whose deletes require consent, what readers must
    and must not see, a text for each pattern, the level and the digest of each policy, the exceptions to these, and the changes that are
    ignored although they can open something (`ADDRESS.FIELD`)."""

    guards: Guards
    prune: Mapping[str, str]
    protect: frozenset[str]
    access: frozenset[str] = frozenset()
    policies: Mapping[str, str] = field(default_factory=dict)
    exceptions: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Generation:
    """The `forEach` of a resource: `source`: its line; `value`: what it iterates over, as written; `element`: which element of it."""

    source: Source
    value: str
    element: str

    def __str__(self) -> str:
        return f"element {self.element} of {self.value} (forEach at {self.source})"


@dataclass(frozen=True)
class Patch:
    """A patch of the environment: the addresses that it matches, and the fields that it sets, with their lines; none where it removes the
    resources it matches. `source`: its line."""

    glob: Glob
    source: Source
    sets: Mapping[str, Source] = field(default_factory=dict)

    def removes(self, address: Address) -> bool:
        """Whether it removes a resource, or something that contains it."""
        if self.sets:
            return False
        around: Address | None = address
        while around is not None:
            if self.glob.matches(around):
                return True
            around = around.container
        return False


@dataclass(frozen=True)
class Excluded:
    """A resource that a patch of the environment removes: as the files declare it, and the line of the patch."""

    declared: Declared
    source: Source


@dataclass(frozen=True)
class Desired:
    """What the project declares: every resource, containers before what they contain, in an order that does not depend on files: maps by
    key, ordered lists as they are written.

    `written`: the sections and lists that the YAML contains, as (container, kind): only there may `prune: all` delete the unmanaged.
    `prune` and `protect` contain every kind. `lister`: the member (address) who reaches everything. `rule_lines`: the lines of the rules,
    by dotted name (`guards.maxDelete.percent`, `prune.team`), the start of the file as ``. `generated`: what `forEach` generates, and the
    contents of that. `patches`: those of the environment; `excluded`: what they remove. `policies`: what no plan may do. `ignored`: as
    in `Rules`. `own_rules`: the same project with the rules of its own files, where it is judged by those of another commit.
    """

    project: str
    environment: str | None
    resources: Mapping[Address, Declared]
    prune: Mapping[str, Literal["owned", "all", "none"]]
    protect: frozenset[str]
    moved: tuple[Moved, ...] = ()
    removed: Mapping[Address, Removed] = field(default_factory=dict)
    written: frozenset[tuple[Address, str]] = frozenset()
    guards: Guards = Guards()
    lister: Address | None = None
    rule_lines: Mapping[str, Source] = field(default_factory=dict)
    generated: Mapping[Address, Generation] = field(default_factory=dict)
    patches: tuple[Patch, ...] = ()
    excluded: Mapping[Address, Excluded] = field(default_factory=dict)
    access: tuple[AccessTest, ...] = ()
    policies: Policies = field(default_factory=Policies)
    ignored: frozenset[str] = frozenset()
    own_rules: Desired | None = None

    @property
    def as_written(self) -> Desired:
        """The project with the rules of its own files: what a later run compares with, whatever judges this one."""
        return self.own_rules or self

    def list_of(self, address: Address) -> str:
        """The list that controls an address which is no longer declared: other environments may declare what one removes."""
        excluded = self.excluded.get(address)
        return f"removed in {excluded.source.file}" if excluded is not None else "removed"

    @property
    def rules(self) -> Rules:
        """Its guards, prune, protect, access and policies, as the state remembers them."""
        access = frozenset(demand.text for test in self.access for demand in test.demands)
        return Rules(self.guards, self.prune, self.protect, access, self.policies.levels, self.policies.exceptions, self.ignored)
