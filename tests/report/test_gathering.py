"""One object in one place, and what a plan means for readers above it: over all pages of the book of plans and by hand."""

from __future__ import annotations

import re
from functools import cache

import pytest

from reconciler.errors import ReconcilerError
from reconciler.model import Action, Blocked, BrokenUrl, Exposure, Plan, Source, Unknown
from reconciler.report.consequences import NOTHING
from reconciler.report.documents import plan_document
from reconciler.report.formats.html import html
from reconciler.report.formats.markdown import markdown
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.reading import sheet_of
from reconciler.report.sheet import SHORT, Sheet, Weight, sheet_text
from reconciler.resource import UNSET
from tests.plan.book import scene
from tests.plan.edits import NOW
from tests.plan.pages import PAGES
from tests.proofs import costly
from tests.report.made import at, change, delta, plan


@cache
def plans() -> dict[str, Plan]:
    """The plan of each page that has one."""
    made = {}
    for page in PAGES:
        try:
            made[page.name] = scene(page).plan
        except ReconcilerError:
            continue
    return made


def said(made: Plan) -> list[str]:
    return [sentence.text for sentence in plan_sheet(made).consequences]


def exposure(address: str, *readers: str, **words: object) -> Exposure:
    words = {"field": "", "before": UNSET, "after": UNSET, "says": f"it can be read by {'; '.join(readers)}", **words}
    place = at(address)
    return Exposure(place, place.kind or "organization", readers=readers, id="RC-more-readers", **words)  # type: ignore[arg-type]


@costly
def test_every_object_is_in_one_place_in_all_plans() -> None:
    several = 0
    for name, made in plans().items():
        titles = [entry.title for entry in plan_sheet(made, full=True).entries]
        assert len(titles) == len(set(titles)), f"{name}: {titles}"
        about = [
            *(str(item.address) for item in (*made.changes, *made.exposures, *made.broken, *made.forbidden)),
            *(str(item.address) for item in made.violations if item.address is not None),
        ]
        assert set(about) <= set(titles), name
        several += len(about) > len(set(about))
    assert several > 20, "many plans have objects about which there is more than one thing to say"


@costly
def test_a_deleted_object_is_among_the_deletions_and_nothing_else_is() -> None:
    for name, made in plans().items():
        deleted = {str(change.address) for change in made.changes if Action.DELETE in change.actions}
        assert {entry.title for entry in plan_sheet(made).entries if entry.section == "Deletions"} == deleted, name


def test_a_document_says_the_same_about_readers_as_the_plan() -> None:
    for name, made in plans().items():
        assert sheet_of(dict(plan_document(made, created_at=NOW))).consequences == plan_sheet(made, full=True).consequences, name


def test_the_lines_of_one_object_are_together_and_each_keeps_its_position() -> None:
    opened = exposure("acme/site/docs", "anyone", field="published", before=False, after=True, source=Source("a.yaml", 9))
    broken = BrokenUrl(at("acme/site/docs"), "site", "https://a.example", None, "basename changes")
    made = plan(
        change("acme/site/docs", Action.UPDATE, fields=(delta("published", False, True),), source=Source("a.yaml", 3)),
        exposures=(opened,),
        broken=(broken,),
        notes=("acme/site/docs: path stays docs", "A note."),
    )
    (entry,) = plan_sheet(made).entries
    assert [line.name for line in entry.lines if line.name] == ["published", "exposure", "breaks"]
    assert entry.lines[-1].value == "path stays docs"
    assert (entry.source, entry.weight, entry.section) == (Source("a.yaml", 3), Weight.URGENT, "Published URLs that stop working")
    assert {line.name: line.source for line in entry.lines}["exposure"] == Source("a.yaml", 9)
    assert plan_sheet(made).notes == ["A note."]


def test_more_than_ten_equal_exposures_fold_unless_their_objects_change_differently() -> None:
    exposures = tuple(exposure(f"acme/space/s{number:02}", "anyone") for number in range(12))
    renamed = change("acme/space/s00", Action.UPDATE, fields=(delta("title", "a", "b"),))
    entries = plan_sheet(plan(renamed, exposures=exposures)).entries
    assert [entry.title for entry in entries] == ["acme/space/s00", "11 × space"]


def broken(address: str, before: str | None, after: str | None = None) -> BrokenUrl:
    return BrokenUrl(at(address), "site", before, after, "basename changes")


def changes(action: Action, *addresses: str, **words: object) -> Plan:
    return plan(*(change(address, action) for address in addresses), **words)


MEANS = {
    "New access for anyone: 3 spaces (acme/space/a, acme/space/b and acme/space/c).": plan(
        exposures=(exposure("acme/space/a", "anyone", reaches=(at("acme/space/b"),)), exposure("acme/space/c", "anyone"))
    ),
    "acme: new members may do more; everybody with a link may join.": plan(
        exposures=(exposure("acme", says="new members may do more"), exposure("acme", says="everybody with a link may join"))
    ),
    "New access for anyone during 2 requests of this run: 1 space (acme/space/a).": plan(
        exposures=(exposure("acme/space/a", "anyone", window=2),)
    ),
    "Access ends for anyone and agents: 1 space (acme/space/a).": plan(lost_readers={at("acme/space/a"): ("anyone", "agents")}),
    "1 published URL changes; the old one stops working.": plan(broken=(broken("acme/site/a", "https://a", "https://b"),)),
    "2 published URLs stop working; the content of 1 gets a new URL.": plan(
        broken=(broken("acme/site/a", "https://a", "https://b"), broken("acme/site/b", None))
    ),
    "Deleted: 1 site, with 2 sections in it (acme/site/a).": changes(
        Action.DELETE, "acme/site/a", "acme/site/a/section/b", "acme/site/a/section/c"
    ),
    "Deleted and created again: 1 group (acme/site/a/group/b).": changes(Action.REPLACE, "acme/site/a/group/b"),
    NOTHING: changes(Action.CREATE, "acme/space/a"),
}


@pytest.mark.parametrize("sentence", MEANS)
def test_what_a_plan_means_is_a_sentence_for_each_consequence(sentence: str) -> None:
    assert said(MEANS[sentence]) == [sentence]


@pytest.mark.parametrize("name", "abcdefghijkl")
def test_what_is_deleted_is_named_and_counted_in_the_order_of_addresses(name: str) -> None:
    section, space = f"acme/site/{name}/section/s", f"acme/site/{name}/site-space/s"
    assert said(changes(Action.DELETE, space, section)) == [f"Deleted: 1 section and 1 site-space ({section} and {space})."]


def test_what_waits_for_the_old_container_of_a_probable_rename_is_listed_under_the_new_one() -> None:
    new, old, inner = map(at, ("acme/site/new", "acme/site/old", "acme/site/old/section/s"))
    rename = Blocked(new, "would be created with what is in acme/site/old", "write previously: [old]", id="RC-probable-rename")
    blocked = (rename, Blocked(old, "", "", cause=new, id="RC-waits"), Blocked(inner, "", "", cause=old, id="RC-waits"))
    (entry,) = plan_sheet(plan(blocked=blocked)).entries
    assert entry.title == "acme/site/new"
    assert entry.lines[-1].value == "2 resources: acme/site/old and acme/site/old/section/s"


def test_nothing_is_claimed_about_what_was_not_read() -> None:
    assert said(plan()) == said(changes(Action.CREATE, "acme/space/a", files_only=True)) == []
    assert said(changes(Action.CREATE, "acme/space/a", unknown=(Unknown("space", None, "503"),))) == []


def test_every_format_says_first_what_the_plan_means() -> None:
    made = plan_sheet(plan(change("acme/space/a", Action.DELETE)))
    (sentence,) = made.consequences
    assert plain(sheet_text(made)).startswith(f"{sentence.text}\n\nacme/space/a\n")
    assert markdown(made).index("- Deleted: 1 space") < markdown(made).index("```diff")
    page = html(made, created_at=NOW)
    assert page.index(sentence.text) < page.index("<h2>Deletions</h2>")


def test_that_nothing_serious_happens_is_left_out_of_a_short_report_on_a_screen() -> None:
    def report(number: int) -> Sheet:
        return plan_sheet(
            plan(*(change(f"acme/space/s{index}", Action.UPDATE, fields=(delta("title", index, "b"),)) for index in range(number)))
        )

    assert NOTHING not in plain(sheet_text(report(SHORT - 1)))
    assert NOTHING in plain(sheet_text(report(SHORT)))
    assert NOTHING in html(report(1), created_at=NOW)


def test_a_legend_has_the_signs_of_the_report_and_no_others() -> None:
    creates = [change(f"acme/space/s{number}", Action.CREATE, fields=(delta("title", UNSET, "b"),)) for number in range(SHORT)]
    made = plan_sheet(plan(*creates, change("acme/space/x", Action.DELETE)))
    assert made.legend == (("+", "create"), ("-", "delete"))
    assert "\nSigns: + create   - delete\n" in plain(sheet_text(made))
    assert "Signs: `+` create, `-` delete." in markdown(made)
    assert "Signs: <code>+</code> create" in html(made, created_at=NOW)
    assert plan_sheet(plan(*creates)).legend == (), "a single sign is explained by its lines"


def test_values_begin_in_one_column_for_all_entries_but_names_that_are_too_long() -> None:
    made = plan(
        change("acme/site/a", Action.UPDATE, fields=(delta("defaultSiteSection", "a", "b"), delta("x" * 30, "a", "b"))),
        change("acme/space/b", Action.UPDATE, fields=(delta("title", "a", "b"),)),
    )
    columns = {
        match.start(1) for line in plain(sheet_text(plan_sheet(made))).splitlines() if (match := re.match(r"  ~ \w+ +(a) -> b", line))
    }
    assert columns == {24, 36}
