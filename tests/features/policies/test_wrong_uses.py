"""Every wrong use of policies is one problem at its place, and nothing else is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.features.policies.section.keys import ACTIONS, KEEP
from reconciler.kinds import load as kinds
from reconciler.model import Action

PROJECT = """\
version: 1
project: p
vars: {limit: {default: 5}, secret: {env: RECONCILER_VAR_SECRET}}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.secret | length }} ${{ vars.limit }}
    sites: {docs: {title: Documentation}}
    teams: {writers: {title: Writers}}
"""
LINE = PROJECT.count("\n") + 1
POLICY = "{id: x, on: [site], assert: '${{ after.title == \"a\" }}', message: m}"


def policy(**changes: str | None) -> str:
    """A policy in one line; None takes a key away."""
    keys: dict[str, str | None] = {"id": "x", "on": "[site]", "assert": "'${{ after.title == \"a\" }}'", "message": "m", **changes}
    return "policies: [{" + ", ".join(f"{key}: {value}" for key, value in keys.items() if value is not None) + "}]"


def assertion(text: str, **changes: str | None) -> str:
    return policy(**{"assert": "'${{ " + text + " }}'", **changes})


WRONG = {
    "a map": ("policies: {}", "policies must be a list, not a map; write {id: NAME"),
    "nothing": ("policies:", "policies has no value"),
    "a text": ("policies: [two-admins]", 'a policy must be a map, not "two-admins"; write {id: NAME'),
    "no id": (policy(id=None), "a policy must have id; write {id: NAME"),
    "no on": (policy(on=None), "a policy must have on; write {id: NAME"),
    "no assert": (policy(**{"assert": None}), "a policy must have assert; write {id: NAME"),
    "no message": (policy(message=None), "a policy must have message; write {id: NAME"),
    "an id that is none": (policy(id="a b"), 'the id of a policy is "a b"; only letters'),
    "an unknown key": (policy(levle="error"), 'unknown key "levle" in a policy; did you mean "level"?'),
    "an unknown level": (policy(level="fatal"), 'level of a policy is "fatal"; one of error, warning'),
    "an unknown kind": (policy(on="[sites]"), 'on is "sites", which is neither a kind nor an address; did you mean "site"?'),
    "an address of nothing": (policy(on="[acme/site/dosc]"), 'acme/site/dosc matches no resource; did you mean "acme/site/docs"?'),
    "a pattern of nothing": (policy(on="[acme/space/*]"), "acme/space/* matches no resource"),
    "a pattern that is none": (policy(on="[acme//x]"), "pattern 'acme//x': a segment is empty; drop the extra '/'"),
    "no kinds at all": (policy(on="[]"), "on is an empty list; write at least one"),
    "the plan and more": (policy(on="[plan, site]"), "on: plan cannot be combined with kinds or addresses; write two policies"),
    "an unknown action": (policy(when="[deleted]"), 'when is "deleted"; one of create, update, move, replace, delete, adopt'),
    "a plan with actions": (assertion('count("delete") < 3', on="plan", when="delete"), "a policy about the plan has no when; use count(ACTION)"),
    "no expression": (policy(**{"assert": "after.title"}), 'assert must be one expression, not "after.title"; write one expression'),
    "a boolean": (policy(**{"assert": "true"}), "assert must be one expression, not true; write one expression"),
    "text around it": (policy(**{"assert": "'x ${{ true }}'"}), "assert must be one expression, not"),
    "an expression that never ends": (policy(**{"assert": "'${{ after'"}), "the expression does not end"),
    "an expression that is none": (assertion("after.title =="), "the expression cannot be read"),
    "an unknown name": (assertion("befor.title == 1"), '"befor" is not available in policies; did you mean "before"?'),
    "an unknown field": (assertion("after.titel == 1"), 'after.titel: there is no field "titel" of site; did you mean "title"?'),
    "an unknown field by key": (assertion('after["titel"] == 1'), 'after.titel: there is no field "titel" of site'),
    "a field of env": (assertion("env.nam == 1"), 'env has no "nam"; env.name is the name of the environment'),
    "an unknown variable": (assertion("after.title == vars.limti"), 'variable "limti" is not declared under vars; did you mean "limit"?'),
    "a secret": (assertion("after.title == vars.secret"), "a policy cannot use a value from the environment (secret)"),
    "all variables": (assertion("vars | length == 2"), "a policy cannot use a value from the environment (secret)"),
    "a secret in the message": (policy(message="'${{ vars.secret }}'"), "a policy cannot use a value from the environment (secret)"),
    "an unknown name in the message": (policy(message="'${{ titel }}'"), '"titel" is not available in policies'),
    "a text as an answer": (assertion("after.title"), None),
    "a text that can be no answer": (assertion("after.title ~ after.type"), "assert must be true or false, and this expression is neither"),
    "a number": (assertion("after.title | length"), "assert must be true or false, and this expression is neither"),
    "after of the plan": (assertion("after.title == 1", on="plan"), '"after" is not available in a policy about the plan; write on: [KIND]'),
    "an unknown action to count": (assertion('count("deleted") == 0', on="plan"), 'count: there is no action "deleted"; did you mean "delete"?'),
    "an unknown kind to count": (assertion('count("delete", "sites") == 0', on="plan"), 'count: there is no kind "sites"; did you mean "site"?'),
    "nothing to count": (assertion("count() == 0", on="plan"), "count requires an action"),
    "inside of nothing": (assertion("inside() == 0"), "inside requires a kind"),
    "inside of an unknown kind": (assertion('inside("memebr") == 0'), 'inside: there is no kind "memebr"; did you mean "member"?'),
    "inside of another kind": (assertion('inside("member") == 0'), "inside: there is no member in site; it is part of organization"),
    "inside by an unknown field": (
        assertion('inside("member", "rol", "admin") > 1', on="[organization]"), 'inside: there is no field "rol" of member; did you mean "role"?',
    ),
    "others of an unknown field": (assertion('others("titel") == 0'), 'others: there is no field "titel" of site; did you mean "title"?'),
    "two of one id": (f"policies: [{POLICY}, {POLICY}]", f'there is a policy "x" already, at reconciler.yaml:{LINE}; give this one another id'),
    "an unknown ready one": ("use: [two-admin]", 'there is no ready policy "two-admin"; did you mean "two-admins"?'),
    "a ready one twice": ("use: [two-admins, two-admins]", 'there is a policy "two-admins" already'),
    "use of a map without a name": ("use: [{level: error}]", "this does not name a policy; write {policy: two-admins, level: warning}"),
    "use of a list": ("use: [[two-admins]]", "use must name policies, not a list; write use: [two-admins]"),
    "use of a word": ("use: two-admins", 'use must be a list, not "two-admins"; write use: [two-admins]'),
    "an exception to nothing": (
        f"policies: [{POLICY}]\nexceptions: [{{policy: y, address: acme, until: 2026-12-31, reason: r}}]",
        'there is no policy "y" in this project',
    ),
    "an exception without a day": (
        f"policies: [{POLICY}]\nexceptions: [{{policy: x, address: acme, reason: r}}]", "an exception must have until; write {policy: ID",
    ),
    "an exception without a reason": (
        f"policies: [{POLICY}]\nexceptions: [{{policy: x, address: acme, until: 2026-12-31}}]", "an exception must have reason",
    ),
    "an exception without an address": (
        f"policies: [{POLICY}]\nexceptions: [{{policy: x, until: 2026-12-31, reason: r}}]", "an exception to x must have an address",
    ),
    "an exception until never": (
        f"policies: [{POLICY}]\nexceptions: [{{policy: x, address: acme, until: soon, reason: r}}]", 'until is "soon"; it must be a day: YYYY-MM-DD',
    ),
    "an exception for nothing": (
        f"policies: [{POLICY}]\nexceptions: [{{policy: x, address: acme/site/dosc, until: 2026-12-31, reason: r}}]",
        'acme/site/dosc matches no resource; did you mean "acme/site/docs"?',
    ),
    "an address for the plan": (
        "use: [few-deletes]\nexceptions: [{policy: few-deletes, address: acme, until: 2026-12-31, reason: r}]",
        "few-deletes is about the whole plan, so its exceptions have no address; remove this line",
    ),
    "an exception to a wrong policy": (
        assertion("befor.title == 1") + "\nexceptions: [{policy: x, address: acme, until: 2026-12-31, reason: r}]",
        '"befor" is not available in policies',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_use_is_one_problem_at_its_line(text: str, message: str | None, tmp_path: Path) -> None:
    (tmp_path / "reconciler.yaml").write_text(f"{PROJECT}{text}\n", encoding="utf-8")
    environ = {"RECONCILER_VAR_SECRET": "hunter2"}
    if message is None:
        load(tmp_path, kinds(), environ=environ, public=("secret",))
        return
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, kinds(), environ=environ)
    problems = [problem for problem in caught.value.problems if "organizations" not in problem.message and problem.line >= LINE]
    assert [problem.line >= LINE and problem.message.startswith(message) for problem in problems] == [True], problems
    assert "hunter2" not in str(caught.value)


def test_the_actions_are_those_of_plans() -> None:
    assert (*(action.value for action in Action), KEEP) == ACTIONS


def test_a_policy_in_an_included_file_counts_and_one_in_the_file_of_an_environment_does_not(tmp_path: Path) -> None:
    (tmp_path / "reconciler.yaml").write_text(
        f"{PROJECT.replace('${{ vars.secret | length }} ${{ vars.limit }}', 'Acme')}include: [rules.yaml]\n", encoding="utf-8"
    )
    (tmp_path / "rules.yaml").write_text(f"policies: [{POLICY}]\nuse: [two-admins]\n", encoding="utf-8")
    policies = load(tmp_path, kinds(), environ={"RECONCILER_VAR_SECRET": "x"}).desired.policies
    assert [(policy.id, policy.source.file) for policy in policies.rules] == [("x", "rules.yaml"), ("two-admins", "rules.yaml")]
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "staging.yaml").write_text("policies: []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"environments/staging\.yaml:1:1"):
        load(tmp_path, kinds(), environment="staging", environ={"RECONCILER_VAR_SECRET": "x"})
