"""Edits that close something for some readers and open it for others at once: no moment lets anybody else in, or the plan says so."""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.model import Consent, Plan
from reconciler.resource.risks import AGENTS, ANYONE, ANYONE_WITH_THE_URL, LINK_HOLDERS, MEMBERS, VISITORS, by_role
from tests.audience.moments import LEVELS, MEMBERS as MEMBER_NAMES, Readers, Watched
from tests.audience.proof import RUNS, RUNS_MAX, Proof
from tests.audience.worlds import conditions, edited
from tests.organizations import CONDITIONS, Tree, with_readers
from tests.proofs import costly, spread

STAFF, PARTNER, _ = CONDITIONS
FIRST: Tree = {
    "content": [
        {"space": "blank", "id": "spc_blank", "title": "Blank"},
        {
            "collection": "shut",
            "title": "Shut",
            "defaultLevel": "guest",
            "content": [{"space": "plans", "title": "Plans", "defaultLevel": "edit"}],
        },
        {"collection": "open", "title": "Open", "defaultLevel": "comment", "content": [{"space": "guide", "title": "Guide"}]},
        {"space": "salaries", "title": "Salaries"},
    ],
    "sites": {
        "docs": {
            "title": "Docs",
            "visibility": "public",
            "published": True,
            "adaptiveContent": {"enabled": True},
            "structure": [
                {"section": "guides", "title": "Guides", "spaces": [{"key": "v1", "space": "guide", "path": "guide", "condition": STAFF}]},
                {"section": "hidden", "title": "Hidden", "spaces": [{"key": "v2", "space": "salaries", "path": "b", "condition": PARTNER}]},
            ],
            "shareLinks": {},
        }
    },
}


def variant(tree: Tree, number: int) -> dict[str, Any]:
    result: dict[str, Any] = tree["sites"]["docs"]["structure"][number]["spaces"][0]
    return result


def shows_another_space_to_others(tree: Tree) -> None:
    variant(tree, 0).update(space="plans", condition=PARTNER)


def shows_another_space_to_everybody(tree: Tree) -> None:
    variant(tree, 0).update(space="plans", condition=None)


def exchanges_conditions(tree: Tree) -> None:
    variant(tree, 0)["condition"], variant(tree, 1)["condition"] = PARTNER, STAFF


def exchanges_spaces(tree: Tree) -> None:
    variant(tree, 0)["space"], variant(tree, 1)["space"] = "salaries", "guide"


def moves_to_an_open_collection_with_a_lower_level(tree: Tree) -> None:
    space = tree["content"][1]["content"].pop()
    tree["content"][2]["content"].append({**space, "defaultLevel": "read"})


def moves_to_a_shut_collection_with_a_higher_level(tree: Tree) -> None:
    space = tree["content"][2]["content"].pop()
    tree["content"][1]["content"].append({**space, "defaultLevel": "edit"})


def passes_its_condition_to_its_section(tree: Tree) -> None:
    tree["sites"]["docs"]["structure"][0]["condition"] = variant(tree, 0).pop("condition")
    variant(tree, 0)["condition"] = None


@costly
@pytest.mark.parametrize(
    "edit",
    spread([
        shows_another_space_to_others,
        shows_another_space_to_everybody,
        exchanges_conditions,
        exchanges_spaces,
        moves_to_an_open_collection_with_a_lower_level,
        moves_to_a_shut_collection_with_a_higher_level,
        passes_its_condition_to_its_section,
    ], 3),
)  # fmt: skip
def test_an_edit_that_closes_and_opens_at_once_has_an_order_that_lets_nobody_else_in(tmp_path: Path, edit: Any) -> None:
    second = copy.deepcopy(FIRST)
    edit(second)
    result = Proof(Watched(tmp_path), tmp_path / "image", window=lambda *_: False).edit(FIRST, second, runs=RUNS)
    assert result.writes
    assert [str(violation) for violation in result.violations] == []


def test_the_holders_of_several_links_are_one_line_of_a_moment_that_is_open(tmp_path: Path) -> None:
    """The site opens for the holders of its links and closes for visitors while it shows another space; no order avoids that."""
    first = copy.deepcopy(FIRST)
    site = first["sites"]["docs"]
    site |= {"visibility": "visitor-auth", "shareLinks": {name: {"name": name, "active": True} for name in ("one", "two", "three")}}
    second = copy.deepcopy(first)
    second["sites"]["docs"]["visibility"] = "share-link"
    variant(second, 0)["space"] = "plans"
    org = Watched(tmp_path)
    org.write(first)
    org.begin()
    Proof(org, tmp_path / "image").finish()
    org.write(second)
    plan = org.plan()
    windows = Counter((str(exposure.address), exposure.says) for exposure in plan.exposures if exposure.window)
    assert windows
    assert set(windows.values()) == {1}
    assert len({consent for exposure in plan.exposures for consent in exposure.consents if exposure.window}) == windows.total()


# -- lines -------------------------------------------------------------------------------------------------------------------------


ADDRESS = "anyone-with-the-address"
CLASSES = {
    ANYONE: {"anyone", ADDRESS, "visitor", *MEMBER_NAMES, "link"},
    ANYONE_WITH_THE_URL: {ADDRESS, "visitor", "link"},
    VISITORS: {"visitor"},
    LINK_HOLDERS: {"link"},
    AGENTS: {"agent"},
    MEMBERS: {*MEMBER_NAMES},
    **{by_role(role): {name} for name, role in MEMBER_NAMES.items()},
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
        return Line(consent.address, parts[1], met, LEVELS.index(consent.level), consent.cause if parts[1] == LINK_HOLDERS else "")

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
    return max(readers.get(name, -1) for name in [reader, *(["anyone"] if name != "agent" else []), *([ADDRESS] if name == "link" else [])])


Rule = Callable[[Run, Line], bool]


def is_a_share_link(run: Run, line: Line) -> bool:
    """A share link that works is an exposure also where its holders can read everything already: its address stays out."""
    return line.who == LINK_HOLDERS


def is_a_condition_for_everybody(run: Run, line: Line) -> bool:
    """A site opens from visitors to everybody, and shows this under a condition: it may hold for people without any claim."""
    readers = run.before[line.address]
    return bool(line.conditions) and any(replace(line, who=VISITORS).includes(reader, readers[reader], run.addresses) for reader in readers)


RULES: tuple[Rule, ...] = (is_a_share_link, is_a_condition_for_everybody)


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
