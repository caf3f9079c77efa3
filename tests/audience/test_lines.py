"""The exposures of a plan are exactly what the sandbox says changed: no reader too few, and no line too many.

Random edits of random organizations. For each run of an edit the sandbox is asked who can read what before it and after it. Every object
that existed and has a reader of a higher level then has that reader in an exposure, and every reader of an exposure has come to that level.
Where an exposure says more than the sandbox, `RULES` names why; `docs/exposure.md` explains each of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from reconciler.model import Consent, Plan
from reconciler.resource.audience import AGENTS, ANYONE, ANYONE_WITH_THE_URL, LINK_HOLDERS, MEMBERS, MEMBERS_THROUGH, VISITORS
from tests.audience.moments import LEVELS, Readers, Watched
from tests.audience.proof import RUNS_MAX
from tests.audience.worlds import conditions, edited
from tests.organizations import with_readers

ADDRESS = "anyone-with-the-address"
CLASSES = {
    ANYONE: {"anyone", ADDRESS, "visitor", "member", "link"},
    ANYONE_WITH_THE_URL: {ADDRESS, "visitor", "link"},
    VISITORS: {"visitor"},
    LINK_HOLDERS: {"link"},
    AGENTS: {"agent"},
    MEMBERS: {"member"},
    MEMBERS_THROUGH: {"member"},
}
"""The readers of the sandbox that belong to a class of readers of an exposure."""

UNSIGNED = "visitor.claims.unsigned"
UNLISTED = ("collection", "share-link")  # kinds whose readers the sandbox does not list


@dataclass(frozen=True)
class Line:
    """One object, one class of readers and a level that an exposure shows. `link`: the address of the share link they have, or ""."""

    address: str
    who: str
    conditions: frozenset[str]
    level: int
    link: str

    @staticmethod
    def of(consent: Consent) -> Line:
        parts = re.fullmatch(r"(.*?)(?: for whom (.*?) holds?)?(?: \((\w+)\))?", consent.principal)
        assert parts is not None
        met = frozenset(parts[2].split(" and ")) if parts[2] else frozenset()
        link = consent.cause if parts[1] == LINK_HOLDERS else ""
        return Line(consent.address, parts[1], met, LEVELS.index(consent.level), link)

    def includes(self, reader: str, level: int, addresses: dict[str, str]) -> bool:
        """Whether the readers of the line include this reader of the sandbox at this level."""
        name, _, rest = reader.partition(":")
        if name not in CLASSES[self.who] or level > self.level:
            return False
        if name == "link" and self.who == LINK_HOLDERS and addresses.get(rest) != self.link:
            return False
        held = {part.strip("()") for part in rest.split(" && ")} if name == "visitor" and rest else set()
        return self.conditions <= held


@dataclass(frozen=True)
class Run:
    """One run of an edit: its plan, and the readers of every object before it and after it, by address. `addresses`: of every id."""

    plan: Plan
    before: dict[str, Readers]
    after: dict[str, Readers]
    addresses: dict[str, str]

    @property
    def lines(self) -> list[Line]:
        """What the exposures of who can read something show, without those of moments between requests."""
        shown = (exposure for exposure in self.plan.exposures if exposure.readers and not exposure.window)
        return list(dict.fromkeys(Line.of(consent) for exposure in shown for consent in exposure.consents if consent.principal))

    def gains(self) -> Iterator[tuple[str, str, int]]:
        """(object, reader, level): who can do more with an object than before. Who reads a copy reads what it was copied from."""
        copies: dict[str, list[str]] = {}
        for step in self.plan.steps:
            if step.source is not None:
                copies.setdefault(self.addresses.get(str(step.source), str(step.source)), []).append(str(step.address))
        for address, before in self.before.items():
            ahead = [(address, len(LEVELS))]
            while ahead:
                at, highest = ahead.pop()
                ahead += [(copy, LEVELS.index("read")) for copy in copies.get(at, ())]
                for reader, level in self.after.get(at, {}).items():
                    if min(level, highest) > known(before, reader):
                        yield address, reader, min(level, highest)


def known(readers: Readers, reader: str) -> int:
    """The level of a reader as what they are, or as anybody; who has a share link knows the address of the site as well."""
    name = reader.partition(":")[0]
    names = [reader, *(["anyone"] if name != "agent" else []), *([ADDRESS] if name == "link" else [])]
    return max(readers.get(name, -1) for name in names)


Rule = Callable[[Run, Line], bool]


def is_a_share_link(run: Run, line: Line) -> bool:
    """A share link that works is an exposure also where its holders can read everything already: its address stays out."""
    return line.who == LINK_HOLDERS


def is_a_level_of_members(run: Run, line: Line) -> bool:
    """A level that an object has by itself, and one that it has from what contains it, are compared each with itself."""
    return line.who in (MEMBERS, MEMBERS_THROUGH)


def is_a_condition_for_everybody(run: Run, line: Line) -> bool:
    """A site opens from visitors to everybody, and shows this under a condition: it may hold for people without any claim."""
    readers = run.before[line.address]
    return bool(line.conditions) and any(replace(line, who=VISITORS).includes(reader, readers[reader], run.addresses) for reader in readers)


RULES: tuple[Rule, ...] = (is_a_share_link, is_a_level_of_members, is_a_condition_for_everybody)


def runs(root: Path, seed: int, changes: int) -> Iterator[Run]:
    """Every run of a random edit of a random organization, until nothing is left to do."""
    chance = random.Random(seed)
    first = with_readers(chance)
    second = edited(first, chance, changes)
    org = Watched(root)
    org.asked = conditions(first, second)
    for tree in (first, second):
        org.write(tree)
        for _ in range(RUNS_MAX):
            org.begin()
            start, known = org.moments[0].readers, org.addresses()
            assert org.run() is not None
            assert org.made is not None
            if not org.writes:
                break
            addresses = {**known, **org.addresses()}
            before, after = (
                {addresses.get(id, id): readers for (_, id), readers in moment.items()} for moment in (start, org.moments[-1].readers)
            )
            yield Run(org.made, before, after, addresses)


def missing(run: Run) -> list[tuple[str, str, str]]:
    """Who can do more with an object, and is in no exposure."""
    lines: dict[str, list[Line]] = {}
    for line in run.lines:
        lines.setdefault(line.address, []).append(line)
    return [
        (address, reader, LEVELS[level])
        for address, reader, level in run.gains()
        if not any(line.includes(reader, level, run.addresses) for line in lines.get(address, ()))
    ]


def needless(run: Run) -> list[Line]:
    """What an exposure shows although nobody can do more, and no rule says why."""
    gains: dict[str, list[tuple[str, int]]] = {}
    for address, reader, level in run.gains():
        gains.setdefault(address, []).append((reader, level))
    return [
        line
        for line in run.lines
        if not any(f"/{kind}/" in line.address and line.address.split("/")[-2] == kind for kind in UNLISTED)
        and not any(level == line.level and line.includes(reader, level, run.addresses) for reader, level in gains.get(line.address, ()))
        and not any(rule(run, line) for rule in RULES)
    ]


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.proof) for seed in (8, *range(400, 600)))])
def test_the_exposures_of_a_plan_are_exactly_what_the_sandbox_says_changed(tmp_path: Path, seed: int) -> None:
    for run in runs(tmp_path, seed, 6):
        assert missing(run) == []
        assert needless(run) == []
