"""A target among siblings that stay, where not every sibling can be named as a neighbour."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.client.service import Reader, Writer
from tests.harness import TOKEN, Org
from tests.proofs import costly
from tests.small import applied, node, settled, small


def row(names: str) -> dict[str, Any]:
    """Two collections, `a` and `b`, and a space, `s`, in some order."""
    nodes = {entry: {"collection": entry, "title": entry.upper()} for entry in "ab"} | {
        "s": {"space": "s", "title": "S", "duplicateOf": "blank"}
    }
    return {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, *(nodes[name] for name in names)]}


@costly
@pytest.mark.parametrize("order", ["bas", "sba", "bsa"])
@pytest.mark.parametrize("target", ["acme/collection/b", "acme/collection/a", "acme/space/s"])
def test_a_target_never_moves_its_siblings_and_the_whole_still_finds_its_order(org: Org, target: str, order: str) -> None:
    applied(org, row("abs"))
    org.write(row(order))
    assert {str(step.address) for step in org.plan(targets=(target,)).steps} <= {target}
    org.apply()
    settled(org)


class Unmoved(Org):
    """A service that refuses to move anything while something is applied."""

    def client(self, cls: type[Reader] = Writer, *, token: str = TOKEN, failing: tuple[str, ...] = ()) -> Any:
        return super().client(cls, token=token, failing=("move", *failing))


@pytest.mark.parametrize("target", ["a", "b", "s"])
def test_siblings_of_unknown_position_are_not_moved(tmp_path: Path, target: str) -> None:
    """Their creates were done and their moves were not: that is no reason to move them in a run about another one."""
    org = Unmoved(tmp_path)
    org.write({"content": [*row("")["content"], *({"space": key, "title": key.upper()} for key in "abs")]})
    org.apply()
    assert {str(step.address) for step in Org.plan(org, targets=(f"acme/space/{target}",)).steps} == {f"acme/space/{target}"}


# -- moves say where ---------------------------------------------------------------------------------------------------------------


def bodies(org: Org) -> Iterator[tuple[str, Any]]:
    """The address and the body of every move of the last plan."""
    assert org.made is not None
    for step in org.made.steps:
        if step.verb == "move":
            yield str(step.address), step.body


def order(org: Org, container: str) -> list[str]:
    """The titles of what the service has in a list, collections, spaces, sections and groups alike."""
    return [data["title"] for _, data in org.app.state.service.store.mixed(container)]


def test_the_last_of_a_list_follows_the_one_before_it_also_a_collection(acme: Org) -> None:
    tree = small()
    content = node(tree, "product")["content"]
    content.insert(0, content.pop())  # four, one, two, deep
    applied(acme, tree)
    content.append(content.pop(1))  # four, two, deep, one
    applied(acme, tree)
    deep = acme.id("acme/collection/deep")
    assert dict(bodies(acme)) == {"acme/space/one": {"position": {"after": {"type": "collection", "collection": deep}}}}
    assert order(acme, f"collection:{acme.id('acme/collection/product')}") == ["Four", "Two", "Deep", "One"]


def test_a_collection_follows_another_collection_in_one_move(acme: Org) -> None:
    tree = small()
    tree["content"][1], tree["content"][2] = tree["content"][2], tree["content"][1]
    applied(acme, tree)
    assert [address for address, _ in bodies(acme)] == ["acme/collection/product"]
    assert order(acme, "root:org_acme") == ["Blank", "Other", "Product", "Six"]


def test_what_is_alone_in_its_list_names_the_collection_it_is_in(acme: Org) -> None:
    tree = small()
    tree["content"].append({"collection": "new", "title": "New", "content": [node(tree, "product")["content"].pop(0)]})
    applied(acme, tree)
    assert dict(bodies(acme))["acme/space/one"] == {"parent": Address.parse("acme/collection/new")}


def test_the_root_is_named_by_null(org: Org) -> None:
    space = {"space": "one", "title": "One", "duplicateOf": {"id": "spc_blank"}}
    tree: dict[str, Any] = {"content": [{"collection": "kept", "title": "Kept", "content": [space]}]}
    applied(org, tree, defaults={})
    applied(org, {"content": [space]}, defaults={}, prune={"collection": "none"})
    assert dict(bodies(org)) == {"acme/space/one": {"parent": None}}


def only_groups(keys: str) -> dict[str, Any]:
    """The small organization with a site of nothing but groups at its root."""
    tree = small()
    tree["sites"]["docs"]["structure"] = [
        {
            "group": key,
            "title": key.upper(),
            "structure": [{"section": f"s{key}", "title": f"S{key}", "spaces": [{"key": f"v{key}", "space": "five"}]}],
        }
        for key in keys
    ]
    return tree


def test_groups_without_a_section_beside_them_are_put_behind_one_another(org: Org) -> None:
    applied(org, only_groups("abc"))
    applied(org, only_groups("bca"))
    (body,) = dict(bodies(org)).values()
    assert body == {"position": {"after": {"type": "site-section-group", "id": org.id("acme/site/docs/group/c")}}}
    assert order(org, f"structure:{org.id('acme/site/docs')}") == ["B", "C", "A"]


def test_a_section_behind_a_group_lets_the_group_make_room(acme: Org) -> None:
    """The service puts sections beside sections only."""
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    structure.insert(1, structure.pop())  # guides, more, reference
    applied(acme, tree)
    structure.append(structure.pop(1))  # guides, reference, more
    applied(acme, tree)
    assert [address for address, _ in bodies(acme)] == ["acme/site/docs/group/reference"]
    assert order(acme, f"structure:{acme.id('acme/site/docs')}") == ["Guides", "Reference", "More"]


@pytest.mark.parametrize("lines", ["reference more guides", "more reference guides", "reference guides more", "more guides reference"])
def test_every_order_of_sections_and_groups_is_reached_and_kept(acme: Org, lines: str) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"].sort(key=lambda item: lines.split().index(str(item.get("section", item.get("group")))))
    applied(acme, tree)
    assert all(body for _, body in bodies(acme))
    assert order(acme, f"structure:{acme.id('acme/site/docs')}") == [name.title() for name in lines.split()]


def test_groups_that_no_run_ever_placed_are_put_in_order_and_the_first_stays(org: Org) -> None:
    """As a run leaves them that dies before its end."""
    applied(org, only_groups("ab"))
    with sqlite3.connect(org.root / "state.db") as database:
        database.execute("UPDATE bindings SET place_parent = NULL, place_index = NULL WHERE kind = 'group'")
    org.apply()
    first = {"type": "site-section-group", "id": org.id("acme/site/docs/group/a")}
    assert dict(bodies(org)) == {"acme/site/docs/group/b": {"position": {"after": first}}}
    settled(org)
