"""One encoder for each place a text can go: `PLACES`, and JSON.

In: any text, from the service or the YAML. Out: text that its reader cannot mistake for anything else. Characters that are invisible or
change how their neighbours are displayed (control, bidi, escape, zero-width characters, lone surrogates) are written as `\\x1b`,
`\\u202e`, `\\U000e0041`.
"""

from __future__ import annotations

import html as entities
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that Python calls printable although they are invisible: joiners, fillers, an empty braille cell."""

NEW_EMOJI: Final = range(0x1F000, 0x1FC00)
"""Emoji that this Python's Unicode tables may not know yet; nothing else is assigned there."""

VARIATION: Final = (*range(0x180B, 0x1810), *range(0xFE00, 0xFE0F), *range(0xE0100, 0xE01F0))
"""Variation selectors are invisible; only U+FE0F, which selects the coloured form of an emoji, is in daily use."""

UNLIMITED: Final = 1_000_000
"""The number of columns assumed for output that is not a terminal."""

_OTHERWISE: Final = INVISIBLE | {chr(code) for code in VARIATION}
_SHORT: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def is_plain(character: str) -> bool:
    """Whether a character displays as itself and leaves its neighbours unchanged."""
    return (character.isprintable() and character not in _OTHERWISE) or ord(character) in NEW_EMOJI


def named(character: str) -> str:
    """A character by its number, as in terminals and YAML: `\\x1b`, `\\u202e`, `\\U000e0041`; or `\\n`, `\\t`, `\\r`."""
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def replaced(text: str, otherwise: Callable[[str], str] = named) -> str:
    """The text with a replacement for each character that is not plain."""
    if text.isprintable() and _OTHERWISE.isdisjoint(text):
        return text  # true of most texts, and decided without a look at each character
    return "".join(character if is_plain(character) else otherwise(character) for character in text)


_COMMAND: Final = re.compile(r"^([^\S\n]*:)(?=:)", re.MULTILINE)  # at the beginning of a line, for the runner of a workflow of GitHub
_OLD: Final = re.compile(r"#(?=#\w*\[)")  # anywhere in a line: `##[error]`, `##vso[task.x]`


def terminal(text: str) -> str:
    """One line for a terminal."""
    return replaced(text)


def log(text: str) -> str:
    """Lines for a log, none of which the program that runs the pipeline and parses its log would take as a command."""
    return _OLD.sub("# ", _COMMAND.sub(r"\1 ", text))


def xml(text: str) -> str:
    """One line of a text or an attribute in XML, before `&`, `<` and `>` are escaped: XML has no other spelling for control characters."""
    return log(terminal(text))


def html(text: str) -> str:
    """A text as it is shown in HTML: no markup, and no control characters."""
    return entities.escape(terminal(text))


def uri(path: str) -> str:
    """A path as part of a URI, by its bytes."""
    return quote(path, errors="surrogateescape")


def _json_name(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON that decodes to the same value; readable letters stay readable. Raises ValueError for numbers that JSON cannot represent."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _OLD.sub(r"\\u0023", "\n".join(replaced(line, _json_name) for line in text.split("\n")))


_MERMAID: Final = re.compile(r"[^\w @./:,+()=>-]|(?<==)=", re.ASCII)


def mermaid(text: str) -> str:
    """A label between double quotes in mermaid, where `#…;` is a character by its number."""
    plain = terminal(text)
    return _MERMAID.sub(lambda match: match[0] if not match[0].isascii() else f"#{ord(match[0])};", plain)


def dot(text: str) -> str:
    """A label between double quotes in dot."""
    return terminal(text).replace("\\", "\\\\").replace('"', '\\"')


def github(text: str) -> str:
    """The message of a GitHub workflow command: one line, which cannot start another command or script."""
    return re.sub(r":(?=:)|#(?=#\w*\[)", r"\g<0> ", terminal(text).replace("%", "%25"))  # GitHub decodes no %3A here


def github_property(text: str) -> str:
    """A property of a GitHub workflow command, where `,` and `:` have a meaning too."""
    return terminal(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


_MARKUP: Final = re.compile(r"[\\`*_\[\]<>#!|~@&]|:(?=//)|\.(?<=www\.)|(?<!\S)[$%](?=[\w\"])|-(?<=\bGH-)(?=\d)", re.IGNORECASE)
_NAMES: Final = re.compile(  # @name #1 !1 ~label &1 $1 %1 GH-1 [issue:1] *iteration:1
    r"&#(?:64|35|33|126|38|36|37|45);(?=[\w\"])|&#(?:91|42);(?=(?:\w|&#95;)+:)|&#58;|(?i:www)(?=&#46;)"
)


def markdown(text: str) -> str:
    """A sentence without markup, mentions, references or links.

    GitHub and GitLab look for mentions and references in the rendered text, so that an entity alone hides none of them.
    """
    return _NAMES.sub(r"\g<0>&#8203;", _MARKUP.sub(lambda match: f"&#{ord(match[0])};", terminal(text)))


_ORDER: Final = re.compile(
    r"(?<!\w)@(?=\w)|#(?=\w)|[!&$](?=\d)|\bGH-(?=\d)|:(?=//)"  # @owners #1 !1 &1 $1 GH-1 https://…/issues/1
    r"|\[(?=[^\[\]]*(?:skip|\bno\b|\bci\b|\w:\w))|\*(?=\*\*)|-(?=-(?:skip|ci|no)-)"  # [skip ci] [issue:1] ***NO_CI*** --skip-ci
    r"|\A/(?=\w)",  # /merge
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"\b(?:clos(?:e[sd]?|ing)|complet(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)\b:?"
    r"(?=\s+(?:issues?\s+)?[A-Z]\w*-\s?\d)",
    re.IGNORECASE,
)


def commit(text: str) -> str:
    """One line of the message of a commit, in which neither a forge nor a CI reads a mention, a reference or an instruction."""
    return _CLOSING.sub(r"\g<0> -", _ORDER.sub(r"\g<0> ", terminal(text)))


_CALL: Final = re.compile(
    r"@(?=everyone|here|channel|all\b|room)|(?<!\w)@(?=\S)|<(?=\S)"  # @everyone <!channel> <https://…|text>
    r"|:(?=//)|\](?=[(:\[])|\bwww\.(?=\w)",  # https://… [text](…) www.…
    re.IGNORECASE,
)


def chat(text: str) -> str:
    """One line of a message in a chat, which calls nobody and contains no link."""
    return _CALL.sub(r"\g<0> ", terminal(text))


def spreadsheet(text: str) -> str:
    """One line as a cell, which no spreadsheet takes for a formula; see https://owasp.org/www-community/attacks/CSV_Injection."""
    plain = terminal(text)
    return f"'{plain}" if plain.lstrip()[:1] in tuple("=+-@") else plain


PLACES: Final[Mapping[str, Callable[[str], str]]] = {
    "terminal": terminal, "log": log, "xml": xml, "html": html, "uri": uri, "mermaid": mermaid, "dot": dot, "github": github,
    "github_property": github_property, "markdown": markdown, "commit": commit, "chat": chat,
    "spreadsheet": spreadsheet,
}  # fmt: skip
"""What each place needs, by its name. A text of strangers goes through exactly that of the place where it is printed."""
