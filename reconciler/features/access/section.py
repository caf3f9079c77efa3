"""`access`: what readers must and must not see. Pure.

In: the evaluated lists at the top of the files, and the resources of the project. Out: the tests, each with the resources that its
patterns match. A name of no resource is an error at its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address, Glob
from reconciler.config.keys import ACCESS_TEST
from reconciler.config.schemas.forms import EXPRESSION, TEXT, Schema, described_map
from reconciler.config.sections import ProjectSection, SectionReading
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import (
    Problems,
    described,
    described_or_nothing,
    empty,
    items_of,
    report_form,
    shown,
    untainted,
    wrong_form,
)
from reconciler.model import AccessTest, Declared, Desired, NamedReader, Pattern, ReaderSort, Source
from reconciler.resource import Kind, Kinds
from reconciler.resource.conditions import UNSIGNED, names
from reconciler.resource.risks import ROLES
from reconciler.text.names import closest, did_you_mean, one_of

PLAIN: Final = (ReaderSort.ANYONE, ReaderSort.AGENT)
MAPS: Final = (ReaderSort.LINK, ReaderSort.CLAIMS, ReaderSort.ROLE, ReaderSort.MEMBER, ReaderSort.TEAM)
TYPES: Final[Mapping[str, tuple[type, ...]]] = {"string": (str,), "number": (int, float), "array": (list,), "object": (dict,)}
READER_FORM: Final = (
    f"write {', '.join(PLAIN)}, {{link: KEY}}, {{claims: {{NAME: VALUE}}}}, {{role: ROLE}}, {{member: E-MAIL}} or {{team: KEY}}"
)


@dataclass(eq=False)
class NamedReaders:
    """Reads the readers of tests. `removed`: what the environment removes."""

    kinds: Kinds
    resources: Mapping[Address, Declared]
    problems: Problems
    removed: Mapping[Address, Declared] = field(default_factory=dict)

    def read(self, node: Node) -> NamedReader | None:
        """The reader; None if there is none, with a problem unless the environment removes it."""
        if isinstance(node, Scalar):
            return self._plain(node)
        if isinstance(node, List) or len(node.entries) != 1:
            number = f"a map of {len(node.entries)} keys" if isinstance(node, Map) else described(node)
            self.problems.add(node.at, f"as must be one reader, not {number}; {READER_FORM}", id="RC-wrong-form")
            return None
        (entry,) = node.entries.values()
        if entry.key not in MAPS:
            way = f"write as: {entry.key}" if entry.key in PLAIN else READER_FORM
            self.problems.add(
                entry.at,
                f"as has no reader {shown(entry.key)}{did_you_mean(entry.key, MAPS) or f'; {way}'}",
                id="RC-unknown-key",
            )
            return None
        if entry.key == ReaderSort.CLAIMS:
            return self._claims(entry)
        text = self._text(entry)
        if text is None:
            return None
        match entry.key:
            case ReaderSort.LINK:
                return self._link(text, entry)
            case ReaderSort.ROLE:
                return self._role(text, entry)
            case ReaderSort.TEAM:
                return self._team(text, entry)
            case _:
                return self._member(text, entry)

    def _plain(self, node: Scalar) -> NamedReader | None:
        if node.empty:
            self.problems.add(node.at, empty("as"), id="RC-no-value")
        elif untainted(node, "as", self.problems.add):
            if node.text in PLAIN:
                return NamedReader(ReaderSort(node.text))
            hint = READER_FORM if node.text in MAPS else f"write {{role: {node.text}}}" if node.text in ROLES else None
            meant = f"; {hint}" if hint else did_you_mean(node.text, PLAIN) or f"; {READER_FORM}"
            self.problems.add(node.at, f"as is {described(node)}, which does not exist{meant}", id="RC-unknown-choice")
        return None

    def _text(self, entry: MapEntry) -> str | None:
        node, name = entry.node, f"as.{entry.key}"
        if isinstance(node, Scalar) and node.empty:
            self.problems.add(node.at, empty(name), id="RC-no-value")
        elif not isinstance(node, Scalar) or node.null or not node.text:
            self.problems.add(node.at, f"{name} must be one value, not {described(node)}", id="RC-wrong-form")
        elif untainted(node, name, self.problems.add):
            return node.text
        return None

    def _role(self, text: str, entry: MapEntry) -> NamedReader | None:
        if text in ROLES:
            return NamedReader(ReaderSort.ROLE, role=text)
        self.problems.add(entry.node.at, f"as.role is {shown(text)}; {one_of(ROLES)}{did_you_mean(text, ROLES)}", id="RC-unknown-choice")
        return None

    # -- people --------------------------------------------------------------------------------------------------------------------

    def _member(self, text: str, entry: MapEntry) -> NamedReader | None:
        """A member by e-mail, or by address where several organizations have one. Nobody needs to be declared."""
        at = entry.node.at
        kind = next(kind for kind in self.kinds.values() if kind.personal)
        if "/" in text:
            address = next(iter(_parsed(text)), None)
            if address is not None and address.kind == kind.name and address.container in self.resources:
                return NamedReader(ReaderSort.MEMBER, person=address)
            self.problems.add(at, f"as.member is {shown(text)}, which is not the address of a member", id="RC-unknown-reference")
            return None
        roots = [address for address, declared in self.resources.items() if declared.kind == kind.within]
        key = str(kind.fields[str(kind.place.key_is)].body(text))
        among = [root.child(kind.name, key) for root in roots]
        declared = [address for address in among if address in self.resources]
        if len(declared) == 1 or len(among) == 1:
            return NamedReader(ReaderSort.MEMBER, person=(declared or among)[0])
        which = one_of(map(str, declared or among))
        self.problems.add(at, f"as.member is {shown(text)}, of one of {len(roots)} organizations; {which}", id="RC-several-members")
        return None

    def _team(self, text: str, entry: MapEntry) -> NamedReader | None:
        names = {reading.kind for kind in self.kinds.values() for reading in kind.personal if self.kinds[reading.kind].audience is None}
        among = [address for address, declared in self.resources.items() if declared.kind in names and text in (address.key, str(address))]
        if len(among) == 1:
            return NamedReader(ReaderSort.TEAM, person=among[0])
        at = entry.node.at
        if among:
            which = one_of(map(str, among))
            self.problems.add(at, f"as.team is {shown(text)}, the key of {len(among)} teams; {which}", id="RC-several-members")
        elif all(address.key != text for address, declared in self.removed.items() if declared.kind in names):
            known = [address.key for address, declared in self.resources.items() if declared.kind in names]
            self.problems.absent(
                at, f"as.team is {shown(text)}, which is not declared{did_you_mean(text, known)}", id="RC-unknown-reference"
            )
        return None

    # -- share links -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def links(self) -> dict[str, list[Address]]:
        """The addresses of the declared objects that admit their own readers, by key and by address."""
        return self._opening(self.resources)

    def _opening(self, resources: Mapping[Address, Declared]) -> dict[str, list[Address]]:
        openers: dict[str, list[Address]] = {}
        opening = {kind.name for kind in self.kinds.values() if kind.audience is not None and kind.audience.opens is not None}
        for address, declared in resources.items():
            if declared.kind in opening and not declared.implied:
                openers.setdefault(address.key, []).append(address)
                openers[str(address)] = [address]
        return openers

    def _link(self, text: str, entry: MapEntry) -> NamedReader | None:
        addresses = self.links.get(text, [])
        if len(addresses) == 1:
            return NamedReader(ReaderSort.LINK, link=addresses[0])
        at, name = entry.node.at, "as.link"
        if addresses:
            wrong = f"{name} is {shown(text)}, the key of {len(addresses)} links; {one_of(map(str, addresses))}"
            self.problems.add(at, wrong, id="RC-several-links")
        elif text not in self._opening(self.removed):
            known = [key for key in self.links if ("/" in key) == ("/" in text)]
            self.problems.absent(
                at, f"{name} is {shown(text)}, which is not declared{did_you_mean(text, known)}", id="RC-unknown-reference"
            )
        return None

    # -- claims ----------------------------------------------------------------------------------------------------------------------

    def _claims(self, entry: MapEntry) -> NamedReader | None:
        node = entry.node
        if not isinstance(node, Map):
            what = described_or_nothing(node)
            way = "write {NAME: VALUE}, or {} for a visitor without claims"
            self.problems.add(node.at, f"as.claims must be a map, not {what}; {way}", id="RC-wrong-form")
            return None
        if not untainted(node, "as.claims", self.problems.add):
            return None
        before = len(self.problems.found)
        for claim in node.entries.values():
            self._known(claim)
        values = {claim.key: _data(claim.node) for claim in node.entries.values()}
        return NamedReader(ReaderSort.CLAIMS, claims=values) if len(self.problems.found) == before else None

    def _known(self, claim: MapEntry) -> None:
        """Report a claim that no schema declares, or, without schemas, one that resembles a claim in a condition."""
        declared, used = self._declared, self._used
        if claim.key in declared:
            self._value(claim, declared[claim.key])
            return
        if claim.key in used:
            return
        near = closest(claim.key, sorted(declared.keys() | used))
        if declared:
            hint = did_you_mean(claim.key, sorted(declared))
            self.problems.absent(
                claim.at,
                f"as.claims has {shown(claim.key)}, which no schema of a site declares{hint}",
                id="RC-unknown-claim",
            )
        elif near is not None:
            hint = did_you_mean(claim.key, sorted(used))
            self.problems.absent(claim.at, f"as.claims has {shown(claim.key)}, which no condition names{hint}", id="RC-unknown-claim")

    def _value(self, claim: MapEntry, rules: Sequence[Any]) -> None:
        """Report a value that the schema of no site allows: of another type, or not in its `enum`."""
        value = _data(claim.node)
        if not any(_allows(rule, value) for rule in rules):
            texts = list(dict.fromkeys(_text(choice) for rule in rules for choice in _choices(rule)))
            near = did_you_mean(value, texts) if isinstance(value, str) else ""
            wrong = f"as.claims.{claim.key} is {described(claim.node)}, which no schema of a site allows"
            self.problems.absent(claim.node.at, f"{wrong}; {one_of(texts)}{near}" if texts else wrong, id="RC-unknown-choice")

    @cached_property
    def _declared(self) -> dict[str, list[Any]]:
        """The claims that the project's own objects declare, with the schemas of each."""
        rules: dict[str, list[Any]] = {}
        for kind, values in self._values():
            properties = kind.claims(values).get("properties") if kind.claims is not None else None
            for name, rule in properties.items() if isinstance(properties, Mapping) else ():
                if name != UNSIGNED:
                    rules.setdefault(name, []).append(rule)
        return rules

    @cached_property
    def _used(self) -> frozenset[str]:
        """The claims that conditions read."""
        conditions = {
            kind.audience.condition(values) for kind, values in self._values() if kind.audience is not None and kind.audience.condition
        }
        return frozenset(name for condition in conditions if condition is not None for name in names(condition))

    def _values(self) -> Iterator[tuple[Kind, Mapping[str, Any]]]:
        for declared in (*self.resources.values(), *self.removed.values()):
            yield self.kinds[declared.kind], declared.values


def _parsed(text: str) -> Iterator[Address]:
    """The address in a text; nothing where it has another form."""
    try:
        yield Address.parse(text)
    except ValueError:
        return


def _choices(rule: Any) -> list[Any]:
    """The possible values of a claim if its schema lists them; otherwise none."""
    choices = rule.get("enum") if isinstance(rule, Mapping) else None
    if not isinstance(choices, list) and isinstance(rule, Mapping) and rule.get("type") == "boolean":
        return [True, False]
    return choices if isinstance(choices, list) else []


def _allows(rule: Any, value: Any) -> bool:
    """Whether the schema of a claim allows a value; a schema of another form allows any."""
    if _choices(rule):
        return any(_same(value, choice) for choice in _choices(rule))
    types = TYPES.get(str(rule.get("type"))) if isinstance(rule, Mapping) else None
    return types is None or (isinstance(value, types) and not isinstance(value, bool))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(value: Any, other: Any) -> bool:
    """Whether two values are equal in JSON, where `true` is not `1`."""
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _data(node: Node) -> Any:
    """The plain value."""
    if isinstance(node, Map):
        return {key: _data(entry.node) for key, entry in node.entries.items()}
    return [_data(item) for item in node.items] if isinstance(node, List) else node.core()


FORM: Final = "write [{as: anyone, mustNotSee: [ADDRESS]}]"


def read_access(reading: SectionReading, desired: Desired) -> Desired:
    """The project with the tests of all files, in their order; a test of a reader that the environment removes is left out."""
    problems = reading.problems
    tests = _Tests(reading.kinds, desired.resources, desired.removed_resources, problems)
    nodes = [node for entry in reading.entries["access"] for node in items_of(entry, "a list", FORM, problems.add, name="access")]
    return replace(desired, access=tuple(test for node in nodes if (test := tests.test(node)) is not None))


def read_access_test(
    node: Node, kinds: Kinds, resources: Mapping[Address, Declared], removed: Mapping[Address, Declared], problems: Problems
) -> AccessTest | None:
    """One test in the list `expect` of a test of the project; None with a problem, or where the environment removes its reader."""
    return _Tests(kinds, resources, removed, problems, "expect").test(node)


def rematched(kinds: Kinds, desired: Desired, tests: Iterable[AccessTest]) -> tuple[AccessTest, ...]:
    """Tests of another version of a project, with what their patterns match in this one.

    A resource also has its former addresses: renaming it takes it out of no test.
    """
    names: dict[Address, set[Address]] = {}
    moves = {moved.new: moved.old for moved in desired.moved}
    for address, declared in desired.resources.items():
        if not declared.implied and kinds[declared.kind].audience is not None:
            around = [at for at in {address, *address.containers} if at in desired.resources]
            former = {address.renamed(at, old) for at in around for old in desired.resources[at].previously}
            names[address] = {address, *former, *(address.renamed(at, moves[at]) for at in around if at in moves)}

    def again(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
        return tuple(
            replace(pattern, addresses=tuple(at for at, known in names.items() if any(map(pattern.glob.matches, known))))
            for pattern in patterns
        )

    return tuple(replace(test, sees=again(test.sees), must_not_see=again(test.must_not_see)) for test in tests)


@dataclass(eq=False)
class _Tests:
    """Reads one test after the other."""

    kinds: Kinds
    resources: Mapping[Address, Declared]
    removed: Mapping[Address, Declared]
    problems: Problems
    # Of the list that contains the tests.
    name: str = "access"
    _matched: dict[Glob, tuple[Address, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.readers = NamedReaders(self.kinds, self.resources, self.problems, self.removed)

    def test(self, node: Node) -> AccessTest | None:
        if not isinstance(node, Map):
            what = described_or_nothing(node)
            self.problems.add(node.at, f"an item of {self.name} must be a map, not {what}; {FORM}", id=wrong_form(node))
            return None
        keys = KeyReader(self.name, node.entries, self.problems)
        reason = keys.values(ACCESS_TEST)["reason"] or ""
        keys.rest()
        who, sees, must_not_see = (node.entries.get(key) for key in ("as", "sees", "mustNotSee"))
        if who is None and not keys.meant("as"):
            self.problems.add(node.at, f"an item of {self.name} lacks as, which says who reads; {FORM}", id="RC-missing-key")
        if sees is None and must_not_see is None and not (keys.meant("sees") or keys.meant("mustNotSee")):
            self.problems.add(
                node.at,
                f"an item of {self.name} must have sees or mustNotSee; {FORM}",
                id="RC-missing-key",
            )
        reader = self.readers.read(who.node) if who is not None else None
        seen, unseen = tuple(self._patterns(sees)), tuple(self._patterns(must_not_see))
        self._contradictions(seen, unseen)
        if reader is None or who is None:
            return None
        return AccessTest(reader, who.at, seen, unseen, reason)

    # -- patterns ------------------------------------------------------------------------------------------------------------------

    def _patterns(self, entry: MapEntry | None) -> Iterator[Pattern]:
        if entry is None:
            return
        name = f"{self.name}.{entry.key}"
        if not isinstance(entry.node, List):
            report_form(entry.node, name, "a list of addresses", "write [ADDRESS]", self.problems.add)
            return
        if not entry.node.items and not entry.node.computed:  # an expression may give none in one environment
            self.problems.add(entry.node.at, f"{name} is empty; write [ADDRESS], or remove the line", id="RC-empty-list")
        for node in entry.node.items:
            if not isinstance(node, Scalar) or node.null or node.empty or not node.text:
                self.problems.add(node.at, f"{name} has addresses or patterns, not {described_or_nothing(node)}", id=wrong_form(node))
            elif untainted(node, name, self.problems.add):
                pattern = self._pattern(node.text, node.at)
                if pattern is not None:
                    yield pattern

    def _pattern(self, text: str, at: Source) -> Pattern | None:
        glob = self.problems.glob(text, at)
        if glob is None:
            return None
        matched = self._matching(glob)
        addresses = tuple(address for address in matched if self._readable(address))
        if addresses or any(glob.matches(address) for address in self.removed):
            return Pattern(glob, at, addresses)
        if matched:
            kinds = ", ".join(dict.fromkeys(self.resources[address].kind for address in matched))
            readable = ", ".join(kind.name for kind in self.kinds.values() if kind.audience is not None)
            self.problems.add(
                at, f"{text} matches only objects that have no readers of their own ({kinds}); {readable} have", id="RC-without-readers"
            )
        else:
            known = [] if "*" in text else [address for address in self.resources if self._readable(address)]
            named = [f'"{address}"' for address in known if address.key == text]  # a key, where an address was meant
            meant = f"; did you mean {' or '.join(named[:3])}?" if named else did_you_mean(text, map(str, known))
            self.problems.absent(at, f"{shown(text)} matches no resource{meant}", id="RC-matches-nothing")
        return None

    def _matching(self, glob: Glob) -> tuple[Address, ...]:
        if glob not in self._matched:
            text = str(glob)
            if "*" in text:
                addresses = tuple(address for address, declared in self.resources.items() if not declared.implied and glob.matches(address))
            else:
                address = next((at for at in _parsed(text) if at in self.resources and not self.resources[at].implied), None)
                addresses = (address,) if address is not None else ()
            self._matched[glob] = addresses
        return self._matched[glob]

    def _readable(self, address: Address) -> bool:
        return self.kinds[self.resources[address].kind].audience is not None

    def _contradictions(self, sees: Iterable[Pattern], must_not_see: Iterable[Pattern]) -> None:
        """Report what the reader must see and must not see."""
        by_address = {address: pattern for pattern in sees for address in pattern.addresses}
        for pattern in must_not_see:
            both = next((address for address in pattern.addresses if address in by_address), None)
            if both is not None:
                other = by_address[both].source
                wrong = f"{both} is also under sees ({other}); remove one of the two"
                self.problems.add(pattern.source, wrong, id="RC-contradictory-tests")


def judged_access(kinds: Kinds, own: Desired, other: Desired) -> Desired:
    """The project with the tests of another version of it."""
    return replace(own, access=rematched(kinds, own, other.access))


def access_schema(kinds: Kinds) -> Mapping[str, Schema]:
    """`access`: readers as tests."""
    patterns: Schema = {"anyOf": [{"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}}, EXPRESSION]}
    readers = {"anyOf": [{"enum": ["anyone", "agent"]}, *_readers(), EXPRESSION]}
    test = described_map(ACCESS_TEST, {"as": readers, "sees": patterns, "mustNotSee": patterns})
    return {"access": {"type": "array", "items": {**test, "anyOf": [{"required": ["sees"]}, {"required": ["mustNotSee"]}]}}}


def _readers() -> list[Schema]:
    """Those who are described by a map of one key."""
    readers: dict[ReaderSort, Schema] = {
        ReaderSort.LINK: {"description": "Whoever has this share link: its key, or its address.", **TEXT},
        ReaderSort.CLAIMS: {"description": "A signed-in visitor with these claims and no others.", "type": "object"},
        ReaderSort.ROLE: {"description": "A member with this role.", "anyOf": [{"enum": list(ROLES)}, EXPRESSION]},
        ReaderSort.MEMBER: {"description": "This person, with all that they were given: their e-mail, or their address.", **TEXT},
        ReaderSort.TEAM: {"description": "Everybody in this team: its key, or its address.", **TEXT},
    }
    return [{"type": "object", "properties": {name: readers[name]}, "required": [name], "additionalProperties": False} for name in MAPS]


SECTION: Final = ProjectSection("access", read_access, access_schema, judged_access)
