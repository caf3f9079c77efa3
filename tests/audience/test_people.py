"""What one person may do, at least and at most, against a model of three lines: the service's rule, with everything that it hides known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from reconciler.kinds import load
from reconciler.model import Actual, Observed
from reconciler.plan.audience.people import EVERYTHING, NOTHING, PersonalAccess, newly, unasked
from reconciler.plan.audience.readers import Access, Audiences
from reconciler.resource.risks import EACH_BY_ROLE, LEVELS, MEMBERS, by_role
from tests.proofs import spread

KINDS = load()
ORG = "org_acme"
ROLES = (None, *LEVELS)
SET = ("inherit", "inherit", None, *LEVELS[:4])
Key = tuple[str, str]


@dataclass
class Organization:
    """The truth: `around`: what contains an object; `levels`: the `defaultLevel` of each; `grants`: (person, object) -> role."""

    people: dict[str, str | None]
    around: dict[Key, Key | None]
    levels: dict[Key, str | None]
    grants: dict[tuple[str, Key], str] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    public: set[Key] = field(default_factory=set)  # whom everybody can read, which no list of a person says

    def may(self, person: str, key: Key) -> str | None:
        """The nearest thing that says something of this person: what they were given there, else the level."""
        if person in self.disabled:
            return None
        if self.people[person] == "admin":
            return "admin"
        at: Key | None = key
        while at is not None:
            if (person, at) in self.grants:
                return self.grants[person, at]
            if self.levels[at] != "inherit":
                return self.levels[at]
            at = self.around[at]
        return self.people[person]

    def objects(self) -> dict[str, dict[str, Observed]]:
        found: dict[str, dict[str, Observed]] = {name: {} for name in KINDS}
        for (kind, id), outer in self.around.items():
            values: dict[str, Any] = {"defaultLevel": self.levels[kind, id], "parent": outer[1] if outer is not None else None}
            values |= {"visibility": "public"} if (kind, id) in self.public else {}
            found[kind][id] = Observed(kind, id, values, {"organization": ORG}, {})
        for name, role in self.people.items():
            known = {"role": role, "email": f"{name}@acme.example", "disabled": name in self.disabled}
            found["member"][f"{ORG}/{name}"] = Observed("member", f"{ORG}/{name}", known, {"organization": ORG}, {})
        return found

    def read(self, *, without: frozenset[str] = frozenset()) -> Actual:
        """What the service answers; `without`: the people whose lists it denies."""
        spaces = [key for key in self.around if key[0] == "space"]
        answers = {
            ("member", f"{ORG}/{name}"): {
                "space": {key[1]: level for key in spaces if (level := self.may(name, key)) is not None},
                "team": {},
            }
            for name in self.people
            if name not in without
        }
        denied = {("member", f"{ORG}/{name}"): "403" for name in without}
        complete = frozenset({(kind, ORG) for kind in KINDS})
        return Actual(self.objects(), complete, personal=answers, personal_failures=denied)


def organization(chance: Random) -> Organization:
    people = {f"p{number}": chance.choice(ROLES) for number in range(6)}
    collections: list[Key] = [("collection", f"col_{number}") for number in range(4)]
    spaces: list[Key] = [("space", f"spc_{number}") for number in range(5)]
    around: dict[Key, Key | None] = {}
    for key in (*collections, *spaces):
        around[key] = chance.choice([None, *(other for other in collections if other in around)])
    levels = {key: chance.choice(SET) for key in around}
    grants = {(chance.choice([*people]), chance.choice([*around])): chance.choice(LEVELS) for _ in range(chance.randrange(5))}
    disabled = {name for name in people if chance.random() < 0.15}
    public = {key for key in spaces if chance.random() < 0.3}
    return Organization(people, around, levels, grants, disabled, public)


def changed(chance: Random, first: Organization) -> Organization:
    """The same after what a plan can do: levels and places change, and what people were given does not."""
    around, levels = dict(first.around), dict(first.levels)
    for key in chance.sample([*around], 2):
        levels[key] = chance.choice(SET)
    moving = chance.choice([key for key in around if key[0] == "space"])
    around[moving] = chance.choice([None, *(key for key in around if key[0] == "collection")])
    return replace(first, around=around, levels=levels)


def rank(level: str | None) -> int:
    return LEVELS.index(level) if level is not None else NOTHING


def audiences(actual: Mapping[str, Mapping[str, Observed]]) -> Audiences:
    return Audiences(KINDS, actual, complete=frozenset({(kind, ORG) for kind in KINDS}))


def pairs(of: Organization) -> Iterator[tuple[str, Key]]:
    yield from ((person, key) for person in of.people for key in of.around if key[0] == "space")


@pytest.mark.parametrize("seed", spread(range(2000), 180))
def test_what_the_service_says_of_a_person_is_what_the_review_says(seed: int) -> None:
    truth = organization(Random(seed))
    actual = truth.read()
    now = audiences(actual.objects)
    personal = PersonalAccess(KINDS, now, now, actual)
    for person, key in pairs(truth):
        level = personal.of(actual.objects["member"][f"{ORG}/{person}"], key)
        assert (level.least, level.most) == (rank(truth.may(person, key)),) * 2, (person, key)


@pytest.mark.parametrize("seed", spread(range(2000), 180))
def test_after_a_plan_the_truth_is_between_least_and_most_and_a_doubt_says_why(seed: int) -> None:
    chance = Random(seed)
    first = organization(chance)
    second = changed(chance, first)
    actual = first.read(without=frozenset({"p0"} if seed % 3 == 0 else ()))
    before, after = audiences(actual.objects), audiences(second.objects())
    then = PersonalAccess(KINDS, after, before, actual)
    for person, key in pairs(second):
        level, true = then.of(actual.objects["member"][f"{ORG}/{person}"], key), rank(second.may(person, key))
        assert level.least <= true <= level.most, (person, key)
        assert level.least == level.most or level.doubt or level.least >= 0, (person, key)


@pytest.mark.parametrize("seed", spread(range(500), 20))
def test_whose_list_is_denied_may_always_and_nobody_else(seed: int) -> None:
    truth = organization(Random(seed))
    actual = truth.read(without=frozenset(truth.people))
    now = audiences(actual.objects)
    personal = PersonalAccess(KINDS, now, now, actual)
    for person, key in pairs(truth):
        level = personal.of(actual.objects["member"][f"{ORG}/{person}"], key)
        able = person not in truth.disabled
        assert level.most == (EVERYTHING if able else NOTHING)
        assert level.least <= rank(truth.may(person, key))


def test_a_person_is_asked_about_once_a_disabled_one_too_who_may_be_in_a_team() -> None:
    truth = Organization({"ada": "admin", "linus": "edit", "old": "admin"}, {}, {}, disabled={"old"})
    actual = Actual(truth.objects())
    assert unasked(KINDS, actual) == {("member", f"{ORG}/{name}") for name in ("ada", "linus", "old")}
    assert unasked(KINDS, truth.read()) == frozenset()
    assert unasked(KINDS, truth.read(without=frozenset({"linus"}))) == frozenset(), "a list that was denied is not asked for again"


def test_people_who_are_new_are_named_three_of_them_and_a_number() -> None:
    salaries: Key = ("space", "spc_1")
    people: dict[str, str | None] = dict.fromkeys(("ada", "ben", "cleo", "dan", "eve"), "edit")
    first = Organization({**people, "gus": None}, {salaries: None}, {salaries: None}, {("dan", salaries): "admin"})
    second = replace(first, levels={salaries: "inherit"})
    actual = first.read()
    named = newly(KINDS, actual, audiences(actual.objects), audiences(second.objects()))
    whole = Access(EACH_BY_ROLE, 0, conditional=False, of=("organization", ORG))
    assert named(salaries, whole) == "ada@acme.example, ben@acme.example, cleo@acme.example and 1 more", "dan could before"
    assert named(salaries, replace(whole, who=by_role("guest"))) == "", "a guest reads nothing by an inherited level"
    assert newly(KINDS, Actual(first.objects()), audiences(first.objects()), audiences(second.objects()))(salaries, whole) == ""


def test_the_nearest_level_counts_and_inherit_asks_what_is_around() -> None:
    outer, inner, space = ("collection", "out"), ("collection", "in"), ("space", "spc")
    around: dict[Key, Key | None] = {outer: None, inner: outer, space: inner}

    def readers(**levels: str | None) -> set[str]:
        truth = Organization({}, around, {outer: levels["outer"], inner: levels["inner"], space: levels["space"]})
        return set(map(str, audiences(truth.objects()).of(space)))

    assert readers(outer="edit", inner="inherit", space="read") == {MEMBERS}
    assert readers(outer="edit", inner="inherit", space="inherit") == {f"{MEMBERS} (edit)"}
    assert readers(outer="edit", inner=None, space="inherit") == set()
    assert readers(outer="inherit", inner="inherit", space="inherit") == {by_role(role) for role in LEVELS[:-1]}


@pytest.mark.parametrize("seed", spread(range(500), 40))
def test_people_of_whom_the_same_is_known_may_do_the_same_before_and_after_a_plan(seed: int) -> None:
    """What is computed for one of them holds for all: a review of 2,500 people asks about each sort of them once."""
    chance = Random(seed)
    many: dict[str, str | None] = {f"p{number}": chance.choice((None, "read", "edit", "admin")) for number in range(16)}
    first = replace(organization(chance), people=many)
    second = changed(chance, first)
    actual = first.read(without=frozenset({"p0", "p1"} if seed % 3 == 0 else ()))
    before, after = audiences(actual.objects), audiences(second.objects())
    shared = 0
    for now in (before, after):
        access, seen = PersonalAccess(KINDS, now, before, actual), dict[Any, Any]()
        for key in first.around:
            for person in actual.objects["member"].values():
                level, alike = access.of(person, key), (key, access.alike(person, key))
                shared += alike in seen
                assert seen.setdefault(alike, level) == level, (person.id, key)
    assert shared > 100
