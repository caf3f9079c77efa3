"""Working out who can read what takes as long as there are objects and steps, not their product."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.address import Address
from reconciler.kinds import load
from reconciler.model import Actual, Desired, Observed, Step
from reconciler.plan.audience.disclosure import disclosure
from reconciler.resource import UNSET
from tests.effort import calls
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
        return calls(lambda: disclosure(KINDS, DESIRED, actual, ids, steps))

    assert taken(800) < 4.4 * taken(200)


def test_a_site_is_published_after_every_condition() -> None:
    actual, ids, steps = conditions_and_publish(20)
    created = disclosure(KINDS, DESIRED, actual, ids, steps).steps
    assert created[-1].verb == "publish"
    assert created[-1].needs == {step.id for step in created[:-1]}


def test_a_variant_with_a_condition_shows_something_public_until_it_has_it() -> None:
    actual, ids, steps = new_variants(3)
    result = disclosure(KINDS, DESIRED, actual, ids, steps)
    sent = [(str(step.address).rpartition("/")[2], step.verb, dict(step.writes)) for step in result.steps if step.address.key == "n1"]
    assert sent == [("n1", "create", {"space": "p0"}), ("n1", "update", {"condition": "c"}), ("n1", "update", {"space": "p1"})]
    assert result.windows == ()
