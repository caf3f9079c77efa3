"""Readers as tests: a plan that lets a reader see what they must not, or takes what they must see, is refused and shows the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.errors import ConfigError, Refused
from reconciler.features.drift.report.sheet import summary
from reconciler.model import Plan, Severity
from reconciler.report.layout import plain
from reconciler.run.guards import check
from reconciler.run.operation import Limits
from tests.features.drift.outside import drifted
from tests.harness import ORGANIZATION, Org
from tests.proofs import spread
from tests.report.made import plan_text
from tests.small import applied, small

Tree = dict[str, Any]
SITE = f"/orgs/{ORGANIZATION}/sites"


def tree() -> Tree:
    """One space on a public site, behind a condition; one on a site for holders of links; one that members read; one nowhere."""
    return {
        "content": [
            {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
            *({"space": key, "title": key.title(), "defaultLevel": "guest"} for key in ("guide", "pro", "press", "salaries")),
            {
                "collection": "team",
                "title": "Team",
                "defaultLevel": "read",
                "content": [{"space": "notes", "title": "Notes", "defaultLevel": "inherit"}],
            },
        ],
        "sites": {
            "docs": {
                "title": "Docs",
                "visibility": "public",
                "published": True,
                "adaptiveContent": {"enabled": True},
                "structure": [
                    {"section": "all", "title": "All", "spaces": ["guide"]},
                    {"section": "pros", "title": "Pros", "condition": 'visitor.claims.plan == "pro"', "spaces": ["pro"]},
                ],
            },
            "news": {
                "title": "News",
                "visibility": "share-link",
                "published": True,
                "structure": [{"section": "news", "title": "News", "spaces": ["press"]}],
                "shareLinks": {"partners": {"name": "Partners"}, "old": {"name": "Old", "active": False}},
            },
        },
    }


def site(tree: Tree, key: str) -> Tree:
    result: Tree = tree["sites"][key]
    return result


def section(key: str) -> Tree:
    return {"section": f"s-{key}", "title": f"Section {key}", "spaces": [key]}


def must_not(reader: Any, *patterns: str, **more: Any) -> Tree:
    return {"as": reader, "mustNotSee": list(patterns), **more}


def must(reader: Any, *patterns: str) -> Tree:
    return {"as": reader, "sees": list(patterns)}


def said(plan: Plan) -> list[str]:
    return [f"{item.level} {item.rule}: {item.address}: {item.message}" for item in plan.violations]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("shown"))
    applied(org, tree())
    return org


def planned(org: Org, changed: Tree, *tests: Tree) -> Plan:
    org.write(changed, access=list(tests))
    return org.plan()


KNOWN: list[tuple[Any, set[str]]] = [
    ("anyone", {"guide"}),
    ("agent", set()),
    ({"claims": {}}, {"guide"}),
    ({"claims": {"plan": "free"}}, {"guide"}),
    ({"claims": {"plan": "pro"}}, {"guide", "pro"}),
    ({"link": "partners"}, {"guide", "press"}),
    ({"link": "acme/site/news/share-link/old"}, {"guide"}),
    ({"role": "guest"}, {"guide", "notes"}),
    ({"role": "read"}, {"guide", "notes"}),
    ({"role": "admin"}, {"guide", "pro", "press", "salaries", "notes", "blank"}),
]
SPACES = {"guide", "pro", "press", "salaries", "notes", "blank"}


@pytest.mark.parametrize(("reader", "seen"), spread(KNOWN, 4), ids=[str(reader) for reader, _ in KNOWN])
def test_a_reader_sees_what_the_service_shows_them_and_nothing_else(shown: Org, reader: Any, seen: set[str]) -> None:
    plan = planned(shown, tree(), must_not(reader, "acme/space/*"))
    assert {item.address.key for item in plan.violations if item.address is not None} == seen
    tests = [must(reader, *(f"acme/space/{key}" for key in sorted(seen)))] if seen else []
    tests += [must_not(reader, *(f"acme/space/{key}" for key in sorted(SPACES - seen)))] if SPACES - seen else []
    assert planned(shown, tree(), *tests).violations == ()


def test_a_plan_that_opens_what_must_not_be_seen_is_refused_and_shows_the_way(shown: Org) -> None:
    changed = tree()
    site(changed, "docs")["structure"].append(section("salaries"))
    plan = planned(shown, changed, must_not("anyone", "acme/space/salaries", reason="they are confidential"))
    (item,) = plan.violations
    assert (item.level, item.message) == (Severity.ERROR, "anyone can read it after this plan (they are confidential)")
    assert item.path == ("space salaries", "site-space docs/salaries", "section docs/s-salaries", "site docs")
    text = (shown.project / "reconciler.yaml").read_text().splitlines()
    assert item.source is not None
    assert text[item.source.line - 1].strip() == "- acme/space/salaries"
    with pytest.raises(Refused, match="anyone can read it after this plan") as refused:
        check(plan, shown.load().desired, Limits().with_exposures)
    assert refused.value.exit_code == 4
    assert "space salaries -> site-space docs/salaries" in plain(plan_text(plan))


def test_a_plan_that_takes_away_what_must_be_seen_is_refused(shown: Org) -> None:
    changed = tree()
    site(changed, "docs")["structure"][0]["condition"] = 'visitor.claims.plan == "pro"'
    plan = planned(shown, changed, must("anyone", "acme/space/guide"), must({"claims": {"plan": "pro"}}, "acme/space/guide"))
    assert said(plan) == ["error anyone: acme/space/guide: anyone cannot read it after this plan, but can today"]


def test_a_reader_who_must_see_what_is_closed_reads_why(shown: Org) -> None:
    changed = tree()
    changed["sites"]["soon"] = {"title": "Soon", "structure": [section("salaries")]}
    assert said(planned(shown, changed, must("anyone", "acme/space/salaries"), must("agent", "acme/space/guide"))) == [
        "error anyone: acme/space/salaries: anyone cannot read it after this plan: site soon is not published",
        "error agent: acme/space/guide: an agent cannot read it after this plan: site docs excludes agents (agentsContext)",
    ]


def test_a_claim_with_a_value_that_no_schema_allows_is_an_error_at_the_value(shown: Org) -> None:
    changed, properties = tree(), {"plan": {"type": "string", "enum": ["free", "pro"]}, "team": {"type": "string"}}
    site(changed, "docs")["adaptiveSchema"] = {"type": "object", "properties": properties}
    tests = [
        must_not({"claims": claims}, "acme/space/salaries") for claims in ({"plan": "prot"}, {"plan": 1}, {"plan": "pro", "team": "x"})
    ]
    with pytest.raises(ConfigError) as refused:
        planned(shown, changed, *tests)
    lines = str(refused.value)
    assert 'as.claims.plan is "prot", which no schema of a site allows; one of free, pro; did you mean "pro"?' in lines
    assert "as.claims.plan is 1, which no schema of a site allows; one of free, pro" in lines
    assert "as.claims.team" not in lines


def test_what_cannot_be_decided_counts_as_seen_where_it_must_not_be_and_as_unseen_where_it_must(shown: Org) -> None:
    changed = tree()
    site(changed, "docs")["visibility"] = "unlisted"
    site(changed, "docs")["structure"][1]["condition"] = 'visitor.claims.plan != "free"'
    claims = {"claims": {"plan": "pro"}}
    for tests in ([must_not("anyone", "acme/space/guide")], [must("anyone", "acme/space/guide")]):
        assert any("cannot be decided: whoever knows the URL can read it" in line for line in said(planned(shown, changed, *tests)))
    for test in (must_not(claims, "acme/space/pro"), must(claims, "acme/space/pro")):
        (line,) = said(planned(shown, changed, test))
        assert 'whether visitor.claims.plan != "free" holds cannot be decided' in line


def test_a_violation_that_exists_already_refuses_a_plan_that_leaves_it(shown: Org) -> None:
    changed = tree()
    changed["content"][3]["title"] = "Other"
    plan = planned(shown, changed, must_not("anyone", "acme/space/guide"))
    assert said(plan) == ["error anyone: acme/space/guide: anyone can read it already today, and after this plan"]


def test_a_plan_that_mends_a_violation_is_not_refused_and_says_so(shown: Org) -> None:
    changed = tree()
    site(changed, "docs")["visibility"] = "visitor-auth"
    plan = planned(shown, changed, must_not("anyone", "acme/space/guide"))
    assert plan.violations == ()
    assert [note for note in plan.notes if "access" in note] == [
        "access: violated already, and this plan ends it: anyone can read acme/space/guide"
    ]


def test_a_plan_that_mends_one_violation_and_leaves_another_is_not_refused(shown: Org) -> None:
    changed = tree()
    site(changed, "docs")["visibility"] = "visitor-auth"
    tests = (must_not("anyone", "acme/space/guide"), must_not({"role": "read"}, "acme/space/notes"))
    plan = planned(shown, changed, *tests)
    assert [line.split(":")[0] for line in said(plan)] == ["warning role read"]
    check(plan, shown.load().desired, Limits().with_exposures)


def test_a_run_for_some_addresses_is_refused_for_what_it_opens_and_not_for_what_it_leaves(shown: Org) -> None:
    changed = tree()
    site(changed, "docs")["structure"].append(section("salaries"))
    shown.write(changed, access=[must_not("anyone", "acme/space/guide", "acme/space/salaries"), must("anyone", "acme/space/press")])
    calm, opening = shown.plan(targets=("acme/space/*",)), shown.plan(targets=("acme/site/docs/**",))
    assert {line.split(":")[0] for line in said(calm)} == {"warning anyone"}
    assert "error anyone: acme/space/salaries: anyone can read it after this plan" in said(opening)


def test_what_is_copied_to_readers_is_seen_by_them(shown: Org) -> None:
    changed = tree()
    changed["content"].append({"space": "copy", "title": "Copy", "duplicateOf": "salaries", "defaultLevel": "guest"})
    site(changed, "docs")["structure"].append(section("copy"))
    plan = planned(shown, changed, must_not("anyone", "acme/space/salaries", "acme/space/blank"), must("anyone", "acme/space/copy"))
    assert [item.path for item in plan.violations] == [
        ("space salaries", "space copy", "site-space docs/copy", "section docs/s-copy", "site docs")
    ]


def test_a_template_is_not_seen_because_its_copies_are(tmp_path: Path) -> None:
    org = Org(tmp_path)
    tests = [must_not("anyone", "acme/space/blank", "acme/space/salaries"), must("anyone", "acme/space/guide")]
    assert planned(org, tree(), *tests).violations == ()


def test_a_window_breaks_a_test(shown: Org) -> None:
    """Two requests that each remove some readers and add others: for a while, a space has readers that it has neither before nor after."""
    changed = tree()
    site(changed, "news")["visibility"] = "visitor-auth"
    site(changed, "news")["structure"][0]["spaces"] = [{"key": "press", "space": "salaries"}]
    plan = planned(shown, changed, must_not({"claims": {}}, "acme/space/press"), must_not({"link": "partners"}, "acme/space/salaries"))
    windows = [exposure for exposure in plan.exposures if exposure.window]
    assert len(windows) == len(plan.violations) == 1
    assert plan.violations[0].message.endswith("can read it for 1 request of this run")
    assert plan.violations[0].path == windows[0].path, "the way by which they come to it in that moment"
    assert [step.split()[0] for step in windows[0].path[:2]] == ["space", "site-space"]
    assert "apply first a project in which nobody can read it" in plan.violations[0].remedy


# -- what must be read --------------------------------------------------------------------------------------------------------------


def sent(org: Org, *tests: Tree) -> list[str]:
    org.write(tree(), **({"access": list(tests)} if tests else {}))
    org.requests.clear()
    org.plan()
    return [path for _, path in org.requests]


def test_tests_cost_no_request_where_all_that_leads_to_the_objects_is_read_already(shown: Org) -> None:
    plain_plan = sent(shown)
    assert sent(shown, must_not({"role": "guest"}, "acme/space/salaries", "acme/space/press", "acme/collection/*")) == plain_plan
    links = f"{SITE}/{shown.id('acme/site/docs')}/share-links"  # which the project does not declare
    assert set(sent(shown, must_not("agent", "acme/**"))) - set(plain_plan) == {links}


@pytest.fixture
def foreign(tmp_path: Path) -> Org:
    """Beside the project, somebody published a site by hand that shows its space, and another that shows nothing and is closed."""
    org = Org(tmp_path)
    applied(org, tree())
    secret = org.id("acme/space/salaries")
    for title in ("Shadow", "Closed"):
        created = org.call("POST", SITE, {"title": title, "visibility": "public"})
        org.call("POST", f"{SITE}/{created['id']}/site-spaces", {"spaceId": secret})
        if title == "Shadow":
            org.call("POST", f"{SITE}/{created['id']}/publish")
    return org


def test_what_somebody_published_by_hand_is_found(foreign: Org) -> None:
    plain_plan = sent(foreign)
    more = sent(foreign, must_not("anyone", "acme/space/salaries"))
    assert sorted(path.rpartition("/")[2] for path in set(more) - set(plain_plan)) == ["share-links", "site-spaces"]
    assert len(more) == len(plain_plan) + 2
    plan = planned(foreign, tree(), must_not("anyone", "acme/space/*"))
    assert {str(item.address) for item in plan.violations} == {"acme/space/guide", "acme/space/salaries"}
    path = next(item.path for item in plan.violations if str(item.address) == "acme/space/salaries")
    assert [step.split()[0] for step in path] == ["space", "site-space", "site"]


def test_what_cannot_be_read_counts_as_seen(foreign: Org) -> None:
    foreign.write(tree(), access=[must_not("agent", "acme/space/salaries"), must("anyone", "acme/space/guide")])
    (line,) = [line for line in said(foreign.plan(failing=("site-spaces",))) if "salaries" in line]
    assert "cannot be decided: what leads to it could not be read" in line


def test_what_cannot_be_read_is_neither_met_nor_unmet_in_drift(foreign: Org) -> None:
    foreign.write(tree(), access=[must_not("agent", "acme/space/salaries")])
    known, unknown = drifted(foreign), drifted(foreign, failing=("site-spaces",))
    assert (known.violations, known.undecided, unknown.violations) == ((), (), ())
    assert [str(unread.address) for unread in unknown.undecided] == ["acme/space/salaries"]
    assert "1 assertion not checked" in summary(unknown)


def test_what_contains_an_object_is_read_too(tmp_path: Path) -> None:
    """Somebody moved a space into a collection of their own, where members read it; the plan moves it back."""
    org = Org(tmp_path)
    applied(org, tree())
    created = org.call("POST", f"/orgs/{ORGANIZATION}/collections", {"title": "Theirs"})
    org.call("PATCH", f"/collections/{created['id']}", {"defaultLevel": "read"})
    org.call("PATCH", f"/spaces/{org.id('acme/space/salaries')}", {"defaultLevel": "inherit"})
    org.call("POST", f"/spaces/{org.id('acme/space/salaries')}/move", {"parent": created["id"]})
    plan = planned(org, tree(), must_not({"role": "read"}, "acme/space/salaries"), must_not({"role": "guest"}, "acme/space/salaries"))
    assert plan.violations == ()
    assert [note for note in plan.notes if "access" in note] == [
        f"access: violated already, and this plan ends it: a member with the role {role} can read acme/space/salaries"
        for role in ("read", "guest")
    ]


def test_a_violation_names_the_field_by_which_an_object_admits_the_reader_itself(shown: Org) -> None:
    opening = tree()
    opening["content"][4]["defaultLevel"] = "read"
    (item,) = planned(shown, opening, must_not({"role": "read"}, "acme/space/salaries")).violations
    assert item.message == "a member with the role read can read it after this plan: its defaultLevel is read"


# -- loosening ---------------------------------------------------------------------------------------------------------------------

WIDE = [must_not("anyone", "acme/space/salaries", "acme/space/p*"), must({"role": "read"}, "acme/space/notes")]
LOOSER = [
    ("removed", [], 3),
    ("a pattern less", [must_not("anyone", "acme/space/p*"), WIDE[1]], 1),
    ("narrower", [must_not("anyone", "acme/space/salaries", "acme/space/press"), WIDE[1]], 1),
    ("another reader", [must_not("agent", "acme/space/salaries", "acme/space/p*"), WIDE[1]], 2),
    ("not seen any more", WIDE[:1], 1),
    ("the same in another order", [WIDE[1], must_not("anyone", "acme/space/p*", "acme/space/salaries")], 0),
    ("wider", [must_not("anyone", "acme/space/s*", "acme/space/p*"), must({"role": "read"}, "acme/*/notes")], 0),
]


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Org:
    org, closed = Org(tmp_path_factory.mktemp("tested")), tree()
    site(closed, "docs")["visibility"] = site(closed, "news")["visibility"] = "visitor-auth"
    applied(org, closed, access=WIDE)
    return org


def test_a_test_may_name_one_of_two_resources_that_an_environment_removes(tmp_path: Path) -> None:
    org = Org(tmp_path, environment="prod")
    org.write(tree(), access=[must_not("anyone", "acme/space/salaries"), must_not("anyone", "acme/space/notes")])
    (org.project / "environments").mkdir()
    patches = "".join(f"  - {{match: acme/space/{key}, remove: true}}\n" for key in ("salaries", "notes"))
    (org.project / "environments" / "prod.yaml").write_text(f"patch:\n{patches}", encoding="utf-8")
    assert not {"acme/space/salaries", "acme/space/notes"} & set(map(str, org.load().desired.resources))


@pytest.mark.parametrize(("tests", "number"), [row[1:] for row in LOOSER], ids=[row[0] for row in LOOSER])
def test_a_test_that_is_removed_or_narrowed_is_an_exposure(tested: Org, tests: list[Tree], number: int) -> None:
    closed = tree()
    site(closed, "docs")["visibility"] = site(closed, "news")["visibility"] = "visitor-auth"
    tested.write(closed, **({"access": tests} if tests else {}))
    plan = tested.plan()
    assert [str(exposure.address) for exposure in plan.exposures] == ["access"] * number
    assert all(exposure.asked and exposure.source is not None for exposure in plan.exposures)


def test_a_test_follows_a_rename_and_ends_with_its_object(tested: Org) -> None:
    closed = tree()
    site(closed, "docs")["visibility"] = site(closed, "news")["visibility"] = "visitor-auth"
    closed["content"][4] |= {"space": "pay", "previously": ["salaries"]}
    tests = [must_not("anyone", "acme/space/pay", "acme/space/p*"), WIDE[1]]
    tested.write(closed, access=tests)
    assert tested.plan().exposures == ()
    tested.write(closed, access=[must_not("anyone", "acme/space/p*"), WIDE[1]])
    assert tested.plan().exposures == ()  # the pattern that is left covers the new name
    closed["content"][4] |= {"space": "wages"}
    tested.write(closed, access=[must_not("anyone", "acme/space/p*"), WIDE[1]])
    assert [exposure.field for exposure in tested.plan().exposures] == ["anyone mustNotSee acme/space/wages"]
    del closed["content"][4]
    tested.write(closed, access=[must_not("anyone", "acme/space/p*"), WIDE[1]])
    assert tested.plan().exposures == ()


def test_tests_are_of_no_account_to_a_project_without_them(shown: Org) -> None:
    shown.write(tree())
    plan = shown.plan()
    assert (plan.violations, plan.lists, plan.questions) == ((), frozenset(), frozenset())
    assert small()  # the small organization has none either
