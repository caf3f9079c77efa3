"""A run that would delete or expose more than it may is refused, with the way past it.

A looser rule of the project is an exposure; the state remembers the rules of the last run that went through.
How much may be gone at once: from what is bound, declared and proven absent, without any reading."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.kinds import load as kinds
from reconciler.model import (
    Action,
    Actual,
    Binding,
    Change,
    Declared,
    Desired,
    Exposure,
    Guards,
    Moved,
    Observed,
    Origin,
    Plan,
    Severity,
    Source,
    State,
    Violation,
)
from reconciler.plan.matching.match import identify, match
from reconciler.plan.matching.matches import Match, Matches
from reconciler.plan.matching.missing import believable, missing
from reconciler.report.layout import plain
from reconciler.run.guards import check
from reconciler.run.operation import Limits
from tests.command_line import Cli
from tests.harness import Org
from tests.proofs import costly
from tests.report.made import plan_text
from tests.small import applied, small


def plan(deletes: int, managed: int, action: Action = Action.DELETE) -> Plan:
    changes = tuple(Change(Address(("acme", "team", f"t{number}")), "team", (action,)) for number in range(deletes))
    return Plan("p", None, changes=changes, managed_before=managed)


DESIRED = Desired("p", None, {}, {}, frozenset(), guards=Guards(20, 3))


@pytest.mark.parametrize(("deletes", "managed"), [(0, 0), (3, 1), (3, 10), (4, 20), (20, 100)])
def test_as_many_deletes_as_the_limits_allow_go_on(deletes: int, managed: int) -> None:
    assert check(plan(deletes, managed), DESIRED, Limits().with_exposures) == plan(deletes, managed)


@pytest.mark.parametrize(("deletes", "managed"), [(4, 19), (21, 100)])
@pytest.mark.parametrize("action", [Action.DELETE, Action.REPLACE])
def test_more_are_refused_and_the_number_to_pass_is_said(deletes: int, managed: int, action: Action) -> None:
    with pytest.raises(Refused) as caught:
        check(plan(deletes, managed, action), DESIRED, Limits().with_exposures)
    assert f"maxDelete (20 % of {managed}, at least 3) allows" in str(caught.value)
    assert caught.value.hint == f"if this is intended: --allow-delete {deletes}"
    assert check(plan(deletes, managed, action), DESIRED, Limits(deletions=deletes).with_exposures)


def test_a_run_may_be_told_to_delete_nothing() -> None:
    with pytest.raises(Refused, match="this run may delete 0"):
        check(plan(1, 100), DESIRED, Limits(deletions=0).with_exposures)


def exposure(at: str, *readers: str, reaches: tuple[str, ...] = ()) -> Exposure:
    address = Address.parse(f"acme/space/{at}")
    inside = tuple(Address.parse(f"acme/space/{name}") for name in reaches)
    return Exposure(address, "space", "", None, None, "it can be read", readers=readers, reaches=inside, id="RC-more-readers")


RULE = Exposure(Address(("guards",)), "project", "minAdmins", 2, 1, "fewer may remain", id="RC-rule-loosened")
TWO = (exposure("a", "anyone"), exposure("b", "anyone"))
COUNTED = (
    # exposures of the plan, guards.maxExposed, --max-exposed, what is refused
    ("no limit", TWO, None, None, ""),
    ("nothing exposed", (), 0, None, ""),
    ("as many as allowed", TWO, 2, None, ""),
    ("one more", TWO, 1, None, "2 objects, and guards.maxExposed allows 1: acme/space/a, acme/space/b"),
    ("two readers of one object", (exposure("a", "anyone", "team x"), exposure("a", "team y")), 1, None, ""),
    ("what the same line opens inside", (exposure("a", "anyone", reaches=("b", "c")),), 2, None, "3 objects, and guards.maxExposed"),
    ("the same object inside two", (exposure("a", "x", reaches=("c",)), exposure("b", "x", reaches=("c",))), 3, None, ""),
    ("a looser rule has no readers", (RULE, exposure("a")), 0, None, ""),
    ("the option overrides a lower limit", TWO, 0, 2, ""),
    ("the option overrides a higher limit", TWO, 9, 1, "2 objects, and this run may expose 1"),
    ("the option without a limit", (exposure("a", "anyone"),), None, 0, "1 object, and this run may expose 0: acme/space/a"),
    ("many are not all named", tuple(exposure(str(number), "anyone") for number in range(7)), 0, None, "acme/space/4 and 2 more"),
)  # fmt: skip


@pytest.mark.parametrize(("exposures", "limit", "option", "wrong"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_a_plan_that_gives_more_objects_to_new_readers_than_it_may_is_refused(
    exposures: tuple[Exposure, ...], limit: int | None, option: int | None, wrong: str
) -> None:
    exposing = Plan("p", None, exposures=exposures)
    desired = dataclasses.replace(DESIRED, guards=Guards(max_exposed=limit))
    if not wrong:
        assert check(exposing, desired, Limits(exposed=option).with_exposures) == exposing
        return
    with pytest.raises(Refused, match=re.escape(wrong)) as caught:
        check(exposing, desired, Limits(exposed=option).with_exposures)
    assert caught.value.id == "RC-exposure-limit"
    hint = str(caught.value.hint)
    assert hint.startswith("if this is intended: --max-exposed ")
    assert check(exposing, desired, Limits(exposed=int(hint.rpartition(" ")[2])).with_exposures) == exposing, "the way past it is exact"


SITE = Address.parse("acme/site/docs")
UNLISTED = Violation(
    "policy",
    "unlisted",
    SITE,
    "staging sites stay unlisted",
    source=Source("reconciler.yaml", 12),
    remedy="add an exception",
    id="RC-policy-violated",
)
READERS = Violation(
    "access", "1", SITE, "anyone can read it", path=(str(SITE), "acme/site/docs (public)"), remedy="close the site", id="RC-access-violated"
)


def test_a_violated_rule_refuses_the_plan_and_says_which_where_and_the_way_past_it() -> None:
    with pytest.raises(Refused) as caught:
        check(Plan("p", None, violations=(UNLISTED, READERS)), DESIRED, Limits(deletions=100).with_exposures)
    assert str(caught.value) == (
        "the plan violates 2 rules\n  policy unlisted (reconciler.yaml:12) at acme/site/docs: staging sites stay unlisted\n"
        "  access 1 at acme/site/docs: anyone can read it by acme/site/docs -> acme/site/docs (public)"
    )
    assert caught.value.hint == "no option of the command line overrides a rule\n  add an exception\n  close the site"


def test_a_warning_refuses_nothing() -> None:
    warned = Plan("p", None, violations=(dataclasses.replace(UNLISTED, level=Severity.WARNING),))
    assert check(warned, DESIRED, Limits().with_exposures) == warned


TIGHT: dict[str, Any] = {
    "guards": {"maxDelete": {"percent": 12.5, "atLeast": 3}, "minAdmins": 2, "maxExposed": 5},
    "prune": {"team": "none", "openapi": "owned"},
    "protect": ["site", "space"],
}
MEMBERS = {"ada@acme.example": "admin", "linus@acme.example": {"role": "admin"}}


def tree() -> dict[str, Any]:
    return {**small(), "members": MEMBERS}


def told(exposures: tuple[Exposure, ...]) -> list[str]:
    return [f"{entry.address} {entry.field} {entry.before} -> {entry.after}" for entry in exposures if entry.kind == "project"]


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once under tight rules; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("tight"))
    applied(org, tree(), **TIGHT)
    return org


def with_(**changes: Any) -> dict[str, Any]:
    return {**TIGHT, **changes}


LOOSER: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "percent",
        with_(guards={"maxDelete": {"percent": 50, "atLeast": 3}, "minAdmins": 2, "maxExposed": 5}),
        "guards maxDelete.percent 12.5 -> 50",
        "percent",
    ),
    (
        "at least",
        with_(guards={"maxDelete": {"percent": 10, "atLeast": 9}, "minAdmins": 2, "maxExposed": 5}),
        "guards maxDelete.atLeast 3 -> 9",
        "atLeast",
    ),
    ("admins", with_(guards={"maxDelete": {"percent": 10, "atLeast": 3}, "maxExposed": 5}), "guards minAdmins 2 -> 1", "guards"),
    (
        "exposed",
        with_(guards={"maxDelete": {"percent": 10, "atLeast": 3}, "minAdmins": 2, "maxExposed": 6}),
        "guards maxExposed 5 -> 6",
        "maxExposed",
    ),
    (
        "exposed, no limit",
        with_(guards={"maxDelete": {"percent": 10, "atLeast": 3}, "minAdmins": 2}),
        "guards maxExposed 5 -> _Unset.UNSET",
        "guards",
    ),
    ("owned", with_(prune={"team": "owned", "openapi": "owned"}), "prune team none -> owned", "team"),
    ("a line less", with_(prune={"openapi": "none"}), "prune team none -> owned", "prune"),
    ("all", with_(prune={"team": "none", "openapi": "all"}), "prune openapi owned -> all", "openapi"),
    ("protect", with_(protect=["site"]), "protect space True -> False", "protect"),
]


@costly
@pytest.mark.parametrize(("rules", "line", "rule"), [row[1:] for row in LOOSER], ids=[row[0] for row in LOOSER])
def test_each_looser_rule_is_an_exposure_at_its_line(tight: Org, rules: dict[str, Any], line: str, rule: str) -> None:
    tight.write(tree(), **rules)
    plan = tight.plan()
    exposures = [exposure for exposure in plan.exposures if exposure.kind == "project"]
    assert told(plan.exposures) == [line]
    assert (plan.steps, plan.empty, plan.pending) == ((), False, True)
    assert exposures[0].source is not None
    assert (tight.project / "reconciler.yaml").read_text().splitlines()[exposures[0].source.line - 1].strip().startswith(f"{rule}:")
    assert "! exposure" in plain(plan_text(plan))


def test_a_rule_without_a_line_has_the_first_line(tight: Org) -> None:
    tight.write(tree(), **{name: value for name, value in TIGHT.items() if name != "prune"})
    (exposures,) = tight.plan().exposures
    assert (exposures.source.file, exposures.source.line) == ("reconciler.yaml", 1)  # type: ignore[union-attr]


TIGHTER = [
    with_(guards={"maxDelete": {"percent": 0, "atLeast": 0}, "minAdmins": 2, "maxExposed": 0}),
    with_(prune={"team": "none", "openapi": "none"}),
    with_(protect=["site", "space", "collection"]),
    TIGHT,
]


@pytest.mark.parametrize("rules", TIGHTER)
def test_a_tighter_rule_is_silent(tight: Org, rules: dict[str, Any]) -> None:
    tight.write(tree(), **rules)
    assert tight.plan().exposures == ()


def test_a_first_apply_and_a_state_of_before_have_nothing_to_compare(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(tree(), **TIGHT)
    assert told(org.plan().exposures) == []
    applied(org, tree(), **TIGHT)
    (tmp_path / "state.db").unlink()
    org.write(tree(), **with_(prune={"team": "all"}))
    plan = org.plan()
    assert told(plan.exposures) == []
    assert plan.state_update.rules is not None


def test_a_run_that_did_not_go_through_remembers_no_rules(tmp_path: Path) -> None:
    org = Org(tmp_path)
    applied(org, tree(), **TIGHT)
    loose = with_(prune={"team": "all"})
    org.write({**tree(), "teams": {**tree()["teams"], "more": {"title": "More"}}}, **loose)
    org.call("PATCH", "/orgs/org_acme/members/usr_ada", {"role": "read"})  # who may not make teams
    assert any(result.error for result in org.apply().results)
    assert told(org.plan().exposures) == ["prune team none -> all"]


# -- on the command line ------------------------------------------------------------------------------------------------------------


def write(cli: Cli, **top: Any) -> None:
    document = {
        "version": 1,
        "project": "rules",
        "service": {"member": "ada@acme.example", "sandbox": ".reconciler/sandbox.db"},
        **top,
        "organizations": {"acme": {"id": "org_acme", "teams": {"writers": {"title": "Writers"}}}},
    }
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


@pytest.fixture
def project(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    write(cli)
    assert cli("apply", "p", "--yes").exit_code == 0
    return cli


def test_a_looser_rule_alone_is_a_plan_that_is_agreed_to_and_remembered(project: Cli) -> None:
    write(project, prune={"team": "all"})
    plan = project("plan", "p", "--detailed-exitcode", code=2)
    assert "! exposure    team owned -> all: unmanaged objects are deleted too" in plan.stdout
    assert plan.stdout.endswith(
        "Plan: a looser rule to record; 1 exposure. 0 requests.\nApply it with: reconciler apply p\n"
        "To apply it with --yes, add: --allow-exposure prune\n"
    )
    assert project("plan", "p").exit_code == 0
    refused = project("apply", "p", "--yes")
    assert (refused.exit_code, "if this is intended: --allow-exposure prune" in refused.stderr) == (4, True)
    assert project("plan", "p", "--detailed-exitcode").exit_code == 2
    done = project("apply", "p", "--yes", "--allow-exposure", "prune", code=0)
    assert done.stdout.endswith("Applied without any requests. The plan is now empty.\n")
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_tighter_rule_alone_is_an_empty_plan_and_remembered_all_the_same(project: Cli) -> None:
    write(project, guards={"minAdmins": 3})
    assert project("plan", "p", "--detailed-exitcode").exit_code == 0
    assert project("apply", "p", "--yes").exit_code == 0
    write(project)
    assert "minAdmins 3 -> 1" in project("plan", "p").stdout


def test_a_looser_rule_is_shown_again_until_it_was_applied_and_undo_is_not_about_it(project: Cli) -> None:
    write(project, guards={"maxDelete": {"atLeast": 30}})
    assert "exposure" not in project("undo", "last", "p", "--yes", code=0).stdout
    assert "maxDelete.atLeast 3 -> 30" in project("plan", "p").stdout


ACME = Address.parse("acme")
LINE = Source("reconciler.yaml", 1, 1)


def team(number: int, prefix: str = "t") -> Address:
    return ACME.child("team", f"{prefix}{number:02}")


def world(present: int, gone: int, *, declared: bool = True, renamed: bool = False, **state: Any) -> tuple[Desired, State, Actual]:
    """An organization of teams, some of which are proven gone. `renamed`: these have other names in the YAML now."""
    teams = [team(number) for number in range(present + gone)]
    lost = teams[present:]
    names = {old: team(number, "new") for number, old in enumerate(lost)} if renamed else {}
    wanted = [ACME, *teams[:present], *([names.get(address, address) for address in lost] if declared else [])]
    resources = {address: Declared(address, address.kind or "organization", {}, LINE, address.container, "teams", 0) for address in wanted}
    moved = tuple(Moved(old, new, LINE) for old, new in names.items())
    bindings = {member: Binding(member, member.kind or "organization", member.key, Origin.CREATED) for member in [ACME, *teams]}
    objects = {
        "organization": {"acme": Observed("organization", "acme", {}, {}, {"id": "acme"})},
        "team": {item.key: Observed("team", item.key, {}, {"organization": "acme"}, {"id": item.key}) for item in teams[:present]},
    }
    absent = frozenset(("team", entry.key) for entry in lost)
    return Desired("p", None, resources, {}, frozenset(), moved=moved), State("l", 1, bindings, **state), Actual(objects, absent=absent)


def refused(*parts: Any, accept: int | None = None) -> str | None:
    """Why it is not believed, None where it is."""
    try:
        believable(identify(kinds(), *parts), parts[0], accept=accept)
    except Refused as error:
        return f"{error.message} ({error.hint})"
    return None


@pytest.mark.parametrize(("present", "gone", "believed"), [
    (9, 0, True), (9, 3, True), (9, 4, False), (35, 4, True), (34, 5, False), (43, 5, False), (44, 5, True), (1, 3, True),
    (0, 1, True), (0, 2, False),
])  # fmt: skip
def test_three_or_a_tenth_is_believed_and_one_where_nothing_else_is_left(present: int, gone: int, believed: bool) -> None:
    assert (refused(*world(present, gone)) is None) is believed


def test_a_refusal_names_five_and_the_number_to_accept() -> None:
    names = ", ".join(f"acme/team/t{number:02}" for number in range(9, 14))
    assert refused(*world(9, 6)) == (
        "6 of 16 tracked objects no longer exist, and at most 3 are accepted; this looks like an outage or a change of the token's "
        f"permissions: {names} and 1 more (if they were deleted: --accept-gone 6)"
    )
    assert f"permissions: {names} (if" in str(refused(*world(9, 5)))
    assert "and no other tracked object answers; this" in str(refused(*world(0, 2)))


def test_as_many_as_were_accepted_are_believed() -> None:
    assert refused(*world(9, 6), accept=6) is None
    assert "and 5 were accepted; this" in str(refused(*world(9, 6), accept=5))
    assert "and 0 were accepted; this" in str(refused(*world(9, 1), accept=0))


def test_what_is_no_longer_declared_counts_unless_a_run_was_cut_off() -> None:
    assert refused(*world(9, 4, declared=False)) is not None
    assert refused(*world(9, 4, declared=False, unfinished=True)) is None
    assert refused(*world(9, 4, unfinished=True)) is not None


def test_a_renamed_and_deleted_object_is_not_left() -> None:
    assert "no other tracked object answers" in str(refused(*world(0, 2, renamed=True)))
    assert refused(*world(1, 2, renamed=True)) is None


def test_a_missing_object_is_reported_with_its_binding_and_without_what_was_deleted_with_it() -> None:
    desired, state, actual = world(2, 1, renamed=True)
    matches = match(kinds(), desired, state, actual)
    assert missing(matches) == {team(0, "new"): replace(state.bindings[team(2)], address=team(0, "new"))}
    assert list(missing(matches.with_({ACME: Match(gone=True)}))) == [ACME]
    assert missing(Matches(matches.former, {ACME.child("team", "never"): Match(gone=True)})) == {}
