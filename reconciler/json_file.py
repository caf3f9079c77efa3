"""Read a JSON file of unknown origin: its data, or the reason why it is invalid. Ambiguous JSON is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from reconciler.links import NotRegular, read_file


def read_json(path: Path, *, most: int, parts: int) -> Any:
    """The data of a file of at most `most` bytes, with at most `parts` commas, colons and opening brackets: decoding those takes memory.

    Raises `OSError`, whose message is the reason, `ValueError` and `LinkRefused`.
    """
    return json_data(_bytes(path, most), most=most, parts=parts)


def json_data(content: bytes, *, most: int, parts: int) -> Any:
    """The data of JSON of unknown origin, with the same limits. Raises `ValueError`."""
    if len(content) > most or sum(map(content.count, (b",", b":", b"[", b"{"))) > parts:
        raise ValueError("it is too large")
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refused, parse_float=_finite, parse_int=_integer
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start:,}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON at line {error.lineno:,}, column {error.colno:,}: {error.msg.lower()}") from None


def _bytes(path: Path, most: int) -> bytes:
    try:
        content = read_file(path, most)
    except NotRegular:
        raise ValueError("it is not a file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else None
        raise OSError((reason or "unknown reason").lower()) from error
    if len(content) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"it says {twice[:60]!r} twice in one object")
    return members


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number in it is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError("a number in it is too large")
    return int(text)
