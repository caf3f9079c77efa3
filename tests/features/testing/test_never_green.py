"""A test is green only where what it claims is so: every spelling of a URL, every deleted object, every end of an apply, every name."""

from __future__ import annotations

import http.client
import json
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

import pytest

from reconciler import exits
from reconciler.cli.option_table import ROWS
from reconciler.run.operation import EVERYTHING, Limits
from reconciler.sandbox.header import SECRET
from reconciler.sandbox.server import embedded
from reconciler.sandbox.sites.readers import HEADER, Reader
from tests.command_line import Cli
from tests.features.testing.projects import PROJECT, mismatches, outcome, small
from tests.proofs import costly

SPELLINGS = (
    "/start", "/%73tart", "/st%61rt?x=1", "/start#anchor", "/start?as=agent#a", "/start/", "//start", "/./start", "/x/../start",
    "/published/%64ocs/start", "/published/docs/start?q=a",
)  # fmt: skip


def test_a_page_that_answers_answers_under_every_spelling_of_its_url(cli: Cli) -> None:
    lines = [f"{{url: {json.dumps(url)}, answers: false}}" for url in SPELLINGS]
    document = outcome(small(cli), f"tests: [{{name: a, expect: [{', '.join(lines)}]}}]", code=exits.FAILED)
    assert [message for _, message, *_ in mismatches(document)] == [f"{url} answers anyone, and must not" for url in SPELLINGS]
    lines = [f"{{url: {json.dumps(url)}, shows: acme/space/guides}}" for url in SPELLINGS]
    outcome(cli, f"tests: [{{name: a, expect: [{', '.join(lines)}]}}]", code=exits.DONE)


ASKED = (
    "/start", "/START", "/start%20", "/start%2F", "/%2Fstart", "//start", "/pro//", "/start/", "/start?x=1", "/start%3Fx=1", "/start%23a",
    "/start;a=1", "/%73tart", "/start%00", "/start%09", "/salaries", "/", "/start/start", "/start/page", "/start//page",
    "/start/page//", "/start/%2Fpage",
)  # fmt: skip


def test_a_url_answers_in_a_test_where_it_answers_over_http(cli: Cli) -> None:
    small(cli)("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    answering = set()
    with embedded(cli.root / "living.db") as running:
        asks = {HEADER: Reader(address=True).model_dump_json(), SECRET: running.token}
        for url in ASKED:
            connection = http.client.HTTPConnection("127.0.0.1", urlsplit(running.base_url).port or 0, timeout=10)
            connection.request("GET", f"/published/docs{url}", headers=asks)
            if connection.getresponse().status == 200:
                answering.add(url)
            connection.close()
    assert {"/start", "/start%2F", "//start", "/"} <= answering < {*ASKED}
    for says, wrong in (("true", {*ASKED} - answering), ("false", answering)):
        lines = [f"{{url: {json.dumps(url)}, answers: {says}}}" for url in ASKED]
        document = outcome(cli, f"tests: [{{name: a, expect: [{', '.join(lines)}]}}]", code=exits.FAILED)
        assert {message.split(" ")[0] for _, message, *_ in mismatches(document)} == wrong


DELETED = """\
tests:
  - name: what a colleague deleted is not there
    steps: [apply, {delete: acme/space/guides}, {delete: acme/site/docs/section/pro}, {delete: acme/site/docs/share-link/partners}]
    expect:
      - {as: {role: admin}, sees: [acme/space/guides]}
      - {as: {role: read}, sees: [acme/space/guides]}
      - {as: {role: admin}, sees: [acme/site/docs/section/pro]}
      - {field: acme/space/guides.title, is: Acme guides}
      - {field: acme/site/docs/section/pro.title, is: Pro}
      - {url: /start, shows: acme/space/guides}
      - {as: {link: acme/site/docs/share-link/partners}, sees: [acme/site/docs/share-link/partners]}
"""


@costly
def test_nothing_that_was_deleted_meets_an_expectation(cli: Cli) -> None:
    document = outcome(small(cli), DELETED, code=exits.FAILED)
    assert {line for line, *_ in mismatches(document)} == set(range(5, 12)), mismatches(document)
    hidden = DELETED.replace("sees: [", "mustNotSee: [").split("      - {field")[0]
    outcome(cli, hidden, code=exits.DONE)


def test_an_edit_that_no_request_can_make_fails(cli: Cli) -> None:
    edit = "{edit: {address: acme/site/docs, set: {published: false}}}"
    text = f"tests: [{{name: a, steps: [apply, {edit}], expect: [{{url: /start, answers: true}}]}}]"
    found = mismatches(outcome(small(cli), text, code=exits.FAILED))
    assert [message for _, message, *_ in found] == ["edit: no request takes back published of an existing site"]


PROTECTED = """\
tests:
  - name: a site is removed
    given: {project: of/reconciler.yaml}
    with: {project: of/without.yaml}
    expect: [EXPECTED]
"""


@costly
def test_an_apply_that_leaves_something_blocked_fails_unless_the_test_expects_it(cli: Cli) -> None:
    small(cli)
    cli.write("tests/of/reconciler.yaml", (cli.root / "reconciler.yaml").read_text())
    cli.write("tests/of/without.yaml", PROJECT.split("    sites:")[0].replace("  build: {env: RECONCILER_VAR_BUILD}\n", "").replace(
        '      - {space: built, title: "Build ${{ vars.build }}", duplicateOf: blank}\n', ""
    ))  # fmt: skip
    found = mismatches(outcome(cli, PROTECTED.replace("EXPECTED", "{plan: {update: 0}}"), code=exits.FAILED))
    assert [message for _, message, *_ in found] == [f"apply ends with exit code 4: {exits.MEANINGS[exits.REFUSED]}"]
    other = "{blocked: acme/space/guides}"
    assert len(mismatches(outcome(cli, PROTECTED.replace("EXPECTED", other), code=exits.FAILED))) == 2
    for asked in ("{blocked: acme/site/docs}", "{blocked: 'acme/site/*', cause: RC-protected}", "{plan: {blocked: 6}}"):
        outcome(cli, PROTECTED.replace("EXPECTED", asked), code=exits.DONE)


def test_every_pattern_of_a_name_matches_a_test(cli: Cli) -> None:
    cli.write("tests/it.yaml", "tests: [{name: first, expect: [{plan: empty}]}, {name: second, expect: [{plan: empty}]}]")
    small(cli)
    refused = cli("test", ".", "--name", "first", "--name", "secnod", code=exits.WRONG)
    assert 'no test is called "secnod"' in refused.stderr
    assert 'did you mean "second"' in refused.stderr
    cli("test", ".", "--name", "first", "--name", "sec*", "--parallel", "1", code=exits.DONE)


def test_a_snapshot_with_the_line_ends_of_windows_is_the_same_plan_and_a_difference_is_shown(cli: Cli) -> None:
    small(cli)
    text = "tests: [{name: a, steps: [plan], expect: [{snapshot: plan.txt}]}]"
    outcome(cli, text, "--update", code=exits.DONE)
    file = cli.root / "tests/plan.txt"
    before = file.read_bytes()
    file.write_bytes(before.replace(b"\n", b"\r\n"))
    outcome(cli, text, code=exits.DONE)
    file.write_bytes(before.replace(b"\n", b"\r\n").replace(b"create", b"creates", 1))
    (test,) = outcome(cli, text, code=exits.FAILED)["tests"]
    lines = test["mismatches"][0]["lines"]
    assert sum(line.startswith("-") for line in lines) == sum(line.startswith("+") for line in lines) == 2


def test_whether_an_unlisted_site_is_read_is_said_to_be_undecided(cli: Cli) -> None:
    small(cli, project=PROJECT.replace("visibility: public", "visibility: unlisted"))
    readers = (
        "{as: anyone, sees: [acme/space/guides]}",
        "{as: {role: read}, mustNotSee: [acme/space/guides]}",
        "{as: anyone, mustNotSee: [acme/site/docs]}",
    )
    expect = f"[{', '.join(readers)}]"
    found = mismatches(outcome(cli, f"tests: [{{name: a, expect: {expect}}}]", code=exits.FAILED))
    assert [message for _, message, *_ in found] == [
        "anyone may be able to read acme/space/guides, and must see it: whoever knows the URL can read it",
        "a member with the role read may be able to read acme/space/guides, and must not see it: whoever knows the URL can read it",
        "anyone may be able to read acme/site/docs, and must not see it: whoever knows the URL can read it",
    ]


# -- every consent ------------------------------------------------------------------------------------------------------------------


def test_everything_allowed_has_each_limit_of_a_run() -> None:
    usual = Limits()
    assert all(getattr(EVERYTHING, limit.name) != getattr(usual, limit.name) for limit in fields(Limits))
    assert {row.limit for row in ROWS if row.limit} == {limit.name for limit in fields(Limits)}


FIRST_PROJECT = """\
version: 1
project: small
service: {member: ada@acme.example}
GUARDS
organizations:
  acme:
    id: org_acme
    title: Acme
    members: {ada@acme.example: admin}
    content:
      - {space: blank, id: spc_blank, title: Blank, template: true}
      - {space: guides, title: Guides, duplicateOf: blank}
      - {space: manual, title: Manual, duplicateOf: blank}
    sites:
      docs:
        title: Documentation
        visibility: VISIBILITY
        basename: docs
        published: true
        structure:
          - {section: start, title: Start, path: start, default: true, spaces: [guides]}
"""
PRO = "          - {section: pro, title: Pro, path: PATH, spaces: [manual]}\n"
GUARDED: dict[str, Any] = {
    "RC-delete-limit": ("prune: {section: all}\nguards: {maxDelete: {percent: 0, atLeast: 0}}", "public", PRO.replace("PATH", "pro"), ""),
    "RC-exposure-limit": ("guards: {maxExposed: 0}", "share-link", "", ""),
    "RC-dead-urls": ("urls: {redirects: [nginx]}", "public", PRO.replace("PATH", "pro"), ""),
    "RC-consent-required": ("", "share-link", "", ""),
}


@costly
@pytest.mark.parametrize("cause", GUARDED)
def test_an_apply_with_every_consent_is_refused_by_no_guard(cli: Cli, cause: str) -> None:
    """The default is `consent: all`; with `none`, the same apply is refused by this guard."""
    guards, visibility, before, after = GUARDED[cause]
    text = FIRST_PROJECT.replace("GUARDS", guards)
    cli.write("tests/of/before.yaml", text.replace("VISIBILITY", visibility) + before)
    cli.write("reconciler.yaml", text.replace("VISIBILITY", "public") + after)
    test = "tests: [{name: a, given: {project: of/before.yaml}, EXPECT}]"
    outcome(cli, test.replace("EXPECT", "expect: [{plan: empty}]"), code=exits.DONE)
    outcome(cli, test.replace("EXPECT", f"consent: none, expect: [{{refused: {cause}}}]"), code=exits.DONE)
