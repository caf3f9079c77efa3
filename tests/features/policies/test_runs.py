"""Policies in whole runs, through the command line on a sandbox: what refuses, what warns, what is excepted, and what is remembered."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest

from reconciler.config import load
from reconciler.features.policies.judge import by_configuration
from reconciler.kinds import load as kinds
from tests.command_line import Cli, applied_project
from tests.contains import assert_contains
from tests.documents import valid
from tests.proofs import costly

OTHER = ("--sandbox", "other.db")
SOON, BEFORE = (datetime.now(UTC).date() + sign * timedelta(days=7) for sign in (1, -1))  # not today: midnight may pass during a test
UNLISTED = """
policies:
  - id: unlisted
    on: [site]
    assert: ${{ after.visibility != "public" }}
    message: ${{ address }} must stay unlisted
"""


def changed(cli: Cli, text: str, name: str = "p/reconciler.yaml") -> None:
    path = cli.root / name
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def exception(until: date, policy: str = "unlisted", address: str = "acme/site/*") -> str:
    return f"exceptions: [{{policy: {policy}, address: {address}, until: {until}, reason: the launch}}]\n"


@pytest.fixture
def project(cli: Cli) -> Cli:
    """An applied project with a public site; requests that write are counted."""
    return applied_project(cli)


def test_a_violated_policy_refuses_validate_plan_and_apply_before_the_first_request(project: Cli) -> None:
    changed(project, UNLISTED)
    project.edit("p/reconciler.yaml", "title: Guides", "title: User guides")
    for argv in (("plan", "p"), ("plan", "p", "--out", "saved.json"), ("apply", "p", "--yes")):
        result = project(*argv, code=4)
        assert "! violation   policy unlisted: acme/site/docs must stay unlisted" in result.stdout
        assert "title       Guides -> User guides" in result.stdout  # the plan is printed all the same
        assert_contains(
            result.stderr,
            "policy unlisted (reconciler.yaml:",
            "no option of the command line overrides a rule",
            "exceptions:",
        )
    assert not (project.root / "saved.json").exists()
    project.edit("p/reconciler.yaml", "public", "visitor-auth")
    assert "Guides -> User guides" in project("plan", "p").stdout  # nothing was sent


def test_a_saved_plan_is_refused_too(project: Cli) -> None:
    project.edit("p/reconciler.yaml", "title: Guides", "title: User guides")
    assert project("plan", "p", "--out", "saved.json").exit_code == 0
    changed(project, UNLISTED)
    assert "policy unlisted" in project("apply", "p", "--plan", "saved.json", code=4).stderr
    assert "Guides -> User guides" in project("plan", "p").stdout


def test_validate_decides_what_the_yaml_says_and_lists_the_rest(project: Cli) -> None:
    few = "  - {id: few, on: plan, assert: '${{ count(\"delete\") < 2 }}', message: few}\n"
    changed(project, UNLISTED + few)
    result = project("validate", "p", code=0)
    assert re.search(r"^Not evaluated, .*: unlisted \(reconciler\.yaml:\d+\), few \(reconciler\.yaml:\d+\)$", result.stdout, re.MULTILINE)
    assert project("validate", "p").stdout == result.stdout  # also when it is remembered
    project.edit("p/reconciler.yaml", "title: Documentation", "title: Documentation\n        visibility: public")
    result = project("validate", "p", code=4)
    assert "error: acme/site/docs: policy unlisted: acme/site/docs must stay unlisted (reconciler.yaml:" in result.stdout
    assert "Not evaluated, because they ask about the service or the plan: few (" in result.stdout
    project.edit("p/reconciler.yaml", "visibility: public", "visibility: unlisted")
    assert project("validate", "p").exit_code == 0


def test_validate_annotates_the_line_of_the_resource(project: Cli) -> None:
    changed(project, "policies: [{id: short, on: [space], assert: '${{ after.title == \"x\" }}', message: too long}]\n")
    lines = project("validate", "p", "--format", "github").stdout.splitlines()
    assert lines[0].startswith("::error file=p/reconciler.yaml,line=")
    assert lines[0].endswith("::policy short: too long")
    assert project("validate", "p").exit_code == 4


def test_a_warning_is_shown_and_the_run_goes_on(project: Cli) -> None:
    changed(project, UNLISTED.replace("message:", "level: warning\n    message:"))
    result = project("plan", "p")
    assert (result.exit_code, "! warning     policy unlisted" in result.stdout) == (0, True)
    assert "1 warning" in result.stdout
    assert project("apply", "p", "--yes").exit_code == 0


def test_parts_of_a_policy_may_come_from_variables(project: Cli) -> None:
    changed(
        project,
        "vars: {level: {default: warning}, kinds: {default: [site]}}\n"
        "policies: [{id: no, on: '${{ vars.kinds }}', level: '${{ vars.level }}', assert: '${{ false }}', message: never}]\n",
    )
    result = project("plan", "p")
    assert (result.exit_code, "! warning     policy no" in result.stdout) == (0, True)


def test_an_exception_holds_until_its_day_and_is_an_error_afterwards(project: Cli) -> None:
    changed(project, UNLISTED + exception(SOON))
    result = project("plan", "p", code=0)
    assert f"policy unlisted is not applied to acme/site/* until {SOON}: the launch" in result.stdout
    project.edit("p/reconciler.yaml", f"until: {SOON}", f"until: {BEFORE}")
    for command in ("plan", "validate"):
        result = project(command, "p", code=4)
        assert f"its exception for acme/site/* expired on {BEFORE} (the launch)" in result.stdout
    assert "give it a later until" in result.stderr


def test_an_exception_holds_on_its_last_day_and_not_on_the_next(project: Cli) -> None:
    changed(project, UNLISTED + exception(SOON))
    desired = load(project.root / "p", kinds()).desired
    on_the_day, on_the_next = (by_configuration(kinds(), desired, SOON + timedelta(days=days))[0] for days in (0, 1))
    assert on_the_day == ()
    assert any(violation.message.startswith("its exception for acme/site/* expired") for violation in on_the_next)


def test_an_exception_that_expired_is_an_error_also_where_nothing_violates_the_policy(project: Cli) -> None:
    changed(project, UNLISTED.replace('"public"', '"visitor-auth"') + exception(BEFORE))
    assert project("plan", "p").exit_code == 4


def test_the_document_names_each_violation(project: Cli) -> None:
    changed(project, UNLISTED)
    (violation,) = valid(json.loads(project("plan", "p", "--format", "json").stdout), "plan")["violations"]
    assert (violation["sort"], violation["rule"], violation["address"], violation["level"]) == (
        "policy",
        "unlisted",
        "acme/site/docs",
        "error",
    )


# -- loosening -----------------------------------------------------------------------------------------------------------------------

KEPT = UNLISTED.replace('"public"', '"visitor-auth"')  # nothing violates it
LOOSER = {
    "removed": (lambda text: text.partition("policies:")[0], "unlisted error -> removed: what it forbids is no longer refused"),
    "a warning": (lambda text: text.replace("    message:", "    level: warning\n    message:"), "unlisted error -> warning"),
    "another test": (
        lambda text: text.replace('"visitor-auth"', '"share-link"'),
        "unlisted error -> changed: it may allow",
    ),
    "other kinds": (lambda text: text.replace("on: [site]", "on: [acme/site/docs]"), "unlisted error -> changed"),
    "other actions": (lambda text: text.replace("    message:", "    when: create\n    message:"), "unlisted error -> changed"),
    "an exception": (lambda text: text + exception(SOON), f"unlisted acme/site/* until {SOON}: the policy is not applied there"),
}


@costly
@pytest.mark.parametrize(("loosen", "line"), LOOSER.values(), ids=LOOSER)
def test_a_looser_policy_is_an_exposure_until_somebody_consents(project: Cli, loosen, line: str) -> None:  # type: ignore[no-untyped-def]
    changed(project, KEPT)
    assert project("apply", "p", "--yes").exit_code == 0  # remembers it
    file = project.root / "p/reconciler.yaml"
    file.write_text(loosen(file.read_text(encoding="utf-8")), encoding="utf-8")
    result = project("plan", "p")
    assert f"! exposure    {line}" in result.stdout
    word = "exceptions" if "exceptions:" in file.read_text(encoding="utf-8") else "policies"
    refused = project("apply", "p", "--yes")
    assert (refused.exit_code, f"--allow-exposure {word}" in refused.stderr) == (4, True)
    assert project("apply", "p", "--yes", "--allow-exposure", word).exit_code == 0
    assert "exposure" not in project("plan", "p").stdout


def test_a_new_stricter_or_only_reworded_policy_is_not_an_exposure(project: Cli) -> None:
    changed(project, KEPT.replace("    message:", "    level: warning\n    message:"))
    assert "exposure" not in project("plan", "p").stdout
    assert project("apply", "p", "--yes").exit_code == 0
    project.edit("p/reconciler.yaml", "    level: warning\n", "")
    assert "exposure" not in project("plan", "p").stdout
    assert project("apply", "p", "--yes").exit_code == 0
    project.edit("p/reconciler.yaml", "must stay unlisted", "is not for everybody")
    assert "No changes." in project("plan", "p").stdout


def test_a_policy_sees_the_environment_and_what_it_patches(cli: Cli) -> None:
    applied_project(cli)
    changed(cli, "use: [no-public-in-staging]\n")
    cli.write("p/environments/staging.yaml", "vars: {}\n")
    cli.write("p/environments/production.yaml", "vars: {}\n")
    assert "violation" not in cli("plan", "p", "--env", "production", *OTHER).stdout
    assert cli("plan", "p", "--env", "staging", *OTHER).exit_code == 4
    cli.write("p/environments/staging.yaml", "patch: [{match: acme/site/*, set: {visibility: unlisted}}]\n")
    assert "violation" not in cli("plan", "p", "--env", "staging", *OTHER).stdout


# -- what the service knows ------------------------------------------------------------------------------------------------------------


def asserted(cli: Cli, on: str, text: str, when: str = "") -> list[str]:
    """The addresses that violate an assertion, as the plan's document has them."""
    file = cli.root / "p/reconciler.yaml"
    before = file.read_text(encoding="utf-8")
    more = f"    when: [{when}]\n" if when else ""
    changed(cli, f"policies:\n  - id: x\n    on: {on}\n{more}    assert: ${{{{ {text} }}}}\n    message: m\n")
    problems = json.loads(cli("plan", "p", "--format", "json").stdout)["violations"]
    file.write_text(before, encoding="utf-8")
    return [str(violation["address"]) for violation in problems]


def test_before_after_and_action_are_those_of_the_plan(project: Cli) -> None:
    project.edit("p/reconciler.yaml", "title: Guides", "title: User guides")
    assert asserted(project, "[space]", 'before.title == after.title or before.title == "Guides"') == []
    assert asserted(project, "[space]", "before.title == after.title") == ["acme/space/guides"]
    assert asserted(project, "[space]", 'action == "keep"') == ["acme/space/guides"]
    assert asserted(project, "[space]", "false", when="update") == ["acme/space/guides"]
    assert asserted(project, "plan", 'count("update") == 0') == ["None"]
    assert asserted(project, "plan", 'count("update", "space") == 1 and count("delete") == 0') == []


def test_a_deleted_resource_is_only_seen_by_a_policy_that_names_the_action(project: Cli) -> None:
    file = project.root / "p/reconciler.yaml"
    text = file.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if "writers:" in line)
    file.write_text(text.replace(f"    teams:\n{line}\n", "    teams: {}\n"), encoding="utf-8")
    assert "acme/team/writers" in project("plan", "p").stdout
    assert "acme/team/writers" not in asserted(project, "[team]", "false")
    assert asserted(project, "[team]", "after is not none or before.title is not defined", when="delete") == ["acme/team/writers"]
    assert asserted(project, "[acme/team/writers]", "before.title == 'x'", when="delete") == ["acme/team/writers"]


def test_two_admins_counts_unmanaged_members(project: Cli) -> None:
    changed(project, "use: [two-admins]\n")
    assert "fewer than two members are admins" in project("plan", "p").stdout
    project.edit("p/reconciler.yaml", "use: [two-admins]", "use: []")
    assert asserted(project, "[organization]", 'inside("member", "role", "admin") == 1 and inside("team") == 1') == []


def test_the_permissions_of_the_token_are_those_that_the_service_shows(project: Cli) -> None:
    assert asserted(project, "[space]", "actor.edit is true") == []
    assert set(asserted(project, "[space]", "actor.edit is false")) >= {"acme/space/guides"}


def test_a_policy_that_cannot_be_evaluated_refuses(project: Cli) -> None:
    changed(project, "policies: [{id: x, on: [site], assert: '${{ days(after.title) > 0 }}', message: m}]\n")
    assert "policy x: m (it cannot be evaluated: days requires a day: YYYY-MM-DD)" in project("plan", "p", code=4).stdout


def test_validate_evaluates_a_policy_on_siblings_for_each_of_them(cli: Cli) -> None:
    spaces = "[{space: a, id: spc_a, title: Alike}, {space: b, id: spc_b, title: Alike}]"
    head = "version: 1\nproject: docs\nuse: [titles-unique]\n"
    cli.write("reconciler.yaml", f"{head}organizations: {{acme: {{id: org_acme, content: {spaces}}}}}\n")
    result = cli("validate")
    assert (result.exit_code, result.stdout.count("policy titles-unique"), "Not evaluated" in result.stdout) == (4, 2, False)
