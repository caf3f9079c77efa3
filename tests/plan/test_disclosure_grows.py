"""Working out who can read what takes as long as there are objects and steps, not their product."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any, ClassVar

import pytest

from reconciler.address import Address
from reconciler.kinds import load
from reconciler.model import Actual, Desired, Observed, State, Step
from reconciler.plan.audience.disclosure import disclosure
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.world import World
from reconciler.resource import UNSET
from tests.effort import calls, operations
from tests.growth.edits import empty_collections, nothing
from tests.growth.scenes import Scene, applied, desired
from tests.harness import kinds
from tests.proofs import proof

KINDS = load()
ORG, SITE = {"organization": "o"}, {"organization": "o", "site": "s"}
DESIRED = Desired("test", None, {}, {}, frozenset())


def observed(kind: str, id: str, within: dict[str, str], **values: Any) -> Observed:
    blank = {name: UNSET for name, field in KINDS[kind].fields.items() if field.compared or field.key}
    return Observed(kind, id, {**blank, **values}, within, {"id": id, "title": id})


def organization(number: int, **site: Any) -> tuple[Actual, dict[Address, str]]:
    """One site that shows so many spaces."""
    spaces = {f"p{i}": observed("space", f"p{i}", ORG, parent=None, title=f"P{i}") for i in range(number)}
    variants = {f"v{i}": observed("site-space", f"v{i}", SITE, section=None, space=f"p{i}", condition=None) for i in range(number)}
    values = {"published": True, "visibility": "public", "adaptiveContent": {"enabled": True}, "agentsContext": "excluded", **site}
    objects = {
        "organization": {"o": observed("organization", "o", {})},
        "space": spaces,
        "site": {"s": observed("site", "s", ORG, **values)},
        "site-space": variants,
    }
    ids = {Address.parse("acme"): "o", Address.parse("acme/site/docs"): "s"}
    ids |= {Address.parse(f"acme/space/p{i}"): f"p{i}" for i in range(number)}
    ids |= {Address.parse(f"acme/site/docs/site-space/v{i}"): f"v{i}" for i in range(number)}
    return Actual(objects, complete=frozenset({("share-link", "s")})), ids


def update(number: int, address: str, kind: str, id: str, **writes: Any) -> Step:
    return Step(number, Address.parse(address), kind, "update", "PATCH", ("x",), writes, writes, target=id)


def conditions_and_publish(number: int) -> tuple[Actual, dict[Address, str], list[Step]]:
    """A condition on each variant, and the site is published: that needs all of them."""
    actual, ids = organization(number, published=False)
    steps = [update(i + 1, f"acme/site/docs/site-space/v{i}", "site-space", f"v{i}", condition="c") for i in range(number)]
    publish = Step(number + 1, Address.parse("acme/site/docs"), "site", "publish", "POST", ("x",), writes={"published": True}, target="s")
    return actual, ids, [publish, *steps]


def new_variants(number: int) -> tuple[Actual, dict[Address, str], list[Step]]:
    """As many new variants, each with a condition that its create cannot carry, on a site that everybody reads."""
    actual, ids = organization(number)
    ids = {address: id for address, id in ids.items() if address.kind != "site-space"}
    spaces = {**actual.objects["space"], "q": observed("space", "q", ORG, parent=None, title="Q")}
    objects = {
        **actual.objects,
        "space": spaces,
        "site-space": {"v": observed("site-space", "v", SITE, section=None, space="p0", condition=None)},
    }
    steps: list[Step] = []
    for i in range(1, number):
        address = Address.parse(f"acme/site/docs/site-space/n{i}")
        body = {"spaceId": f"p{i}"}
        created = 2 * i - 1
        path = ("orgs", "o", "sites", "s", "site-spaces")
        steps.append(Step(created, address, "site-space", "create", "POST", path, body, {"space": f"p{i}"}, create_like=True))
        steps.append(
            Step(
                created + 1,
                address,
                "site-space",
                "update",
                "PATCH",
                ("x",),
                {},
                {"condition": "c"},
                target=address,
                needs=frozenset({created}),
            )
        )
    return Actual(objects, complete=actual.complete), ids, steps


@pytest.mark.parametrize("case", [conditions_and_publish, pytest.param(new_variants, marks=proof)])
def test_four_times_as_many_take_four_times_the_calls(case: Any) -> None:
    def taken(number: int) -> int:
        actual, ids, steps = case(number)
        return calls(lambda: disclosure(World(KINDS, DESIRED, State("", 0), actual), ids, steps))

    assert taken(800) < 4.4 * taken(200)


def test_a_site_is_published_after_every_condition() -> None:
    actual, ids, steps = conditions_and_publish(20)
    created = disclosure(World(KINDS, DESIRED, State("", 0), actual), ids, steps).steps
    assert created[-1].verb == "publish"
    assert created[-1].needs == {step.id for step in created[:-1]}


def test_a_variant_with_a_condition_shows_something_public_until_it_has_it() -> None:
    actual, ids, steps = new_variants(3)
    result = disclosure(World(KINDS, DESIRED, State("", 0), actual), ids, steps)
    sent = [(str(step.address).rpartition("/")[2], step.verb, dict(step.writes)) for step in result.steps if step.address.key == "n1"]
    assert sent == [("n1", "create", {"space": "p0"}), ("n1", "update", {"condition": "c"}), ("n1", "update", {"space": "p1"})]
    assert result.windows == ()


# -- contents ----------------------------------------------------------------------------------------------------------------------


def chain(folder: Path, many: int) -> Scene:
    """Collections in each other that are no longer declared; an unmanaged space is in the innermost."""
    state, actual = applied(empty_collections, many)
    ids = [binding.id for _, binding in sorted(state.bindings.items()) if binding.kind == "collection"]
    collections, spaces = dict(actual.objects["collection"]), dict(actual.objects["space"])
    for outer, inner in pairwise(ids):
        collections[inner] = replace(collections[inner], values={**collections[inner].values, "parent": outer})
    blank = spaces["spc_blank"]
    spaces["spc_notes"] = replace(blank, id="spc_notes", values={**blank.values, "title": "Notes", "parent": ids[-1]})
    return Scene(
        desired(folder / str(many), nothing(many)),
        state,
        replace(actual, objects={**actual.objects, "collection": collections, "space": spaces}),
    )


def test_a_chain_of_four_times_as_many_collections_takes_four_times_the_operations(tmp_path: Path) -> None:
    few, many = (chain(tmp_path, number) for number in (50, 200))
    assert len(many.plan().blocked) == 200
    assert log(operations(many.plan) / operations(few.plan)) / log(4) <= 1.1


def test_a_chain_that_is_deeper_than_python_calls_functions_is_blocked(tmp_path: Path) -> None:
    assert len(chain(tmp_path, 2_000).plan().blocked) == 2_000


# -- copies ------------------------------------------------------------------------------------------------------------------------


WITHIN = {"organization": "org_a"}


class CountedText(str):
    """An id that counts how often it is compared."""

    __slots__ = ()
    comparisons: ClassVar[int] = 0

    def __eq__(self, other: object) -> bool:
        CountedText.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def comparisons(number: int) -> int:
    """How many comparisons of ids it takes to say who can read a space with so many copies."""
    ids = ["spc_blank", *(f"spc_{index}" for index in range(number))]
    objects = {"space": {id: Observed("space", id, {"visibility": "public"}, WITHIN, {"id": id}) for id in ids}}
    copies = {("space", "spc_blank"): [("space", CountedText(id)) for id in ids[1:]]}
    CountedText.comparisons = 0
    assert Audiences(kinds(), objects, complete=(), copies=copies).of(("space", "spc_blank"))
    return CountedText.comparisons


def test_four_times_as_many_copies_of_a_space_take_four_times_the_comparisons() -> None:
    assert comparisons(400) <= 5 * comparisons(100)
