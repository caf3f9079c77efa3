"""What becomes of tracked objects when keys change: renames, exchanges, rotations, and renames that cannot happen.

A vanished key beside a look-alike: both wait until the YAML says whether it is a rename.
Whose object it is: a natural key that cannot change makes the whole resource wait, and what is in a renamed container is still known."""

from __future__ import annotations

import copy
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from itertools import product
from typing import Any

import pytest

from reconciler.address import Address, Glob, Selection
from reconciler.errors import ConfigError
from reconciler.kinds import load
from reconciler.model import Action, Binding, Cause, Observed, Origin, Plan
from reconciler.plan.matching.differences import differences, explain
from reconciler.report.plan import plan_sheet
from reconciler.resource import UNSET
from tests.harness import SEED, Org
from tests.proofs import costly, spread
from tests.small import applied, node, settled, small, verbs

PAIRS: dict[str, tuple[str, tuple[str, str]]] = {
    "team": ("acme/team", ("writers", "devs")),
    "space": ("acme/space", ("one", "two")),
    "collection": ("acme/collection", ("product", "other")),
    "site": ("acme/site", ("docs", "help")),
    "section": ("acme/site/docs/section", ("guides", "more")),
    "group": ("acme/site/docs/group", ("reference", "extra")),
    "share-link": ("acme/site/docs/share-link", ("partners", "press")),
    "site-space": ("acme/site/docs/site-space", ("one", "two")),
    "saml": ("acme/saml", ("okta", "entra")),
}


def pairs() -> dict[str, Any]:
    """The small organization with two of everything that has a key."""
    tree = small()
    tree["teams"]["devs"] = {"title": "Devs"}
    docs = tree["sites"]["docs"]
    docs["structure"].append({"group": "extra", "title": "Extra", "structure": [{"section": "faq", "title": "FAQ", "spaces": ["six"]}]})
    docs["shareLinks"]["press"] = {"name": "Press", "active": False}
    tree["saml"]["entra"] = {**tree["saml"]["okta"], "label": "Entra", "entityID": "http://entra.example/1"}
    del tree["saml"]["entra"]["defaultTeam"]
    tree["sites"]["help"] = {
        "title": "Help",
        "visibility": "unlisted",
        "structure": [
            {"section": "guides", "title": "Help guides", "spaces": ["two"]},
            {"section": "contact", "title": "Contact", "spaces": ["five"]},
        ],
        "shareLinks": {"partners": {"name": "Helpers", "active": True}},
    }
    return tree


def ids(org: Org) -> dict[str, str]:
    """The tracked ids by address."""
    return {str(address): binding.id for address, binding in org.remembered().bindings.items()}


def rekeyed(tree: dict[str, Any], kind: str, names: Mapping[str, str], *, with_previously: bool = True) -> dict[str, Any]:
    """The tree with the keys of a kind changed wherever they are written, each object keeping all it has, and told by `previously`."""
    tree = copy.deepcopy(tree)
    docs = tree["sites"].get("docs", {})
    maps = {"team": tree["teams"], "site": tree["sites"], "share-link": docs.get("shareLinks"), "saml": tree["saml"]}
    if kind in maps:
        entries = {names.get(key, key): (key, value) for key, value in maps[kind].items()}
        maps[kind].clear()
        maps[kind].update(
            {key: {**value, "previously": [old]} if with_previously and key != old else value for key, (old, value) in entries.items()}
        )
    else:
        holder = docs if kind in ("section", "group", "site-space") else tree
        _rekey_nodes(holder, "space" if kind == "site-space" else kind, names, with_previously, variants=kind == "site-space")
    _rekey_references(tree, kind, names)
    return tree


def _rekey_nodes(at: Any, tag: str, names: Mapping[str, str], with_previously: bool, *, variants: bool) -> None:
    for name, value in list(at.items() if isinstance(at, dict) else enumerate(at)):
        if name == "spaces" and variants:
            at[name] = [_variant(entry, names, with_previously) for entry in value]
        elif isinstance(value, dict | list):
            _rekey_nodes(value, tag, names, with_previously, variants=variants)
    if isinstance(at, dict) and not variants and at.get(tag) in names and "title" in at:
        old = at[tag]
        at[tag] = names[old]
        if with_previously and names[old] != old:
            at["previously"] = [old]


def _variant(one: Any, names: Mapping[str, str], with_previously: bool) -> Any:
    one = {"space": one} if isinstance(one, str) else dict(one)
    old = one.get("key", one["space"])
    new = names.get(old, old)
    return {**one, "key": new, **({"previously": [old]} if with_previously and new != old else {})} if new != old else one


def _rekey_references(tree: dict[str, Any], kind: str, names: Mapping[str, str]) -> None:
    """Change what names them elsewhere; variants keep the keys they had."""
    if kind == "site":
        tree["defaultContent"] = {"site": names.get(tree["defaultContent"]["site"], tree["defaultContent"]["site"])}
    if kind == "team":
        team = tree["saml"]["okta"]["defaultTeam"]
        tree["saml"]["okta"]["defaultTeam"] = names.get(team, team)
    if kind == "space":
        for site in tree["sites"].values():
            _refer(site["structure"], names)


def _refer(nodes: list[Any], names: Mapping[str, str]) -> None:
    for index, entry in enumerate(nodes):
        if isinstance(entry, str) or "space" in entry:
            entry = {"space": entry} if isinstance(entry, str) else entry
            old = entry["space"]
            nodes[index] = {"key": old, **entry, "space": names.get(old, old)}
        else:
            _refer(entry.get("spaces", []), names)
            _refer(entry.get("structure", []), names)


def exchanged(address: str, prefix: str, names: Mapping[str, str]) -> str:
    """The address once the keys below a prefix are changed."""
    head, _, rest = address.partition(f"{prefix}/")
    if head or not rest:
        return address
    key, *below = rest.split("/")
    return "/".join([prefix, names.get(key, key), *below])


def written(org: Org) -> list[tuple[str, str]]:
    return [request for request in org.requests if request[0] != "GET"]


@pytest.fixture
def living(org: Org) -> Org:
    applied(org, pairs())
    return org


# -- exchanges ---------------------------------------------------------------------------------------------------------------------


@costly
@pytest.mark.parametrize("kind", spread(list(PAIRS), 4))
def test_two_keys_are_exchanged_without_a_request_and_only_once(living: Org, kind: str) -> None:
    prefix, (a, b) = PAIRS[kind]
    names = {a: b, b: a}
    before = ids(living)
    tree = rekeyed(pairs(), kind, names)
    living.requests.clear()
    assert verbs(applied(living, tree)) == []
    assert written(living) == []
    after = {exchanged(address, prefix, names): id for address, id in before.items()}
    assert ids(living) == after
    assert verbs(applied(living, tree)) == []
    assert verbs(applied(living, rekeyed(pairs(), kind, names, with_previously=False))) == []
    assert ids(living) == after
    assert verbs(applied(living, rekeyed(rekeyed(pairs(), kind, names, with_previously=False), kind, names))) == []
    assert ids(living) == before


@pytest.mark.parametrize("kind", ["team", "site", "section"])
def test_moved_exchanges_two_keys_too(living: Org, kind: str) -> None:
    prefix, (a, b) = PAIRS[kind]
    names = {a: b, b: a}
    before = ids(living)
    lines = [{"from": f"{prefix}/{old}", "to": f"{prefix}/{new}"} for old, new in names.items()]
    tree = rekeyed(pairs(), kind, names, with_previously=False)
    for _ in range(2):
        assert verbs(applied(living, tree, moved=lines)) == []
        assert ids(living) == {exchanged(address, prefix, names): id for address, id in before.items()}


def test_three_keys_rotate(org: Org) -> None:
    tree = pairs()
    tree["teams"]["ops"] = {"title": "Ops"}
    applied(org, tree)
    before = ids(org)
    names = {"writers": "devs", "devs": "ops", "ops": "writers"}
    for _ in range(2):
        assert verbs(applied(org, rekeyed(tree, "team", names))) == []
        assert ids(org) == {exchanged(address, "acme/team", names): id for address, id in before.items()}


def test_one_key_takes_over_anothers_while_that_one_takes_a_new_one(living: Org) -> None:
    before = ids(living)
    names = {"writers": "devs", "devs": "developers"}
    for _ in range(2):
        assert verbs(applied(living, rekeyed(pairs(), "team", names))) == []
        assert ids(living) == {exchanged(address, "acme/team", names): id for address, id in before.items()}


def test_keys_and_titles_are_exchanged_at_once(living: Org) -> None:
    before = ids(living)
    tree = rekeyed(pairs(), "team", {"writers": "devs", "devs": "writers"})
    teams = tree["teams"]
    teams["writers"]["title"], teams["devs"]["title"] = teams["devs"]["title"], teams["writers"]["title"]
    assert verbs(applied(living, tree)) == ["update acme/team/devs", "update acme/team/writers"]
    assert ids(living)["acme/team/devs"] == before["acme/team/writers"]
    assert verbs(applied(living, tree)) == []


@pytest.mark.parametrize("kind", spread(["team", "space", "section", "share-link", "site"], 2))
def test_two_titles_are_exchanged_and_no_key(living: Org, kind: str) -> None:
    prefix, (a, b) = PAIRS[kind]
    tree, name = pairs(), "name" if kind == "share-link" else "title"
    docs = tree["sites"]["docs"]
    maps = {"team": tree["teams"], "site": tree["sites"], "share-link": docs["shareLinks"]}
    first, second = (maps[kind][key] if kind in maps else node(docs if kind == "section" else tree, key) for key in (a, b))
    first[name], second[name] = second[name], first[name]
    before = ids(living)
    assert set(verbs(applied(living, tree))) == {f"update {prefix}/{a}", f"update {prefix}/{b}"}
    assert ids(living) == before
    applied(living, pairs())
    assert ids(living) == before


# -- how a rename is reported --------------------------------------------------------------------------------------------------------


def test_a_rename_is_called_rename_and_what_is_in_it_follows_without_a_line_of_its_own(living: Org) -> None:
    tree = rekeyed(pairs(), "site", {"docs": "handbook"})
    tree["sites"]["handbook"]["structure"][0]["title"] = "Guides of the handbook"
    living.write(tree)
    plan = living.plan()
    inside = sum(at.startswith("acme/site/docs/") for at in ids(living))
    assert [(str(change.address), change.actions, change.reason) for change in plan.changes] == [
        ("acme/site/handbook", (Action.RENAME,), f"was acme/site/docs, with the {inside} objects in it"),
        ("acme/site/handbook/section/guides", (Action.UPDATE,), ""),
    ]
    assert len(plan.state_update.rename) == inside + 1
    assert "1 to update, 1 to rename" in plan_sheet(plan).summary


def test_a_key_in_a_renamed_container_that_changes_too_is_a_rename_of_its_own(living: Org) -> None:
    living.write(rekeyed(rekeyed(pairs(), "section", {"more": "rest"}), "site", {"docs": "handbook"}))
    renames = {str(change.address): change.reason for change in living.plan().changes if Action.RENAME in change.actions}
    assert renames["acme/site/handbook/section/rest"] == "was acme/site/docs/section/more"
    assert len(renames) == 2


def test_a_target_in_a_renamed_container_is_reported_itself(living: Org) -> None:
    living.write(rekeyed(pairs(), "site", {"docs": "handbook"}))
    (change,) = living.plan(targets=("acme/site/handbook/section/more",)).changes
    assert (change.actions, change.reason) == ((Action.RENAME,), "was acme/site/docs/section/more")


# -- keys that are those of a reference ----------------------------------------------------------------------------------------------


def spaces_renamed(tree: Any, names: Mapping[str, str]) -> Any:
    """The tree with other keys of spaces, and `previously` on the spaces alone: sites name them by their keys of today."""
    if isinstance(tree, list):
        return [names.get(item, item) if isinstance(item, str) else spaces_renamed(item, names) for item in tree]
    if not isinstance(tree, dict):
        return tree
    renamed = {name: spaces_renamed(value, names) for name, value in tree.items()}
    if tree.get("space") in names:
        renamed["space"] = names[tree["space"]]
        if "title" in tree:
            renamed["previously"] = [tree["space"]]
    return renamed


@pytest.mark.parametrize("also", ["", "site"])
def test_a_space_that_sites_show_is_renamed_there_without_a_line_of_its_own(living: Org, also: str) -> None:
    before = ids(living)
    tree = spaces_renamed(pairs(), {"one": "uno"})
    living.write(rekeyed(tree, "site", {"docs": "handbook"}) if also else tree)
    plan = living.plan()
    (change,) = [change for change in plan.changes if change.kind == "space"]
    assert (change.actions, change.reason) == ((Action.RENAME,), "was acme/space/one, with the 2 objects named after it")
    assert [str(change.address) for change in plan.changes] == ["acme/space/uno", *(["acme/site/handbook"] if also else [])]
    assert (plan.steps, plan.blocked) == ((), ())
    living.requests.clear()
    living.apply()
    settled(living)
    docs = "acme/site/handbook" if also else "acme/site/docs"
    assert ids(living)["acme/space/uno"] == before["acme/space/one"]
    assert ids(living)[f"{docs}/site-space/uno"] == before["acme/site/docs/site-space/one"]
    assert written(living) == []


def test_two_spaces_that_sites_show_exchange_their_keys_there_too(living: Org) -> None:
    before = ids(living)
    living.write(spaces_renamed(pairs(), {"one": "two", "two": "one"}))
    assert (living.plan().steps, living.plan().blocked) == ((), ())
    living.apply()
    settled(living)
    assert ids(living)["acme/site/docs/site-space/two"] == before["acme/site/docs/site-space/one"]
    assert ids(living)["acme/site/docs/site-space/one"] == before["acme/site/docs/site-space/two"]


def test_a_site_that_a_target_left_out_follows_later(living: Org) -> None:
    before = ids(living)
    living.write(spaces_renamed(pairs(), {"one": "uno"}))
    living.apply(selection=Selection((Glob.parse("acme/space/uno"),)))
    assert "acme/site/docs/site-space/uno" not in ids(living)
    living.apply()
    settled(living)
    assert ids(living)["acme/site/docs/site-space/uno"] == before["acme/site/docs/site-space/one"]


def test_a_later_space_with_the_former_key_is_another_one_on_its_sites_too(living: Org) -> None:
    tree = spaces_renamed(pairs(), {"one": "uno"})
    applied(living, tree)
    before = ids(living)
    del node(tree, "uno")["previously"]
    tree["content"].append({"space": "one", "title": "Another one", "duplicateOf": "blank"})
    tree["sites"]["flat"]["structure"].append("one")
    applied(living, tree)
    assert ids(living)["acme/site/flat/site-space/uno"] == before["acme/site/flat/site-space/uno"]
    assert ids(living)["acme/site/flat/site-space/one"] not in before.values()


def test_where_a_space_cannot_be_renamed_its_sites_keep_their_keys_too(living: Org) -> None:
    before = ids(living)
    tree = spaces_renamed(pairs(), {"two": "later"})
    del node(tree, "later")["previously"]
    node(tree, "one")["previously"] = ["two"]
    living.write(tree)
    plan = living.plan()
    assert {blocked.id for blocked in plan.blocked if blocked.cause is None} >= {"RC-rename-target-taken"}
    assert not any(at.kind == "site-space" for at in plan.state_update.rename)
    assert ids(living) == before


# -- renames that have had their effect ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", spread(list(PAIRS), 4))
def test_a_key_renamed_and_back_leaves_nothing_over(living: Org, kind: str) -> None:
    prefix, (a, _) = PAIRS[kind]
    before = ids(living)
    renamed = {a: "else"}
    assert verbs(applied(living, rekeyed(pairs(), kind, renamed))) == []
    assert ids(living) == {exchanged(address, prefix, renamed): id for address, id in before.items()}
    assert verbs(applied(living, rekeyed(rekeyed(pairs(), kind, renamed, with_previously=False), kind, {"else": a}))) == []
    assert ids(living) == before


def test_a_key_renamed_twice_keeps_its_object_whatever_former_names_are_written(org: Org) -> None:
    tree = small()
    applied(org, tree)
    id = org.id("acme/team/writers")
    tree["saml"]["okta"].pop("defaultTeam")
    title = tree["teams"].pop("writers")
    tree["teams"]["authors"] = {**title, "previously": ["writers"]}
    applied(org, tree)
    tree["teams"] = {"scribes": {**title, "previously": ["authors", "writers"]}}
    assert verbs(applied(org, tree)) == []
    assert org.id("acme/team/scribes") == id


def test_two_renames_in_one_commit_are_one(org: Org) -> None:
    tree = small()
    applied(org, tree)
    id = org.id("acme/team/writers")
    tree["saml"]["okta"].pop("defaultTeam")
    applied(org, tree)
    tree["teams"] = {"scribes": {**tree["teams"]["writers"], "previously": ["authors", "writers"]}}
    assert verbs(applied(org, tree)) == []
    assert org.id("acme/team/scribes") == id


def test_lines_of_an_exchange_that_were_there_before_the_objects_exchange_nothing(org: Org) -> None:
    tree = rekeyed(pairs(), "team", {"writers": "devs", "devs": "writers"})
    applied(org, tree)
    before = ids(org)
    assert verbs(applied(org, tree)) == []
    assert ids(org) == before


def test_lines_of_an_exchange_are_remembered_where_the_state_was_lost(living: Org) -> None:
    tree = rekeyed(pairs(), "team", {"writers": "devs", "devs": "writers"})
    applied(living, tree)
    before = ids(living)
    (living.root / "state.db").unlink()
    applied(living, tree)
    settled(living)
    assert ids(living)["acme/team/writers"] == before["acme/team/writers"]


def test_a_run_about_one_target_forgets_no_exchange(living: Org) -> None:
    tree = rekeyed(pairs(), "team", {"writers": "devs", "devs": "writers"})
    applied(living, tree)
    before = ids(living)
    tree["title"] = "Acme Inc."
    living.write(tree)
    assert [str(step.address) for step in living.plan(targets=("acme",)).steps] == ["acme"]
    update = living.plan(targets=("acme",)).state_update
    assert (update.rename, update.fulfilled) == ({}, None)
    applied(living, tree)
    assert ids(living) == before


def test_a_target_exchanges_its_key_together_with_the_other_one_or_not_at_all(living: Org) -> None:
    living.write(rekeyed(pairs(), "team", {"writers": "devs", "devs": "writers"}))
    for target, number in (("acme/team/writers", 2), ("acme/space/six", 0)):
        update = living.plan(targets=(target,)).state_update
        assert len(update.rename) == number
        assert len(update.fulfilled or {}) == number


# -- renames that cannot happen ------------------------------------------------------------------------------------------------------


@costly
@pytest.mark.parametrize(("kind", "spelling"), spread(list(product(sorted(PAIRS.keys() - {"site-space"}), ("previously", "moved"))), 5))
def test_a_rename_onto_a_tracked_key_deletes_and_changes_nothing(living: Org, kind: str, spelling: str) -> None:
    prefix, (a, b) = PAIRS[kind]
    tree = pairs()
    docs = tree["sites"]["docs"]
    maps = {"team": tree["teams"], "site": tree["sites"], "share-link": docs["shareLinks"], "saml": tree["saml"]}
    if kind in maps:
        kept = {**maps[kind].pop(b), **({"previously": [b]} if spelling == "previously" else {})}
        maps[kind][a] = kept
    else:
        gone, holder = node(docs if kind in ("section", "group") else tree, b), docs["structure"] if kind in ("section", "group") else None
        kept = node(docs if holder is not None else tree, a)
        kept["title"] = gone["title"]
        if spelling == "previously":
            kept["previously"] = [b]
        (_holding(docs["structure"], gone) if holder is not None else _holding(tree["content"], gone)).remove(gone)
        kept.get("content", []).extend(gone.get("content", []))
        if kind == "space":
            for site in tree["sites"].values():
                _refer(site["structure"], {b: a})
            node(docs, "guides")["spaces"].pop(1)
            tree["sites"]["flat"]["structure"].pop(1)
    if kind == "site":
        tree["defaultContent"] = {"site": "docs"}
    living.write(tree, moved=[{"from": f"{prefix}/{b}", "to": f"{prefix}/{a}"}] if spelling == "moved" else [])
    before = ids(living)
    plan = living.plan(allow_replace=("**",))
    blocked = {str(entry.address): entry for entry in plan.blocked}
    for key in (a, b):
        assert "both are tracked" in blocked[f"{prefix}/{key}"].reason
        assert "first apply without" in blocked[f"{prefix}/{key}"].remedy
    assert [at for at in [str(step.address) for step in plan.steps] if at.startswith((f"{prefix}/{a}", f"{prefix}/{b}"))] == []
    living.requests.clear()
    living.apply()
    assert before.items() <= ids(living).items() or kind == "space"
    assert {before[f"{prefix}/{key}"] for key in (a, b)} == {ids(living)[f"{prefix}/{key}"] for key in (a, b)}


def _holding(nodes: list[Any], one: Any) -> list[Any]:
    if any(one is item for item in nodes):
        return nodes
    result = [_holding(value, one) for entry in nodes if isinstance(entry, dict) for value in entry.values() if isinstance(value, list)]
    return next((some for some in result if some), [])


def test_without_the_first_the_second_can_take_its_key(living: Org) -> None:
    id = living.id("acme/team/devs")
    tree = pairs()
    tree["saml"]["okta"].pop("defaultTeam")
    applied(living, tree)
    del tree["teams"]["writers"]
    applied(living, tree)
    tree["teams"] = {"writers": {"title": "Devs", "previously": ["devs"]}}
    assert verbs(applied(living, tree)) == []
    assert living.id("acme/team/writers") == id


def test_two_tracked_objects_cannot_become_one(living: Org) -> None:
    tree = pairs()
    tree["saml"]["okta"].pop("defaultTeam")
    applied(living, tree)
    tree["teams"] = {"authors": {"title": "Devs", "previously": ["devs", "writers"]}}
    living.write(tree)
    plan = living.plan()
    assert {str(entry.address) for entry in plan.blocked} == {"acme/team/authors", "acme/team/devs", "acme/team/writers"}
    assert all("only one of them can become acme/team/authors" in blocked.reason for blocked in plan.blocked)
    assert plan.steps == ()


def test_an_object_cannot_leave_its_site(living: Org) -> None:
    tree = pairs()
    contact = tree["sites"]["help"]["structure"].pop(1)
    tree["sites"]["docs"]["structure"].append(contact)
    living.write(tree, moved=[{"from": "acme/site/help/section/contact", "to": "acme/site/docs/section/contact"}])
    plan = living.plan()
    blocked = {str(entry.address): entry for entry in plan.blocked}
    assert "is in acme/site/help and cannot leave it" in blocked["acme/site/docs/section/contact"].reason
    assert [step.verb for step in plan.steps if str(step.address).endswith("section/contact")] == []
    living.write(tree)
    assert {"create acme/site/docs/section/contact", "delete acme/site/help/section/contact"} <= set(verbs(living.apply()))


@pytest.mark.parametrize(("teams", "top", "says"), [
    ({"writers": {"title": "W", "previously": ["writers"]}}, {}, 'previously names "writers", which is its key'),
    ({"a": {"title": "A", "previously": ["b"]}, "b": {"title": "B"}}, {}, 'which is still declared at'),
    ({"a": {"title": "A", "previously": ["c"]}}, {"moved": [{"from": "acme/team/c", "to": "acme/team/b"}]}, 'names "c", as does'),
    ({"a": {"title": "A", "previously": ["c"]}}, {"removed": [{"address": "acme/team/c", "action": "delete"}]},
     "removed.address is acme/team/c, which is a former address of acme/team/a"),
])  # fmt: skip
def test_words_that_contradict_each_other_are_errors_in_the_yaml(
    org: Org, teams: dict[str, Any], top: dict[str, Any], says: str
) -> None:  # fmt: skip
    org.write({"title": "Acme", "teams": {"b": {"title": "B"}} | teams if "moved" in top else teams}, **top)
    with pytest.raises(ConfigError) as caught:
        org.load()
    assert says in str(caught.value.message) + "".join(map(str, caught.value.args))


def test_a_rename_between_two_tracked_keys_is_one_cause_for_both_and_all_in_them(acme: Org) -> None:
    tree = small()
    tree["content"] = [entry for entry in tree["content"] if entry.get("collection") != "other"]
    node(tree, "product")["previously"] = ["other"]
    node(tree, "product")["content"].append({"space": "five", "title": "Five"})
    acme.write(tree)
    blocked = {str(entry.address): entry.cause for entry in acme.plan().blocked}
    assert {address for address, cause in blocked.items() if cause is None} == {"acme/collection/product"}
    assert {"acme/collection/other", "acme/space/one", "acme/space/five"} <= blocked.keys()


def renamed(kind: str) -> dict[str, Any]:
    """The small organization with one key of a kind changed, and nothing else."""
    tree = small()
    docs = tree["sites"]["docs"]
    if kind == "team":
        tree["teams"] = {"authors": tree["teams"]["writers"]}
        tree["saml"]["okta"]["defaultTeam"] = "authors"
    elif kind == "space":
        node(tree, "six")["space"] = "seven"
    elif kind == "collection":
        node(tree, "other")["collection"] = "others"
    elif kind == "site":
        tree["sites"] = {"handbook": docs, "flat": tree["sites"]["flat"]}
        tree["defaultContent"] = {"site": "handbook"}
    elif kind == "section":
        node(tree, "more")["section"] = "rest"
    elif kind == "group":
        node(tree, "reference")["group"] = "ref"
    elif kind == "site-space":
        node(tree, "more")["spaces"] = [{"key": "rest-five", "space": "five"}]
    elif kind == "share-link":
        docs["shareLinks"] = {"friends": docs["shareLinks"]["partners"]}
    elif kind == "saml":
        tree["saml"] = {"other": tree["saml"]["okta"]}
    return tree


PROBABLE_PAIRS = {
    "team": ("acme/team/writers", "acme/team/authors"),
    "space": ("acme/space/six", "acme/space/seven"),
    "collection": ("acme/collection/other", "acme/collection/others"),
    "site": ("acme/site/docs", "acme/site/handbook"),
    "section": ("acme/site/docs/section/more", "acme/site/docs/section/rest"),
    "group": ("acme/site/docs/group/reference", "acme/site/docs/group/ref"),
    "site-space": ("acme/site/docs/site-space/more-five", "acme/site/docs/site-space/rest-five"),
    "share-link": ("acme/site/docs/share-link/partners", "acme/site/docs/share-link/friends"),
    "saml": ("acme/saml/okta", "acme/saml/other"),
}


@pytest.fixture(scope="module")
def living_pairs(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("living"))
    applied(org, small())
    return org


@pytest.mark.parametrize("kind", PROBABLE_PAIRS)
def test_a_key_that_changed_without_a_word_deletes_and_makes_nothing(living_pairs: Org, kind: str) -> None:
    old, new = PROBABLE_PAIRS[kind]
    living_pairs.write(renamed(kind))
    plan = living_pairs.plan(allow_replace=("**",))
    assert [(step.verb, str(step.address)) for step in plan.steps if step.verb in ("create", "delete")] == []
    blocked = {str(entry.address): entry for entry in plan.blocked}
    for address in (old, new):
        assert "probably a rename" in blocked[address].reason
        assert f"previously: [{old.rsplit('/', 1)[1]}] on {new}" in blocked[address].remedy
        assert f"{{address: {old}, action: delete}}" in blocked[address].remedy


@pytest.mark.parametrize("kind", PROBABLE_PAIRS)
def test_with_previously_it_is_the_same_object(tmp_path: Any, kind: str) -> None:
    org = Org(tmp_path)
    applied(org, small())
    old, new = PROBABLE_PAIRS[kind]
    id = org.id(old)
    tree = renamed(kind)
    line = {"previously": [old.rsplit("/", 1)[1]]}
    if kind == "site-space":
        node(tree, "more")["spaces"][0] |= line
    else:
        of = {"team": "teams", "site": "sites", "saml": "saml"}.get(kind)
        key = new.rsplit("/", 1)[1]
        at = tree["sites"]["docs"]["shareLinks"][key] if kind == "share-link" else tree[of][key] if of else node(tree, key)
        at |= line
    assert [verb for verb in verbs(applied(org, tree)) if verb.split()[0] in ("create", "delete")] == []
    assert org.id(new) == id


@pytest.mark.parametrize("kind", ["team", "space", "share-link"])
def test_with_removed_the_one_goes_and_the_other_comes(tmp_path: Any, kind: str) -> None:
    org = Org(tmp_path)
    applied(org, small())
    old, new = PROBABLE_PAIRS[kind]
    done = verbs(applied(org, renamed(kind), removed=[{"address": old, "action": "delete"}]))
    assert {f"create {new}", f"delete {old}"} <= set(done)


def test_one_variant_for_another_in_its_place_is_only_a_remark(living_pairs: Org) -> None:
    tree = small()
    node(tree, "more")["spaces"] = [{"key": "more-six", "space": "six"}]
    living_pairs.write(tree)
    plan = living_pairs.plan()
    assert plan.blocked == ()
    assert any("previously: [more-five]" in note for note in plan.notes)


# -- another key and another title at once -------------------------------------------------------------------------------------------

CONTAINERS = {  # a container of each kind: what contains it in the YAML, its key, and what its contents are found by
    "collection": ("acme/collection", "product"),
    "collection in a collection": ("acme/collection", "deep"),
    "site": ("acme/site", "docs"),
    "site without sections": ("acme/site", "flat"),
    "section": ("acme/site/docs/section", "guides"),
    "section in a group": ("acme/site/docs/section", "api"),
    "group": ("acme/site/docs/group", "reference"),
}


def retitled(name: str, *, with_previously: bool = False, upside_down: bool = False) -> dict[str, Any]:
    """The small organization, in which a container has another key and another title."""
    kind, (_, key) = name.split()[0], CONTAINERS[name]
    tree = rekeyed(small(), kind, {key: "renamed"}, with_previously=with_previously)
    container = tree["sites"]["renamed"] if kind == "site" else node(tree, "renamed")
    container["title"] = "Quite another title"
    if upside_down:
        content = container.get("content", container.get("structure", container.get("spaces")))
        content.reverse()
        tree["sites"] = dict(reversed(tree["sites"].items()))
        tree["sites"].get("docs", tree["sites"].get("renamed"))["structure"].reverse()
    return tree


def printed_line(plan: Plan, address: str) -> str:
    """What the plan says to write if it is a rename: `previously: [docs]`."""
    remedy = next(blocked.remedy for blocked in plan.blocked if str(blocked.address) == address)
    match = re.match(r"if so, write (previously: \[\S+\]) on (\S+) \(reconciler.yaml:(\d+)\); if not, add to removed: ", remedy)
    assert match is not None, remedy
    return match[1]


@costly
@pytest.mark.parametrize("upside_down", [False, True])
@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_with_another_key_and_title_is_probably_renamed_if_its_contents_are_declared_in_it(
    living_pairs: Org, name: str, upside_down: bool
) -> None:
    prefix, key = CONTAINERS[name]
    living_pairs.write(retitled(name, upside_down=upside_down))
    for allowed in ((), ("**",)):
        plan = living_pairs.plan(allow_replace=allowed)
        assert [(step.verb, str(step.address)) for step in plan.steps if step.verb in ("create", "delete")] == []
        assert [str(entry.address) for entry in plan.blocked if entry.cause is None] == [f"{prefix}/renamed"], "one cause, shown once"
        causes = {str(entry.address): entry for entry in plan.blocked if entry.id == "RC-probable-rename"}
        assert causes.keys() == {f"{prefix}/{key}", f"{prefix}/renamed"}
        lines = (living_pairs.project / "reconciler.yaml").read_text().splitlines()
        line = next(number for number, text in enumerate(lines, 1) if re.search(r"(collection|group|section): renamed|renamed:", text))
        for address in causes:
            assert printed_line(plan, address) == f"previously: [{key}]"
            assert f"(reconciler.yaml:{line})" in causes[address].remedy
            assert f"{{address: {prefix}/{key}, action: delete}}" in causes[address].remedy


@costly
@pytest.mark.parametrize("name", CONTAINERS)
def test_the_printed_line_renames_and_deletes_nothing(tmp_path: Any, name: str) -> None:
    org = Org(tmp_path)
    applied(org, small())
    prefix, key = CONTAINERS[name]
    before = ids(org)
    done = verbs(applied(org, retitled(name, with_previously=True)))
    assert [verb for verb in done if verb.split()[0] in ("create", "delete")] == []
    assert ids(org) == {exchanged(address, prefix, {key: "renamed"}): id for address, id in before.items()}


def test_containers_in_each_other_that_are_renamed_together_are_found_from_the_inside_out(living_pairs: Org) -> None:
    tree = rekeyed(
        rekeyed(small(), "group", {"reference": "ref"}, with_previously=False), "section", {"api": "rest"}, with_previously=False
    )
    node(tree, "ref")["title"], node(tree, "rest")["title"] = "Handbook", "REST"
    tree = rekeyed(
        rekeyed(tree, "collection", {"product": "goods"}, with_previously=False), "collection", {"deep": "low"}, with_previously=False
    )
    node(tree, "goods")["title"], node(tree, "low")["title"] = "Goods", "Low"
    living_pairs.write(tree)
    plan = living_pairs.plan()
    for address, line in {
        "acme/site/docs/group/ref": "reference",
        "acme/site/docs/section/rest": "api",
        "acme/collection/goods": "product",
        "acme/collection/low": "deep",
    }.items():
        assert printed_line(plan, address) == f"previously: [{line}]"
    assert plan.steps == ()


@pytest.mark.parametrize("also", ["section", "site-space"])
def test_contents_that_have_other_keys_too_are_recognized_by_their_natural_keys(org: Org, also: str) -> None:
    tree = small()
    tree["sites"]["flat"]["structure"].pop()
    help_site = {"title": "Help", "structure": [{"section": "start", "title": "Start", "spaces": ["four"]}]}
    tree["sites"]["help"] = help_site
    applied(org, tree)
    section = help_site["structure"][0]
    section |= {"section": "begin", "spaces": [{"key": "first", "space": "four"}]}
    if also == "site-space":
        section["title"] = "Begin here"
    tree["sites"]["support"] = {**tree["sites"].pop("help"), "title": "Support"}
    org.write(tree)
    assert printed_line(org.plan(), "acme/site/support") == "previously: [help]"


def test_a_group_whose_only_section_is_renamed_too_is_probably_renamed(org: Org) -> None:
    tree = small()
    node(tree, "reference")["structure"].pop()
    applied(org, tree)
    node(tree, "reference").update(group="ref", title="Handbook")
    node(tree, "api").update(section="rest", title="REST")
    org.write(tree)
    plan = org.plan()
    assert printed_line(plan, "acme/site/docs/group/ref") == "previously: [reference]"
    assert printed_line(plan, "acme/site/docs/section/rest") == "previously: [api]"


def test_two_that_may_be_the_same_are_both_named_and_none_is_chosen(living_pairs: Org) -> None:
    tree = small()
    group = node(tree, "reference")
    structure, at = tree["sites"]["docs"]["structure"], tree["sites"]["docs"]["structure"].index(group)
    api, cli = group["structure"]
    structure[at : at + 1] = [{"group": "a", "title": "A", "structure": [api]}, {"group": "b", "title": "B", "structure": [cli]}]
    living_pairs.write(tree)
    plan = living_pairs.plan()
    blocked = {str(entry.address): entry for entry in plan.blocked if entry.id == "RC-probable-rename"}
    assert blocked.keys() == {f"acme/site/docs/group/{key}" for key in ("a", "b", "reference")}
    assert "is declared in acme/site/docs/group/a and acme/site/docs/group/b" in blocked["acme/site/docs/group/reference"].reason
    remedy = blocked["acme/site/docs/group/reference"].remedy
    assert re.search(
        r"previously: \[reference\] on acme/site/docs/group/a \(.*\), or write previously: \[reference\] on acme/site/docs/group/b", remedy
    )
    assert plan.steps == ()


def test_one_that_takes_the_contents_of_two_names_both(living_pairs: Org) -> None:
    tree = small()
    product, other = node(tree, "product"), node(tree, "other")
    tree["content"] = [entry for entry in tree["content"] if entry not in (product, other)]
    tree["content"].append({"collection": "all", "title": "All", "content": product["content"] + other["content"]})
    living_pairs.write(tree)
    (new,) = (entry for entry in living_pairs.plan().blocked if str(entry.address) == "acme/collection/all")
    assert "would be created with what is in acme/collection/product and acme/collection/other, which are no longer declared" in new.reason
    assert "previously: [product] on acme/collection/all" in new.remedy
    assert "previously: [other] on acme/collection/all" in new.remedy


def test_one_without_anything_in_common_is_another_object(living_pairs: Org) -> None:
    tree = small()
    docs, other = tree["sites"]["docs"]["structure"], node(tree, "other")
    docs[docs.index(node(tree, "more"))] = {"section": "news", "title": "News", "spaces": [{"key": "news-six", "space": "six"}]}
    other.update(collection="fresh", title="Fresh", content=[{"space": "seven", "title": "Seven"}])
    del other["description"]
    tree["content"].append({"space": "five", "title": "Five"})
    tree["sites"]["flat"] = {"title": "Flat", "structure": tree["sites"]["flat"]["structure"]}
    living_pairs.write(tree)
    plan = living_pairs.plan(allow_replace=("**",))
    assert [entry for entry in plan.blocked if entry.id == "RC-probable-rename"] == []
    assert {"create acme/collection/fresh", "delete acme/collection/other"} <= {f"{step.verb} {step.address}" for step in plan.steps}


def test_contents_that_move_to_what_existed_before_are_no_rename(living_pairs: Org) -> None:
    tree = small()
    other = node(tree, "other")
    tree["content"].remove(other)
    node(tree, "product")["content"] += other["content"]
    living_pairs.write(tree)
    plan = living_pairs.plan()
    assert plan.blocked == ()
    assert "delete acme/collection/other" in {f"{step.verb} {step.address}" for step in plan.steps}


def test_with_removed_the_container_is_deleted_and_the_new_one_gets_its_contents(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, small())
    done = verbs(applied(org, retitled("group"), removed=[{"address": "acme/site/docs/group/reference", "action": "delete"}]))
    assert {"create acme/site/docs/group/renamed", "delete acme/site/docs/group/reference"} <= {*done}


def test_another_title_is_another_thing(living_pairs: Org) -> None:
    tree = small()
    tree["teams"] = {"authors": {"title": "Authors"}}
    del tree["saml"]["okta"]["defaultTeam"]
    living_pairs.write(tree)
    plan = living_pairs.plan()
    assert plan.blocked == ()
    assert {step.verb for step in plan.steps} == {"create", "delete"}


# -- deleted and declared again ----------------------------------------------------------------------------------------------------


SIX = {"space": "six", "title": "Six"}


def without_six() -> dict[str, Any]:
    tree = small()
    tree["content"] = [entry for entry in tree["content"] if entry.get("space") != "six"]
    return tree


def deleted(acme: Org) -> str:
    """Delete the space six with consent; its id."""
    id = acme.id("acme/space/six")
    acme.write(without_six(), removed=[{"address": "acme/space/six", "action": "delete"}])
    acme.apply()
    assert acme.call("GET", f"/spaces/{id}")["deletedAt"] is not None
    return id


def actions(acme: Org, address: str) -> list[Action]:
    return [action for change in acme.plan().changes if str(change.address) == address for action in change.actions]


def test_the_space_is_restored_and_not_copied(acme: Org) -> None:
    id = deleted(acme)
    acme.write(small())
    assert Action.RESTORE in actions(acme, "acme/space/six")
    assert Action.CREATE not in actions(acme, "acme/space/six")
    acme.apply()
    settled(acme)
    assert acme.id("acme/space/six") == id
    assert acme.call("GET", f"/spaces/{id}").get("deletedAt") is None


def test_it_gets_the_title_and_the_place_that_the_line_says_now(acme: Org) -> None:
    id = deleted(acme)
    tree = without_six()
    node(tree, "other")["content"].append({"space": "six", "title": "Sixth"})
    acme.write(tree)
    acme.apply()
    settled(acme)
    now = acme.call("GET", f"/spaces/{id}")
    assert (now["title"], now["parent"]) == ("Sixth", acme.id("acme/collection/other"))


def test_adopt_never_asks_for_an_empty_one(acme: Org) -> None:
    id = deleted(acme)
    tree = without_six()
    tree["content"].append({**SIX, "adopt": "never"})
    acme.write(tree)
    assert Action.CREATE in actions(acme, "acme/space/six")
    acme.apply()
    assert acme.id("acme/space/six") != id


def test_one_that_people_created_in_its_place_is_adopted(acme: Org) -> None:
    deleted(acme)
    copy = acme.call("POST", "/spaces/spc_blank/duplicate")["id"]
    acme.call("PATCH", f"/spaces/{copy}", {"title": "Six"})
    acme.write(small())
    assert Action.ADOPT in actions(acme, "acme/space/six")
    acme.apply()
    assert acme.id("acme/space/six") == copy


def test_one_that_people_restored_themselves_is_adopted(acme: Org) -> None:
    id = deleted(acme)
    acme.call("POST", f"/spaces/{id}/restore")
    acme.call("PATCH", f"/spaces/{id}", {"title": "Six again"})
    acme.write(small())
    assert Action.ADOPT in actions(acme, "acme/space/six")
    acme.apply()
    assert acme.id("acme/space/six") == id


def test_where_it_cannot_be_read_nothing_is_created_in_its_place(acme: Org) -> None:
    id = deleted(acme)
    acme.write(small())
    assert "it could not be read" in {str(row.address): row.reason for row in acme.plan(failing=(id,)).blocked}["acme/space/six"]


def test_deleted_and_created_at_another_time_it_is_the_latest_that_is_restored(acme: Org) -> None:
    first = deleted(acme)
    tree = without_six()
    tree["content"].append({**SIX, "adopt": "never"})
    acme.write(tree)
    acme.apply()
    second = deleted(acme)
    assert first != second
    applied(acme, small())
    assert acme.id("acme/space/six") == second


WITH_GRACE: dict[str, Any] = {
    **SEED,
    "members": [
        *SEED["members"],
        {"organization": "org_acme", "id": "usr_grace", "email": "grace@acme.example", "displayName": "Grace", "role": "read"},
    ],
}


def roles(org: Org) -> dict[str, str]:
    return {entry["user"]["email"]: entry["role"] for entry in org.items("/orgs/org_acme/members")}


def people(tree: dict[str, Any], **members: Any) -> dict[str, Any]:
    tree["members"] = {"ada@acme.example": "admin", **{f"{name}@acme.example": member for name, member in members.items()}}
    tree["teams"] = {"writers": {"title": "Writers"}}
    return tree


# -- what can never be another ---------------------------------------------------------------------------------------------------------


def test_a_role_never_goes_to_another_person(tmp_path: Any) -> None:
    org = Org(tmp_path, seed=WITH_GRACE)
    applied(org, people(small(), linus="edit"))
    before = roles(org)
    org.write(people(small(), grace={"role": "admin", "previously": ["linus@acme.example"]}))
    plan = org.plan()
    grace = {str(entry.address): entry for entry in plan.blocked}["acme/member/grace@acme.example"]
    assert grace.reason == (
        "acme/member/linus@acme.example cannot become acme/member/grace@acme.example: the email of usr_linus is linus@acme.example, "
        "and the email of a member cannot be changed"
    )
    assert grace.remedy == "remove linus@acme.example from previously (or its line from moved): they are two members"
    assert [str(step.address) for step in plan.steps if step.kind == "member"] == []
    org.apply()
    assert roles(org) == before
    assert "acme/member/linus@acme.example" in ids(org)
    applied(org, people(small(), grace="admin", linus="edit"))
    assert roles(org) == {**before, "grace@acme.example": "admin"}


def test_two_people_are_not_exchanged(tmp_path: Any) -> None:
    org = Org(tmp_path, seed=WITH_GRACE)
    applied(org, people(small(), linus="edit", grace="read"))
    before = roles(org)
    names = {"linus": "grace", "grace": "linus"}
    org.write(people(small(), **{name: {"role": "create", "previously": [f"{names[name]}@acme.example"]} for name in names}))
    assert {str(blocked.address) for blocked in org.plan().blocked} == {f"acme/member/{name}@acme.example" for name in names}
    org.apply()
    assert roles(org) == before


def test_a_person_whose_address_changed_on_the_service_is_the_same_person(tmp_path: Any) -> None:
    org = Org(tmp_path, seed=WITH_GRACE)
    applied(org, people(small(), linus="edit"))
    id = org.id("acme/member/linus@acme.example")
    renamed_user(org, "linus@acme.example", "linus.t@acme.example")
    org.write(people(small(), linus="create"))
    blocked = {str(entry.address): entry for entry in org.plan().blocked}["acme/member/linus@acme.example"]
    assert blocked.reason == (
        "is another member: the email of usr_linus is linus.t@acme.example, and the email of a member cannot be changed"
    )
    assert "write linus.t@acme.example as its key, with previously: [linus@acme.example]" in blocked.remedy
    tree = people(small())
    tree["members"]["linus.t@acme.example"] = {"role": "create", "previously": ["linus@acme.example"]}
    assert verbs(applied(org, tree)) == ["update acme/member/linus.t@acme.example"]
    assert org.id("acme/member/linus.t@acme.example") == id


def renamed_user(org: Org, old: str, new: str) -> None:
    """Somebody changes an e-mail address on the service itself, which has no request for it."""
    with closing(sqlite3.connect(org.db)) as connection, connection:
        connection.execute("update objects set data = replace(data, ?, ?)", (old, new))


def test_a_slug_that_cannot_change_keeps_its_document(org: Org) -> None:
    tree = small()
    applied(org, tree)
    before = ids(org)
    tree["openapi"] = {"dogs": {**tree["openapi"]["pets"], "visibility": "private", "previously": ["pets"]}}
    org.write(tree)
    plan = org.plan()
    assert {str(blocked.address) for blocked in plan.blocked} == {"acme/openapi/dogs", "acme/openapi/pets"}
    assert [step for step in plan.steps if step.kind == "openapi"] == []
    org.apply()
    assert ids(org) == before
    del tree["openapi"]["dogs"]["previously"]
    assert {"create acme/openapi/dogs", "delete acme/openapi/pets"} <= set(verbs(applied(org, tree)))


# -- what is in a renamed container ----------------------------------------------------------------------------------------------------


def handbook(tree: dict[str, Any], *, with_previously: bool = True) -> dict[str, Any]:
    """The tree with the site `docs` called `handbook`."""
    tree["sites"] = {
        "handbook": {**tree["sites"]["docs"], **({"previously": ["docs"]} if with_previously else {})},
        "flat": tree["sites"]["flat"],
    }
    tree["defaultContent"] = {"site": "handbook"}
    return tree


def without_links(tree: dict[str, Any]) -> None:
    del tree["sites"]["docs"]["shareLinks"]


def without_group(tree: dict[str, Any]) -> None:
    tree["sites"]["docs"]["structure"].pop(1)


def without_sections(tree: dict[str, Any]) -> None:
    tree["sites"]["docs"]["structure"] = [{"space": "one", "default": True}]


@costly
@pytest.mark.parametrize("edit", [without_links, without_group])
@pytest.mark.parametrize("spelling", ["previously", "moved"])
def test_what_is_taken_out_of_a_site_is_deleted_though_the_site_is_renamed(acme: Org, edit: Any, spelling: str) -> None:
    before = ids(acme)
    tree = small()
    edit(tree)
    kept = copy.deepcopy(tree)
    site = acme.id("acme/site/docs")
    moved = [{"from": "acme/site/docs", "to": "acme/site/handbook"}] if spelling == "moved" else []
    acme.write(handbook(tree, with_previously=spelling == "previously"), moved=moved)
    planned = acme.plan()
    assert planned.blocked == ()
    deletes = [verb for verb in verbs(applied(acme, tree, moved=moved)) if verb.startswith("delete")]
    assert deletes
    assert all(delete.startswith("delete acme/site/handbook/") for delete in deletes)
    if edit is without_links:
        assert acme.items(f"/orgs/org_acme/sites/{site}/share-links") == []
        reasons = [change.reason for change in planned.changes if change.kind == "share-link"]
        assert reasons == ["no longer declared (was acme/site/docs/share-link/partners)"]
    else:
        assert acme.items(f"/orgs/org_acme/sites/{site}/section-groups") == []
    gone = set(before) - {exchanged(address, "acme/site", {"handbook": "docs"}) for address in ids(acme)}
    assert gone
    assert all(address.startswith("acme/site/docs/") for address in gone)
    applied(acme, {**kept, "sites": tree["sites"], "defaultContent": tree["defaultContent"]}, moved=moved)


def test_the_last_section_of_a_renamed_site_goes_too(acme: Org) -> None:
    tree = small()
    without_sections(tree)
    acme.write(handbook(tree))
    for _ in range(3):
        acme.apply()
    settled(acme)
    site = acme.id("acme/site/handbook")
    assert acme.items(f"/orgs/org_acme/sites/{site}/sections") == []


def test_removed_may_name_what_it_means_as_it_was_called_before(acme: Org) -> None:
    tree = small()
    without_links(tree)
    handbook(tree)
    applied(acme, tree, removed=[{"address": "acme/site/docs/share-link/partners", "action": "forget"}])
    site = acme.id("acme/site/handbook")
    assert [entry["name"] for entry in acme.items(f"/orgs/org_acme/sites/{site}/share-links")] == ["Partners"]
    assert "share-link" not in str(ids(acme))


# -- differences -------------------------------------------------------------------------------------------------------------------


LINK = load()["share-link"]


def compared(want: Any, now: Any, sent: Any = UNSET, seen: Any = UNSET) -> Cause | None:
    at = Address.parse("acme/site/docs/share-link/x")
    remembered = [{"name": value} if value is not UNSET else {} for value in (sent, seen)]
    binding = Binding(at, "share-link", "1", Origin.CREATED, *remembered) if sent is not UNSET or seen is not UNSET else None
    deviations = differences(LINK, {"name": want}, Observed("share-link", "1", {"name": now}, {}, {}), binding, {})
    return deviations[0].cause if deviations else None


@pytest.mark.parametrize(
    ("want", "now", "sent", "seen", "cause", "why"),
    [
        ("a", "a", UNSET, UNSET, None, "it is as declared, whoever made it so"),
        ("a", "a", "b", "b", None, "both came to the same"),
        ("a", "A", "a", "A", None, "the service stores it its own way, and did so before"),
        ("a", UNSET, "a", UNSET, None, "the service never shows it, and it was sent"),
        ("a", "b", UNSET, UNSET, Cause.YOURS, "it was never sent"),
        ("b", "a", "a", "a", Cause.YOURS, "the YAML changed"),
        ("a", "b", "a", "a", Cause.DRIFT, "the service changed"),
        ("a", "B", "a", "A", Cause.DRIFT, "it is not what was seen after the write"),
        ("c", "b", "a", "a", Cause.BOTH, "both changed, to different things"),
        ("b", "A", "a", "A", Cause.YOURS, "the YAML changed what the service stores its own way"),
    ],
)
def test_a_field_is_compared_with_what_was_sent_and_seen(want: Any, now: Any, sent: Any, seen: Any, cause: Cause | None, why: str) -> None:
    assert compared(want, now, sent, seen) is cause, why


def test_structured_values_are_explained_where_they_differ() -> None:
    before = {"type": "rules", "rules": [{"rule": "r", "users": ["a"]}], "gone": 1}
    after = {"type": "rules", "rules": [{"rule": "r", "users": ["b"]}], "new": 2}
    assert explain(before, after) == (("gone", 1, UNSET), ("new", UNSET, 2), ("rules.0.users.0", "a", "b"))
    assert explain(1, 1) == ()
    assert explain("a", {"a": 1}) == (("", "a", {"a": 1}),)
