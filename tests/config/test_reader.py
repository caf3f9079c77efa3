"""Reading YAML: every problem at its place, nothing that crashes the parser or takes long.

Where things are written is noted by the reader as it finds them, and made a `Source` where somebody asks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from reconciler.address import Address
from reconciler.config import load
from reconciler.config.source import nodes
from reconciler.config.source.nodes import List, Map, MapEntry, Scalar, core, plain
from reconciler.config.source.reader import DEPTH_MAX, EXPANDED_MAX, FILE_MAX, PROBLEMS_MAX, SCALAR_MAX, Document, read
from reconciler.kinds import load as kinds
from reconciler.model import Source
from tests.cage import fresh
from tests.proofs import costly, spread


def reading(text: str) -> Document:
    return read(text.encode(), "f.yaml")


def problems(text: str | bytes) -> list[str]:
    document = read(text if isinstance(text, bytes) else text.encode(), "f.yaml")
    return [str(item).removeprefix("f.yaml").removeprefix(":") for item in document.problems]


def data(text: str) -> Any:
    document = reading(text)
    assert document.problems == ()
    assert document.data is not None
    return plain(document.data)


def entry(document: Document, key: str) -> MapEntry:
    assert isinstance(document.data, Map)
    return document.data.entries[key]


# -- what is kept ------------------------------------------------------------------------------------------------------------------


def test_maps_lists_and_scalars_are_read_in_order() -> None:
    assert data("b: [1, x]\na: {c: {}, d: []}\n") == {"b": [1, "x"], "a": {"c": {}, "d": []}}
    assert list(data("b: 1\na: 2\n")) == ["b", "a"]


@pytest.mark.parametrize("text", ["007", "no", "404", "1.10", "0x1F", "2024-01-01", "12:30:45", "${{ vars.x }}", "=", "1_000"])
def test_a_scalar_keeps_its_source_text(text: str) -> None:
    node = entry(reading(f"a: {text}"), "a").node
    assert isinstance(node, Scalar)
    assert (node.text, node.plain) == (text, True)


@pytest.mark.parametrize("quoted", ["'null'", '"null"', "|-\n  null", ">-\n  null"])
def test_a_quoted_scalar_is_not_plain(quoted: str) -> None:
    node = entry(reading(f"a: {quoted}"), "a").node
    assert isinstance(node, Scalar)
    assert (node.text, node.plain, node.null) == ("null", False, False)


def test_nothing_and_null_and_an_empty_text_are_three_things() -> None:
    document = reading("a:\nb: null\nc: ''\nd: ~\n")
    assert [(node.empty, node.null) for node in [entry(document, key).node for key in "abcd"] if isinstance(node, Scalar)] == [
        (True, False),
        (False, True),
        (False, False),
        (False, True),
    ]


def test_every_value_and_every_key_has_its_place() -> None:
    item = entry(reading("# a comment\na:\n  - 😀b\n  - {c: 'd'}\n"), "a")
    assert item.at == Source("f.yaml", 2, 1)
    assert isinstance(item.node, List)
    assert item.node.at == Source("f.yaml", 3, 3)
    first, second = item.node.items
    assert isinstance(second, Map)
    assert (first.at, second.at) == (Source("f.yaml", 3, 5), Source("f.yaml", 4, 5))
    assert (second.entries["c"].at, second.entries["c"].node.at) == (Source("f.yaml", 4, 6), Source("f.yaml", 4, 9))


def test_columns_count_characters() -> None:
    assert entry(reading('{x: "😀é", y: 1}'), "y").at == Source("f.yaml", 1, 11)


def test_a_byte_order_mark_is_accepted() -> None:
    document = read(b"\xef\xbb\xbfa: 1", "f.yaml")
    assert document.problems == ()
    assert entry(document, "a").at == Source("f.yaml", 1, 1)


def test_windows_line_ends_are_accepted() -> None:
    assert data("a: 1\r\nb: |\r\n  c\r\n  d\r\n") == {"a": 1, "b": "c\nd\n"}


def test_an_alias_repeats_a_value_as_a_node_of_its_own() -> None:
    document = reading("x-a: &a {b: 1}\nc: *a\nd: *a\n")
    first, second = entry(document, "c").node, entry(document, "d").node
    assert plain(first) == plain(second) == {"b": 1}
    assert isinstance(first, Map)
    assert isinstance(second, Map)
    assert first.entries["b"] is not second.entries["b"]
    assert first.at == Source("f.yaml", 2, 4)


def test_a_quoted_merge_key_is_a_key_like_any_other() -> None:
    assert data("'<<': 1") == {"<<": 1}


# -- what is refused ---------------------------------------------------------------------------------------------------------------

QUOTE = '; if the value contains "${{", quote the whole value'
WRONG: dict[str, tuple[str | bytes, list[str]]] = {
    "a key written twice": ("a: 1\nb:\n  c: 1\n  'c': 2\n", ['4:3  the key "c" is written twice; first at f.yaml:3:3']),
    "several keys written twice": (
        "a: 1\na: 2\nb: 1\nb: 1",
        ['2:1  the key "a" is written twice; first at f.yaml:1:1', '4:1  the key "b" is written twice; first at f.yaml:3:1'],
    ),
    "a merge key": (
        "x: &x {a: 1}\ny:\n  <<: *x\n",
        ['3:3  merge keys ("<<") are not supported; write the keys out, or repeat a complete value with an alias'],
    ),
    "a tag": ("a: !!str 1", ["1:4  the tag !!str is not allowed; the field determines the type"]),
    "a tag of one's own": ("a: [!b {}]", ["1:5  the tag !b is not allowed; the field determines the type"]),
    "the tag that means nothing": ("a: ! 1", ["1:4  the tag ! is not allowed; the field determines the type"]),
    "a tag at the end of its line": ("a: !b(\nc: 1", ["1:4  the tag !b( is not allowed; the field determines the type"]),
    "a tag with no meaning": ("a: !b!c 1", ["1:4  tags (words that begin with !) are not allowed; quote the value"]),
    "a list as a key": ("? [a]\n: 1", ["1:3  a key must be text, not a list; quote it if it contains braces or brackets"]),
    "a map as a key": ("? {a: b}\n: 1", ["1:3  a key must be text, not a map; quote it if it contains braces or brackets"]),
    "an expression without its dollar sign": (
        "a: {{ b }}",
        ["1:4  {{ … }} is not an expression; write ${{ … }}, or quote it if it is a text"],
    ),
    "an alias as a key": ("a: &b c\n*b : d", ["2:1  a key must be text, not an alias; quote it if it contains braces or brackets"]),
    "no key": ("? # nothing\n: 1", ["1:2  a key is missing before the colon"]),
    "two documents": ("a: 1\n---\nb: 1", ["2:1  a second document begins here; move it to a file of its own"]),
    "nothing": ("", ["  this file is empty"]),
    "nothing but a comment": ("# a\n---\n", ["  this file is empty"]),
    "an alias of nothing": (
        "editors: &editors 1\na: *editor",
        ['2:4  anchor &editor is not defined before this alias; did you mean "editors"?'],
    ),
    "an alias inside itself": ("a: &b [*b]", ["1:8  the alias *b is inside the value that it repeats"]),
    "bytes that are no UTF-8": (b"a: 1\nb: \xe9", ["2:4  the byte 0xe9 is not UTF-8; save the file as UTF-8"]),
    "UTF-16": ("a: 1".encode("utf-16"), ["  the file is UTF-16; save it as UTF-8"]),
    "a control character": ("a: 1\nb: x\x1by", ['2:5  the character U+001B is not allowed here; write "\\x1b" in double quotes']),
    "a zero": ("a\0", ['1:2  the character U+0000 is not allowed here; write "\\x00" in double quotes']),
    "a line break of old YAML": ("a: b\u2028c", ['1:5  the character U+2028 is not allowed here; write "\\u2028" in double quotes']),
    "a tab as indentation": ("a:\n\tb: 1", ["2:1  the indentation contains a tab; YAML requires spaces"]),
    "a tab after spaces as indentation": ("a:\n  b: 1\n  \tc: 1", ["3:3  the indentation contains a tab; YAML requires spaces"]),
    "a tab in the indentation of a text": ("a: |\n\tb", ["2:1  the indentation contains a tab; YAML requires spaces"]),
    "a colon in a value": ("a: b: c", ['1:5  a ":" is not allowed here; quote values that contain ": ", or fix the indentation']),
    "an at sign": ("a: @b", ['1:4  "@" cannot begin a value; quote it']),
    "an open quote": ("a: 'b\nc: d\n", ["1:4  this quote is never closed"]),
    "an open list": ("a: [1, 2\nb: 3", ['2:2  a list is not closed here: a "," or "]" is missing before this']),
    "an open map": ("a: {b: 1\n", ["1:4  a map is never closed"]),
    "a quote that ends early": (
        "a: 'it's'",
        ["1:8  this does not belong to the previous key; quote the whole value, or correct the indentation"],
    ),
    "an unknown escape": (
        'a: "\\q"',
        ["1:5  this escape is unknown in double quotes; write \\\\ for a backslash, or use single quotes"],
    ),
    "an expression in a flow map": (
        "a: {b: ${{ vars.c }}}",
        ['1:9  a map is not closed here: a "," or "}" is missing before this' + QUOTE],
    ),
    "an expression in a flow list": (
        "a: [${{ vars.c }}]",
        ['1:6  a list is not closed here: a "," or "]" is missing before this' + QUOTE],
    ),
    "an expression with a colon": (
        "a: ${{ {'b': vars.c}['b'] }}: c",
        ['1:12  a ":" is not allowed here; quote values that contain ": ", or fix the indentation' + QUOTE],
    ),
    "an expression after a quoted part": (
        'a: "b" ${{ vars.c }}',
        ["1:8  this does not belong to the previous key; quote the whole value, or correct the indentation" + QUOTE],
    ),
    "nesting": ("[" * 101, [f"1:101  maps and lists have more than {DEPTH_MAX} levels"]),
    "a long text": (b"a: " + b"b" * (SCALAR_MAX + 1), ["1:4  the text is longer than 1,048,576 characters"]),
    "a large file": (b" " * (FILE_MAX + 1), ["  the file is larger than 16 MiB"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_is_refused_in_exactly_these_words(name: str) -> None:
    text, expected = WRONG[name]
    assert problems(text) == expected


def test_nesting_up_to_the_limit_is_read() -> None:
    assert problems("[" * DEPTH_MAX + "]" * DEPTH_MAX) == []


def test_what_is_wrong_in_one_place_hides_nothing_elsewhere() -> None:
    document = reading("a: 1\na: 2\nb: !c 3\nd: 4\n")
    assert document.data is not None
    assert plain(document.data) == {"a": 1, "b": 3, "d": 4}


def test_the_number_of_problems_is_capped() -> None:
    assert len(problems("a: 1\n" * 10 * PROBLEMS_MAX)) == PROBLEMS_MAX


def test_repeating_by_aliases_is_capped() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{here}: &{here} [{','.join(['*' + before] * 10)}]\n" for before, here in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert problems(bomb) == [f"5:29  aliases repeat more than {EXPANDED_MAX:,} values"]


TEXTS = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=20)


@given(st.binary(max_size=200) | st.text("ab:-?[]{},&*!|>'\"%@`#$ \t\n<0", max_size=60).map(str.encode))
def test_no_bytes_end_in_anything_but_nodes_or_problems(text: bytes) -> None:
    document = read(text, "f.yaml")
    assert document.data is not None or document.problems


@given(st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)))
def test_what_json_writes_is_read_back(value: Any) -> None:
    assert data(json.dumps(value)) == value


# -- the core schema ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("null", None), ("~", None), ("true", True), ("False", False), ("no", "no"), ("on", "on"), ("y", "y"), ("tRUE", "tRUE"),
        ("12", 12), ("-012", -12), ("0o14", 12), ("014", 14), ("0xC", 12), ("0b1", "0b1"), ("1_000", "1_000"), ("+", "+"), (".", "."),
        ("1.10", 1.1), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("-.inf", float("-inf")), (".inf", float("inf")), ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"), ("<<", "<<"), ("9" * 5000, "9" * 5000), ("١", "١"),
    ],
)  # fmt: skip
def test_a_plain_scalar_has_the_type_of_the_core_schema(text: str, value: Any) -> None:
    result = core(text)
    assert (result, type(result)) == (value, type(value))


# -- bombs -------------------------------------------------------------------------------------------------------------------------

BOMBS = {
    "openers of lists": "b'[' * 60_000",
    "openers of maps": "b'{' * 10_000_000",
    "maps in maps": "b'{a: ' * 3_000_000",
    "dashes": "b'- ' * 8_000_000",
    "question marks": "b'? ' * 8_000_000",
    "steps of indentation": "b''.join(b' ' * i + b'a:\\n' for i in range(4_000))",
    "openers behind an apostrophe": "b\"a: it's\\nb: \" + b'[' * 1_000_000",
    "keys written twice": "b'a: 1\\n' * 2_500_000",
    "an open quote": "b'a: \"' + b'x' * 15_000_000",
    "a control character at the end": "b'a' * 15_000_000 + b'\\0'",
    "aliases of aliases": "b'a: &a [x]\\n' + b''.join(b'a%d: &a [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\n' % i for i in range(1000))",
}
PROGRAM = """
from reconciler.config.source.reader import read
from tests.cage import confine
text = {text}
confine()
assert read(text, "f.yaml").problems
"""


@costly
@pytest.mark.parametrize("name", spread(list(BOMBS), 4))
def test_a_bomb_is_a_problem_within_two_seconds_and_a_quarter_of_a_gigabyte(name: str) -> None:
    fresh(PROGRAM.format(text=BOMBS[name]))


HEAD = """version: 1
project: acme
organizations:
  acme:
    id: org_acme
    content:
      - {space: blank, id: spc_blank, title: Blank}
"""
SPACE = '      - {{space: s{number}, title: "Space {number}", emoji: "x", language: en, editMode: live, duplicateOf: blank}}\n'


def test_a_node_says_where_it_is() -> None:
    document = read(b"a:\n  b: [c]\n", "a.yaml").data
    assert isinstance(document, nodes.Map)
    entry = document.entries["a"]
    assert (document.at, entry.at, entry.node.at) == (Source("a.yaml", 1, 1), Source("a.yaml", 1, 1), Source("a.yaml", 2, 3))


def test_values_are_not_asked_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result: list[Source] = []

    def noted(*mark: int) -> Source:
        result.append(Source(*mark))  # type: ignore[arg-type]
        return result[-1]

    monkeypatch.setattr(nodes, "Source", noted)
    numbers = []
    for size in (10, 110):
        (tmp_path / "reconciler.yaml").write_text(HEAD + "".join(SPACE.format(number=n) for n in range(size)), encoding="utf-8")
        result.clear()
        project = load(tmp_path, kinds())
        numbers.append(len(result))
    assert numbers[1] - numbers[0] <= 2 * 100  # the resource itself, and what it is a copy of
    assert dict(project.desired.resources[Address.parse("acme/space/s7")].positions) == {
        "title": Source("reconciler.yaml", 15, 28),
        "emoji": Source("reconciler.yaml", 15, 46),
        "language": Source("reconciler.yaml", 15, 61),
        "editMode": Source("reconciler.yaml", 15, 75),
        "duplicateOf": Source("reconciler.yaml", 15, 94),
    }
