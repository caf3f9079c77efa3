"""Every encoder, over every character there is; on a push over the first 12,544 and each eleventh of the others."""

from __future__ import annotations

import json
import re
import sys
import unicodedata

import pytest

from reconciler.text import escape
from reconciler.text.escape import is_plain
from tests.proofs import sampled, stride

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ZERO_WIDTH = "\u00ad\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u034f\u115f\u1160\u3164\uffa0\ufe00\U000e0100"
SAMPLED = range(0x3100, sys.maxunicode, stride(11))
EVERYTHING = sorted({*map(chr, range(0x3100)), *map(chr, SAMPLED), *BIDI, *ZERO_WIDTH, chr(sys.maxunicode)})

pytestmark = sampled


def test_a_terminal_gets_no_character_that_controls_hides_or_turns_around() -> None:
    harmful = [
        one
        for one in escape.terminal("".join(EVERYTHING))
        if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or one in ZERO_WIDTH
    ]
    assert harmful == []


def test_every_character_alone_is_either_itself_or_its_own_name() -> None:
    for one in EVERYTHING:
        shown = escape.terminal(one)
        assert shown == one or re.fullmatch(r"\\(n|t|r|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})", shown), hex(ord(one))


@pytest.mark.parametrize(
    "one", [*BIDI, *ZERO_WIDTH, "\x1b", "\x07", "\x00", "\x7f", "\x9b", "\n", "\r", "\t", "\u2028", "\u2029"], ids=ascii
)
def test_what_could_deceive_is_shown_by_its_name(one: str) -> None:
    assert one not in escape.terminal(f"a{one}b")


@pytest.mark.parametrize("text", ["Guides", "Prüfung", "日本語", "é", "📘", "🫨", "a\\b", 'say "hi"', "← → ↑", "ﬁ"])
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert escape.terminal(text) == text


def test_json_decodes_to_the_same_text_and_holds_nothing_raw() -> None:
    whole = "".join(EVERYTHING)
    text = escape.as_json({"whole": whole})
    assert json.loads(text) == {"whole": json.loads(json.dumps(whole))}
    text.encode("utf-8")
    assert [one for one in text if not is_plain(one) and one != "\n"] == []


def test_json_stays_readable() -> None:
    assert escape.as_json({"title": "Prüfung 📘"}, indent=None) == '{"title": "Prüfung 📘"}'


def test_a_label_of_dot_ends_where_its_quote_ends() -> None:
    label = escape.dot("".join(EVERYTHING))
    assert re.fullmatch(r'(?:[^"\\\n]|\\["\\])*', label)


def test_a_message_or_a_property_of_github_holds_nothing_that_ends_it_or_begins_a_command() -> None:
    message = escape.github("".join(f"a{one}:{one}:b" for one in EVERYTHING))
    value = escape.github_property("".join(f"a{one},{one}:b" for one in EVERYTHING))
    assert "::" not in message
    assert not set(",:") & set(value)
    for text in (message, value):
        assert not set("\r\n") & set(text)
        assert re.search("%(?!25|3A|2C)", text) is None
        text.encode("utf-8")
    assert "##[" not in escape.github("##[error]no")
    assert escape.github("100 %: ::error::x") == "100 %25: : :error: :x"


@pytest.mark.parametrize("line", ["::error::x", "  ::add-mask::x", "a ##[error]x", "a##vso[task.x]y", "###[x]"])
def test_no_line_of_a_log_is_a_command(line: str) -> None:
    for text in (line, f"a\n{line}\nb", line * 3):
        assert [one for one in escape.log(text).splitlines() if one.strip().startswith("::") or re.search(r"##\w*\[", one)] == []
        assert re.search(r"##\w*\[", escape.as_json({text: text})) is None
        assert json.loads(escape.as_json({text: text})) == {text: text}
    assert escape.log("std::vector # 1 ## two [x]\n :a") == "std::vector # 1 ## two [x]\n :a"


def test_a_label_of_mermaid_holds_no_character_with_a_meaning() -> None:
    for one in map(chr, range(0x80)):
        label = escape.mermaid(one)
        assert re.fullmatch(r"(?:[\w @./:,+()=>-]|#\d+;)*", label), ascii(one)
    assert '"' not in escape.mermaid("".join(EVERYTHING[0x80:]))
