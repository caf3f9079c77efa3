"""`access`: what readers must and must not see. Pure.

In: the evaluated lists at the top of the files, and the resources of the project. Out: the tests, each with the resources that its
patterns match. A name of no resource is an error at its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from reconciler.address import Address, Glob
from reconciler.config.access.readers import NamedReaders
from reconciler.config.keys import ACCESS_TEST
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Problems, described_or_nothing, items_of, report_form, shown, untainted, wrong_form
from reconciler.model import AccessTest, Declared, Desired, Pattern, Source
from reconciler.resource import Kinds
from reconciler.text.names import did_you_mean

FORM: Final = "write [{as: anyone, mustNotSee: [ADDRESS]}]"


def read_access(
    entries: Iterable[MapEntry],
    kinds: Kinds,
    resources: Mapping[Address, Declared],
    removed: Mapping[Address, Declared],
    problems: Problems,
) -> tuple[AccessTest, ...]:
    """The tests of all files, in their order. `removed`: what the environment removes; a test of a reader that it removes is left out."""
    reading = _Tests(kinds, resources, removed, problems)
    nodes = [node for entry in entries for node in items_of(entry, "a list", FORM, problems.add, name="access")]
    return tuple(test for node in nodes if (test := reading.test(node)) is not None)


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
    _matched: dict[Glob, tuple[Address, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.readers = NamedReaders(self.kinds, self.resources, self.problems, self.removed)

    def test(self, node: Node) -> AccessTest | None:
        if not isinstance(node, Map):
            what = described_or_nothing(node)
            self.problems.add(node.at, f"an item of access must be a map, not {what}; {FORM}", id=wrong_form(node))
            return None
        keys = KeyReader("access", node.entries, self.problems)
        reason = keys.values(ACCESS_TEST)["reason"] or ""
        keys.rest()
        who, sees, must_not_see = (node.entries.get(key) for key in ("as", "sees", "mustNotSee"))
        if who is None and not keys.meant("as"):
            self.problems.add(node.at, f"an item of access lacks as, which says who reads; {FORM}", id="RC-missing-key")
        if sees is None and must_not_see is None and not (keys.meant("sees") or keys.meant("mustNotSee")):
            self.problems.add(
                node.at,
                f"an item of access must have sees or mustNotSee; {FORM}",
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
        name = f"access.{entry.key}"
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
                address = next((at for at in self._named(text) if at in self.resources and not self.resources[at].implied), None)
                addresses = (address,) if address is not None else ()
            self._matched[glob] = addresses
        return self._matched[glob]

    def _named(self, text: str) -> Iterator[Address]:
        try:
            yield Address.parse(text)
        except ValueError:
            return

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
