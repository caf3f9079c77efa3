"""A plan and what an apply did, as people read them.

How long values are shown: a certificate by what tells it apart, a structured value by the paths that differ.
The rules that a plan violates, in every format."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from reconciler.model import Action, Blocked, Cause, Change, Edited, Plan, Position, Severity, Source, StepStatus, Unknown, Violation
from reconciler.report.documents import plan_document
from reconciler.report.formats.annotations import github
from reconciler.report.formats.html import html
from reconciler.report.formats.markdown import markdown
from reconciler.report.gathering import FOLD
from reconciler.report.layout import Style, cells, plain
from reconciler.report.outcome import summary as outcome_summary
from reconciler.report.plan import plan_sheet, summary
from reconciler.report.words import difference_lines, shown
from reconciler.resource import UNSET
from reconciler.text.certificate import certificate
from tests.documents import valid
from tests.report.made import SITE, at, change, delta, outcome, outcome_text, plan, plan_text, result, step, the_example


def text(made: Plan, **words: object) -> str:
    return plain(plan_text(made, **words))  # type: ignore[arg-type]


def one(made: Change, **words: object) -> str:
    """A change alone, without what it means and without the summary."""
    return text(plan(made), **words).split("\n\n")[-2]


def test_how_long_a_deleted_object_can_be_restored_is_a_span_and_a_moment_in_the_readers_time_zone() -> None:
    until = datetime(2026, 11, 29, 21, 10, tzinfo=UTC)
    restored = plan(change("acme/space/legacy", Action.RESTORE, reason="deleted 3 days ago, 4 days left", until=until))
    moments = {"Europe/Berlin": "29 Nov 2026, 22:10 CET", "UTC": "29 Nov 2026, 21:10 UTC", "Asia/Tokyo": "30 Nov 2026, 06:10 JST"}
    for zone, moment in moments.items():
        assert f"  ↑ restore     deleted 3 days ago, 4 days left (until {moment})\n" in text(restored, zone=ZoneInfo(zone))


def test_the_plan_of_the_design_looks_as_it_does_there() -> None:
    assert text(the_example()) == (
        """\
acme/site/docs/section/guides            sites/docs.yaml:12
  ~ title       Guide -> Guides
  > after       acme/site/docs/section/start          (was first)
acme/space/legacy                        drift: deleted outside Reconciler
  ↑ restore     deleted 3 days ago, 4 days left
acme/team/writers                        content.yaml:31
  = adopt       team_9f2 "Writers" exists and is unmanaged

Plan: 1 to update, 1 to move, 1 to restore, 1 to adopt; 14 objects unmanaged. 3 requests.
"""
    )


def test_an_empty_plan_says_so_in_one_line() -> None:
    assert text(Plan("acme-docs", None, managed=42)) == "No changes. 42 objects managed, 0 unmanaged.\n"
    assert text(Plan("acme-docs", None, managed=1)) == "No changes. 1 object managed, 0 unmanaged.\n"


def test_what_could_not_be_read_is_said_even_where_nothing_changes() -> None:
    assert text(Plan("acme-docs", None, managed=4, unknown=(Unknown("team", "org_acme", "GET /teams: 503"),))) == (
        """\
every team in org_acme
  ? unknown     GET /teams: 503; none is created, deleted or reported as drift

No changes. 4 objects managed, 0 unmanaged. 1 reading failed.
"""
    )


CASES = [
    (
        change("acme/team/writers", Action.CREATE, fields=(delta("title", UNSET, "Writers"),), source=Source("a.yaml", 3)),
        """\
acme/team/writers                        a.yaml:3
  + title       Writers""",
        "a create lists what it sends",
    ),
    (
        change("acme/agent-instructions", Action.CREATE),
        """\
acme/agent-instructions
  + create""",
        "a create without fields is still a line",
    ),
    (
        change("acme/space/x", Action.UPDATE, fields=(delta("title", "A", "B", Cause.DRIFT), delta("emoji", "a", "b", Cause.BOTH))),
        """\
acme/space/x
  ~ title       A -> B                                (drift)
  ~ emoji       a -> b                                (your change and drift)""",
        "a difference has its cause",
    ),
    (
        change("acme/saml/okta", Action.UPDATE, fields=(delta("certificate", UNSET, UNSET, sensitive=True),)),
        """\
acme/saml/okta
  ~ certificate  (sensitive)""",
        "a sensitive value is never shown",
    ),
    (
        change("acme/team/x", Action.UPDATE, fields=(delta("members", UNSET, ["a"], note="cannot be set: …"),)),
        """\
acme/team/x
  ~ members     (not known) -> [a]                    (cannot be set: …)""",
        "what is not sent says why",
    ),
    (
        change("acme/team/x", Action.UPDATE, fields=(delta("title", "A", "A", note="no longer managed; it is left unchanged"),)),
        """\
acme/team/x
  . title       A                                     (no longer managed; it is left unchanged)""",
        "a field that is let go of is no update",
    ),
    (
        change("acme/team/x", Action.RENAME, reason="was acme/team/y", id="team_1", title="X"),
        """\
acme/team/x
  → rename      was acme/team/y""",
        "a rename says what it was",
    ),
    (
        change(
            "acme/space/x",
            Action.MOVE,
            before=Position(at("acme/collection/a"), previous=None),
            after=Position(at("acme"), previous=at("acme/space/y")),
        ),
        """\
acme/space/x
  > into        acme                                  (was in acme/collection/a)
  > after       acme/space/y""",
        "a move to another container says both",
    ),
    (
        change(
            "acme/space/x",
            Action.MOVE,
            fields=(delta("parent", "acme/collection/a", None, Cause.DRIFT),),
            before=Position(at("acme/collection/a"), previous=None),
            after=Position(at("acme"), previous=None),
        ),
        """\
acme/space/x
  > into        acme                                  (drift; was in acme/collection/a)""",
        "the container's field is told once, with its cause",
    ),
    (
        change(
            "acme/site/docs/section/a",
            Action.MOVE,
            before=Position(SITE, previous=at("acme/site/docs/section/b")),
            after=Position(SITE, previous=None),
        ),
        """\
acme/site/docs/section/a
  > first       among its siblings                    (was after acme/site/docs/section/b)""",
        "a move to the front",
    ),
    (
        change(
            "acme/site/docs/section/b",
            Action.MOVE,
            before=Position(SITE, previous=at("acme/site/docs/section/a")),
            after=Position(SITE, previous=at("acme/site/docs/section/a")),
        ),
        """\
acme/site/docs/section/b
  > after       acme/site/docs/section/a              (again)""",
        "a move behind the neighbour it has, which moves too or stands nobody knows where",
    ),
    (
        change("acme/team/x", Action.FORGET, reason="no longer declared; it is left unchanged", id="team_1", title="X"),
        """\
acme/team/x
  . forget      team_1 "X"; no longer declared; it is left unchanged""",
        "forgetting says that nothing is deleted",
    ),
    (
        change("acme/space/x", Action.DELETE, reason="no longer declared", id="spc_1", title="Old"),
        """\
acme/space/x
  - delete      spc_1 "Old"; no longer declared""",
        "a delete names the object",
    ),
    (
        change("acme/site/docs/group/g", Action.REPLACE, fields=(delta("title", UNSET, "G"),), reason="parent changed"),
        """\
acme/site/docs/group/g
  -/+ replace   parent changed
  + title       G""",
        "a replacement is a delete and a create",
    ),
]


@pytest.mark.parametrize(("made", "expected", "why"), CASES, ids=[case[2] for case in CASES])
def test_a_change_reads_as_it_should(made: Change, expected: str, why: str) -> None:
    assert one(made) == expected, why


def test_every_action_has_a_symbol_a_word_and_a_number() -> None:
    for action in Action:
        made = plan(change("acme/team/x", action, reason="for a reason"))
        assert f"1 to {action}" in summary(made)
        assert "for a reason" in text(made)


def test_more_than_ten_creates_of_a_kind_fold_into_one_line() -> None:
    creates = [change(f"acme/space/s{number:02}", Action.CREATE, source=Source("content.yaml", number + 1)) for number in range(FOLD + 1)]
    assert text(plan(*creates)) == (
        """\
11 × space                               content.yaml
  + create      acme/space/s00, acme/space/s01 and 9 more; --full shows each

Plan: 11 to create. 0 requests.
"""
    )
    assert "acme/space/s10" in text(plan(*creates), full=True)
    assert "acme/space/s10" not in text(plan(*creates))
    assert text(plan(*creates[:FOLD])) == text(plan(*creates[:FOLD]), full=True)


def test_updates_fold_only_where_the_same_fields_change_for_the_same_cause() -> None:
    alike = [change(f"acme/space/s{n:02}", Action.UPDATE, fields=(delta("title", str(n), "x"),)) for n in range(FOLD + 1)]
    assert text(plan(*alike, change("acme/space/other", Action.UPDATE, fields=(delta("title", "a", "b", Cause.DRIFT),)))) == (
        """\
11 × space
  ~ update      title of acme/space/s00, acme/space/s01 and 9 more; --full shows each
acme/space/other
  ~ title       a -> b                                (drift)

Plan: 12 to update. 0 requests.
"""
    )


def test_what_destroys_comes_last_and_is_never_folded() -> None:
    deletes = [change(f"acme/space/s{n:02}", Action.DELETE, reason="no longer declared", id=f"spc_{n}") for n in range(FOLD + 5)]
    lines = text(plan(*deletes, change("acme/site/docs/group/g", Action.REPLACE), change("acme/team/x", Action.CREATE))).splitlines()
    heads = [line.split()[0] for line in lines if line.startswith("acme")]
    assert heads == ["acme/team/x", "acme/site/docs/group/g", *(str(each.address) for each in deletes)]


def test_equal_blocked_resources_are_folded_and_others_are_shown_in_full() -> None:
    alike = [Blocked(at(f"acme/space/s{n:02}"), "acme is not known", "run again", id="RC-unread") for n in range(FOLD + 1)]
    single = Blocked(at("acme/site/docs"), "type cannot be changed", "take the line out", Source("docs.yaml", 3), id="RC-not-changeable")
    assert text(plan(blocked=(*alike, single))) == (
        """\
11 resources
                acme/space/s00, acme/space/s01 and 9 more; --full shows each
  ! blocked     acme is not known [RC-unread]
                run again
acme/site/docs                           docs.yaml:3
  ! blocked     type cannot be changed [RC-not-changeable]
                take the line out

Plan: nothing to do; 12 blocked. 0 requests.
"""
    )


def test_what_waits_for_a_second_run_and_what_is_in_doubt_is_said() -> None:
    made = plan(
        deferred={at("acme/site/docs/site-space/a"): "the service rearranges it"}, in_doubt=(at("acme/team/x"),), notes=("A note.",)
    )
    assert text(made) == (
        """\
acme/site/docs/site-space/a
  ! waits       in a second run: the service rearranges it
acme/team/x
  ? in doubt    a request of an earlier run is in doubt; reconciler apply finds out what happened to
                it
A note.

Plan: nothing to do; 1 after a second run, 1 in doubt. 0 requests.
"""
    )


@pytest.mark.parametrize("width", [1, 40, 60, 80, 100, 200])
def test_nothing_is_cut_whatever_the_width(width: int) -> None:
    value = " ".join(f"word{number}" for number in range(60)) + " " + "x" * 300
    shown = text(plan(change("acme/space/x", Action.UPDATE, fields=(delta("description", value, "short", Cause.DRIFT),))), width=width)
    assert "".join(value.split()) in "".join(shown.split())
    assert all(cells(line) <= max(width, 40) for line in shown.splitlines())


def test_wide_characters_count_twice() -> None:
    made = plan(change("acme/space/x", Action.UPDATE, fields=(delta("title", "日本語" * 30, "b"),)))
    assert max(cells(line) for line in text(made, width=60).splitlines()) <= 60


def test_text_of_the_service_cannot_fake_a_line_or_a_colour() -> None:
    shown = text(plan(change("acme/space/x", Action.DELETE, id="spc_1", title="x\nPlan: 0 to delete. \x1b[2K\u202e")))
    assert "\n  - delete" in shown
    assert [line for line in shown.splitlines() if line.startswith("Plan:")] == ["Plan: 1 to delete. 0 requests."]
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_styles_follow_the_actions() -> None:
    made = plan(
        change("acme/team/a", Action.CREATE, fields=(delta("title", UNSET, "A"),)),
        change("acme/team/b", Action.UPDATE, fields=(delta("title", "A", "B"),)),
        change("acme/team/c", Action.UPDATE, fields=(delta("title", "A", "C", Cause.DRIFT),)),
        change("acme/team/d", Action.DELETE),
    )
    styles = [span.style for span in plan_text(made)]
    for style in (Style.CREATE, Style.UPDATE, Style.DRIFT, Style.DELETE):
        assert style in styles


def test_requests_count_writes() -> None:
    assert summary(plan(change("acme/team/x", Action.CREATE), steps=(step(1, "acme/team/x"),))) == "Plan: 1 to create. 1 request."


DONE = result(1, "acme/team/a", StepStatus.DONE)


def test_a_run_that_went_well_is_one_line() -> None:
    assert plain(outcome_text(outcome(*[DONE] * 23))) == "Applied 23 requests. The plan is now empty.\n"


def test_every_step_that_did_not_end_well_is_named_with_its_reason() -> None:
    made = outcome(
        DONE,
        result(2, "acme/site/docs", StepStatus.FAILED, "POST /orgs/org_acme/sites: 400 title is too short", verb="create"),
        result(3, "acme/site/docs/section/a", StepStatus.SKIPPED, "requires step 2 (acme/site/docs)", verb="create"),
        result(4, "acme/team/b", StepStatus.IN_DOUBT, "the connection broke", verb="create"),
        notes=("acme: the service keeps logo as 'x'",),
    )
    assert plain(outcome_text(made)) == (
        """\
acme/site/docs
  ! failed      create: POST /orgs/org_acme/sites: 400 title is too short
acme/site/docs/section/a
  . skipped     create: requires step 2 (acme/site/docs)
acme/team/b
  ? in doubt    create: the connection broke
acme: the service keeps logo as 'x'

Applied 1 of 4 requests: 1 failed, 1 in doubt, 1 skipped. The next apply resolves the requests in
doubt. Run it again to continue.
"""
    )


def test_what_is_left_is_never_called_empty() -> None:
    blocked = Plan("p", None, blocked=(Blocked(at("acme/site/docs"), "r", "m", id="RC-waits"),))
    assert outcome_summary(outcome(DONE, plan=blocked)) == "Applied 1 request. Left: 1 blocked."
    deferred = Plan("p", None, deferred={at("acme/site/docs"): "r"})
    assert outcome_summary(outcome(DONE, plan=deferred)) == "Applied 1 request. 1 resource left for a second run: apply again."
    assert outcome_summary(outcome(DONE, leftover=(at("acme"),))) == "Applied 1 request. 1 resource not as declared yet: plan again."


def test_an_interrupted_run_says_so_first() -> None:
    made = outcome(DONE, result(2, "acme/team/b", StepStatus.SKIPPED, "interrupted"), stopped="interrupted")
    assert outcome_summary(made) == "Interrupted. Applied 1 of 2 requests: 1 skipped. Run it again to continue."


def test_changes_of_the_state_alone_take_no_request() -> None:
    assert (
        outcome_summary(outcome(plan=plan(change("acme/team/x", Action.ADOPT)))) == "Applied without any requests. The plan is now empty."
    )
    assert outcome_summary(outcome()) == "Nothing to apply. The plan is now empty."


def test_foreign_changes_are_reported_by_address_and_field_and_not_as_a_failure() -> None:
    made = outcome(
        DONE,
        result(2, "acme/team/b", StepStatus.STALE, "title was 'B' and is now 'C'"),
        edited=(
            Edited(at("acme/space/one"), "title", "One", "Uno"),
            Edited(at("acme/space/one"), "secret", "a", "b", sensitive=True),
            Edited(at("acme/space/two"), None, says="was deleted; it can be restored"),
        ),
        unverified=(at("acme/team/a"),),
    )
    assert plain(outcome_text(made)) == (
        """\
acme/team/b
  ≠ stale        update: title was 'B' and is now 'C'
acme/space/one                           changed by somebody else during the run
  ~ title        One -> Uno
  ~ secret       (sensitive)
acme/space/two                           changed by somebody else during the run
  ~ differs      was deleted; it can be restored
acme/team/a
  ? not checked  it was written and could not be read again

Applied 1 of 2 requests: 1 stale. Somebody else changed 2 resources during the run: plan again. Run
it again to continue.
"""
    )


NOW = datetime(2026, 11, 18, tzinfo=UTC)


def library() -> Any:
    """`cryptography`, without which a test of it is skipped; never where tests are required."""
    if "browser" in os.environ.get("RECONCILER_TEST_REQUIRE", ""):
        import cryptography

        return cryptography
    return pytest.importorskip("cryptography")


def made(name: str, years: int) -> str:
    """A self-signed certificate, PEM."""
    library()
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.x509.oid import NameOID

    key = rsa.generate_private_key(65537, 2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    built = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key()).serial_number(1)
    signed = built.not_valid_before(NOW).not_valid_after(NOW + timedelta(days=365 * years)).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


def fingerprint(pem: str) -> str:
    body = "".join(line for line in pem.splitlines() if not line.startswith("-----"))
    return hashlib.sha256(base64.b64decode(body)).hexdigest()


# -- certificates ---------------------------------------------------------------------------------------------------------------------


def test_a_certificate_is_its_subject_expiry_and_fingerprint() -> None:
    pem = made("idp.example", 10)
    assert shown(pem) == f"CN=idp.example, expires 2036-11-15, sha256 {fingerprint(pem)[:16]}…"


def test_a_certificate_without_its_frame_or_inside_a_value_is_one_too() -> None:
    pem = made("idp.example", 10)
    assert shown("".join(line for line in pem.splitlines() if not line.startswith("-----"))) == shown(pem)
    assert shown({"key": pem}) == f"{{key: ({shown(pem)})}}"
    assert shown(pem + pem) == f"{shown(pem)} and 1 more"


def test_a_plan_has_one_line_for_a_certificate_in_every_format_for_people() -> None:
    old, new = made("old.example", 1), made("new.example", 10)
    changed = plan(change("acme/saml/okta", Action.UPDATE, fields=(delta("certificate", old, new),)))
    first = f"CN=old.example, expires 2027-11-18, sha256 {fingerprint(old)[:16]}…"
    said = f"{first} -> CN=new.example, expires 2036-11-15"
    assert said in plain(plan_text(changed, width=1_000))
    for page in (markdown(plan_sheet(changed)), html(plan_sheet(changed), created_at=NOW).replace("&gt;", ">")):
        assert said in page
        assert "BEGIN CERTIFICATE" not in page


def fake() -> str:
    """What looks like a certificate from outside, and is none."""
    body = base64.b64encode(b"\x30\x82" + bytes(300)).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


def test_of_a_certificate_that_cannot_be_read_the_fingerprint_is_shown() -> None:
    assert shown(fake()) == f"sha256 {fingerprint(fake())[:16]}…"


def test_without_the_library_the_fingerprint_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography", None)
    text = fake().replace("AAAA", "BBBB")
    assert shown(text) == f"sha256 {fingerprint(text)[:16]}…"
    certificate.cache_clear()


NO_PEM = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"


@pytest.mark.parametrize("text", ["PEM", "MIT", "MI" + "a" * 300, NO_PEM, "word " * 90, ""])
def test_other_texts_are_shown_as_they_are(text: str) -> None:
    assert certificate(text) is None


# -- structured values -----------------------------------------------------------------------------------------------------------------

BEFORE = {"type": "rules", "rules": [{"rule": "approval", "users": ["usr_ada"]}, {"rule": "checks"}]}
AFTER = {"type": "rules", "rules": [{"rule": "approval", "users": ["usr_bob"]}, {"rule": "checks"}], "strict": True}


def test_a_structured_value_differs_by_path() -> None:
    assert difference_lines("mergeRules", BEFORE, AFTER) == [
        ("mergeRules.rules.0.users.0", "usr_ada -> usr_bob"),
        ("mergeRules.strict", "true (added)"),
    ]
    assert difference_lines("mergeRules", AFTER, BEFORE)[1] == ("mergeRules.strict", "true (removed)")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("a", "b", "a -> b"),
        (["a"], ["b", "a"], "[a] -> [b, a]"),
        (UNSET, {"a": 1}, "(not known) -> {a: 1}"),
        ({"a": 1}, None, "{a: 1} -> null"),
        ("inherit", {"a": [1]}, "inherit -> {a: [1]}"),
    ],
)
def test_a_value_without_parts_of_its_own_differs_as_a_whole(before: Any, after: Any, says: str) -> None:
    assert difference_lines("field", before, after) == [("field", says)]


def test_a_plan_says_what_differs_inside_a_value_in_every_format_for_people() -> None:
    changed = plan(change("acme", Action.UPDATE, fields=(delta("mergeRules", BEFORE, AFTER, Cause.DRIFT),)))
    text = plain(plan_text(changed, width=120))
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["~", "mergeRules.rules.0.users.0", "usr_ada", "->", "usr_bob", "(drift)"],
        ["~", "mergeRules.strict", "true", "(added)"],
    ]
    for page in (text, markdown(plan_sheet(changed)), html(plan_sheet(changed), created_at=NOW)):
        assert "mergeRules.rules.0.users.0" in page
        assert "checks" not in page


VIOLATIONS_NOW = datetime(2026, 11, 23, tzinfo=UTC)
OPEN = Violation(
    "access", "salaries", at("acme/space/salaries"), "anyone can read it", path=("acme/space/salaries", "acme/site/docs (public)"),
    source=Source("reconciler.yaml", 9), declared=Source("content.yaml", 3), remedy="close the site", id="RC-access-violated",
)  # fmt: skip
WARNED = Violation(
    "policy", "few", None, "more than 2 deletes", Severity.WARNING, source=Source("reconciler.yaml", 20), id="RC-policy-violated"
)
BOTH = plan(violations=(OPEN, WARNED))


def test_the_text_names_each_rule_where_it_is_written_and_sums_up() -> None:
    assert plain(plan_text(BOTH)) == (
        """\
the whole plan
  ! warning     policy few: more than 2 deletes (reconciler.yaml:20)
acme/space/salaries                      content.yaml:3
  ! violation   access salaries: anyone can read it (reconciler.yaml:9)
                by acme/space/salaries -> acme/site/docs (public)

No changes. 20 objects managed, 0 unmanaged. 1 violation, 1 warning.
"""
    )


def test_many_resources_that_violate_one_rule_are_folded() -> None:
    many = plan(violations=tuple(dataclasses.replace(OPEN, address=at(f"acme/space/s{number}"), path=()) for number in range(11)))
    assert "11 resources" in plain(plan_text(many))
    assert plain(plan_text(many, full=True)).count("! violation") == 11


def test_the_pages_and_annotations_have_them() -> None:
    sheet = plan_sheet(BOTH)
    for page in (markdown(sheet), html(sheet, created_at=VIOLATIONS_NOW)):
        assert "access salaries: anyone can read it" in page
        assert "policy few: more than 2 deletes" in page
    annotations = github(sheet).splitlines()
    assert annotations[0] == "::warning title=the whole plan::warning: policy few: more than 2 deletes (reconciler.yaml:20)"
    assert annotations[1].startswith("::error file=content.yaml,line=3,title=acme/space/salaries::violation: access salaries")


def test_the_document_has_them() -> None:
    document = plan_document(BOTH, created_at=VIOLATIONS_NOW)
    valid(document, "plan")
    assert json.loads(json.dumps(document["violations"])) == [
        {
            "sort": "access", "rule": "salaries", "address": "acme/space/salaries", "level": "error", "message": "anyone can read it",
            "path": ["acme/space/salaries", "acme/site/docs (public)"], "remedy": "close the site",
            "source": {"file": "reconciler.yaml", "line": 9}, "declared": {"file": "content.yaml", "line": 3},
            "id": "RC-access-violated",
        },
        {
            "sort": "policy", "rule": "few", "address": None, "level": "warning", "message": "more than 2 deletes", "path": [],
            "remedy": "", "source": {"file": "reconciler.yaml", "line": 20}, "declared": None,
            "id": "RC-policy-violated",
        },
    ]  # fmt: skip
