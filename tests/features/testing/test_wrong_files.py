"""A test file that is wrong is refused before anything runs, every problem at its position; and so is a test that cannot fail."""

from __future__ import annotations

import pytest

from reconciler import exits
from tests.command_line import Cli
from tests.features.testing.projects import small

OK = "expect: [{plan: empty}]"
WRONG: list[tuple[str, str]] = [
    # what cannot fail
    (
        "- {name: a}",
        "2:3  a test that expects nothing cannot fail; write one of url, as, plan, requests, blocked, field, refused, snapshot",
    ),
    ("- {name: a, expect: []}", "2:13  a test that expects nothing cannot fail"),
    ("- {name: a, expect: [{}]}", "2:22  an expectation that asks about nothing cannot fail"),
    ("- {name: a, expect: [{as: anyone}]}", "2:22  an item of expect must have sees or mustNotSee"),
    (
        "- {name: a, expect: [{url: /x}]}",
        "2:28  what the URL shows is not said, so this cannot fail; write shows: ADDRESS, title: TEXT or answers: false",
    ),
    ("- {name: a, expect: [{plan: {}}]}", "2:29  plan asks about no action, so it cannot fail"),
    ("- {name: a, expect: [{plan: {delete: {atLeast: 0}}}]}", "plan.delete is always at least 0, so this cannot fail"),
    ("- {name: a, expect: [{requests: {}}]}", "requests must be a number, not an empty map; write N, {atMost: N} or {atLeast: N}"),
    ('- {name: a, expect: [{as: anyone, mustNotSee: ["${{ [] }}"]}]}', "expect.mustNotSee has addresses or patterns, not a list"),
    (
        '- {name: a, expect: [{as: anyone, mustNotSee: "${{ [] }}"}]}',
        "no pattern of this reader matches a resource here, so it cannot fail",
    ),
    # tests
    ("- 5", "2:3  a test must be a map, not 5"),
    ("- {expect: [{plan: empty}]}", "2:3  a test must have a name, which says what it claims"),
    ("- {nam: a, expect: [{plan: empty}]}", 'unknown key "nam" in a test; did you mean "name"?'),
    ("- {name: a, expct: [{plan: empty}]}", 'unknown key "expct" in a test; did you mean "expect"?'),
    (f"- {{name: a, {OK}}}\n- {{name: a, {OK}}}", '3:10  name is "a", as of the test at tests/it.yaml:2:10; each test has its own'),
    (f"- {{name: a, with: {{evn: x}}, {OK}}}", 'unknown key "evn" in with; did you mean "env"?'),
    (
        f"- {{name: a, with: {{env: staging}}, {OK}}}",
        '2:25  environment "staging" does not exist (this project has none: no folder environments)',
    ),
    (
        f"- {{name: a, with: {{vars: {{brnd: x}}}}, {OK}}}",
        'variable "brnd" is not declared under vars of the project file; did you mean "brand"?',
    ),
    (f"- {{name: a, with: {{vars: 5}}, {OK}}}", "with.vars must be a map of variables, not 5"),
    (f"- {{name: a, consent: some, {OK}}}", 'consent of a test is "some"'),
    # steps
    (f"- {{name: a, steps: [aply], {OK}}}", '2:21  a step is "aply", which does not exist; did you mean "apply"?'),
    (f"- {{name: a, steps: [{{}}], {OK}}}", "a step has one of apply, plan, edit, create, delete, api, not none of them"),
    (f"- {{name: a, steps: [{{apply, delete: acme}}], {OK}}}", "a step has one of apply, plan, edit, create, delete, api, not 2 of them"),
    (f"- {{name: a, steps: [{{delet: acme/space/guides}}], {OK}}}", 'unknown key "delet" in a step; did you mean "delete"?'),
    (f"- {{name: a, steps: [{{plan, consent: none}}], {OK}}}", "consent is for apply, not for plan; remove it"),
    (
        f"- {{name: a, steps: [{{delete: acme/space/guide}}], {OK}}}",
        'delete is "acme/space/guide", which is not declared; did you mean "acme/space/guides"?',
    ),
    (f"- {{name: a, steps: [{{delete: guides}}], {OK}}}", "did you mean acme/space/guides or acme/site/docs/site-space/guides?"),
    (f"- {{name: a, steps: [{{edit: {{address: acme/site/docs}}}}], {OK}}}", "edit lacks set"),
    (
        f"- {{name: a, steps: [{{edit: {{address: acme/site/docs, set: {{titel: x}}}}}}], {OK}}}",
        'acme/site/docs: unknown field "titel"; did you mean "title"?',
    ),
    (f"- {{name: a, steps: [{{edit: {{address: acme/site/docs, set: {{visibility: open}}}}}}], {OK}}}", "visibility"),
    (f"- {{name: a, steps: [{{edit: {{address: acme/site/docs, set: {{id: site_2}}}}}}], {OK}}}", "id is nothing that the service has"),
    (f"- {{name: a, steps: [{{edit: {{address: acme/site/docs, set: {{title: x}}}}, by: me}}], {OK}}}", 'by of a step is "me"'),
    (f"- {{name: a, steps: [{{api: {{method: GET, path: orgs}}}}], {OK}}}", 'api.path is "orgs"; it begins with /'),
    (
        f"- {{name: a, steps: [{{create: {{address: acme/space/guides, set: {{title: x}}}}}}], {OK}}}",
        "acme/space/guides is declared; apply creates it",
    ),
    (
        f"- {{name: a, steps: [{{create: {{address: acme/tem/x, set: {{title: x}}}}}}], {OK}}}",
        'there is no kind "tem"; did you mean "team"?',
    ),
    (
        f"- {{name: a, steps: [{{create: {{address: acme/team/x, set: {{titel: x}}}}}}], {OK}}}",
        'no request that creates a team has "titel"; did you mean "title"?',
    ),
    (
        f"- {{name: a, steps: [{{create: {{address: acme/member/x@y.example, set: {{role: read}}}}}}], {OK}}}",
        "no request that creates a member",
    ),
    (
        f"- {{name: a, steps: [{{create: {{address: acme/site/nowhere/section/x, set: {{title: x}}}}}}], {OK}}}",
        "acme/site/nowhere is not declared",
    ),
    # expectations
    ("- {name: a, expect: [{plann: empty}]}", 'unknown key "plann" in an expectation; did you mean "plan"?'),
    ("- {name: a, expect: [{sees: [acme]}]}", "sees belongs to another key of an expectation"),
    ("- {name: a, expect: [{plan: {udpate: 1}}]}", 'unknown action "udpate" of plan; did you mean "update"?'),
    ("- {name: a, expect: [{plan: {update: many}}]}", 'plan.update must be a whole number, not "many"'),
    ("- {name: a, expect: [{plan: {update: {atMost: 1, atLeast: 2}}}]}", "plan.update cannot be at least 2 and at most 1"),
    ("- {name: a, expect: [{as: anybody, sees: [acme/space/guides]}]}", 'as is "anybody", which does not exist'),
    (
        "- {name: a, expect: [{as: {link: partner}, sees: [acme/space/guides]}]}",
        'as.link is "partner", which is not declared; did you mean "partners"?',
    ),
    (
        "- {name: a, expect: [{as: anyone, sees: [acme/space/guide]}]}",
        '"acme/space/guide" matches no resource; did you mean "acme/space/guides"?',
    ),
    ("- {name: a, expect: [{as: anyone, sees: [acme/space/guides], mustNotSee: [acme/space/*]}]}", "is also under sees"),
    ("- {name: a, expect: [{url: guides, answers: false}]}", 'url is "guides"; it begins with /'),
    ("- {name: a, expect: [{url: /x, answers: false, title: T}]}", "nothing can be there and be shown"),
    ("- {name: a, expect: [{url: /x, shows: acme/space/guide}]}", 'shows of an expectation is "acme/space/guide", which is not declared'),
    ("- {name: a, expect: [{blocked: acme/spce/x}]}", 'there is no kind "spce"; did you mean "space"?'),
    ("- {name: a, expect: [{blocked: acme/space/x, cause: RC-protectd}]}", 'there is no cause "RC-protectd"; did you mean "RC-protected"?'),
    (
        "- {name: a, expect: [{field: acme/site/docs.basname, is: x}]}",
        'acme/site/docs: unknown field "basname" of site; did you mean "basename"?',
    ),
    ("- {name: a, expect: [{field: acme/site/doc.basename, is: x}]}", '"acme/site/doc" is not declared; did you mean "acme/site/docs"?'),
    ("- {name: a, expect: [{field: acme/site/docs.title}]}", "field lacks is, the value that it must have"),
    ("- {name: a, expect: [{snapshot: plan.yaml}]}", 'snapshot is "plan.yaml"; it is a file of this folder, and ends in .txt'),
    ("- {name: a, expect: [{snapshot: ../plan.txt}]}", 'snapshot is "../plan.txt"'),
    (
        '- {name: a, expect: [{field: acme.title, is: "${{ vars.brnd }}"}]}',
        'variable "brnd" is not declared under vars; did you mean "brand"?',
    ),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=[text for text, _ in WRONG])
def test_a_wrong_test_is_refused_at_its_position(cli: Cli, text: str, says: str) -> None:
    small(cli).write("tests/it.yaml", f"tests:\n{text}\n")
    stderr = cli("test", ".", "--parallel", "1", code=exits.WRONG).stderr
    assert f"tests/it.yaml:{says}" in stderr if says[0].isdigit() else says in stderr
    assert "nothing was run" in stderr
