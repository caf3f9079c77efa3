"""What is true today, as access tests that keep it. Pure.

In: everything that was read, and the addresses under which a project declares it. Out: a test for each reader, with what is certain and no
more. Anyone, a guest and a member with a role read ever more, so what a test of one says is not repeated for those for whom it follows:

    anyone        sees [acme/site/docs]     mustNotSee: what a guest sees
    {role: guest} sees: what guests see     mustNotSee: what members with a role see
    {role: read}  sees: what members see    mustNotSee [acme/space/salaries]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.access.plan import Sides, sides_of
from reconciler.features.access.verdicts import Sees
from reconciler.model import Actual, NamedReader, Observed, ReaderSort
from reconciler.plan.audience.disclosure import Disclosure
from reconciler.plan.audience.people import name_of, role_of
from reconciler.plan.containment import Key
from reconciler.resource import Kinds
from reconciler.resource.risks import GUEST, LEVELS

REASON: Final = "so it was when this was imported"


@dataclass
class TestToday:
    """A test of a reader, as the YAML has it: addresses that they see, and that they must not see."""

    reader: Any
    sees: list[str] = field(default_factory=list)
    must_not_see: list[str] = field(default_factory=list)


def tests_of_today(kinds: Kinds, actual: Actual, ids: Mapping[Address, str]) -> list[TestToday]:
    """The tests that hold now. `ids`: of what the project declares. Of people only those who were given access one by one have a test."""
    looking = _Today(kinds, actual, ids)
    tests = [*looking.classes(), *looking.holders(), *looking.people()]
    return [test for test in tests if test.sees or test.must_not_see]


class _Today:
    def __init__(self, kinds: Kinds, actual: Actual, ids: Mapping[Address, str]) -> None:
        self.kinds, self.actual, self.ids = kinds, actual, ids
        roots = {kind.name for kind in kinds.roots}
        self.keys: dict[Address, Key] = {
            address: (kind.name, id)
            for address, id in sorted(ids.items())
            if (kind := kinds.of(address)).audience is not None and kind.audience.opens is None and kind.within in roots
        }
        self.anyone, self.guest, self.member = (
            NamedReader(ReaderSort.ANYONE), NamedReader(ReaderSort.ROLE, role=GUEST), NamedReader(ReaderSort.ROLE, role=LEVELS[0]),
        )  # fmt: skip
        readers = [self.anyone, self.guest, self.member]
        asked = [(reader, address) for address in self.keys for reader in readers]
        self.sides: Sides = sides_of(kinds, {}, actual, ids, Disclosure(()), asked)

    def _sees(self, reader: NamedReader, address: Address) -> bool:
        """Whether it is certain that they see it."""
        return self.sides.before.verdict(reader, self.keys[address]).sees is Sees.YES

    def _sees_not(self, reader: NamedReader, address: Address) -> bool:
        """Whether it is certain that they do not see it, or a copy of it."""
        return self.sides.spread_before.verdict(reader, self.keys[address]).sees is Sees.NO

    def classes(self) -> Iterator[TestToday]:
        """Who reads more is asked later: what they see beyond those before, and what they do not see and those after do."""
        chain = [self.anyone, self.guest, self.member]
        for at, (reader, form) in enumerate(
            zip(chain, ["anyone", {str(ReaderSort.ROLE): GUEST}, {str(ReaderSort.ROLE): LEVELS[0]}], strict=True)
        ):
            fewer, more = chain[:at], chain[at + 1 :]
            yield TestToday(
                form,
                [str(key) for key in self.keys if self._sees(reader, key) and not any(self._sees(other, key) for other in fewer)],
                [str(key) for key in self.keys if self._sees_not(reader, key) and not any(self._sees_not(other, key) for other in more)],
            )

    def holders(self) -> Iterator[TestToday]:
        """Signed-in visitors and holders of links: what they see beyond anybody."""
        opening = {kind.name for kind in self.kinds.values() if kind.audience is not None and kind.audience.opens is not None}
        links = [address for address in sorted(self.ids) if self.kinds.of(address).name in opening]
        keys = [address.key for address in links]
        readers: list[tuple[NamedReader, Any]] = [(NamedReader(ReaderSort.CLAIMS), {str(ReaderSort.CLAIMS): {}})]
        for link in links:
            name = link.key if keys.count(link.key) == 1 else str(link)
            readers.append((NamedReader(ReaderSort.LINK, link=link), {str(ReaderSort.LINK): name}))
        for reader, form in readers:
            yield TestToday(form, [str(key) for key in self.keys if self._sees(reader, key) and not self._sees(self.anyone, key)])

    def people(self) -> Iterator[TestToday]:
        """What single people see although their role does not, and the other way round."""
        assert self.sides.before.personal is not None
        addresses = {key: address for address, key in self.keys.items()}
        roots = {id: address for address, id in self.ids.items() if address.container is None}
        tests: dict[Key, TestToday] = {}
        for key, person, _ in self.sides.before.personal.granted():
            address, root = addresses.get(key), roots.get(person.within.get(self.kinds[person.kind].within or "", ""))
            if address is not None and root is not None:
                self._add(
                    tests.setdefault(person.key, TestToday({str(ReaderSort.MEMBER): name_of(self.kinds, person)})), person, root, address
                )
        yield from (tests[key] for key in sorted(tests))

    def _add(self, test: TestToday, person: Observed, root: Address, address: Address) -> None:
        reader = NamedReader(ReaderSort.MEMBER, person=root.child(person.kind, name_of(self.kinds, person)))
        alike = NamedReader(ReaderSort.ROLE, role=role_of(self.kinds, person))
        if self._sees(reader, address) and not self._sees(alike, address):
            test.sees.append(str(address))
        elif self._sees_not(reader, address) and not self._sees_not(alike, address):
            test.must_not_see.append(str(address))
