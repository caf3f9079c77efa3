"""`undo` gives back what a run transferred: to the organization, the place and the address that it had."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proofs import sampled, tries
from tests.reliability.seen import as_lists_show, difference, seen
from tests.transfers.drawn import drawn
from tests.transfers.two import GAMMA, Two, collection, sent, space, three, two
from tests.undo.undoing import runs, undo

EDITS = {
    "a space that leaves a collection": (
        ([collection("product", space("one"), space("guides"), space("two"))], [space("home", of="base")]),
        ([collection("product", space("one"), space("two"))], [space("guides", "Handbook", of="base"), space("home", of="base")]),
        [("acme/space/guides", "beta/space/guides")],
    ),
    "a collection with another key": (
        ([space("first"), collection("product", space("one"), collection("deep", space("two"))), space("last")], []),
        ([space("first"), space("last")], [collection("books", space("one", of="base"), collection("deep", space("two", of="base")))]),
        [("acme/collection/product", "beta/collection/books")],
    ),
    "two that change places": (
        ([space("guides", "From acme")], [space("guides", "From beta", of="base")]),
        ([space("guides", "From beta")], [space("guides", "From acme", of="base")]),
        [("acme/space/guides", "beta/space/guides"), ("beta/space/guides", "acme/space/guides")],
    ),
}


RENAMED = (9, 14, 32)
"""Random transfers for which something is renamed within its organization: it frees an address, or takes a freed one; three in a circle."""


@pytest.fixture
def org(tmp_path: Path) -> Two:
    return two(tmp_path)


@pytest.mark.parametrize("name", EDITS)
def test_undo_gives_everything_back(org: Two, name: str) -> None:
    before, after, moved = EDITS[name]
    connection = org.app.state.service.store.connection
    org.applied(*before)
    addresses, lines = org.addresses(), seen(connection)
    org.applied(*after, *moved)
    outcome, found, again = undo(org, runs(org)[0].id)
    assert found.cannot == ()
    assert outcome.leftover == ()
    assert [result.error for result in outcome.results if result.error] == []
    assert {line.what for line in again} >= {"transfers it again"}
    assert org.addresses() == addresses
    assert difference(lines, seen(connection)) == []
    org.declare(*before)
    org.settled()


def test_after_an_undo_the_lines_transfer_again(org: Two) -> None:
    before, after, moved = EDITS["two that change places"]
    org.applied(*before)
    org.applied(*after, *moved)
    there = org.addresses()
    undo(org, runs(org)[0].id)
    assert sorted(sent(org.applied(*after, *moved))) == ["transfer acme/space/guides", "transfer beta/space/guides"]
    assert org.addresses() == there


def test_what_was_given_back_by_hand_gets_its_address_back(org: Two) -> None:
    org.applied([space("guides")], [])
    addresses = org.addresses()
    org.applied([], [space("guides", of="base")], ("acme/space/guides", "beta/space/guides"))
    org.call("POST", f"/spaces/{org.id('beta/space/guides')}/transfer", {"organization": "org_acme"})
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert sent(outcome) == ["move acme/space/guides"]  # nothing shows where it is at the top
    assert found.cannot == ()
    assert org.addresses() == addresses


def test_what_was_transferred_on_by_hand_stays(tmp_path: Path) -> None:
    org = three(tmp_path)
    org.applied([space("guides")], [], gamma=[])
    org.applied([], [space("guides", of="base")], ("acme/space/guides", "beta/space/guides"), gamma=[])
    org.call("POST", f"/spaces/{org.id('beta/space/guides')}/transfer", {"organization": GAMMA})
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert outcome.results == ()
    assert [(str(obstacle.address), obstacle.reason) for obstacle in found.cannot] == [
        ("beta/space/guides", "was transferred, and belongs to another organization now; it was not transferred back")
    ]


@sampled
def test_random_transfers_are_undone(tmp_path: Path) -> None:
    for seed in (*RENAMED, *(seed for seed in range(60) if seed not in RENAMED))[: tries(60, 1)]:
        org, draw = two(tmp_path / str(seed)), drawn(seed)
        org.applied(*draw.first, protect=[])
        addresses, lines = org.addresses(), seen(org.app.state.service.store.connection)
        made = org.applied(*draw.last, *draw.moved, protect=[])
        outcome, found, _ = undo(org, runs(org)[0].id)
        assert outcome.leftover == ()
        if not {"create", "delete"} & {result.step.verb for result in made.results}:
            assert found.cannot == ()
            assert org.addresses() == addresses
            assert difference(as_lists_show(lines), as_lists_show(seen(org.app.state.service.store.connection))) == []
