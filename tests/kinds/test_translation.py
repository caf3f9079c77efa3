"""Translations: what creates, changes and replaces one, and what becomes of the space that the service fills for it.

A service whose answers are other than what it was sent, and mean the same: grown, shuffled, in another case, signed."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.errors import ConfigError
from reconciler.model import Cause
from tests.harness import ORGANIZATION, SEED, Org, kinds
from tests.outside import everything
from tests.proofs import costly
from tests.small import applied, described, node, settled
from tests.transports import Onward

ONE_FR = "acme/translation/one-fr"
TRANSLATIONS = f"/orgs/{ORGANIZATION}/translations"
BLANK: dict[str, Any] = {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path)


def translated(**fields: Any) -> dict[str, Any]:
    """An organization with a translation of one of its spaces; `fields` of it may be another value, or None for none."""
    made = {"source": {"space": "one", "language": "en"}, "language": "fr", "instructions": "Keep our names.", **fields}
    return {
        "members": {"ada@acme.example": "admin"},
        "content": [BLANK, {"space": "one", "title": "One"}, {"space": "two", "title": "Two"}],
        "translations": {"one-fr": {name: value for name, value in made.items() if value is not None}},
    }


def without(tree: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name != "translations"}


def run(org: Org, address: str = ONE_FR) -> str:
    """Let the service translate; returns the id of the space with the result."""
    path = f"{TRANSLATIONS}/{org.id(address)}"
    org.call("POST", f"{path}/run")
    return str(org.call("GET", path)["result"]["space"])


def writes(org: Org) -> list[tuple[str, str]]:
    return [(method, path) for method, path in org.requests if method != "GET"]


# -- what is sent --------------------------------------------------------------------------------------------------------------------


def test_a_translation_is_created_after_its_space_and_only_its_instructions_change(org: Org) -> None:
    org.write(translated())
    verbs = [f"{step.verb} {step.address}" for step in org.plan().steps]
    assert verbs.index("create acme/space/one") < verbs.index(f"create {ONE_FR}")
    applied(org, translated())
    id = org.id(ONE_FR)
    org.write(translated(instructions="Be brief."))
    org.requests.clear()
    org.apply()
    assert writes(org) == [("PUT", f"{TRANSLATIONS}/{id}")]
    settled(org)


def test_a_plan_says_that_nobody_starts_a_run_and_how_to(org: Org) -> None:
    org.write(translated())
    start = f"{ONE_FR}: the service changes nothing of its result until somebody starts it: reconciler api POST "
    assert f"{start}/orgs/{ORGANIZATION}/translations/ID/run" in org.plan().notes
    applied(org, translated())
    assert org.plan().notes == ()
    org.write(translated(instructions="Keep all names."))
    assert f"{start}/orgs/{ORGANIZATION}/translations/{org.id(ONE_FR)}/run" in org.plan().notes


def test_nothing_is_sent_for_instructions_that_nobody_wrote(org: Org) -> None:
    applied(org, translated(instructions=None))
    org.call("PUT", f"{TRANSLATIONS}/{org.id(ONE_FR)}", {"instructions": {"object": "document", "nodes": []}})
    settled(org)


@pytest.mark.parametrize("other", [{"source": {"space": "two", "language": "en"}}, {"language": "de"}], ids=lambda other: next(iter(other)))
def test_another_source_or_language_replaces_it_and_only_with_consent(org: Org, other: dict[str, Any]) -> None:
    applied(org, translated())
    first, space = org.id(ONE_FR), run(org)
    org.write(translated(**other))
    (blocked,) = org.plan().blocked
    assert blocked.reason.endswith("cannot be changed on an existing translation; it would be replaced")
    assert "--allow-replace acme/translation/one-fr" in blocked.remedy
    (change,) = org.plan(allow_replace=(ONE_FR,)).changes
    assert (
        change.reason
        == f"its result, space {org.call('GET', f'/spaces/{space}')['title']!r}, is left unchanged and is unmanaged from then on"
    )
    org.apply()
    assert org.id(ONE_FR) != first
    assert [item["id"] for item in org.call("GET", TRANSLATIONS)["items"]] == [org.id(ONE_FR)]
    settled(org)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"source": None}, "source is missing"),
        ({"source": {"space": "one"}}, "source lacks language"),
        ({"source": {"space": "on", "language": "en"}}, 'no space "on"; did you mean "one"?'),
        ({"language": "klingon"}, "language"),
        ({"status": "completed"}, "status is not allowed here: the service sets it"),
        ({"result": {"space": "two"}}, "result is not allowed here: the service sets it"),
    ],
)
def test_a_wrong_translation_is_one_problem_with_its_place(org: Org, fields: dict[str, Any], says: str) -> None:
    org.write(translated(**fields))
    with pytest.raises(ConfigError) as caught:
        org.load()
    assert [says in problem.message and problem.line > 1 for problem in caught.value.problems] == [True], [
        problem.message for problem in caught.value.problems
    ]


# -- relations -----------------------------------------------------------------------------------------------------------------------


def test_the_order_of_what_is_written_does_not_matter(org: Org) -> None:
    tree = translated()
    tree["translations"] |= {f"one-{code}": {"source": {"space": "one", "language": "en"}, "language": code} for code in ("de", "it", "es")}
    applied(org, tree)
    shuffled = random.Random(7)
    for _ in range(3):
        entries = list(tree["translations"].items())
        shuffled.shuffle(entries)
        swapped = {key: dict(reversed(one.items())) | {"source": dict(reversed(one["source"].items()))} for key, one in entries}
        org.write(dict(reversed({**tree, "translations": swapped}.items())))
        settled(org)


# -- the space that the service fills ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [True, False], ids=["the translation is declared", "nobody declares it"])
def test_a_result_is_neither_unmanaged_nor_pruned(org: Org, declared: bool) -> None:
    applied(org, translated())
    space = run(org)
    if not declared:
        with org.store() as store, store.lease(who="test", command="forget") as journal:
            journal.remember(forget=(next(address for address in journal.state().bindings if str(address) == ONE_FR),))
    tree = translated() if declared else without(translated())
    for prune in ("owned", "all"):
        org.write(tree, prune={"space": prune})
        plan = org.plan()
        assert ([one.id for one in plan.unmanaged if one.kind == "space"], described(plan)) == ([], []), prune
    plan = org.plan(failing=("translations",))
    assert described(plan) == [], "what may be the result of something that was not read is not pruned"
    assert org.call("GET", f"/spaces/{space}").get("deletedAt") is None


def test_a_removed_translation_leaves_its_result_and_says_so(org: Org) -> None:
    applied(org, translated())
    space = run(org)
    org.write(without(translated()))
    (change,) = org.plan().changes
    assert change.reason == "no longer declared; its result, space 'One (fr)', is left unchanged and is unmanaged from then on"
    org.apply()
    assert org.call("GET", f"/spaces/{space}").get("deletedAt") is None
    assert [one.id for one in org.plan().unmanaged if one.kind == "space"] == [space]


def test_a_removal_whose_result_would_be_pruned_next_is_blocked_until_somebody_manages_that(org: Org) -> None:
    applied(org, translated())
    space = run(org)
    for tree in (without(translated()), translated(language="de")):
        org.write(tree, prune={"space": "all"})
        plan = org.plan(allow_replace=("**",))
        (blocked,) = plan.blocked
        assert (str(blocked.address), plan.steps) == (ONE_FR, ())
        assert space in blocked.reason
        assert f"id: {space}" in blocked.remedy
    tree = without(translated())
    tree["content"].append({"space": "one-in-french", "id": space, "title": "One (fr)"})
    applied(org, tree, prune={"space": "all"})
    assert org.call("GET", f"/spaces/{space}").get("deletedAt") is None


def test_whoever_reads_the_result_reads_what_was_translated(org: Org) -> None:
    def site(*spaces: Any) -> dict[str, Any]:
        return {**translated(), "sites": {"docs": {"title": "Docs", "published": True, "structure": list(spaces)}}}

    applied(org, translated())
    space = run(org)
    applied(org, site("blank"))
    org.write(site("blank", {"key": "fr", "space": {"id": space}}))
    (line,) = org.plan().exposures
    assert str(line.address) == f"acme/space/{space}"
    assert [str(address) for address in line.reaches] == ["acme/space/one"]
    assert line.path[-3:] == (f"space {space}", "site-space docs/fr", "site docs")


@pytest.mark.parametrize("managed", [True, False], ids=["a managed source", "a source that nobody manages"])
def test_that_is_so_too_where_the_translation_is_not_declared(org: Org, managed: bool) -> None:
    tree = without(translated())
    tree["sites"] = {"docs": {"title": "Docs", "published": True, "structure": ["blank"]}}
    applied(org, tree)
    source = org.id("acme/space/one") if managed else org.call("POST", "/spaces/spc_blank/duplicate")["id"]
    made = org.call("POST", TRANSLATIONS, {"source": {"space": source, "language": "en"}, "language": "fr"})
    org.call("POST", f"{TRANSLATIONS}/{made['id']}/run")
    space = org.call("GET", f"{TRANSLATIONS}/{made['id']}")["result"]["space"]
    tree["sites"]["docs"]["structure"].append({"key": "fr", "space": {"id": space}})
    org.write(tree)
    (line,) = org.plan().exposures
    assert str(line.address) == f"acme/space/{space}"
    assert [str(address) for address in line.reaches] == ["acme/space/one" if managed else f"acme/space/{source}"]


MAPS_OF_USERS = ("properties", "account", "contentSecurityPolicy", "configurations", "urls", "permissions")
SETS = ("emailDomains", "users", "rules", "required", "enum", "scopes", "categories", "blocks", "contentSources", "urlUnfurl")
Change = Callable[[Any], None]


class OddOrg(Org):
    """Every answer is changed by `change`, if there is any, and `bodies` keeps what its last run sent."""

    change: Change | None = None

    def transport(self) -> httpx2.AsyncBaseTransport:
        self.bodies: list[Any] = []
        self.way = self._changed if self.change is not None else None
        return super().transport()

    async def _changed(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method != "GET":
            self.bodies.append(json.loads(request.content or b"null"))
        answer = await onward(request)
        document = json.loads(await answer.aread() or b"null")
        for item in document.get("items", [document]) if isinstance(document, dict) else ():
            self.change(item)
        headers = {"Date": answer.headers["Date"]} if "Date" in answer.headers else {}
        return httpx2.Response(answer.status_code, json=document, headers=headers, request=request)


def inside(value: Any) -> Iterator[dict[str, Any]]:
    """Every map inside an object whose keys the service chooses."""
    for key, part in value.items():
        if isinstance(part, dict) and key != "urls":
            parts = list(part.values()) if key in MAPS_OF_USERS else [part]
        else:
            parts = part if isinstance(part, list) else []
        for inner in parts:
            if isinstance(inner, dict):
                yield from inside(inner)
                yield inner


def grown(item: Any) -> None:
    for part in list(inside(item)):
        if part.keys() & {"rule", "type", "enabled", "object", "properties", "id", "url", "space"}:
            part["since2027"] = {"strict": False, "steps": []}


def shuffled(item: Any) -> None:
    for part in [*inside(item), item]:
        for key in part.keys() & set(SETS):
            if isinstance(part[key], list):
                part[key].reverse()


def in_capitals(item: Any) -> None:
    if item.get("object") == "organization":
        item["emailDomains"] = [domain.upper() for domain in item["emailDomains"]]
        if "hostname" in item:
            item["hostname"] = item["hostname"].upper()
    for key in ("ssoURL", "sourceURL"):
        if key in item:
            item[key] = item[key].replace("https://", "HTTPS://").replace("acme.example", "ACME.Example")


signatures = itertools.count()


def signed(item: Any) -> None:
    """Each URL that the service makes is another one in every answer: signed, on another host, of an image of another size."""
    for part in [*inside(item), item]:
        for key in part.get("urls", {}):
            if key in ("logo", "icon", "assets"):
                part["urls"][key] = (
                    f"https://cdn{next(signatures)}.files.example/w{next(signatures)}/{key}.png?signature={next(signatures)}"
                )
        for key in ("icon", "previewImages"):
            if isinstance(part.get(key), str) and part[key].startswith("http"):
                part[key] += f"?signature={next(signatures)}"


def full() -> dict[str, Any]:
    """Every field of every kind, its sets with several items."""
    tree = everything()
    tree["emailDomains"] = ["beta.example", "acme.example"]
    tree["mergeRules"] = {"reviewers": ["linus@acme.example", "ada@acme.example"]}
    node(tree, "one")["mergeRules"] = {
        "type": "rules",
        "rules": [{"rule": "require_owner", "count": 2}, {"rule": "require_specific_reviewers", "users": ["usr_linus", "usr_ada"]}],
    }
    tree["integrations"]["acme-charts"] |= {"scopes": ["space:content:read", "site:read"], "categories": ["other", "analytics"]}
    tree["integrations"]["acme-charts"]["blocks"] = [{"id": "table", "title": "Table"}, {"id": "chart", "title": "Chart"}]
    plan = {"type": "string", "description": "The plan", "enum": ["free", "enterprise", "basic"]}
    tree["sites"]["docs"]["adaptiveSchema"]["properties"]["plan"] = plan
    tree["sites"]["docs"]["adaptiveSchema"]["required"] = ["plan", "isBeta"]
    return tree


@pytest.fixture
def odd_org(tmp_path: Path) -> OddOrg:
    return OddOrg(tmp_path, seed=SEED)


@costly
@pytest.mark.parametrize("change", [grown, shuffled, in_capitals, signed])
def test_the_service_answers_otherwise_after_an_update_and_nothing_differs(odd_org: OddOrg, change: Change) -> None:
    applied(odd_org, full())
    odd_org.change = change
    for _ in range(2):
        made = odd_org.plan()
        assert (made.steps, made.exposures, made.differing) == ((), (), {})
    odd_org.apply()
    assert odd_org.bodies == []


@costly
@pytest.mark.parametrize("change", [grown, shuffled, in_capitals, signed])
def test_the_service_always_answered_so_and_one_apply_is_enough(odd_org: OddOrg, change: Change) -> None:
    odd_org.change = change
    odd_org.write(full())
    outcome = odd_org.apply()
    assert (outcome.edited, outcome.leftover, [note for note in outcome.notes if "keeps" in note]) == ((), (), [])
    made = odd_org.plan()
    assert (made.steps, made.exposures, made.differing) == ((), (), {})


@costly
def test_a_lost_state_adopts_what_exists_and_sends_only_what_cannot_be_compared(odd_org: OddOrg) -> None:
    applied(odd_org, full())
    for change in (shuffled, in_capitals):
        odd_org.change = change
        (odd_org.root / "state.db").unlink()
        fields = [kinds()[change.kind].fields.get(delta.name) for change in odd_org.plan().changes for delta in change.fields]
        assert all(field is None or not field.readable or field.hosted for field in fields)


def test_what_a_request_sends_keeps_the_keys_that_the_service_added(odd_org: OddOrg) -> None:
    tree = full()
    applied(odd_org, tree)
    rules = {
        "type": "rules",
        "rules": [{"rule": "require_specific_reviewers", "users": ["usr_ada", "usr_linus"], "minimum": 1}],
        "strict": False,
    }
    odd_org.call("PATCH", "/orgs/org_acme", {"mergeRules": rules})
    assert odd_org.plan().steps == ()
    tree["mergeRules"] = {"reviewers": ["ada@acme.example"]}
    odd_org.change = lambda item: None
    applied(odd_org, tree)
    assert odd_org.call("GET", "/orgs/org_acme")["mergeRules"] == {
        "type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["usr_ada"], "minimum": 1}], "strict": False
    }  # fmt: skip


def test_a_key_that_somebody_wrote_is_managed_and_is_removed_with_its_line(odd_org: OddOrg) -> None:
    tree = full()
    rule = {"rule": "require_specific_reviewers", "users": ["usr_ada"], "minimum": 2}
    tree["mergeRules"] = {"type": "rules", "rules": [rule]}
    applied(odd_org, tree)
    odd_org.call("PATCH", "/orgs/org_acme", {"mergeRules": {"type": "rules", "rules": [{**rule, "minimum": 1}]}})
    (delta,) = odd_org.plan().differing[next(iter(odd_org.plan().differing))]
    assert (delta.name, delta.cause) == ("mergeRules", Cause.DRIFT)
    tree["mergeRules"] = {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["usr_ada"]}]}
    applied(odd_org, tree)
    assert odd_org.call("GET", "/orgs/org_acme")["mergeRules"] == tree["mergeRules"]


@costly
def test_a_new_source_of_a_hosted_copy_is_sent_once(odd_org: OddOrg) -> None:
    odd_org.change = signed
    tree = full()
    applied(odd_org, tree)
    tree["logo"] = "https://acme.example/new.png"
    odd_org.write(tree)
    (change,) = [change for change in odd_org.plan().changes if change.address.kind is None]
    assert [(delta.before, delta.after) for delta in change.fields] == [("https://acme.example/logo.png", "https://acme.example/new.png")]
    odd_org.apply()
    assert odd_org.plan().steps == ()
