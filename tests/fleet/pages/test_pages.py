"""Pages of a fleet: what they show, what they ask for, and that nothing in them is markup but their own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from time import process_time
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings, strategies as st

from reconciler.fleet.model import Mode
from reconciler.fleet.pages import assets, chart, heatmap, marks, months, query, readers, render, views as v
from reconciler.fleet.pages.query import AuditQuery, Query
from reconciler.fleet.status import Sample, StatusWord
from reconciler.report.documents import plan_document
from reconciler.report.layout import plain
from reconciler.text.escape import is_plain
from tests.fleet.pages import samples
from tests.proofs import costly
from tests.report.made import plan_text, the_example

VOID = {"meta", "link", "input", "br", "wbr"}
CALM = [name for name in (*samples.PAGES, *samples.PARTS) if not name.endswith("hostile")]


class Document(HTMLParser):
    """A page as its tags: which are open, which attributes they have, what text is where."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.wrong.append(f"<{tag}> repeats an attribute: {names}")
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> closes {self.open[-3:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.tags if attribute in attributes]


@cache
def document(name: str) -> Document:
    return Document((samples.PAGES | samples.PARTS)[name]())


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", Document(page).text)


@pytest.mark.parametrize("name", [*samples.PAGES, *samples.PARTS])
def test_a_page_is_well_formed_and_asks_nobody_else(name: str) -> None:
    page = document(name)
    assert (page.wrong, page.open) == ([], [])
    ids = page.all("id")
    assert len(ids) == len(set(ids)) or name == "list-hostile"
    assert set(page.all("for")) <= set(ids)
    assert {label for value in page.all("aria-labelledby") for label in value.split()} <= set(ids)
    addresses = [*page.all("href"), *page.all("src"), *page.all("action"), *page.all("hx-get"), *page.all("sse-connect")]
    assert [address for address in addresses if not re.match(r"[/#][^/\\]|/$", address)] == []
    named = {attribute for _, attributes in page.tags for attribute in attributes}
    assert [attribute for attribute in named if attribute.startswith("on") or attribute in ("style", "srcdoc", "hx-on")] == []
    assert [attributes for tag, attributes in page.tags if tag == "script" and not attributes["src"].startswith("/static/htmx-")] == []
    assert "style" not in {tag for tag, _ in page.tags}
    for tag, attributes in page.tags:
        if tag == "form" and attributes.get("method") == "post":
            assert attributes["action"].startswith("/")
    assert [tag for tag, attributes in page.tags if tag == "th" and "scope" not in attributes and "aria-hidden" not in attributes] == (
        ["th"] * 7 if name.startswith("calendar") else []  # of the month that is only seen
    )


@pytest.mark.parametrize("name", samples.PAGES)
def test_a_page_has_one_heading_a_title_a_main_part_and_a_way_to_skip_to_it(name: str) -> None:
    tags = [tag for tag, _ in document(name).tags]
    assert [tags.count(tag) for tag in ("h1", "main", "header", "footer")] == [1, 1, 1, 1]
    assert tags[: tags.index("body")].count("title") == 1
    assert all(below - above <= 1 for above, below in pairwise([int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]))
    assert ("a", {"class": "skip", "href": "#main"}) in document(name).tags


@pytest.mark.parametrize("name", [name for name in (*samples.PAGES, *samples.PARTS) if "hostile" in name])
def test_texts_of_others_add_no_markup_and_nothing_that_is_not_seen(name: str) -> None:
    page = document(name)
    calm = {(tag, attribute) for other in CALM for tag, attributes in document(other).tags for attribute in ("", *attributes)}
    assert {(tag, attribute) for tag, attributes in page.tags for attribute in ("", *attributes)} - calm == set()
    shown = page.text + "".join(value for _, attributes in page.tags for value in attributes.values())
    assert {ascii(character) for character in shown if not is_plain(character) and character != "\n"} == set()
    if name != "status-hostile":
        assert re.search(r"<script src|<img src|</style>|\\u202e", page.text)


def test_a_form_that_changes_something_sends_its_token_and_the_digest_of_what_was_read() -> None:
    page = samples.PAGES["project"]()
    forms = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)".*?</form>', page, re.DOTALL)
    bodies = re.findall(r'<form[^>]*method="post".*?</form>', page, re.DOTALL)
    assert [path.rpartition("/")[2] for path in forms] == ["logout", "sync", "resume", "pause", "approve", "reject"]
    assert all('name="csrf" value="c5rf-0123456789"' in body for body in bodies)
    digest = samples.project().plan
    assert digest is not None
    assert [
        path.rpartition("/")[2] for path, body in zip(forms, bodies, strict=True) if f'name="digest" value="{digest.digest}"' in body
    ] == [
        "approve",
        "reject",
    ]


def test_who_may_only_look_gets_no_form() -> None:
    page = render.render_project(samples.project(may=v.ViewerPermissions()))
    assert [path for path in Document(page).all("action") if path != "/logout"] == []


def test_a_status_is_a_word_and_a_shape_of_its_own() -> None:
    shapes = set()
    for word in StatusWord:
        row = v.RowView("a", "b", Mode.APPLY, word)
        page = Document(render.render_table(samples.listing(rows=[row], counts={})))
        start = next(index for index, (_, attributes) in enumerate(page.tags) if attributes.get("class") == f"status s-{word.lower()}")
        shapes.add(page.tags[start + 2][1]["href"])
        assert word in page.text
    assert len(shapes) == len(StatusWord)


def test_the_list_says_how_much_there_is_and_leads_to_the_next_page_with_the_same_filter() -> None:
    page = render.render_list(samples.listing(Query(text="te&st", status="OutOfSync", page=3), matching=231))
    assert "101 to 150 of 231 projects" in text_of(page)
    following = next(attributes["href"] for _, attributes in Document(page).tags if attributes.get("rel") == "next")
    assert Query.of(dict(parse_qsl(urlsplit(following).query))) == Query(text="te&st", status="OutOfSync", page=4)


def test_what_is_wrong_with_the_generators_is_on_the_overview_and_the_list_and_follows_the_events() -> None:
    view = samples.listing(generators=samples.GENERATORS)
    says = "The generators cannot be read: https://git.example.com/acme/orgs.git cannot be read: could not resolve the host"
    for page in (render.render_list(view), samples.PAGES["overview"]()):
        assert f"{says} [RC-fleet-source]. The generators were last read 3 h ago." in text_of(page)
    for part, is_wrong in ((samples.PARTS["figures"](), True), (render.render_table(replace(view, generators=None)), False)):
        assert ('<div id="generators" hx-swap-oob="true">' in part, says in text_of(part)) == (True, is_wrong)
    row = samples.rows(5)[4]
    assert "generator 1 (organizations) no longer lists it: it is not run" in text_of(render.render_table(replace(view, rows=[row])))
    page = text_of(render.render_project(samples.project(row=row)))
    assert "Tenant umbrella, wave 0, from generator 1 (organizations)." in page
    assert "generator 1 (organizations) no longer lists it: it is not run, and nothing of it is deleted" in page


def test_an_update_is_announced_only_if_the_numbers_changed() -> None:
    view = samples.listing()
    announced = [attributes for _, attributes in Document(render.render_table(view)).tags if attributes.get("id") == "announce"]
    assert announced == [{"id": "announce", "hx-swap-oob": "innerHTML"}]
    values = re.search(r"hx-vals='\{\"seen\": \"([^\"]+)\"\}'", render.render_list(view))
    assert values is not None
    assert 'id="announce"' not in render.render_table(replace(view, query=replace(view.query, seen=values[1])))
    assert "hx-vals" not in render.render_list(replace(view, query=replace(view.query, live="off")))


def test_a_plan_that_moved_is_said_and_the_forms_are_left_alone() -> None:
    page = render.render_project_status(samples.project(shown="another"))
    assert "The plan has changed since you opened this page" in text_of(page)
    assert "<form" not in page
    plan = samples.project().plan
    assert plan is not None
    assert "has changed" not in render.render_project_status(samples.project(shown=plan.digest))


def test_a_plan_that_requires_a_rehearsal_is_approved_after_it_and_knowingly() -> None:
    view = samples.unrehearsed_project()
    page = render.render_project(view)
    assert "It can be approved when it is rehearsed" in text_of(page)
    assert ('/rehearse"' in page, ">Approve</button>" in page, ">Reject</button>" in page) == (True, False, True)
    page = samples.PAGES["project"]()
    assert (f'name="rehearsal" value="{samples.rehearsed().digest}"' in page, '/rehearse"' in page) == (True, False)
    assert "If it stops after request 2 of 3" in text_of(page)
    unplanned = samples.PAGES["project-rehearsal-unplanned"]()
    assert "it did not go as planned" in text_of(unplanned)
    assert re.search(r'<input type="checkbox" id="allow-unplanned" name="allow-unplanned" value="1" required>', unplanned)
    outdated = samples.PAGES["project-rehearsal-outdated"]()
    assert ("Rehearse again" in text_of(outdated), ">Approve</button>" in outdated) == (True, False)


def test_the_end_of_a_rehearsal_is_said_and_the_forms_are_left_alone() -> None:
    view = samples.project()
    assert view.rehearsal is not None
    assert view.plan is not None
    shown = replace(view, shown=view.plan.digest, shown_rehearsal=v.RehearsalView(True, "waiting").key)
    page = render.render_project_status(shown)
    assert "The rehearsal of the plan has ended. Show it" in text_of(page)
    assert "<form" not in page
    assert "has ended" not in render.render_project_status(replace(shown, shown_rehearsal=view.rehearsal.key))


def test_ten_thousand_cells_are_quick_and_small() -> None:
    view = samples.overview(10_000, tenants=1_000)
    started = process_time()
    page = render.render_overview(view)
    assert process_time() - started < 2  # 0.2 measured
    own = heatmap.alone(view.cells)
    assert page.count('<a href="/projects/') == len(own) + len(view.broken) == heatmap.ALONE + len(view.broken)
    assert len(page.encode()) < 900_000  # of 1,000 tenants; 394,000 measured with 60
    counted = heatmap.totals(view.cells)
    assert sum(counted.values()) == 10_000
    assert sum(number for _, number in heatmap.freshness(view.cells)) == 10_000 - counted["orphaned"]
    groups = [group for tenant in heatmap.groups(view.cells) for group in tenant]
    assert sum(len(group.cells) for group in groups) == 10_000
    assert len({(group.tenant, group.wave) for group in groups}) == len(groups)


@costly
def test_of_many_cells_the_worst_have_links_of_their_own_and_none_is_left_out() -> None:
    view = samples.overview(10_000, tenants=60)
    own = heatmap.alone(view.cells)
    quiet = {
        cell.name for cell in view.cells if cell.status is StatusWord.SYNCED and cell.health is v.HealthWord.HEALTHY and not cell.paused
    }
    assert not own & quiet
    left_out = [cell for cell in view.cells if cell.name not in own and not cell.orphaned]
    assert {cell.health for cell in left_out}.isdisjoint({v.HealthWord.BROKEN})
    page = render.render_overview(view)
    picture = page.partition('<div class="map heat"')[2].partition("</section>")[0]
    assert picture.count("<rect") + picture.count("h11v11h-11z") == 10_000
    assert "Cells of projects that need attention lead to them, 1,000 here" in text_of(page)
    few = samples.overview(400)
    assert render.render_overview(few).count('<a href="/projects/') == 400 + len(few.broken)


def test_lines_that_destroy_or_expose_are_marked_with_all_that_belongs_to_them() -> None:
    lines = marks.marked(samples.PLAN)
    assert [line.text for line in lines] == samples.PLAN.rstrip("\n").split("\n")
    assert [line.text.split()[1] for line in lines if line.style == "destroys" and line.starts] == ["delete", "breaks"]
    assert len([line for line in lines if line.style == "exposes"]) == 2
    assert marks.numbers(lines)["exposes"] == 1
    assert [line.text.partition(" ")[0] for line in lines if line.style == "head"] == [
        "acme/site/docs/section/guides", "acme/team/writers", "acme/space/api", "acme/space/legacy", "acme/space/salaries",
        "acme/site/docs", "acme/openapi/payments",
    ]  # fmt: skip


def test_what_the_command_line_prints_can_be_marked_and_its_document_has_the_readers() -> None:
    plan = the_example()
    text = plain(plan_text(plan))
    assert "\n".join(line.text for line in marks.marked(text)) == text.rstrip("\n")
    document = plan_document(plan, created_at=samples.NOW)
    assert readers.gained(document) == readers.lost(document) == ()
    assert [entry.address for entry in readers.gained(samples.DOCUMENT)] == ["acme/space/salaries", "acme"]
    assert [entry.address for entry in readers.lost(samples.DOCUMENT)] == ["acme/site/docs", "acme/space/legacy"]


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.sampled_from(StatusWord)), min_size=2, max_size=30),
    st.timedeltas(timedelta(), timedelta(days=9)),
)
def test_a_chart_covers_the_whole_time_and_leaves_out_only_what_did_not_change(
    numbers: list[tuple[int, int, int, StatusWord]], pause: timedelta
) -> None:
    start = samples.ago(days=40)
    made = [Sample(start + pause * index, word, ahead, drift, unmanaged) for index, (ahead, drift, unmanaged, word) in enumerate(numbers)]
    drawn = chart.drift(made, made[-1].at + timedelta(minutes=1))
    assert drawn is not None
    assert drawn.strips[0].x == 0
    assert drawn.strips[-1].x + drawn.strips[-1].width >= chart.WIDTH
    assert all(series.line.endswith(f"H{chart.WIDTH}") and series.most >= series.last for series in drawn.series)
    assert drawn.turns[-1] == made[0]
    assert {(turn.status, turn.drift) for turn in drawn.turns} == {(sample.status, sample.drift) for sample in made}


@settings(max_examples=25)
@given(
    st.builds(
        Query,
        text=st.sampled_from(("", "a b", "a&b=c?#%/+", *(text.strip() for text in samples.HOSTILE))),
        status=st.sampled_from(("", *query.STATUSES)),
        health=st.sampled_from(("", *query.HEALTHS)),
        tenant=st.sampled_from(("", "acme", *(text.strip() for text in samples.HOSTILE))),
        mode=st.sampled_from(("", *query.MODES)),
        sort=st.sampled_from(query.SORTS),
        order=st.sampled_from(("up", "down")),
        page=st.integers(1, query.PAGE_MAX),
        live=st.sampled_from(("on", "off")),
    )
)
def test_a_link_leads_to_what_it_was_made_from(asked: Query) -> None:
    given_again = dict(parse_qsl(urlsplit(asked.link(page=asked.page)).query, keep_blank_values=True))
    assert Query.of(given_again) == asked


@pytest.mark.parametrize("page", ["0", "-1", "1e9", "٣", "9" * 400, "", "NaN"])
def test_a_query_that_is_not_understood_is_left_out(page: str) -> None:
    asked = Query.of({"page": page, "sort": "name; DROP TABLE", "order": "sideways", "status": "synced", "who": "me", "text": "a\0b"})
    assert 1 <= asked.page <= query.PAGE_MAX
    assert replace(asked, page=1) == Query(text="ab")
    assert AuditQuery.of({"before": page, "person": "x" * 999}) == AuditQuery(person="x" * query.TEXT_MAX, before=query.number(page, 0))


@pytest.mark.parametrize("month", [date.min, date(1999, 12, 31), date(2026, 2, 1), date(2400, 2, 29), date.max])
def test_every_month_can_be_asked_for(month: date) -> None:
    page = render.render_calendar(replace(samples.calendar(), month=month))
    assert f"{months.shown(month):%B %Y} as a list" in page


def test_the_calendar_says_everything_in_its_list_too() -> None:
    view = samples.calendar()
    words = text_of(render.render_calendar(view)).partition("as a list")[2]
    assert [item.what for item in view.items if item.what not in words] == []
    assert "Saturday 28 November 2026" in words
    many = [replace(view.items[0], what=f"share-link-{number}") for number in range(250)]
    page = text_of(render.render_calendar(replace(view, items=many, expired=many)))
    assert (page.count("and 150 more"), page.count("share-link-")) == (2, 3 + 100 + 100), "a cell, the list and what expired are short"
    pause = v.ExpiryView(view.items[0].at, "pause", "initech-de", "initech-de", "initech")
    assert "Pause of initech-de (initech)" in text_of(render.render_calendar(replace(view, items=[pause])))


def test_the_pinned_scripts_are_those_that_were_published() -> None:
    folder = files("reconciler.fleet.pages") / "static"
    known = re.findall(r"^(\S+\.js) .* ([0-9a-f]{64})$", (folder / "SOURCES.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert (
        {name for name, _ in known} == {assets.HTMX, assets.EVENTS} == {path.name for path in folder.iterdir() if path.name.endswith(".js")}
    )
    assert [name for name, digest in known if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest] == []
    assert "unsafe" not in assets.POLICY


def test_times_are_said_from_now_on_and_back() -> None:
    from reconciler.fleet.pages import words

    now = datetime(2026, 11, 23, 14, 2, tzinfo=samples.NOW.tzinfo)
    assert (words.ago(now - timedelta(minutes=5), now), words.ago(now + timedelta(hours=3), now)) == ("5 min ago", "in 3 h")
    assert words.percent(0.9999) == "99 %"
