"""What the project declares, with the lines of the YAML.

Readers as tests: who must be able to read what, and who must not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal

from reconciler.address import Address, Glob
from reconciler.model.features import FeatureKey, T
from reconciler.model.findings import Source
from reconciler.model.policies import Policies


class ReaderSort(StrEnum):
    """How a test describes its reader; the value is the word of the YAML."""

    ANYONE = "anyone"
    AGENT = "agent"
    LINK = "link"
    CLAIMS = "claims"
    ROLE = "role"
    MEMBER = "member"
    TEAM = "team"


@dataclass(frozen=True)
class NamedReader:
    """An example of a reader, who has the given properties and no others.

    `link`: the address of the share link that they hold. `claims`: those with which they signed in. `role`: as a member. `person`: the
    address of a member, or of a team, all of whose members are meant.
    """

    sort: ReaderSort
    link: Address | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    role: str = ""
    person: Address | None = None

    def __str__(self) -> str:
        """`anyone`, `link acme/site/docs/share-link/partners`, `claims plan=pro`, `role guest`."""
        match self.sort:
            case ReaderSort.LINK:
                return f"{self.sort} {self.link}"
            case ReaderSort.CLAIMS:
                return f"{self.sort} {','.join(f'{name}={_shown(value)}' for name, value in sorted(self.claims.items())) or 'none'}"
            case ReaderSort.ROLE:
                return f"{self.sort} {self.role}"
            case ReaderSort.MEMBER | ReaderSort.TEAM:
                return f"{self.sort} {self.person}"
            case _:
                return str(self.sort)

    @property
    def says(self) -> str:
        """The reader as the subject of a sentence."""
        match self.sort:
            case ReaderSort.ANYONE:
                return "anyone"
            case ReaderSort.AGENT:
                return "an agent"
            case ReaderSort.LINK:
                return f"whoever has {self.link}"
            case ReaderSort.CLAIMS:
                named = ", ".join(f"{name}={_shown(value)}" for name, value in sorted(self.claims.items()))
                return f"a visitor with {named}" if named else "a signed-in visitor"
            case ReaderSort.ROLE:
                return f"a member with the role {self.role}"
            case ReaderSort.MEMBER:
                return self.person.key if self.person is not None else ""
            case ReaderSort.TEAM:
                return f"a member of {self.person}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Pattern:
    """A pattern for addresses, its line in the YAML, and the declared resources that it matches."""

    glob: Glob
    source: Source
    addresses: tuple[Address, ...]

    def __str__(self) -> str:
        return str(self.glob)


@dataclass(frozen=True)
class Demand:
    """One pattern of a test: that the reader sees what it matches (`sees`), or that the reader does not."""

    reader: NamedReader
    sees: bool
    pattern: Pattern

    @property
    def word(self) -> str:
        """The word of the YAML that the pattern is under."""
        return "sees" if self.sees else "mustNotSee"

    @property
    def text(self) -> str:
        """`role guest mustNotSee acme/space/*`, as the state remembers it."""
        return f"{self.reader} {self.word} {self.pattern}"


@dataclass(frozen=True)
class AccessTest:
    """What a reader must be able to read (`sees`) and must not (`must_not_see`). `reason`: in the author's words, or ""."""

    reader: NamedReader
    source: Source
    sees: tuple[Pattern, ...] = ()
    must_not_see: tuple[Pattern, ...] = ()
    reason: str = ""

    @property
    def demands(self) -> tuple[Demand, ...]:
        """Its patterns, those of `sees` first."""
        return tuple(Demand(self.reader, sees, pattern) for sees in (True, False) for pattern in (self.sees if sees else self.must_not_see))

    @property
    def asks(self) -> Iterator[tuple[Demand, Address]]:
        """Every resource that its patterns match, once for `sees` and once for `mustNotSee`."""
        done: set[tuple[bool, Address]] = set()
        for demand in self.demands:
            for address in demand.pattern.addresses:
                if (demand.sees, address) not in done:
                    done.add((demand.sees, address))
                    yield demand, address


ORDER: Final = "order"
"""The position among siblings, where it is named like a field."""


@dataclass(frozen=True)
class ExpectedValue:
    """A value that the YAML expects the service to derive, and its line."""

    value: str
    source: Source


@dataclass(frozen=True)
class Declared:
    """One resource of the YAML."""

    # `acme/site/docs`: its name in plans, in the state and on the command line.
    address: Address
    # The name of its kind.
    kind: str
    # The written form of each field by name, containers, choices and first children included. A field that is absent is not managed.
    values: Mapping[str, Any]
    # Where it is declared; for problems of the whole resource.
    source: Source
    # The resource whose map or list declares it, None for a root. Moving its line changes this, and not the address.
    parent: Address | None
    # The name of that map or list.
    section: str
    # Its position there, from 0. In an ordered list that is its position on the page.
    index: int
    # Where each value is written.
    positions: Mapping[str, Source] = field(default_factory=dict)
    # The service's id, where the YAML adopts one object: `id: spc_1`.
    id: str | None = None
    # The addresses that it had before.
    previously: tuple[Address, ...] = ()
    # Whether its deletion requires consent; None where that is not written.
    protect: bool | None = None
    # False: create it even if an object with the same natural key exists.
    adopt: bool = True
    # It is only referenced, not declared (a member): it is looked up, and nothing of it is managed.
    implied: bool = False
    # Managed fields that this run does not change, on the service and in the state.
    aside: frozenset[str] = frozenset()
    # What the service should derive, by the name of the field, or `url`.
    expected: Mapping[str, ExpectedValue] = field(default_factory=dict)
    # The line of each of `previously`.
    lines: Mapping[Address, Source] = field(default_factory=dict)
    # Fields that are left alone once the object exists, and `order`.
    ignores: frozenset[str] = frozenset()
    # Fields that are not written here and have the value of the project's `defaults`.
    from_defaults: frozenset[str] = frozenset()


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


class DeadUrls(StrEnum):
    """What happens to a plan after which a URL that was public is answered by nothing, from the loosest."""

    IGNORE = "ignore"
    WARN = "warn"
    BLOCK = "block"


BLOCK, WARN, IGNORE = "block", "warn", "ignore"
OPEN_WORK: Final = (BLOCK, WARN, IGNORE)
"""The values of `guards.openWork`, the strictest first."""


@dataclass(frozen=True)
class Looser:
    """How to recognize that a rule is looser than before. `key`: in the project file. `says`: what a run may do then, for people. `order`:
    whether more or less is looser, where None is loosest; or the values, the strictest first."""

    key: str
    says: str
    order: Literal["more", "less"] | tuple[object, ...]


def _guard(default: Any, key: str, says: str, order: Literal["more", "less"] | tuple[object, ...]) -> Any:
    return field(default=default, metadata={"looser": Looser(key, says, order)})


DELETES_MORE: Final = "one run may delete more managed objects"


@dataclass(frozen=True)
class Guards:
    """Limits of a run: at most `percent` of the managed objects may be deleted, but `at_least` always may. `max_exposed`: the most objects
    that one plan may give to more readers; None: as many as somebody consents to. `dead_urls`: None: `block` in a project that writes
    redirects, else `warn`. `open_work`: what happens to a plan that ends work of people, one of OPEN_WORK; None: a delete or a replacement
    is refused without consent, the rest is shown. Each is the key of the same name in `reconciler.config.keys.GUARDS`."""

    max_delete_percent: float = _guard(20.0, "maxDelete.percent", DELETES_MORE, "more")  # of managed objects; octoDNS uses 30
    max_delete_at_least: int = _guard(3, "maxDelete.atLeast", DELETES_MORE, "more")
    min_admins: int = _guard(1, "minAdmins", "fewer may remain", "less")
    max_exposed: int | None = _guard(None, "maxExposed", "one run may expose more objects", "more")
    dead_urls: DeadUrls | None = _guard(  # noqa: RUF009  it is a field, like every other guard
        None, "deadUrls", "a run may end URLs that nothing answers afterwards", (DeadUrls.BLOCK, DeadUrls.WARN, DeadUrls.IGNORE)
    )
    open_work: str | None = _guard(None, "openWork", "a run may end work in progress without consent", ("block", None, "warn", "ignore"))


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
    """The `forEach` of a resource: `source`: its line; `value`: what it iterates over, as written; `element`: which element of it;
    `place`: where that is written, if it is known."""

    source: Source
    value: str
    element: str
    place: Source

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


class SectionKey(FeatureKey[T]):
    """The key of what a section of the project file says. `digested`: the keys by which it is a part of the digest of the configuration.
    `dead_urls`: the guard where the project does not write it; None: no other than usual. `dated`: whether the history names the commit of
    each run of a project with such a section. `judges_urls`: whether plans of such a project name every URL that dies."""

    def __init__(
        self,
        name: str,
        absent: T,
        *,
        digested: Callable[[T], Mapping[str, Any]] = lambda value: {},
        dead_urls: Callable[[T], DeadUrls | None] = lambda value: None,
        dated: bool = False,
        judges_urls: bool = False,
    ) -> None:
        super().__init__(name, absent)
        self.digested, self.dead_urls, self.dated, self.judges_urls = digested, dead_urls, dated, judges_urls


@dataclass(frozen=True)
class Desired:
    """What the project declares. Equal projects give equal values, whatever the order of their files, sections and keys."""

    # The name under which the state is stored.
    project: str
    # The environment that is chosen; None without environments.
    environment: str | None
    # Every resource by address, containers before what they contain: maps by key, ordered lists as they are written; implied ones last.
    resources: Mapping[Address, Declared]
    # For every kind: which objects are deleted that the project no longer declares.
    prune: Mapping[str, Literal["owned", "all", "none"]]
    # The kinds whose deletes require consent.
    protect: frozenset[str]
    # Renamed addresses, each mapped to the last of its history.
    moved: tuple[Moved, ...] = ()
    # What happens to single addresses that are no longer declared.
    removed: Mapping[Address, Removed] = field(default_factory=dict)
    # The sections and lists that the YAML contains, as (container, kind): only there may `prune: all` delete the unmanaged.
    written: frozenset[tuple[Address, str]] = frozenset()
    # The limits of a run.
    guards: Guards = Guards()
    # The member who owns the token and reaches everything, where the project names one.
    lister: Address | None = None
    read_people: bool = False
    # The lines of the rules by dotted name (`guards.maxDelete.percent`, `prune.team`); ``: the start of the file, for rules not written.
    rule_lines: Mapping[str, Source] = field(default_factory=dict)
    # What `forEach` generates, and the contents of that.
    generated: Mapping[Address, Generation] = field(default_factory=dict)
    # The patches of the environment.
    patches: tuple[Patch, ...] = ()
    # The resources that these remove.
    excluded: Mapping[Address, Excluded] = field(default_factory=dict)
    # What readers must and must not see.
    access: tuple[AccessTest, ...] = ()
    # What no plan may do.
    policies: Policies = field(default_factory=Policies)
    # The changes that are ignored although they can open something, as `ADDRESS.FIELD`.
    ignored: frozenset[str] = frozenset()
    # What `defaults` gives the fields of a kind, as written; UNSET for what may be a secret.
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Whether this run may write files of the project.
    writes_files: bool = True
    # What sections of features say, by their keys.
    features: Mapping[SectionKey[Any], Any] = field(default_factory=dict)
    # The same project with the rules of its own files, where it is judged by those of another commit.
    own_rules: Desired | None = None

    @property
    def as_written(self) -> Desired:
        """The project with the rules of its own files: what a later run compares with, whatever judges this one."""
        return self.own_rules or self

    @property
    def removed_resources(self) -> dict[Address, Declared]:
        """What patches of the environment remove, as the files declare it."""
        return {address: resource.declared for address, resource in self.excluded.items()}

    def managed(self, address: Address, writes: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request that the YAML manages. What a request only repeats, or chooses by itself, stays unmanaged."""
        declared = self.resources.get(address)
        return {name: value for name, value in writes.items() if declared is None or name in declared.values}

    def list_of(self, address: Address) -> str:
        """The list that controls an address which is no longer declared: other environments may declare what one removes."""
        excluded = self.excluded.get(address)
        return f"removed in {excluded.source.file}" if excluded is not None else "removed"

    @property
    def dead_urls(self) -> DeadUrls:
        """What happens to a plan after which a public URL is answered by nothing."""
        usual = [level for key, value in self.features.items() if (level := key.dead_urls(value)) is not None]
        return self.guards.dead_urls or next(iter(usual), DeadUrls.WARN)

    @property
    def judges_urls(self) -> bool:
        """Whether a plan names every URL that dies: not in a project that says nothing of its URLs."""
        return self.guards.dead_urls is not None or any(key.judges_urls and value is not None for key, value in self.features.items())

    @property
    def rules(self) -> Rules:
        """Its guards, prune, protect, access and policies, as the state remembers them."""
        access = frozenset(demand.text for test in self.access for demand in test.demands)
        # The level that projects without redirects have is not recorded, so that their state does not change.
        level = None if self.dead_urls is DeadUrls.WARN else self.dead_urls
        return Rules(
            replace(self.guards, dead_urls=level),
            self.prune,
            self.protect,
            access,
            self.policies.levels,
            self.policies.exceptions,
            self.ignored,
        )
