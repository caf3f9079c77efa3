"""A secret is masked however it is written, and nobody finds one out by what is masked."""

from __future__ import annotations

import base64
import html
import json
import quopri
import random
import string
import textwrap
from collections.abc import Callable
from typing import Final
from unicodedata import normalize
from urllib.parse import quote, quote_plus

import pytest

from reconciler.text.redact import MASK, Mask
from reconciler.text.spellings import Spellings
from tests.effort import within
from tests.proofs import costly

SECRET: Final = 'gb_Pa$s "wörd"/7f3A+9qZ\\wK2&x<y>=e~end'
RAW: Final = SECRET.encode()
B64: Final = base64.b64encode(RAW).decode()


def percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


SPELLINGS: Final[dict[str, Callable[[str], str]]] = {
    "plain": lambda text: text,
    "upper case": str.upper,
    "lower case": str.lower,
    "NFD": lambda text: normalize("NFD", text),
    "reversed": lambda text: text[::-1],
    "JSON": lambda text: json.dumps(text),
    "JSON without escapes": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON with \\/": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "\\u of every character": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
    "\\u{} of every character": lambda text: "".join(f"\\u{{{ord(character):x}}}" for character in text),
    "\\U of every character": lambda text: "".join(f"\\U{ord(character):08x}" for character in text),
    "\\x of every character": lambda text: "".join(f"\\x{ord(character):02x}" for character in text),
    "repr": repr,
    "URL": lambda text: quote(text, safe=""),
    "URL, lower case": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "URL of every byte": percent,
    "URL twice": lambda text: quote(quote(text, safe=""), safe=""),
    "URL three times": lambda text: quote(quote(quote(text, safe=""), safe=""), safe=""),
    "form": quote_plus,
    "HTML": html.escape,
    "HTML twice": lambda text: html.escape(html.escape(text)),
    "HTML decimal": lambda text: "".join(f"&#{ord(character)};" for character in text),
    "HTML hexadecimal": lambda text: "".join(f"&#x{ord(character):X};" for character in text),
    "HTML without semicolons": lambda text: "".join(f"&#{ord(character):07}" for character in text),
    "HTML names": lambda text: html.escape(text).replace("ö", "&ouml;").replace("/", "&sol;").replace("$", "&dollar;"),
    "HTML of JSON": lambda text: html.escape(json.dumps(text)),
    "URL of JSON": lambda text: quote(json.dumps(text)),
    "Markdown": lambda text: "".join(character if character.isalnum() or character == " " else f"\\{character}" for character in text),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal, upper case": lambda text: text.encode().hex().upper(),
    "hexadecimal with colons": lambda text: text.encode().hex(":"),
    "hexadecimal with spaces": lambda text: text.encode().hex(" "),
    "hexadecimal with hyphens": lambda text: text.encode().hex("-"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 after one byte": lambda text: base64.b64encode(b"x" + text.encode() + b"yz").decode(),
    "base64 after two bytes": lambda text: base64.b64encode(b"xy" + text.encode() + b"z").decode(),
    "base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"user:" + text.encode()).decode(),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "base64 of base64 after bytes": lambda text: base64.b64encode(b"ab" + base64.b64encode(b"c" + text.encode())).decode(),
    "base64 of hexadecimal": lambda text: base64.b64encode(text.encode().hex().encode()).decode(),
    "hexadecimal of base64": lambda text: base64.b64encode(text.encode()).hex(),
    "base64 in a URL": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base32, lower case": lambda text: base64.b32encode(text.encode()).decode().lower(),
    "base32 after bytes": lambda text: base64.b32encode(b"xyz" + text.encode()).decode(),
    "quoted-printable": lambda text: quopri.encodestring(text.encode(), quotetabs=True).decode(),
    "quoted-printable of every byte": lambda text: "".join(f"={byte:02X}" for byte in text.encode()),
    "wrapped": lambda text: "\n".join(textwrap.wrap(text, 10, break_long_words=True)),
    "wrapped and indented": lambda text: "\n      ".join(text[at : at + 7] for at in range(0, len(text), 7)),
    "wrapped in a frame": lambda text: "\n | ".join(text[at : at + 9] for at in range(0, len(text), 9)),
    "wrapped in a quote": lambda text: "\r\n> ".join(text[at : at + 9] for at in range(0, len(text), 9)),
    "wrapped by a shell": lambda text: "\\\n".join(text[at : at + 9] for at in range(0, len(text), 9)),
    "coloured": lambda text: "\x1b[31m".join(text[at : at + 5] for at in range(0, len(text), 5)),
    "with invisible characters": lambda text: "\u200b".join(text),
    "base64 wrapped at 64": lambda text: "\n".join(textwrap.wrap(base64.b64encode(b"x" * 50 + text.encode()).decode(), 64)),
    "base64 wrapped at 76 in JSON": lambda text: json.dumps(base64.encodebytes(b"y" * 40 + text.encode()).decode()),
    "hexadecimal wrapped": lambda text: "\n".join(textwrap.wrap(text.encode().hex(), 16)),
    "URL wrapped in an escape": lambda text: "\n".join(textwrap.wrap(percent(text), 7)),
    "cut off at its end": lambda text: text[:20] + "…",
    "cut off after 12 characters": lambda text: text[:12] + "...",
    "cut off at its beginning": lambda text: "…" + text[-15:],
    "without its last character": lambda text: text[:-1],
    "without its first character": lambda text: text[1:],
    "cut off in JSON": lambda text: json.dumps(text[:20] + "…"),
    "base64, cut off": lambda text: base64.b64encode(text.encode()).decode()[:24] + "…",
    "hexadecimal, cut off": lambda text: text.encode().hex()[:30] + "…",
}


@costly
@pytest.mark.parametrize("where", ["{}", "before {} after", '{{"a": "{}"}}', "<p>{}</p>", "a\n{}\nb", "x={}&y=1"])
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_secret_is_masked_in_every_spelling(name: str, where: str) -> None:
    written = SPELLINGS[name](SECRET)
    masked = Mask([SECRET]).text(where.format(written))
    assert MASK in masked
    third = len(written) // 3
    assert written[third : 2 * third] not in masked


def test_there_are_enough_spellings() -> None:
    assert len(SPELLINGS) >= 60


@pytest.mark.parametrize("name", SPELLINGS)
def test_each_line_of_a_secret_is_masked_by_itself(name: str) -> None:
    pem = "-----BEGIN CERTIFICATE-----\nQ2FuYXJ5UGVtTGluZU9uZQ7xKqW1zT\nTw0vLines/With+Slashes5hRjUe8bN\n-----END CERTIFICATE-----\n"
    for line in pem.splitlines()[1:-1]:
        if "cut off" not in name and "twice" not in name and " of " not in name and "without its" not in name:
            assert MASK in Mask([pem]).text(SPELLINGS[name](line))
    assert Mask([pem]).text("-----BEGIN CERTIFICATE-----") == "-----BEGIN CERTIFICATE-----"


def test_a_document_stays_what_it_is() -> None:
    mask = Mask([SECRET])
    for text in (SECRET, f"a\n{SECRET}", f"\\{SECRET}\\", f"é{SECRET[:20]} b", f"\n\tx{SECRET[-15:]}", f'"{SECRET[1:]}"'):
        for level in (json.dumps, lambda value: json.dumps(json.dumps(value))):
            masked = mask.text(level([text, {"b": text}]))
            assert SECRET[8:20] not in masked
            json.loads(masked)


def test_what_is_masked_does_not_show_a_character_of_a_secret_after_another() -> None:
    mask = Mask(["gb_api_hunter2hunter2hunter2"])
    known = "gb_api_hunte"
    shown = {mask.text(f"{known}{guess}{rest}") for guess in string.ascii_letters + string.digits + "-_./+=~%" for rest in ("", "x", "xyz")}
    assert shown == {MASK}
    assert not any(MASK in window for window in [mask.text(f"{known[at:]}{guess}") for at in range(1, len(known)) for guess in "r-x7"])
    assert {mask.text(f"{guess}nter2hunter2") for guess in string.ascii_letters + string.digits + "-_./+=~%"} == {MASK}


def test_ordinary_texts_are_left_alone() -> None:
    mask = Mask([SECRET, "correct horse battery staple", "https://docs.example/hooks/7Gh2Kq9ZwX4b"])
    for text in (
        "The documentation",
        "https://docs.example/hook",
        "the correct one",
        "100% of &lt;p&gt; \\n = %41 &#65; \\u0041",
        "a" * 5_000,
        "",
        "=\n",
        "%",
        "&",
        "\\",
    ):
        assert mask.text(text) is text


def test_short_secrets_are_masked_as_they_are_written() -> None:
    mask = Mask(["hunter2", "a/b"])
    for text in ("hunter2", "HUNTER2", "x hunter2 y", "a%2Fb", "a\\/b"):
        assert MASK in mask.text(text)
    assert mask.text("hun ter2") == "hun ter2"


def test_the_quick_search_finds_whatever_the_whole_search_finds() -> None:
    rng = random.Random(1)
    for _ in range(500):
        secret = "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(8, 30)))
        text = "".join(rng.choice("abc ") for _ in range(rng.randint(0, 9))) + secret + rng.choice(("", "x", " b"))
        assert Spellings([secret]).spans(text)


@costly
def test_the_time_to_mask_grows_with_the_text() -> None:
    secrets = {"".join(random.Random(seed).choice(string.ascii_letters) for _ in range(40)) for seed in range(50)}
    mask = Mask(secrets)
    texts = [f"The title of page {number} of the handbook" for number in range(20_000)]
    hostile = [part * 20_000 for part in ("%25", "&amp;", "\\\\", "=\n", "\\u0041", next(iter(secrets))[:12])]
    within(20.0, lambda: [mask.text(text) for text in (*texts, *hostile)])


def test_a_secret_that_is_as_short_as_a_word_is_masked_less() -> None:
    for secret, text in (("ab", "ab a b"), ("hunter2", "68756e74657232 2retnuh")):
        assert Mask([secret]).text(text) == text


@pytest.mark.parametrize(("length", "shortest"), [(8, 8), (15, 15), (16, 8), (23, 11), (24, 12), (40, 12)])
def test_the_shortest_beginning_and_end_of_a_secret_that_are_masked(length: int, shortest: int) -> None:
    secret = "k9Zq4xWtpL7vRb2YcN8mJd5HsF3gTw6AeUiQ0oPz"[:length]
    mask = Mask([secret])
    sizes = range(1, length + 1)
    for texts in ([f"{secret[:size]}…" for size in sizes], [f"…{secret[-size:]}" for size in sizes]):
        assert next(size for size, text in zip(sizes, texts, strict=True) if MASK in mask.text(text)) == shortest
