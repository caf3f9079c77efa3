"""`policy list` and `policy test`: what they print, and what a wrong file of examples is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reconciler.features.policies.section.keys import ready
from reconciler.features.policies.section.reading import ready_policies
from reconciler.kinds import load as kinds
from tests.command_line import Cli, initialised

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs" / "policies.md"

READY = """\
use: [two-admins, no-public-in-staging, titles-unique, links-expire, certificates-30-days, few-deletes, no-open-join]
examples:
  - name: one admin
    resources:
      - {address: acme, after: {defaultRole: read, inviteLinks: false}}
      - {address: acme/member/a@b.example, after: {role: admin}}
      - {address: acme/member/c@d.example, after: {role: edit}}
    violations: [two-admins]
  - name: two admins, and the default role of guests
    resources:
      - {address: acme, after: {defaultRole: guest, inviteLinks: false}}
      - {address: acme/member/a@b.example, after: {role: admin}}
      - {address: acme/member/c@d.example, after: {role: admin}}
    violations: []
  - name: everybody who joins may edit
    resources:
      - {address: acme, after: {defaultRole: edit, inviteLinks: false}}
      - {address: acme/member/a@b.example, after: {role: admin}}
      - {address: acme/member/c@d.example, after: {role: admin}}
    violations: [{policy: no-open-join, address: acme}]
  - name: public in staging
    env: staging
    resources:
      - {address: acme/site/docs, after: {visibility: public}}
      - {address: acme/site/api, after: {visibility: unlisted}}
    violations: [{policy: no-public-in-staging, address: acme/site/docs}]
  - name: public in production
    env: production
    resources: [{address: acme/site/docs, after: {visibility: public}}]
    violations: []
  - name: two spaces of one title in one list, and one in another list
    resources:
      - {address: acme/space/a, after: {title: Guides}, parent: acme/collection/x}
      - {address: acme/space/b, after: {title: Guides}, parent: acme/collection/x}
      - {address: acme/space/c, after: {title: Guides}, parent: acme/collection/y}
    violations: [{policy: titles-unique, address: acme/space/a}, {policy: titles-unique, address: acme/space/b}]
  - name: share links on the last day, on the day after, without a day, with no day at all, and switched off
    today: 2026-11-23
    resources:
      - {address: acme/site/docs/share-link/a, after: {name: Partners until 2026-11-23, active: true}}
      - {address: acme/site/docs/share-link/b, after: {name: Partners until 2026-11-22, active: true}}
      - {address: acme/site/docs/share-link/c, after: {name: Partners, active: true}}
      - {address: acme/site/docs/share-link/d, after: {name: Partners until 2026-02-31, active: true}}
      - {address: acme/site/docs/share-link/e, after: {name: Partners, active: false}}
    violations:
      - {policy: links-expire, address: acme/site/docs/share-link/b}
      - {policy: links-expire, address: acme/site/docs/share-link/c}
      - {policy: links-expire, address: acme/site/docs/share-link/d}
  - name: eleven deletions
    resources:
RESOURCES
    violations: [few-deletes]
  - name: a certificate that is none
    resources: [{address: acme/saml/okta, after: {certificate: none}}]
    violations: [certificates-30-days]
CERTIFICATES
"""


def certificate(days: int) -> str:
    """A certificate that expires so many days after 2026-11-23."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding

    begin, key = datetime(2026, 11, 23, tzinfo=UTC), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "idp.example")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    created = builder.not_valid_before(begin - timedelta(days=400)).not_valid_after(begin + timedelta(days=days)).sign(key, hashes.SHA256())
    return created.public_bytes(Encoding.PEM).decode().replace("\n", "\\n")


def test_each_ready_policy_refuses_what_it_is_for_and_nothing_else(cli: Cli) -> None:
    eleven = "\n".join(f"      - {{address: acme/team/t{number}, before: {{title: T}}}}" for number in range(11))
    signed = "\n".join(
        f'  - {{today: 2026-11-23, resources: [{{address: acme/saml/okta, after: {{certificate: "{certificate(days)}"}}}}], violations: {problems}}}'
        for days, problems in ((29, "[certificates-30-days]"), (30, "[]"))
    )
    cli.write("t.yaml", READY.replace("RESOURCES", eleven).replace("CERTIFICATES", signed))
    result = cli("policy", "test", "t.yaml")
    assert (result.exit_code, result.stdout) == (0, "11 examples passed.\n"), result.stdout + result.stderr
    assert "No example expects" not in result.stderr


def test_an_example_that_gives_something_else_fails_at_its_line(cli: Cli) -> None:
    text = "use: [two-admins]\nexamples:\n  - {name: one, resources: [{address: acme}], violations: []}\n"
    cli.write("t.yaml", text + "  - {name: two, resources: [], violations: [two-admins]}\n")
    assert cli("policy", "test", "t.yaml", code=1).stdout == (
        "t.yaml:3:5  one: unexpected violation of two-admins at acme: fewer than two members are admins\n"
        "t.yaml:4:5  two: expected a violation of two-admins, and there is none\n"
        "0 examples passed, 2 failed.\n"
    )


WRONG = {
    "nothing": ("use: [two-admins]\n", "there are no examples; write {name"),
    "a list": ("- a\n", "this must be a map with examples, not a list"),
    "an unknown key": ("use: []\nexample: []\nexamples: []\n", 'unknown key "example"; the keys are examples, policies and use'),
    "no violations": ("use: [two-admins]\nexamples: [{name: a}]\n", "an example must say its violations"),
    "an unknown policy": ("use: [two-admins]\nexamples: [{violations: [two-admin]}]\n", 'there is no policy "two-admin"; did you mean "two-admins"?'),
    "an unknown kind": ("use: [two-admins]\nexamples: [{resources: [{address: acme/taem/x}], violations: []}]\n", 'there is no kind "taem"'),
    "an unknown field": (
        "use: [two-admins]\nexamples: [{resources: [{address: acme/team/x, after: {titel: x}}], violations: []}]\n",
        'there is no field "titel" of team; did you mean "title"?',
    ),
    "an unknown action": (
        "use: [two-admins]\nexamples: [{resources: [{address: acme/team/x, action: deleet}], violations: []}]\n", 'action is "deleet"; one of',
    ),
    "a day that is none": ("use: [two-admins]\nexamples: [{today: soon, violations: []}]\n", 'today is "soon"; it must be a day'),
    "a wrong policy": ("policies: [{id: x, on: [site], assert: '${{ afte }}', message: m}]\nexamples: []\n", '"afte" is not available in policies'),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_an_invalid_file_of_examples_is_reported_with_its_position(cli: Cli, text: str, message: str) -> None:
    cli.write("t.yaml", text)
    result = cli("policy", "test", "t.yaml", code=3)
    assert re.match(rf"t\.yaml:\d+:\d+  {re.escape(message)}", result.stderr), result.stderr


def test_a_file_that_does_not_exist_is_said(cli: Cli) -> None:
    result = cli("policy", "test", "none.yaml")
    assert (result.exit_code, "none.yaml cannot be read: no such file or directory" in result.stderr) == (3, True)


def test_the_policies_of_the_project_beside_the_file_are_tested(cli: Cli) -> None:
    initialised(cli)
    path = cli.root / "p/reconciler.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "use: [few-deletes]\n", encoding="utf-8")
    cli.write("p/t.yaml", "examples: [{violations: []}]\n")
    result = cli("policy", "test", "p/t.yaml")
    assert (result.exit_code, result.stdout) == (0, "1 example passed.\n")
    assert "No example expects a violation of few-deletes." in result.stderr


def test_the_list_shows_those_of_the_project_their_exceptions_and_the_ready_ones(cli: Cli) -> None:
    initialised(cli)
    assert cli("policy", "list").stdout.startswith("Ready policies, for use: [ID]\n\ntwo-admins  (on organization)\n")
    path = cli.root / "p/reconciler.yaml"
    more = "use: [few-deletes]\nexceptions: [{policy: few-deletes, until: 2099-01-01, reason: the move}]\n"
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    lines = cli("policy", "list", "p").stdout.splitlines()
    assert re.fullmatch(r"few-deletes +error +plan +- +reconciler\.yaml:\d+", lines[1])
    assert re.fullmatch(r"few-deletes +- +2099-01-01 +reconciler\.yaml:\d+ +the move", lines[4])


def test_every_ready_policy_is_right_documented_and_has_a_reason() -> None:
    page = DOCS.read_text(encoding="utf-8")
    problems = ready_policies(kinds())
    assert [policy.id for policy in problems] == list(ready())
    assert [policy.id for policy in problems if f"| `{policy.id}` |" not in page or len(policy.reason) < 40] == []


def test_the_examples_of_the_docs_pass(cli: Cli) -> None:
    (block,) = re.findall(r"```yaml\n(# policies\.test\.yaml\n.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    cli.write("policies.test.yaml", block)
    assert cli("policy", "test", "policies.test.yaml").stdout == "2 examples passed.\n"


def test_the_examples_of_the_example_pass(cli: Cli) -> None:
    result = cli("policy", "test", str(ROOT / "examples/environments/policies.test.yaml"), "--env", "staging")
    assert (result.exit_code, " passed.\n" in result.stdout) == (0, True), result.stdout + result.stderr
    assert "No example expects" not in result.stderr


@pytest.mark.parametrize("section", ["policies", "use", "exceptions"])
def test_explain_describes_the_sections_with_an_example(cli: Cli, section: str) -> None:
    result = cli("explain", section)
    assert (result.exit_code, f"{section}:" in result.stdout.partition("Example")[2]) == (0, True)
