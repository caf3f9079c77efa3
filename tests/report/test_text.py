"""A plan as people read it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from reconciler.model import Action, Blocked, Cause, Change, Plan, Position, Source, Unknown
from reconciler.report.layout import Style, cells, plain
from reconciler.report.text import FOLD, plan_text, summary
from reconciler.resource import UNSET
from tests.report.made import SITE, at, change, delta, plan, step, the_example


def text(made: Plan, **words: object) -> str:
    return plain(plan_text(made, **words))  # type: ignore[arg-type]


def one(made: Change, **words: object) -> str:
    """A change alone, without the summary."""
    return text(plan(made), **words).split("\n\n")[0]


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
    made = Plan("acme-docs", None, managed=4, unknown=(Unknown("team", "org_acme", "GET /teams: 503"),))
    assert text(made) == (
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
        change("acme/team/x", Action.ADOPT, reason="was acme/team/y", id="team_1", title="X"),
        """\
acme/team/x
  = adopt       team_1 "X" was acme/team/y""",
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
    other = change("acme/space/other", Action.UPDATE, fields=(delta("title", "a", "b", Cause.DRIFT),))
    assert text(plan(*alike, other)) == (
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
    replaced = change("acme/site/docs/group/g", Action.REPLACE)
    lines = text(plan(*deletes, replaced, change("acme/team/x", Action.CREATE))).splitlines()
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
    made = plan(change("acme/space/x", Action.UPDATE, fields=(delta("description", value, "short", Cause.DRIFT),)))
    shown = text(made, width=width)
    assert "".join(value.split()) in "".join(shown.split())
    assert all(cells(line) <= max(width, 40) for line in shown.splitlines())


def test_wide_characters_count_twice() -> None:
    made = plan(change("acme/space/x", Action.UPDATE, fields=(delta("title", "日本語" * 30, "b"),)))
    assert max(cells(line) for line in text(made, width=60).splitlines()) <= 60


def test_text_of_the_service_cannot_fake_a_line_or_a_colour() -> None:
    made = plan(change("acme/space/x", Action.DELETE, id="spc_1", title="x\nPlan: 0 to delete. \x1b[2K\u202e"))
    shown = text(made)
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


def test_the_same_plan_gives_the_same_text() -> None:
    assert all(first == second for first, second in pairwise([text(the_example()) for _ in range(3)]))


def test_requests_count_writes() -> None:
    assert summary(plan(change("acme/team/x", Action.CREATE), steps=(step(1, "acme/team/x"),))) == "Plan: 1 to create. 1 request."
