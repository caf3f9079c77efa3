"""Every rule of docs/lint.md finds what its example shows, at its line, and nothing in a project that has none of it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import Address
from reconciler.config import Project, load
from reconciler.errors import ConfigError
from reconciler.features.lint.accepted import findings
from reconciler.features.lint.rules import _LOOKALIKE, LintFacts
from reconciler.kinds import load as kinds
from reconciler.model import Binding, Finding, Origin, Severity, State
from reconciler.model.lint import RULES
from tests.config.test_what_the_service_takes import CLOSED, OPEN, organization, project
from tests.docs.test_yaml_blocks import completed
from tests.effort import calls, within
from tests.proofs import costly, sampled, tries

PAGE = Path(__file__).parents[3] / "docs" / "lint.md"
TODAY = date(2026, 11, 23)
SECTIONS = dict(re.findall(r"^### ([\w-]+)\n(.*?)(?=^### |\Z)", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL))


@cache
def pem(days: int) -> str:
    """A certificate that expires so many days after TODAY."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "okta.example")])
    now = datetime(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    result = built.not_valid_before(now - timedelta(days=999)).not_valid_after(now + timedelta(days=days)).sign(key, hashes.SHA256())
    return result.public_bytes(serialization.Encoding.PEM).decode()


def loaded(folder: Path, document: dict[str, Any], **options: Any) -> Project:
    (folder / "reconciler.yaml").write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return load(folder, kinds(), **options)


def state_of(project: Project) -> State:
    """A state that tracks all that the project declares, as after an apply."""
    bindings = {
        address: Binding(address, declared.kind, declared.id or f"id-{number}", Origin.CREATED, protected=False)
        for number, (address, declared) in enumerate(project.desired.resources.items())
    }
    return State("lineage", 1, bindings=bindings)


def lint(project: Project, *, state: State | None = None, today: date = TODAY) -> tuple[Finding, ...]:
    return findings(LintFacts(kinds(), project.desired, today, project.unused, project.ignores, state, project.variables))


def example(rule: str) -> dict[str, Any]:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", SECTIONS[rule], flags=re.MULTILINE | re.DOTALL)
    return completed(yaml.safe_load(block))


def test_the_page_describes_every_rule_with_its_severity_and_whether_it_is_fixed() -> None:
    assert list(SECTIONS) == list(RULES)
    assert {rule for rule, text in SECTIONS.items() if text.startswith("\n*Warning, fixable.*")} == {
        "unused-variable", "unused-default", "previously-done", "moved-done", "unused-ignore",
    }  # fmt: skip


@pytest.mark.parametrize("rule", list(RULES))
def test_a_rule_finds_what_its_example_shows_and_the_project_can_accept_it(rule: str, tmp_path: Path) -> None:
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs" / "expires-soon.pem").write_text(pem(29), encoding="utf-8")
    document = example(rule)
    project = loaded(tmp_path, document)
    problems = [finding for finding in lint(project, state=state_of(project)) if finding.id == f"RC-{rule}"]
    assert problems
    assert all(finding.source is not None and finding.source.line > 1 and finding.remedy for finding in problems)
    assert (problems[0].fix is not None) == SECTIONS[rule].startswith("\n*Warning, fixable.*")
    document["lint"] = {"ignore": [*document.get("lint", {}).get("ignore", []), {"id": rule}]}
    project = loaded(tmp_path, document)
    assert f"RC-{rule}" not in {finding.id for finding in lint(project, state=state_of(project))}


def test_a_project_without_mistakes_has_no_findings(tmp_path: Path) -> None:
    document = completed(
        yaml.safe_load("""
vars: {brand: {default: Acme}}
title: ${{ vars.brand }}
members: {ada@acme.example: admin}
teams: {writers: {title: Writers, members: [ada@acme.example]}, readers: {title: Readers, members: []}}
content:
  - {space: blank, id: spc_blank, title: Blank}
  - {space: guides, title: Guides, duplicateOf: blank}
  - {collection: product, title: Guides, content: [{space: api, title: API, duplicateOf: blank}]}
sites:
  docs: {title: Docs, structure: [{space: guides, default: true}, api], shareLinks: {a: Auditors 2026, b: ACME GmbH}}
  existing: {id: sit_1, title: Existing}
""")
    )
    project = loaded(tmp_path, document)
    assert lint(project) == lint(project, state=state_of(project)) == ()


@pytest.mark.parametrize(
    ("days", "message"),
    [(31, None), (30, "in 30 days"), (1, "in 1 day"), (0, "today"), (-1, "expired on 2026-11-22")],
)
def test_a_certificate_is_reported_30_days_before_its_end_and_is_an_error_after_it(days: int, message: str | None, tmp_path: Path) -> None:
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs" / "expires-soon.pem").write_text(pem(days), encoding="utf-8")
    problems = [finding for finding in lint(loaded(tmp_path, example("certificate-expires"))) if finding.id == "RC-certificate-expires"]
    assert [message in finding.message for finding in problems if message is not None] == ([] if message is None else [True])
    assert [finding.severity for finding in problems] == ([] if message is None else [Severity.ERROR if days < 0 else Severity.WARNING])


@pytest.mark.parametrize(
    ("name", "vague"),
    [
        ("Link", True),
        ("Share link 2", True),
        ("test-1", True),
        ("2026", True),
        ("Partners", False),
        ("Link for Initech", False),
        ("東京", False),
    ],
)
def test_a_name_is_vague_where_every_word_of_it_is(name: str, vague: bool, tmp_path: Path) -> None:
    document = example("vague-name")
    document["organizations"]["acme"]["sites"]["docs"]["shareLinks"]["partners"] = name
    assert ("RC-vague-name" in {finding.id for finding in lint(loaded(tmp_path, document))}) == vague


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("${vars.brand} guides", "${vars.brand}"),
        ("The {{ vars . brand | upper }}", "{{ vars . brand | upper }}"),
        ("{vars.brand}", "{vars.brand}"),
        ("$${{ vars.brand }}", None),  # the escape says that a text is meant
        ("${{ vars.brand }}", None),
        ("${vars.other} and {{ page.title }}", None),
        ("{{ each.key }} in {{ env.name }}", None),
        ("vars.brand", None),
        ("A template:\n{{ vars.brand }}", None),  # several lines are a template or a sample of the documentation itself
    ],
)
def test_only_what_would_be_an_expression_in_the_right_brackets_is_one_to_write_so(text: str, part: str | None, tmp_path: Path) -> None:
    document = example("not-evaluated")
    document["organizations"]["acme"]["content"][0]["title"] = text
    problems = [finding for finding in lint(loaded(tmp_path, document)) if "brand" in finding.message + finding.address]
    assert [finding.id for finding in problems] == (
        ["RC-not-evaluated"] if part else [] if text == "${{ vars.brand }}" else ["RC-unused-variable"]
    )
    assert part is None or f"title contains {part}, which is not an expression" in problems[0].message


def test_each_is_meant_in_what_for_each_makes(tmp_path: Path) -> None:
    document = example("not-evaluated")
    node = document["organizations"]["acme"]["content"][0]
    node |= {"forEach": ["a", "b"], "space": "${{ each.key }}", "title": "The {{ each.key }} guide", "id": "spc_${{ each.key }}"}
    document["lint"] = {"ignore": [{"id": "duplicate-title"}]}
    (problems,) = lint(loaded(tmp_path, {**document, "vars": {}}))
    assert (problems.id, problems.remedy) == ("RC-not-evaluated", "write ${{ each.key }}, or ignore the finding if it is a text")


@pytest.mark.parametrize("rule", ["previously-done", "moved-done"])
def test_a_rename_is_done_only_where_the_state_tracks_the_new_address_and_not_the_old_one(rule: str, tmp_path: Path) -> None:
    project = loaded(tmp_path, example(rule))
    whole = state_of(project)
    (done,) = [finding for finding in lint(project, state=whole) if finding.id == f"RC-{rule}"]
    assert "is tracked under this address already, so nothing is renamed from" in done.message, "it may never have had the old one"
    new = Address.parse(done.address)
    old = Address((*new.parts[:-1], {"reviewers": "editors", "guides": "manual"}[new.key]))
    pending = {**{address: binding for address, binding in whole.bindings.items() if address != new}, old: whole.bindings[new]}
    for state in (None, State("lineage", 1, bindings={}), State("lineage", 1, bindings=pending)):
        assert f"RC-{rule}" not in {finding.id for finding in lint(project, state=state)}


def test_a_rename_of_one_environment_is_not_fixed_for_all(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "staging.yaml").write_text("{}\n", encoding="utf-8")
    project = loaded(tmp_path, example("previously-done"), environment="staging")
    (done,) = [finding for finding in lint(project, state=state_of(project)) if finding.id == "RC-previously-done"]
    assert done.fix is None
    assert "in environment staging" in done.message


def test_an_entry_of_ignore_takes_patterns_and_settings(tmp_path: Path) -> None:
    document = example("space-on-no-site")
    document["vars"] = {"rest": {"default": 1}, "more": {"default": 1}}
    document["lint"] = {
        "ignore": [{"id": "RC-space-on-no-site", "address": "*/space/for*"}, {"id": "unused-variable", "address": "vars.rest"}]
    }
    project = loaded(tmp_path, document)
    assert [(finding.id, finding.address) for finding in lint(project)] == [("RC-unused-variable", "vars.more")]
    assert [warning.split("  ")[1].split()[0] for warning in project.warnings] == ["vars.more"]


@pytest.mark.parametrize(
    ("ignore", "problem"),
    [
        ([{"id": "vague-nam"}], 'lint rule "vague-nam" does not exist; did you mean "vague-name"?'),
        ([{"address": "acme"}], "lint.ignore must say which rule it ignores; write {id: RULE, address: PATTERN, reason: WHY}"),
        ([{"id": "vague-name", "address": "acme//x"}], "pattern 'acme//x': a segment is empty"),
        ([{"id": "vague-name", "adress": "acme"}], 'unknown key "adress" in lint.ignore; did you mean "address"?'),
        (["vague-name"], 'lint.ignore contains "vague-name"; write {id: RULE'),
        ("vague-name", 'lint.ignore must be a list, not "vague-name"; write [{id: RULE}]'),
    ],
)
def test_a_wrong_entry_of_ignore_is_an_error_at_its_line(ignore: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, {**completed({}), "lint": {"ignore": ignore}})
    assert problem in str(error.value)
    assert all(item.line > 1 for item in error.value.problems)


# -- cost ------------------------------------------------------------------------------------------------------------------------------


def many(folder: Path, number: int) -> Project:
    spaces = [{"space": f"s{n}", "title": f"Space {n // 2}", "duplicateOf": "blank"} for n in range(number)]
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}, *spaces]
    sites = {f"d{n}": {"title": f"Docs {n}", "structure": [f"s{n}", f"s{n + 1}"]} for n in range(0, number - 1, 10)}
    return loaded(
        folder, {"version": 1, "project": "many", "organizations": {"acme": {"id": "org_acme", "content": content, "sites": sites}}}
    )


@costly
@sampled
def test_lint_takes_time_in_proportion_to_the_resources_and_a_second_for_ten_thousand(tmp_path: Path) -> None:
    number = tries(1_000, 250)
    small, large = many(tmp_path, number), many(tmp_path, 8 * number)
    lint(small)
    ratio = calls(lambda: lint(large)) / calls(lambda: lint(small))
    assert ratio < 8.8, ratio
    assert len(large.desired.resources) > 10 * number
    within(1.0, lambda: lint(large))


@pytest.mark.parametrize(
    ("condition", "schema", "rules"),
    [
        ("visitor.claims.partner", CLOSED, []),
        ("visitor.claims.unsigned.beta", CLOSED, []),
        ("!visitor.claims.partnr", None, []),
        ("!visitor.claims.partnr", OPEN, ["undeclared-claim"]),
        ("visitor.claims.unsigned.betta", None, []),
        ('visitor.claims.plan != "prro"', CLOSED, ["undeclared-claim"]),
        ('visitor.claims.partner == "true"', CLOSED, ["undeclared-claim"]),
        ("visitor.claims.partner ==", CLOSED, ["unclear-condition"]),
        ("visitor.claims.partner = true", CLOSED, ["unclear-condition"]),
        ("vistor.claims.partner", CLOSED, ["unclear-condition"]),
        ("(visitor.claims.partner", None, ["unclear-condition"]),
        ("visitor.claims.plan == pro", None, ["unclear-condition"]),
        ("1 == 1", None, ["constant-condition"]),
        ("!visitor.claims.partner || true", CLOSED, ["constant-condition"]),
        ("visitor.claims.partner && !visitor.claims.partner", CLOSED, ["constant-condition"]),
    ],
)
def test_what_may_hide_nothing_is_a_finding(tmp_path: Path, condition: str, schema: Any, rules: list[str]) -> None:
    loaded = load(project(tmp_path, organization(condition, schema)), kinds())
    problems = [finding for finding in lint(loaded) if "condition" in finding.message]
    assert [finding.id for finding in problems] == [f"RC-{rule}" for rule in rules]
    assert all(finding.source is not None and finding.source.line > 5 and finding.remedy for finding in problems)


def test_a_long_lookalike_is_looked_through_once() -> None:
    assert within(2, lambda: _LOOKALIKE.search("{{ vars." + "a" * 200_000)) is None
