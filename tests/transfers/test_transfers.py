"""A collection or space that is declared in another organization, with its line in `moved`, is transferred with all it contains.

Lines of `moved` between organizations that are the wrong way round, go in a circle, or form a chain.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.errors import ConfigError
from tests.apply.test_kill import die_and_try_again
from tests.harness import ORGANIZATION
from tests.plan.test_sections import believed
from tests.proofs import costly, spread
from tests.transfers.two import BETA, TWO_SEED, Tree, Two, collection, reasons, sent, space, three, two

GUIDES = ("acme/space/guides", "beta/space/guides")
PRODUCT = ("acme/collection/product", "beta/collection/product")


@pytest.fixture
def org(tmp_path: Path) -> Two:
    return two(tmp_path)


def test_a_space_is_transferred_by_one_request_and_keeps_its_id(org: Two) -> None:
    org.applied([space("guides")], [])
    id = org.id("acme/space/guides")
    assert sent(org.applied([], [space("guides", of="base")], GUIDES)) == ["transfer beta/space/guides"]
    assert org.where("beta/space/guides") == (BETA, None)
    assert org.id("beta/space/guides") == id
    assert "acme/space/guides" not in org.addresses()


def test_a_collection_brings_all_it_contains(org: Two) -> None:
    inside = [space("one"), collection("deep", space("two"))]
    org.applied([collection("product", *inside)], [])
    before = org.addresses()
    org.declare([], [collection("product", space("one", of="base"), collection("deep", space("two", of="base")))], PRODUCT)
    outcome = org.applied([], [collection("product", space("one", of="base"), collection("deep", space("two", of="base")))], PRODUCT)
    assert sent(outcome) == ["transfer beta/collection/product"]
    after = org.addresses()
    for name in ("collection/product", "collection/deep", "space/one", "space/two"):
        assert after[f"beta/{name}"] == before[f"acme/{name}"]
        assert org.where(f"beta/{name}")[0] == BETA
    assert ORGANIZATION not in [org.where(f"beta/{name}")[0] for name in ("space/one", "space/two")]


def test_a_line_alone_is_blocked_and_prints_what_to_write(org: Two) -> None:
    org.applied([collection("product", collection("deep", space("guides"))), space("faq")], [])
    there = [collection("product", collection("deep", space("guides", of="base"))), space("faq", of="base")]
    org.declare([], there, protect=[])
    made = org.plan()
    assert made.steps == ()
    ways = {str(refusal.address): refusal.remedy for refusal in made.blocked}
    names = ("collection/product", "collection/deep", "space/guides", "space/faq")
    assert set(ways) == {f"{root}/{name}" for root in ("acme", "beta") for name in names}
    assert "moved: [{from: acme/collection/product, to: beta/collection/product}]" in ways["beta/space/guides"]
    assert "moved: [{from: acme/space/faq, to: beta/space/faq}]" in ways["acme/space/faq"]
    lines = PRODUCT, ("acme/space/faq", "beta/space/faq")
    org.applied([], there, *lines)


def test_an_id_in_another_organization_is_blocked_and_prints_what_to_write(org: Two) -> None:
    org.applied([space("guides")], [])
    id = org.id("acme/space/guides")
    org.declare([], [{"space": "guides", "id": id, "title": "Guides"}], protect=[])
    made = org.plan()
    assert made.steps == ()
    assert {str(refusal.address) for refusal in made.blocked} == {"acme/space/guides", "beta/space/guides"}
    assert all("moved: [{from: acme/space/guides, to: beta/space/guides}]" in one.remedy for one in made.blocked)
    org.applied([], [{"space": "guides", "id": id, "title": "Guides"}], GUIDES)


def test_two_spaces_change_places_between_organizations(org: Two) -> None:
    org.applied([space("guides", "From acme")], [space("guides", "From beta", of="base")])
    before = org.addresses()
    back = ("beta/space/guides", "acme/space/guides")
    org.applied([space("guides", "From beta")], [space("guides", "From acme", of="base")], GUIDES, back)
    after = org.addresses()
    assert (after["acme/space/guides"], after["beta/space/guides"]) == (before["beta/space/guides"], before["acme/space/guides"])
    assert org.where("acme/space/guides")[0] == ORGANIZATION


def test_a_transfer_with_another_key_parent_and_title(org: Two) -> None:
    org.applied([collection("product", space("guides"))], [collection("help", space("first", of="base"))])
    new = [collection("help", space("handbook", "Handbook", of="base"), space("first", of="base"))]
    outcome = org.applied([collection("product")], new, ("acme/space/guides", "beta/space/handbook"))
    assert sent(outcome)[0] == "transfer beta/space/handbook"
    assert set(sent(outcome)[1:]) == {"update beta/space/handbook", "move beta/space/handbook"}
    assert org.where("beta/space/handbook") == (BETA, org.id("beta/collection/help"))
    assert [shown["title"] for shown in org.items(f"/collections/{org.id('beta/collection/help')}/spaces")] == ["Handbook", "First"]


def test_what_stays_leaves_the_collection_first(org: Two) -> None:
    org.applied([collection("product", space("guides"), space("stays"))], [])
    outcome = org.applied([space("stays")], [collection("product", space("guides", of="base"))], PRODUCT)
    assert sent(outcome) == ["move acme/space/stays", "transfer beta/collection/product"]
    assert org.where("acme/space/stays") == (ORGANIZATION, None)


def test_a_collection_that_is_left_empty_is_deleted_after_the_transfer(org: Two) -> None:
    org.applied([collection("product", space("guides"))], [], protect=[])
    outcome = org.applied([], [space("guides", of="base")], GUIDES, protect=[])
    assert sent(outcome) == ["transfer beta/space/guides", "delete acme/collection/product"]


def test_a_child_that_is_brought_and_leaves_may_come_before_its_bringer(org: Two) -> None:
    org.applied([collection("product", space("one"))], [collection("help")])
    lines = PRODUCT, ("acme/space/one", "beta/space/one")
    outcome = org.applied([], [space("one", of="base"), collection("help"), collection("product")], *lines)
    assert sent(outcome) == ["transfer beta/collection/product", "move beta/space/one"]


def test_transfers_to_several_organizations_never_wait_for_each_other_in_a_circle(tmp_path: Path) -> None:
    """Each collection must be left by a space that another organization lists behind the other collection."""
    org = three(tmp_path)
    org.applied([collection("product", space("one")), collection("help", space("two"))], [], gamma=[])
    names = {"collection/product": "beta", "space/two": "beta", "collection/help": "gamma", "space/one": "gamma"}
    lines = [(f"acme/{name}", f"{root}/{name}") for name, root in names.items()]
    outcome = org.applied(
        [], [collection("product"), space("two", of="base")], *lines, gamma=[collection("help"), space("one", of="plain")]
    )
    assert sorted([step for step in sent(outcome) if step.startswith("transfer ")]) == sorted(f"transfer {new}" for _, new in lines)
    assert len(sent(outcome)) == 5  # the space that is given first is put behind the collection that comes after it


def test_what_is_removed_from_a_collection_is_deleted_although_its_key_is_taken_where_that_goes(org: Two) -> None:
    org.applied([collection("product", space("one"), space("guides"))], [space("guides", of="base")], protect=[])
    there = org.id("beta/space/guides")
    after = [space("guides", of="base"), collection("product", space("one", of="base"))]
    assert sent(org.applied([], after, PRODUCT, protect=[])) == ["delete acme/space/guides", "transfer beta/collection/product"]
    assert org.id("beta/space/guides") == there


THERE = ("acme/space/guides", "beta/space/guides")
BACK = (THERE[1], THERE[0])
GAMMA = "gamma/space/guides"


@pytest.mark.parametrize(
    ("here", "there", "lines", "says"),
    [
        ([], [space("guides", of="base")], [BACK], "write {from: acme/space/guides, to: beta/space/guides}"),
        ([space("guides")], [space("guides", of="base")], [THERE], "To exchange two objects, write a line for both"),
        ([], [], [THERE], "moved.to is beta/space/guides, which is not declared"),
        ([], [collection("guides")], [(THERE[0], "beta/collection/guides")], "a space cannot become a collection"),
        ([], [], [THERE, BACK], "it is a circular move"),
    ],
)
def test_a_line_that_cannot_be_meant_is_an_error_that_says_what_to_write(
    tmp_path: Path, here: list[dict[str, object]], there: list[dict[str, object]], lines: Sequence[tuple[str, str]], says: str
) -> None:
    org = two(tmp_path)
    org.applied([space("guides")], [])
    org.declare(here, there, *lines)
    with pytest.raises(ConfigError, match="moved") as raised:
        org.load()
    assert says in str(raised.value)


@pytest.mark.parametrize("lines", [[BACK], [THERE, ("beta/space/guides", GAMMA), (GAMMA, "acme/space/guides")]])
def test_lines_that_lead_back_to_where_it_is_transfer_nothing(tmp_path: Path, lines: list[tuple[str, str]]) -> None:
    org = three(tmp_path)
    org.applied([space("guides")], [], gamma=[])
    org.declare([space("guides")], [], *lines, gamma=[])
    org.settled()


def test_a_chain_of_lines_is_one_transfer_to_its_end(tmp_path: Path) -> None:
    org = three(tmp_path)
    org.applied([space("guides")], [], gamma=[])
    assert sent(org.applied([], [], THERE, (THERE[1], GAMMA), gamma=[space("guides", of="plain")])) == [f"transfer {GAMMA}"]


def test_what_is_transferred_there_and_back_in_turns_keeps_its_id_and_is_sent_once_each_time(tmp_path: Path) -> None:
    org = two(tmp_path)
    org.applied([collection("product", space("guides"))], [])
    first = org.addresses()
    lines = [("acme/collection/product", "beta/collection/product"), ("beta/collection/product", "acme/collection/product")]
    for turn in range(4):
        inside = [collection("product", space("guides", of=("base", "blank")[turn % 2]))]
        assert [step.split()[0] for step in sent(org.applied(*(([], inside), (inside, []))[turn % 2], lines[turn % 2]))] == ["transfer"]
        assert {*org.addresses().values()} == {*first.values()}
    assert org.addresses() == first


@pytest.mark.parametrize("root", ["acme", "beta"])
def test_where_one_of_the_organizations_has_another_id_nothing_is_sent(tmp_path: Path, root: str) -> None:
    org = two(tmp_path)
    org.applied([space("guides")], [])
    org.declare([], [space("guides", of="base")], THERE)
    file = org.project / "reconciler.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(f"id: org_{root}", "id: org_other"), encoding="utf-8")
    made = org.plan()
    assert (made.steps, reasons(made)[root]) == ((), f"tracks org_{root}, but the YAML says id org_other")
    assert reasons(made)["beta/space/guides"] == f"waits for {root}, which is blocked"
    assert org.apply().results == ()
    org.applied([], [space("guides", of="base")], THERE)
    assert org.where("beta/space/guides")[0] == "org_beta"


@pytest.mark.parametrize("segment", ["org_acme", "org_beta"])
def test_where_one_of_the_organizations_cannot_be_read_the_state_keeps_the_address(tmp_path: Path, segment: str) -> None:
    org = two(tmp_path)
    org.applied([space("guides")], [])
    org.declare([], [space("guides", of="base")], THERE)
    made = org.plan(failing=(segment,))
    assert (made.steps, made.state_update.rename) == ((), {})
    assert org.plan().steps != ()


SWAP = [("acme/space/one", "acme/space/two"), ("acme/space/two", "acme/space/one")]


@pytest.mark.parametrize(
    ("first", "then", "lines"),
    [
        (
            ([space("guides", "From acme")], [space("guides", "From beta", of="base")]),
            ([space("guides", "From beta")], [space("guides", "From acme", of="base")]),
            [THERE, BACK],
        ),
        (([space("one", "First"), space("two", "Second")], []), ([space("one", "Second"), space("two", "First")], []), SWAP),
    ],
    ids=["between organizations", "in one organization"],
)
def test_an_exchange_that_its_own_lines_cannot_take_back_waits_in_every_run(
    tmp_path: Path, first: tuple[Tree, Tree], then: tuple[Tree, Tree], lines: list[tuple[str, str]]
) -> None:
    """The opposite lines are the same lines, which had their effect: no object gets the title of the other one."""
    org = two(tmp_path)
    org.applied(*first)
    org.applied(*then, *lines)
    for _ in range(3):
        org.declare(*first, *lines)
        assert {(str(refusal.address), refusal.id) for refusal in org.plan().blocked} == {(old, "RC-repeated-rename") for old, _ in lines}
        assert org.apply().results == ()


@costly
def test_objects_that_changed_places_change_places_again_under_new_keys(tmp_path: Path) -> None:
    org = two(tmp_path)
    first = [space("guides", "From acme")], [space("guides", "From beta", of="base")]
    org.applied(*first)
    ids = org.addresses()
    org.applied([space("guides", "From beta")], [space("guides", "From acme", of="base")], THERE, BACK)
    org.declare(*first, THERE, BACK)
    assert all("declare both with new keys" in refusal.remedy for refusal in org.plan().blocked)
    ways = (THERE[0], "beta/space/handbook"), (THERE[1], "acme/space/handbook")
    org.applied([space("handbook", "From acme")], [space("handbook", "From beta", of="base")], *ways)
    now = org.addresses()
    assert (now["acme/space/handbook"], now["beta/space/handbook"]) == (ids[THERE[0]], ids[THERE[1]])


@pytest.mark.parametrize(
    ("nth", "when"), spread([(3, "before"), (1, "before"), (1, "after"), (2, "before"), (3, "after"), (4, "before")], 1)
)
def test_killed_before_its_titles_an_exchange_gets_them_in_the_next_run(tmp_path: Path, nth: int, when: str) -> None:
    org = Two(tmp_path, seed=copy.deepcopy(TWO_SEED))
    both = [space("guides", "From acme")], [space("guides", "From beta", of="base")]
    org.applied(*both)
    before = org.addresses()
    org.declare(*both, THERE, BACK)
    die_and_try_again(org, nth, when)
    now = org.addresses()
    assert [now[address] for address in THERE] == [before[address] for address in BACK]
    assert [org.call("GET", f"/spaces/{now[address]}")["title"] for address in THERE] == ["From acme", "From beta"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_among_its_moves_a_run_that_transferred_something_is_continued_in_the_same_order(tmp_path: Path, when: str) -> None:
    """At the top nothing shows the order: a run that knew less of it would move other objects than the killed one did."""
    org = Two(tmp_path, seed=copy.deepcopy(TWO_SEED))
    org.applied([space("three"), space("six")], [space("one", of="base"), space("four", of="base")])
    after = [space("one"), space("three"), space("four"), space("six")]
    org.declare(after, [], ("beta/space/one", "acme/space/one"), ("beta/space/four", "acme/space/four"))
    die_and_try_again(org, 4, when)  # two transfers, then two moves
    query = "select json_extract(data, '$.title') from objects where kind = 'space' and container = 'root:org_acme' order by position, id"
    titles = [row[0] for row in org.app.state.service.store.connection.execute(query)]
    assert [title for title in titles if title in ("One", "Three", "Four", "Six")] == ["One", "Three", "Four", "Six"]


def test_what_somebody_else_transferred_is_not_taken_for_an_outage(org: Two) -> None:
    keys = ("one", "two", "three", "four", "five", "six")
    org.applied([space(key) for key in keys], [])
    for key in keys:
        org.call("POST", f"/spaces/{org.id(f'acme/space/{key}')}/transfer", {"organization": BETA})
    believed(org)
