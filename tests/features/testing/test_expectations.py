"""Each sort of expectation passes where it holds, and fails where it does not, with a message that says both."""

from __future__ import annotations

from reconciler import exits
from tests.command_line import Cli
from tests.features.testing.projects import mismatches, outcome, small
from tests.proofs import costly

HOLDS = """\
tests:
  - name: everything holds
    steps:
      - apply
      - {edit: {address: acme/site/docs, set: {basename: handbook}}, by: colleague}
      - {api: {method: POST, path: "/orgs/{acme}/collections", body: {title: New}}}
      - plan
    expect:
      - {as: anyone, sees: [acme/site/docs, acme/space/guides], mustNotSee: [acme/space/salaries, acme/collection/people]}
      - {as: {claims: {pro: true}}, sees: [acme/space/manual]}
      - {as: {claims: {}}, mustNotSee: [acme/space/manual]}
      - {as: {role: read}, sees: [acme/space/salaries, acme/collection/people]}
      - {as: {role: guest}, mustNotSee: [acme/space/salaries]}
      - {as: {role: admin}, sees: ["acme/**"]}
      - {as: agent, mustNotSee: [acme/site/docs]}
      - {as: {link: partners}, sees: [acme/space/guides]}
      - {url: /start, shows: acme/space/guides, title: Page}
      - {url: /published/handbook/start, shows: acme/space/guides}
      - {url: /pro, answers: false}
      - {url: /pro, site: acme/site/docs, as: {claims: {pro: true}}, shows: acme/space/manual}
      - {plan: {update: 1, delete: 0, unmanaged: 1, blocked: 0}, requests: {atMost: 1}}
      - {requests: {atLeast: 1, atMost: 2}}
      - {field: acme/site/docs.basename, is: handbook}
      - {field: acme/site/docs.adaptiveContent.enabled, is: true}
      - {field: acme/site/docs/site-space/guides.space, is: acme/space/guides}
"""


def test_what_holds_passes(cli: Cli) -> None:
    document = outcome(small(cli), HOLDS, code=exits.DONE)
    assert document["summary"] == {"passed": 1, "failed": 0}, mismatches(document)


FAILS = """\
tests:
  - name: nothing holds
    steps:
      - apply
      - {edit: {address: acme/site/docs, set: {basename: handbook}}}
    expect:
      - {as: anyone, sees: [acme/space/salaries], reason: they are paid by everybody}
      - {as: anyone, mustNotSee: [acme/space/guides]}
      - {as: {claims: {pro: true}}, mustNotSee: [acme/space/manual]}
      - {as: {claims: {pro: false}}, sees: [acme/space/manual]}
      - {as: {role: read}, mustNotSee: [acme/collection/people]}
      - {as: agent, sees: [acme/site/docs]}
      - {as: {link: partners}, sees: [acme/space/salaries]}
      - {url: /start, shows: acme/space/manual}
      - {url: /start, title: Install}
      - {url: /start, answers: false}
      - {url: /nowhere, shows: acme/space/guides}
      - {url: /published/other, answers: true}
      - {plan: empty}
      - {plan: {update: 0}}
      - {plan: {create: {atLeast: 1}}}
      - {requests: 0}
      - {blocked: acme/space/guides}
      - {field: acme/site/docs.basename, is: docs}
      - {field: acme/site/docs.adaptiveContent.enabled, is: false}
      - {field: acme/site/docs.adaptiveContent.enabled, is: "true "}
      - {refused: RC-consent-required}
      - {snapshot: plan.txt}
"""


def test_what_does_not_hold_fails_and_says_both_sides(cli: Cli) -> None:
    document = outcome(small(cli), FAILS, code=exits.FAILED)
    assert mismatches(document) == [
        (7, "anyone cannot read acme/space/salaries, and must see it (they are paid by everybody)", "can read it", "cannot read it"),
        (8, "anyone can read acme/space/guides, and must not see it", "cannot read it", "can read it"),
        (9, "a visitor with pro=true can read acme/space/manual, and must not see it", "cannot read it", "can read it"),
        (10, "a visitor with pro=false cannot read acme/space/manual, and must see it", "can read it", "cannot read it"),
        (11, "a member with the role read can read acme/collection/people, and must not see it", "cannot read it", "can read it"),
        (12, "an agent cannot read acme/site/docs, and must see it", "can read it", "cannot read it"),
        (
            13,
            "whoever has acme/site/docs/share-link/partners cannot read acme/space/salaries, and must see it",
            "can read it",
            "cannot read it",
        ),
        (14, "/start does not show anyone what it must", "a page of acme/space/manual", '"Page" of acme/space/guides'),
        (15, "/start does not show anyone what it must", '"Install"', '"Page" of acme/space/guides'),
        (16, "/start answers anyone, and must not", "nothing", '"Page" of acme/space/guides'),
        (17, "/nowhere does not show anyone what it must", "a page of acme/space/guides", "nothing"),
        (18, "/published/other: no published site has this URL", None, None),
        (19, "the plan is not empty", "empty", "update: 1"),
        (20, "update is 1 in the plan, and must be 0", "0", "1"),
        (21, "create is 0 in the plan, and must be at least 1", "at least 1", "0"),
        (22, "the plan sends 1 request, and must send 0", "0", "1"),
        (23, "acme/space/guides is not blocked in the plan", "blocked", "not blocked"),
        (24, "acme/site/docs.basename is handbook, and must be docs", "docs", "handbook"),
        (25, "acme/site/docs.adaptiveContent.enabled is true, and must be false", "false", "true"),
        (26, 'acme/site/docs.adaptiveContent.enabled is true, and must be "true "', '"true "', "true"),
        (27, "the last apply was not refused", "refused [RC-consent-required]", "not refused"),
        (28, "the snapshot plan.txt does not exist; reconciler test --update writes it", None, None),
    ]
    assert document["tests"][0]["mismatches"][12]["lines"] == ["acme/site/docs: update basename"]


def test_the_text_shows_the_position_and_the_difference(cli: Cli) -> None:
    small(cli).write("tests/it.yaml", FAILS)
    text = cli("test", ".", "--parallel", "1", code=exits.FAILED).stdout
    assert text.startswith(
        "tests/it.yaml:2                          failed  nothing holds\n"
        "  !             tests/it.yaml:7:29  anyone cannot read acme/space/salaries, and must see it (they are paid by everybody)\n"
        "  - expected    can read it\n"
        "  + actual      cannot read it\n"
    )
    assert "    acme/site/docs: update basename\n" in text
    assert text.endswith("0 tests passed, 1 failed.\n")
    for form in ("markdown", "html", "brief"):
        shown = cli("test", ".", "--parallel", "1", "--format", form, code=exits.FAILED).stdout
        assert "anyone cannot read acme/space/salaries, and must see it" in shown, form
        assert "0 tests passed, 1 failed." in shown, form


BEFORE = """\
tests:
  - name: what is no longer declared is blocked
    given: {project: before.yaml}
    steps: []
    expect:
      - {blocked: acme/space/manual, cause: RC-protected}
      - {blocked: "acme/space/*"}
      - {plan: {blocked: {atLeast: 1}}}
  - name: for another cause
    given: {project: before.yaml}
    steps: []
    expect: [{blocked: acme/space/manual, cause: RC-waits}]
"""


def test_what_was_applied_before_is_known_to_the_plan(cli: Cli) -> None:
    small(cli)
    text = (cli.root / "reconciler.yaml").read_text()
    cli.write("before.yaml", text)
    shorter = text.replace("      - {space: manual, title: Manual, duplicateOf: blank}\n", "")
    cli.write("reconciler.yaml", "\n".join(line for line in shorter.splitlines() if "section: pro" not in line) + "\n")
    cli.write("it.test.yaml", BEFORE)
    result = cli.json("test", ".", "--parallel", "1")
    assert mismatches(result) == [
        (12, "acme/space/manual is blocked for another cause than RC-waits", "blocked [RC-waits]", "blocked [RC-protected]")
    ]


REFUSED = """\
tests:
  - name: it opens what nobody agreed to
    steps:
      - apply
      - {edit: {address: acme/site/docs, set: {visibility: share-link}}}
      - {apply, consent: none}
    expect:
      - {refused: RC-consent-required}
      - {as: anyone, mustNotSee: [acme/site/docs]}
  - name: for another cause
    consent: none
    steps: [apply, {edit: {address: acme/site/docs, set: {visibility: share-link}}}, apply]
    expect: [{refused: RC-delete-limit}]
  - name: nobody asked whether it is refused
    consent: none
    steps: [apply, {edit: {address: acme/site/docs, set: {visibility: share-link}}}, apply]
    expect: [{plan: {delete: 0}}]
  - name: an earlier apply was refused
    steps: [apply, {edit: {address: acme/site/docs, set: {visibility: share-link}}}, {apply, consent: none}, apply]
    expect: [{plan: empty}]
  - name: with consent
    steps: [apply, {edit: {address: acme/site/docs, set: {visibility: share-link}}}, {apply: {consent: all}}]
    expect: [{plan: empty}, {as: anyone, sees: [acme/site/docs]}]
"""


@costly
def test_an_apply_without_consent_is_refused_as_apply_yes_is(cli: Cli) -> None:
    document = outcome(small(cli), REFUSED, code=exits.FAILED)
    assert [test["passed"] for test in document["tests"]] == [True, False, False, False, True]
    (_, other, *_), (line, unasked, *_), (_, earlier, *_) = mismatches(document)
    assert other == "the last apply was refused for another cause than RC-delete-limit"
    assert line == 16
    assert earlier == unasked
    assert unasked.startswith("apply was refused: the plan makes something public or removes a protection, which requires consent")


NEVER = """\
tests:
  - name: nothing was applied
    steps: []
    expect: [{as: anyone, mustNotSee: [acme/space/salaries], sees: [acme/space/guides]}]
  - name: it was deleted
    steps: [apply, {delete: acme/space/salaries}]
    expect: [{as: anyone, mustNotSee: [acme/space/salaries]}]
"""


def test_what_never_existed_was_not_hidden(cli: Cli) -> None:
    document = outcome(small(cli), NEVER, code=exits.FAILED)
    never = "does not exist on the twin; it was never created, so the test proves nothing"
    assert [message for _, message, *_ in mismatches(document)] == [f"acme/space/guides {never}", f"acme/space/salaries {never}"]
    assert document["tests"][1]["passed"]


STEPS = """\
tests:
  - name: what does not exist cannot be edited
    steps: [{edit: {address: acme/site/docs, set: {title: Other}}}]
    expect: [{plan: {delete: 0}}]
  - name: what the service refuses
    steps: [apply, {api: {method: POST, path: /nothing}}]
    expect: [{plan: {delete: 0}}]
  - name: what has no id
    steps: [{api: {method: PATCH, path: "/spaces/{acme/space/guides}", body: {title: X}}}]
    expect: [{plan: {delete: 0}}]
  - name: what no request deletes
    steps: [apply, {delete: acme}]
    expect: [{plan: {delete: 0}}]
"""


def test_a_step_that_fails_fails_the_test(cli: Cli) -> None:
    document = outcome(small(cli), STEPS, code=exits.FAILED)
    assert [message for _, message, *_ in mismatches(document)] == [
        "edit: acme/site/docs does not exist on the twin; apply first, or add it to the seed",
        "api: POST /nothing was refused: 404 POST /v1/nothing: Not Found",
        "acme/space/guides has no object on the twin, or is not declared",
        "delete: the API has no request that deletes an organization",
    ]


CREATES = """\
tests:
  - name: somebody creates
    steps:
      - apply
      - {create: {address: acme/team/x, set: {title: Writers}}, by: colleague}
      - {create: {address: acme/collection/x, set: {title: Deep, parent: acme/collection/people}}}
      - {create: {address: acme/space/copy, set: {duplicateOf: acme/space/guides}}}
      - {create: {address: acme/site/docs/share-link/x, set: {name: Auditors}}}
      - {create: {address: acme/site/docs/section/x, set: {title: More, spaceId: acme/space/manual}}}
    expect:
      - {plan: {unmanaged: {atLeast: 3}, delete: 0, create: 0}}
      - {url: /more, shows: acme/space/manual}
  - name: what the service refuses
    steps: [apply, {create: {address: acme/site/x, set: {title: ""}}}]
    expect: [{plan: {delete: 0}}]
"""


@costly
def test_a_colleague_creates_what_the_project_does_not_declare(cli: Cli) -> None:
    document = outcome(small(cli), CREATES, code=exits.FAILED)
    assert [message.partition(": ")[0] for _, message, *_ in mismatches(document)] == ["create"]
    assert document["tests"][0]["passed"], mismatches(document)


def test_a_snapshot_is_written_on_request_and_compared_afterwards(cli: Cli) -> None:
    snapshot = "tests: [{name: first plan, steps: [], expect: [{snapshot: plans/first.txt}]}]\n"
    assert mismatches(outcome(small(cli), snapshot, code=exits.FAILED))
    outcome(cli, snapshot, "--update", code=exits.DONE)
    text = (cli.root / "tests/plans/first.txt").read_text()
    assert "acme/space/guides" in text
    assert outcome(cli, snapshot, code=exits.DONE)["summary"]["passed"] == 1
    (cli.root / "tests/plans/first.txt").write_text(text.replace("Manual", "Handbook"))
    (wrong,) = outcome(cli, snapshot, code=exits.FAILED)["tests"][0]["mismatches"]
    assert wrong["message"].startswith("the plan is not that of the snapshot plans/first.txt")
    changed = [line.split() for line in wrong["lines"] if line[:1] in "+-" and line[1:2] == " "]
    assert changed == [["-", "+", "title", "Handbook"], ["+", "+", "title", "Manual"]]
