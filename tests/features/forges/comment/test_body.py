"""A comment of parts: what it says comes back, it fits, what is serious is first, and nobody's text is anything but text in it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from markdown_it import MarkdownIt

from reconciler.features.forges.comment.body import CommentText, TooLong, body, comment_of, size
from reconciler.features.forges.comment.part import CommentPart, Dialect, PartOrigin, code, is_link, part, text
from reconciler.report.layout import Style
from reconciler.report.reading import failed
from reconciler.report.sheet import SheetEntry, SheetLine, Weight
from tests.features.forges.comment.made import EVIL, drawn, sheet
from tests.features.forges.gitlab import quick_actions
from tests.proofs import sampled, tries

DIALECTS = [Dialect(65_500), Dialect(32_700, html=False)]
both = pytest.mark.parametrize("dialect", DIALECTS, ids=["html", "no html"])


def some(random: Random, most: int = 5) -> list[CommentPart]:
    """Parts of different names, some of which nobody would choose."""
    names = [f"{random.choice(['acme', 'a b', *EVIL])}{number}" for number in range(random.randint(1, most))]
    return [drawn(random, name, run=random.randint(1, 9)) for name in names]


def versions(parts: tuple[CommentPart, ...] | list[CommentPart]) -> dict[tuple[str, str], object]:
    return {made.key: made.version for made in parts}


@sampled
@both
def test_a_comment_that_is_read_is_written_again_byte_for_byte(dialect: Dialect) -> None:
    dialect = replace(dialect, limit=1_000_000)
    for seed in range(tries(1_000, 25)):
        random = Random(seed)
        parts = some(random)
        written, left_out = body(CommentText(random.choice(["", "acme/prod", EVIL[1]]), tuple(parts)), dialect)
        read = comment_of(written.replace("\n", random.choice(["\n", "\r\n"])))
        assert read is not None
        assert versions(read.parts) == versions(parts)
        assert [replace(made, raw="") for made in sorted(read.parts, key=lambda made: made.key)] == sorted(parts, key=lambda made: made.key)
        assert body(read, dialect) == (written, left_out)


@sampled
@both
def test_a_comment_fits_and_serious_entries_are_whole_or_counted(dialect: Dialect) -> None:
    cut = short = 0
    for seed in range(tries(1_500, 60)):
        random = Random(seed)
        parts = [drawn(random, f"p{number}", others=random.choice([3, 40])) for number in range(random.randint(1, 6))]
        small = replace(dialect, limit=random.randint(500, 20_000))
        try:
            written, left_out = body(CommentText("", tuple(parts)), small)
        except TooLong:
            assert small.limit < 1_000 * len(parts)
            continue
        assert size(written) <= small.limit
        read = comment_of(written)
        assert read is not None
        assert versions(read.parts) == versions(parts)
        whole = sum(entry in written for made in parts for entry in made.urgent)
        assert sum(made.urgent_total for made in parts) - whole <= left_out
        if left_out == 0:
            assert all(entry in written for made in parts for entry in made.urgent)
        else:
            assert not any(made.others for made in read.parts), "something else was left in although serious entries were not whole"
        left = sum(made.others_total - len(made.others) for made in read.parts)
        assert left == 0 or "see the HTML or JSON report" in written or "fit here" in written
        again, _ = body(read, small)
        assert size(again) <= small.limit
        cut, short = cut + (left > 0), short + (left_out > 0)
    assert min(cut, short) > 2, "the sizes that were drawn try both"


@sampled
@both
def test_texts_of_anybody_are_neither_markup_nor_mentions_nor_markers(dialect: Dialect) -> None:
    parser = MarkdownIt("commonmark")
    for seed in range(tries(600, 20)):
        random = Random(seed)
        parts = some(random)
        written = body(CommentText("", tuple(parts)), replace(dialect, limit=random.choice([4_000, 60_000])))[0]
        read = comment_of(written)
        assert read is not None
        assert set(versions(read.parts)) == set(versions(parts))
        assert quick_actions(written) == []
        for token in parser.parse(written):
            if token.type == "html_block":
                assert dialect.html
                assert all(line.startswith(("<!-- reconciler:", "<details><summary>", "</details>")) for line in token.content.splitlines())
            for child in token.children or ():
                assert child.type in ("text", "code_inline", "strong_open", "strong_close", "link_open", "link_close", "softbreak"), child
                assert child.type != "link_open" or str(child.attrs["href"]).startswith("https://ci.example/")
                assert child.type != "text" or not set(child.content) & set("@<![|~"), child.content
                assert child.content.isprintable()


def test_serious_parts_are_first_and_calm_ones_last() -> None:
    gone = SheetEntry("acme/space/old", "", [SheetLine(Style.DELETE, "-", "delete", "no longer declared")], Weight.URGENT)
    calm = SheetEntry("acme/space/new", "", [SheetLine(Style.CREATE, "+", "create", "")])
    base = sheet(Random(0), urgent=0, others=0, kind="plan")
    sheets = {
        "a-quiet": replace(base, entries=(), quiet=True),
        "b-calm": replace(base, entries=(calm,), quiet=False),
        "c-serious": replace(base, entries=(calm, gone), quiet=False),
        "d-failed": failed("plan"),
    }
    parts = [part(made, name, PartOrigin((1, 1))) for name, made in sheets.items()]
    written = body(CommentText("", tuple(parts)), DIALECTS[0])[0]
    assert sorted(sheets, key=lambda name: written.index(f"Plan of `{name}`")) == ["c-serious", "d-failed", "b-calm", "a-quiet"]
    assert written.index("@@ acme/space/old @@") < written.index("<details>") < written.index("@@ acme/space/new @@")
    assert "The job failed before it had a result." in written


def test_parts_of_an_older_commit_are_named() -> None:
    old, new = "a" * 40, "b" * 40
    parts = [
        part(sheet(Random(1), kind="plan"), name, PartOrigin((run, 1), commit))
        for name, run, commit in (("acme/prod", 5, old), ("acme/staging", 6, new))
    ]
    assert "> Not of the newest commit `bbbbbbbbbb`: `acme/prod`." in body(CommentText("", tuple(parts)), DIALECTS[0])[0]
    assert "> Not of" not in body(CommentText("", tuple(replace(made, commit=new, raw="") for made in parts)), DIALECTS[0])[0]


def test_a_comment_of_somebody_else_is_none_of_ours() -> None:
    for other in ("", "hello", "<!-- reconciler:plan:acme -->\n### Plan", " <!-- reconciler:comment -->", "<!-- reconciler:end -->"):
        assert comment_of(other) is None
    assert comment_of("<!-- reconciler:comment -->\n<!-- reconciler:part kind=plan -->\n") == CommentText("", ())


def test_a_part_whose_end_was_deleted_is_kept() -> None:
    made = drawn(Random(3), "acme", kind="plan")
    read = comment_of(body(CommentText("", (made,)), DIALECTS[0])[0].replace("<!-- reconciler:end -->", ""))
    assert read is not None
    assert versions(read.parts) == versions([made])


@pytest.mark.parametrize(
    "wrong", ["javascript:alert(1)", "https://x.example/)[a](b", "http://x y", "https://x.example/<b>", "//x.example", "https://é.example"]
)
def test_only_plain_web_addresses_are_linked(wrong: str) -> None:
    assert not is_link(wrong)
    made = part(failed("plan"), "acme", PartOrigin((1, 1), "not a commit", (("run", wrong),)))
    assert "](" not in text(made, DIALECTS[0])
    assert "commit" not in made.head[-1]


def test_code_spans_hold_any_text() -> None:
    parser = MarkdownIt("commonmark")
    for evil in (*EVIL, "`", "``a`", "", " ", "a" * 1_000):
        (inline,) = [token for token in parser.parse(f"x {code(evil)} y") if token.type == "inline"]
        assert [child.type for child in inline.children or ()] == ["text", "code_inline", "text"], evil
