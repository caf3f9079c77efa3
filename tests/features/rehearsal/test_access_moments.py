"""The access tests of a project are asked of the copy after every request, and each moment at which one fails is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reconciler import exits
from reconciler.address import Address, Glob
from reconciler.features.rehearsal.access import AccessMoments, during
from reconciler.model import AccessTest, NamedReader, ReaderSort
from reconciler.model.desired import Pattern
from reconciler.model.findings import Source
from reconciler.sandbox.sites.moment import AudienceMoment, ReadBy
from tests.command_line import Cli
from tests.features.rehearsal.test_rehearse import Tree, _tree, _write_with
from tests.proofs import costly

SALARIES = "acme/space/salaries"


def _site(variant: Any) -> Tree:
    """A site whose only section shows the guides to visitors who read them, and perhaps another space. Nothing is open to anyone."""
    tree = _tree(adaptiveContent={"enabled": True})
    del tree["content"][0]["template"]
    guides = {"space": "guides", "condition": "visitor.claims.guides == true"}
    tree["sites"]["docs"]["structure"] = [{"section": "guides", "title": "Guides", "spaces": [guides, *([variant] if variant else [])]}]
    return tree


def _rehearsed(cli: Cli, access: Any, variant: Any, *, before: Any = None, code: int) -> Any:
    _write_with(cli, _site(before))
    cli("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    _write_with(cli, _site(variant), access=access)
    return json.loads(cli("rehearse", ".", "--sandbox", "living.db", "--format", "json", code=code).stdout)


HIDDEN = {"space": "salaries", "condition": "visitor.claims.staff == true"}


def test_what_may_be_read_for_one_request_only_is_refused_with_its_moment(cli: Cli) -> None:
    access = [{"as": "anyone", "mustNotSee": [SALARIES], "reason": "confidential"}]
    document = _rehearsed(cli, access, HIDDEN, code=exits.REFUSED)
    refused = [moment["refused"] for moment in document["moments"]]
    assert refused == [["anyone mustNotSee acme/space/salaries"], []]
    assert f"access anyone at {SALARIES}: anyone can read it after request 1 of 2 (confidential)" in document["refusals"]
    assert document["divergences"] == []


@costly
@pytest.mark.parametrize("reader", ["agent", {"claims": {}}, {"claims": {"staff": True}}, {"role": "read"}, {"role": "guest"}])
def test_every_reader_of_a_test_is_asked_as_it_is_described(cli: Cli, reader: Any) -> None:
    document = _rehearsed(cli, [{"as": reader, "mustNotSee": [SALARIES]}], HIDDEN, code=exits.REFUSED if reader != "agent" else exits.DONE)
    staff = reader == {"claims": {"staff": True}}
    assert [len(moment["refused"]) for moment in document["moments"]] == ([0, 0] if reader == "agent" else [1, 1 if staff else 0])


def test_a_reader_who_must_see_and_cannot_is_named_until_they_can_again(cli: Cli) -> None:
    access = [{"as": "anyone", "sees": ["acme/space/guides"]}]
    _write_with(cli, _tree())
    cli("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    tree = _tree()
    del tree["sites"]["docs"]["structure"][0]
    _write_with(cli, tree, access=access)
    document = json.loads(cli("rehearse", ".", "--sandbox", "living.db", "--format", "json", code=exits.REFUSED).stdout)
    assert document["moments"][-1]["refused"] == ["anyone sees acme/space/guides"]
    assert any("anyone cannot read it" in refusal for refusal in document["refusals"])


def test_what_is_violated_before_and_after_is_for_the_plan_to_judge(cli: Cli) -> None:
    access = [{"as": "anyone", "mustNotSee": ["acme/space/guides"]}]
    again = {"space": "guides", "key": "again"}
    document = _rehearsed(cli, access, {**again, "path": "elsewhere"}, before=again, code=exits.REFUSED)
    assert [moment["refused"] for moment in document["moments"]] == [[]]
    assert any("already today" in refusal for refusal in document["refusals"])


# -- without a service -----------------------------------------------------------------------------------------------------------------


def _moment(*readings: ReadBy) -> AudienceMoment:
    return AudienceMoment(frozenset(), {}, {("space", "a"): "A"}, {}, frozenset(readings))


def test_what_replaces_an_object_is_what_must_be_read_then() -> None:
    reader = NamedReader(ReaderSort.ANYONE)
    address = Address.parse("acme/space/a")
    pattern = Pattern(Glob.parse("acme/space/a"), Source("reconciler.yaml", 1), (address,))
    test = AccessTest(reader, Source("reconciler.yaml", 1), sees=(pattern,))
    old, new = ReadBy("anyone", "space", "a"), ReadBy("anyone", "space", "b")
    moments = AccessMoments(_moment(old))
    for now in (_moment(old), _moment(), _moment(new)):
        moments.after(now)
    (refusal,) = moments.refusals([test], {("space", "a"): address, ("space", "b"): address})
    assert refusal.after == (2,)


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ((3,), "after request 3 of 10"),
        ((3, 4, 5), "after requests 3 to 5 of 10"),
        ((1, 3, 4), "after requests 1 and 3 to 4 of 10"),
        ((8, 9, 10), "from request 8 of 10 on"),
        ((10,), "at the end"),
        ((1, 3, 5, 7), "after requests 1, 3 and 5, and 1 more time, of 10"),
        ((1, 10), "after requests 1 and 10 of 10"),
    ],
)
def test_moments_are_named_as_ranges(after: tuple[int, ...], text: str) -> None:
    assert during(after, 10) == text
