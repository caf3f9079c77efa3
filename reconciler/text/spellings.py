"""Find secrets in texts, however they are written: escaped any number of times, encoded, wrapped, cut off.

In: secrets; a text. Out: where the text contains one. Pure.

Two ways, each for what it can do in linear time. Escapes, which leave most characters readable, are undone in the text, again and again,
and line breaks are left out: the readable secret is then looked for. Encodings, which leave none readable, are applied to the secret.

A beginning or an end of a secret is looked for too, as programs cut long values off. It is masked to the end of its word, so that nobody
can find out a secret character by character: a right and a wrong next character are masked alike.
"""

from __future__ import annotations

import html
import re
from base64 import b32encode, b64encode
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from unicodedata import normalize

LEAST: Final = 8  # characters of what is looked for; shorter texts are ordinary words
SAMPLE, STEP = 6, 3  # LEAST is SAMPLE + STEP - 1: whatever is found contains a sample at a multiple of STEP
CUT_MAX: Final = 12  # characters of a beginning or an end; of a short secret, half of it
WORD_MAX: Final = 1_000  # characters of a word
LEVELS: Final = 5  # how often a text can be escaped
_WORD: Final = r"[\w./+=~%-]"
_WORD_END: Final = re.compile(f"{_WORD}*")
_BREAK: Final = re.compile(
    r"\x1b\[[0-9;]*m"  # a colour
    r"|=\r?\n|\\\r?\n|[ \t]*\r?\n[ \t]*[|>#][ \t]?"  # a line continued; one of a frame, a quote or a comment
    "|[\\s\u00ad\u200b-\u200d\u2060\ufeff]+"
)
_ESCAPE: Final = re.compile(
    r"(?P<bytes>(?:%[0-9A-Fa-f]{2})+|(?:=[0-9A-Fa-f]{2})+)"  # of a URL, quoted-printable
    r"|&\#(?P<decimal>[0-9]{1,7});?|&\#[xX](?P<hex>[0-9A-Fa-f]{1,6});?|&(?P<name>[A-Za-z][A-Za-z0-9]{1,30};)"
    r"|(?P<units>(?:\\u[0-9A-Fa-f]{4})+)|\\u\{(?P<code>[0-9A-Fa-f]{1,6})\}|\\U(?P<long>[0-9A-Fa-f]{8})|\\x(?P<short>[0-9A-Fa-f]{2})"
    r"|\\(?P<letter>[nrtbfv0])|\\(?P<mark>[^\w\s])",
)
_SLICES: Final = [slice(at, at + SAMPLE) for at in range(0, 3_000, STEP)]
_CONTROL: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_FRAME: Final = re.compile(r"-----[A-Z ]+-----")
_HOST: Final = re.compile(r"\A[a-z][a-z0-9+.-]*://[^/@]*/", re.IGNORECASE)  # how many URLs begin
_URL_SAFE: Final = str.maketrans("+/", "-_")


class Needle(NamedTuple):
    """What is looked for. `begins`, `ends`: it is the beginning or the end of a secret, so the rest of its word is masked too."""

    text: str
    begins: bool = False
    ends: bool = False


class _View(NamedTuple):
    """A text with escapes undone, and for each of its characters where it begins and ends in the original text."""

    text: str
    starts: list[int]
    ends: list[int]


class Spellings:
    """The secrets to find; those that are too short are not among them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._needles: dict[str, list[Needle]] = {}
        for needle in {needle for secret in secrets for needle in _needles(secret) if len(needle.text) >= LEAST}:
            self._needles.setdefault(needle.text[:LEAST], []).append(needle)
        starts = {needle.text[at : at + SAMPLE] for needles in self._needles.values() for needle in needles for at in range(STEP)}
        self._samples = frozenset(starts)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the text contains a secret, each from its start up to its end, in order and without overlaps."""
        if len(text) < LEAST:
            return []
        if _is_readable(text):  # true of most texts: there is nothing to undo
            if not self._may_contain(text.replace(" ", "").lower()):
                return []
        elif not any(map(self._may_contain, _views(text))):
            return []
        return _merged(span for view in _mapped_views(text) for span in self._in(view, text))

    def _may_contain(self, view: str) -> bool:
        """Whether a needle could begin somewhere, without a loop in Python: most texts contain none. Samples at every third place are
        enough, because a needle is known by its samples at three places."""
        count = max(0, len(view) - SAMPLE + STEP) // STEP
        slices = _SLICES[:count] if count <= len(_SLICES) else (slice(at, at + SAMPLE) for at in range(0, count * STEP, STEP))
        return not self._samples.isdisjoint(map(view.__getitem__, slices))

    def _in(self, view: _View, original: str) -> Iterator[tuple[int, int]]:
        for at in range(len(view.text) - LEAST + 1):
            for needle in self._needles.get(view.text[at : at + LEAST], ()):
                if view.text.startswith(needle.text, at):
                    start, end = view.starts[at], view.ends[at + len(needle.text) - 1]
                    if needle.begins:
                        end = max(end, _word_end(original, end))
                    if needle.ends:
                        start = min(start, _word_start(original, start))
                    yield start, end


def is_long(secret: str) -> bool:
    """Whether a secret is found in every spelling; a shorter one only as it is written."""
    return len(_plain(secret)) >= LEAST


# -- what is looked for ------------------------------------------------------------------------------------------------------------


def _needles(secret: str) -> Iterator[Needle]:
    if not is_long(secret):
        return
    lines = [line.strip() for line in secret.splitlines()]
    parts = [line for line in lines if len(line) >= LEAST and not _FRAME.fullmatch(line)] if len(lines) > 1 else []
    for part in dict.fromkeys((secret, *parts)):
        for form in dict.fromkeys(normalize(name, part) for name in ("NFC", "NFD")):
            yield from (Needle(_plain(form)), Needle(_plain(form.strip().replace(" ", "+"))), Needle(_plain(form)[::-1]))
        for encoded in _encoded(part):
            yield Needle(encoded.lower())
    for encoded in _encoded(secret):
        yield from (Needle(twice.lower()) for twice in _encoded(encoded))
    for part in (_HOST.sub("", line) for line in parts or [secret.strip()]):
        cut = min(CUT_MAX, len(part) // 2)
        if cut >= LEAST:
            yield from (Needle(spelling.lower(), begins=True) for spelling in (_plain(part[:cut]), *_encoded(part[:cut])))
            yield from (Needle(spelling.lower(), ends=True) for spelling in (_plain(part[-cut:]), *_encoded(part[-cut:])))


def _plain(text: str) -> str:
    return _BREAK.sub("", text).lower()


def _encoded(text: str) -> Iterator[str]:
    """The characters of encodings that depend on this text alone, wherever it begins in what is encoded."""
    raw = text.encode("utf-8", "surrogatepass")
    lower = raw.hex()
    yield from (lower, lower.upper(), raw.hex(":"), raw.hex("-"))
    for shift in range(3):
        inner = b64encode(bytes(shift) + raw).decode("ascii")[-(-8 * shift // 6) : 8 * (shift + len(raw)) // 6]
        yield from {inner, inner.translate(_URL_SAFE)}
    for shift in range(5):
        yield b32encode(bytes(shift) + raw).decode("ascii")[-(-8 * shift // 5) : 8 * (shift + len(raw)) // 5]


# -- where it is looked for --------------------------------------------------------------------------------------------------------


def _is_readable(text: str) -> bool:
    """Whether a text has no escape and no break but spaces, decided without a look at each character in Python."""
    return text.isascii() and text.isprintable() and not ("%" in text or "&" in text or "\\" in text or "=" in text)


def _views(text: str) -> Iterator[str]:
    """The text without line breaks, and with one level of escapes less each time."""
    for _ in range(LEVELS):
        text = _BREAK.sub("", text)
        yield text.lower()
        if _ESCAPE.search(text) is None:
            return
        text = _ESCAPE.sub(_unescaped, text)


def _mapped_views(text: str) -> Iterator[_View]:
    """The same, with the positions in the text."""
    view = _View(text, list(range(len(text))), list(range(1, len(text) + 1)))
    for _ in range(LEVELS):
        view = _replaced(view, _BREAK)
        yield _lower(view)
        if _ESCAPE.search(view.text) is None:
            return
        view = _replaced(view, _ESCAPE)


def _lower(view: _View) -> _View:
    lower = view.text.lower()
    if len(lower) == len(view.text):
        return _View(lower, view.starts, view.ends)
    letters = [character.lower() for character in view.text]  # a few letters have a longer lower case
    starts = [view.starts[at] for at, letter in enumerate(letters) for _ in letter]
    ends = [view.ends[at] for at, letter in enumerate(letters) for _ in letter]
    return _View("".join(letters), starts, ends)


def _replaced(view: _View, pattern: re.Pattern[str]) -> _View:
    """The view without breaks, or with escapes undone."""
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for match in pattern.finditer(view.text):
        new = _unescaped(match) if pattern is _ESCAPE else ""
        texts += (view.text[at : match.start()], new)
        starts += view.starts[at : match.start()] + [view.starts[match.start()]] * len(new)
        ends += view.ends[at : match.start()] + [view.ends[match.end() - 1]] * len(new)
        at = match.end()
    return _View("".join((*texts, view.text[at:])), starts + view.starts[at:], ends + view.ends[at:])


def _unescaped(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, str(match[match.lastgroup or 0])
    match kind:
        case "bytes":
            return bytes.fromhex(text.replace("%", "").replace("=", "")).decode("utf-8", "replace")
        case "units":
            return bytes.fromhex(text.replace("\\u", "")).decode("utf-16-be", "replace")
        case "name":
            return html.unescape(f"&{text}")
        case "letter":
            return _CONTROL[text]
        case "mark":
            return text
    code = int(text, 10 if kind == "decimal" else 16)
    return chr(code) if code <= 0x10FFFF else ""


# -- spans -------------------------------------------------------------------------------------------------------------------------


def _word_end(text: str, at: int) -> int:
    word = _WORD_END.match(text, at, at + WORD_MAX)
    return word.end() if word is not None else at


def _word_start(text: str, at: int) -> int:
    """Where a word begins; a backslash in front of it belongs to it, because JSON would break without what it escapes."""
    before = text[max(0, at - WORD_MAX) : at]
    word = _WORD_END.match(before[::-1])
    rest = before[: len(before) - (word.end() if word is not None else 0)]
    return at - len(before) + len(rest.rstrip("\\"))


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order; those that overlap are one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
