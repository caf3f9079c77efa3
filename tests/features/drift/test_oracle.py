"""Random edits by people on random organizations: the class of each is what the sandbox's own readers and URLs say. 1,000 with `-m proof`.

The sandbox works out who can read what, and what a site serves, by rules that share nothing with the planner's models.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import bare
from reconciler.features.drift.model import DriftClass
from reconciler.sandbox.sites.audience import ADDRESS, AGENT, ANYONE, Audience
from reconciler.sandbox.sites.readers import Reader
from tests.audience.moments import LEVELS as RANKS, Readers, Thing, Watched
from tests.features.drift.outside import drifted
from tests.features.urls.worlds import admitted, served
from tests.harness import SEED
from tests.organizations import COLLECTIONS, CONDITIONS, LEVELS, ROLES, VISIBILITIES, Tree, below, with_readers
from tests.proofs import costly, spread

EDITS = 4
"""Of each organization, every one on what was applied: most of the time goes into that apply."""
ORGANIZATIONS = 250
PAGES = [{"title": "Start", "slug": "start"}, {"title": "More", "slug": "more"}]
PAGED = {**SEED, "spaces": [{**SEED["spaces"][0], "pages": PAGES}]}
EXPOSING, ACCESS, DELETING, LOCKING_OUT, BREAKING_URLS, LOOSENING_RULES, COSMETIC = DriftClass
ORG = "/orgs/org_acme"
SIGNED = CONDITIONS[:2]
CLAIMED = [frozenset(some) for number in range(1, 3) for some in combinations(SIGNED, number)]
WORDS = ("one", "two", "three")
JOINING = [role if role != "guest" else None for role in ROLES]
"""Roles as requests have them."""
DOMAINS = ["acme.example", "beta.example"]


@dataclass(frozen=True)
class Edit:
    """A request of somebody, and the class that it has whatever readers and URLs say; None: these decide. `deletes`: content."""

    method: str
    path: str
    body: Any = None
    expected: DriftClass | None = None
    deletes: bool = False


def organization(chance: random.Random) -> Tree:
    """A random organization of which every field that the edits change is written."""
    tree = with_readers(chance)
    tree |= {"title": "Acme", "defaultRole": chance.choice(ROLES), "inviteLinks": chance.random() < 0.5, "emailDomains": DOMAINS[:1]}
    tree["members"] = {"ada@acme.example": "admin", "linus@acme.example": chance.choice(ROLES)}
    for part in below(tree):
        if "section" in part or ("key" in part and "space" in part):
            part.setdefault("condition", None)
            # Whoever asks can set an unsigned claim, so that it keeps nobody out; the sandbox's readers do not set any.
            part["condition"] = part["condition"] if part["condition"] in (None, *SIGNED) else SIGNED[0]
        if "section" in part:
            part.setdefault("path", part["section"])
        if "space" in part and "defaultLevel" in part:
            part["mergeRules"] = {"reviewers": ["ada@acme.example"]}
    return tree


def edits(org: Watched, tree: Tree, chance: random.Random) -> Iterator[Edit]:
    """Everything that somebody might do, in a random order."""
    bindings = list(org.remembered().bindings.values())
    chance.shuffle(bindings)
    collections = {binding.address.key: bare(binding.id) for binding in bindings if binding.kind == "collection"}
    spaces = [bare(binding.id) for binding in bindings if binding.kind == "space"]
    for binding in bindings:
        at, id = binding.address, bare(binding.id)
        site = f"{ORG}/sites/{org.id(str(at.container))}" if at.container is not None and at.container.kind == "site" else ""
        title, level = {"title": f"{chance.choice(WORDS)} edited"}, {"defaultLevel": chance.choice((None, "inherit", *LEVELS[1:]))}
        match binding.kind:
            case "organization":
                joining = [{"defaultRole": chance.choice(JOINING)}, {"inviteLinks": chance.random() < 0.5}, {"emailDomains": DOMAINS}]
                yield Edit("PATCH", ORG, chance.choice([*joining, {"emailDomains": []}, title]))
            case "member" if at.key != "ada@acme.example":
                yield Edit("PATCH", f"{ORG}/members/{id}", {"role": chance.choice(JOINING)})
            case "site":
                fields = [
                    {"visibility": chance.choice(VISIBILITIES)}, {"agentsContext": chance.choice(("included", "excluded"))},
                    {"adaptiveContent": {"enabled": chance.random() < 0.5}}, title,
                ]  # fmt: skip
                yield Edit("PATCH", f"{ORG}/sites/{id}", chance.choice(fields))
                yield Edit("DELETE", f"{ORG}/sites/{id}", deletes=True)
                yield Edit("POST", f"{ORG}/sites/{id}/publish")
                yield Edit("POST", f"{ORG}/sites/{id}/site-spaces", {"spaceId": chance.choice(spaces)})
                yield Edit("POST", f"{ORG}/sites/{id}/share-links", {"name": "Wild"}, ACCESS)
            case "section" | "site-space":
                path = f"{site}/{binding.kind}s/{id}"
                fields = [{"condition": chance.choice((None, *SIGNED))}, {"path": chance.choice(WORDS)}]
                fields += [title] if binding.kind == "section" else [{"spaceId": chance.choice(spaces)}]
                yield Edit("PATCH", path, chance.choice(fields))
                yield Edit("DELETE", path, deletes=True)
            case "share-link":
                active = not next(link["active"] for link in org.items(f"{site}/share-links") if link["id"] == id)
                yield Edit("PATCH", f"{site}/share-links/{id}", {"active": active}, EXPOSING if active else LOCKING_OUT)
                yield Edit("DELETE", f"{site}/share-links/{id}", None, LOCKING_OUT)
            case "collection":
                outer = [None, *(collections.get(key) for key in COLLECTIONS[: COLLECTIONS.index(at.key)])]  # never what is inside
                yield Edit("PATCH", f"/collections/{id}", chance.choice((level, title)))
                yield Edit("DELETE", f"/collections/{id}", deletes=True)
                yield Edit("POST", f"/collections/{id}/move", {"parent": chance.choice(outer)})
            case "space" if at.key != "blank":
                yield Edit("PATCH", f"/spaces/{id}", chance.choice((level, title)))
                yield Edit("POST", f"/spaces/{id}/move", {"parent": chance.choice([None, *collections.values()])})
                yield Edit("PATCH", f"/spaces/{id}", {"mergeRules": {"type": "none", "rules": []}}, LOOSENING_RULES)
                yield Edit("DELETE", f"/spaces/{id}", deletes=True)
            case "openapi":
                yield Edit("PATCH", f"{ORG}/openapi/{at.key}", {"visibility": chance.choice(("private", "public"))})


# -- the oracle --------------------------------------------------------------------------------------------------------------------------

Answers = tuple[dict[Thing, Readers], dict[str, str]]
"""Who can read what, and the page at each URL."""


def readers(org: Watched) -> dict[Thing, Readers]:
    """Who can read what, and how much each may do.

    The sandbox lists examples of people. Added are those whom it leaves out: people for whom conditions hold and who sign in nowhere,
    because how a site learns of claims is not documented; and a member whom no collection lets in, an `outsider`, because a collection
    that admits somebody need not admit all members.
    """
    store = org.app.state.service.store
    (acme,) = store.select("organization")
    links = store.select("share-link", organization=acme["id"])
    holders = {f"link:{link['id']}": Reader(address=True, shareKey=link["_secret"]) for link in links}
    people = {ANYONE: Reader(), ADDRESS: Reader(address=True), **holders}
    world = Audience(store, acme, frozenset(CLAIMED), holders)  # by itself it asks about holders only where their own site leads
    result: dict[Thing, Readers] = {}
    for entry in world.entries():
        result[entry["kind"], entry["id"]] = {reader["reader"]: RANKS.index(reader["level"]) for reader in entry["readers"]}
    for kind, data, paths in world.reached:
        for (name, reader), claimed in product(people.items(), CLAIMED):
            if any(gate.opens(reader) and conditions <= claimed for gate, conditions in paths):
                result[kind, data["id"]][f"{name} {sorted(claimed)}"] = RANKS.index("read")
    return result


def level(readers: Readers, name: str) -> int:
    """How much somebody may do; all but agents can do what anyone can."""
    return max(readers.get(name, -1), readers.get(ANYONE, -1) if name != AGENT else -1)


def by_oracle(before: Answers, after: Answers, edit: Edit) -> DriftClass:
    """The class by what readers and a crawler get before and after."""
    (then, urls), (now, urls_after) = before, after
    pairs = [(level(then[key], name), level(now[key], name)) for key in then.keys() & now.keys() for name in {**then[key], **now[key]}]
    if edit.expected is not None:
        return edit.expected
    if any(more > less for less, more in pairs):
        return EXPOSING
    if edit.deletes:
        return DELETING
    if any(less < more for more, less in pairs):
        return LOCKING_OUT
    return BREAKING_URLS if any(urls_after.get(url) != page for url, page in urls.items()) else COSMETIC


def judged(root: Path, seed: int) -> list[str]:
    """Where the classes of the first edits differ from the oracle, as sentences."""
    chance = random.Random(seed)
    org, tree = Watched(root, seed=PAGED), organization(chance)
    org.write(tree)
    org.apply()
    assert drifted(org).groups == ()
    org.save(root / "applied")
    somebody = admitted(org.app.state.service.store, {})

    def look(was: Mapping[str, Reader]) -> Answers:
        store = org.app.state.service.store
        return readers(org), served(store, org.app.state.service.base, admitted(store, was))

    before = look({})
    number, mistakes = 0, []
    for edit in edits(org, tree, chance):
        if (edit.method == "DELETE" or edit.expected is not None) and chance.random() < 0.6:
            continue  # otherwise most edits would be of these
        org.call(edit.method, edit.path, edit.body)
        expected, classes = by_oracle(before, look(somebody), edit), [group.drift_class for group in drifted(org).groups]
        if classes or expected is not COSMETIC:  # otherwise the value was that already
            mistakes += [] if classes == [expected] else [f"{edit}: {[*map(str, classes)]} instead of {expected}"]
            number += 1
        org.restore(root / "applied")
        if number == EDITS:
            break
    return mistakes


@costly
@pytest.mark.parametrize("seed", spread(range(ORGANIZATIONS), 3))
def test_the_classes_of_edits_are_those_of_the_twin(tmp_path: Path, seed: int) -> None:
    assert judged(tmp_path, seed) == []
