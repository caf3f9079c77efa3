"""What becomes of tracked objects when keys change: renames, exchanges, rotations, and renames that cannot happen."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from reconciler.errors import ConfigError
from tests.harness import Org
from tests.proofs import spread
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
    store = org.store()
    try:
        return {str(address): binding.id for address, binding in store.read().bindings.items()}
    finally:
        store.close()


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
    moved = [{"from": f"{prefix}/{b}", "to": f"{prefix}/{a}"}] if spelling == "moved" else []
    living.write(tree, moved=moved)
    before = ids(living)
    plan = living.plan(allow_replace=("**",))
    blocked = {str(entry.address): entry for entry in plan.blocked}
    for key in (a, b):
        assert "both are tracked" in blocked[f"{prefix}/{key}"].reason
        assert "first apply without" in blocked[f"{prefix}/{key}"].remedy
    touched = [str(step.address) for step in plan.steps]
    assert [at for at in touched if at.startswith((f"{prefix}/{a}", f"{prefix}/{b}"))] == []
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
    line = {"from": "acme/site/help/section/contact", "to": "acme/site/docs/section/contact"}
    living.write(tree, moved=[line])
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
