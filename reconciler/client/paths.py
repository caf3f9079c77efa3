"""Paths of the service: fill a template so that no value can leave its segment.

In: a template and values. Out: an encoded path. Forbidden: I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from reconciler.errors import ReconcilerError

PREFIX: Final = "/v1"  # the prefix of every path of the service
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# Possessive, so that a path that does not match is refused in linear time.
_ENCODED = re.compile(r"(?:/(?!\.\.?(?:/|\Z))(?:[A-Za-z0-9._~!$&'()*+,;=:@-]++|%[0-9A-F]{2})+)+", re.ASCII)


def encode(template: str, values: Mapping[str, str]) -> str:
    """`template` with every `{placeholder}` filled; values are encoded completely, `/`, `.` and `..` included.

    Raises ReconcilerError for a missing or empty value: an empty one would address the list instead of the object.
    """

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if not value:
            raise ReconcilerError(f"the path {template} needs a value for {{{match[1]}}}", id="RC-path-value")
        return _quoted(value, f"the value of {{{match[1]}}} for the path {template}")

    return "/".join(_undot(_PLACEHOLDER.sub(fill, segment)) for segment in template.split("/"))


def joined(segments: Iterable[str]) -> str:
    """The path of these segments, each encoded completely. Raises ReconcilerError for an empty one."""
    path = ""
    for segment in segments:
        if not segment:
            raise ReconcilerError(f"the path {path}/ needs another segment", id="RC-path-value")
        path += "/" + _undot(_quoted(segment, f"a segment of the path {path}/"))
    return path


def _quoted(value: str, what: str) -> str:
    try:
        return quote(value, safe="")
    except UnicodeEncodeError:
        raise ReconcilerError(f"{what} is not text that can be sent", id="RC-path-value") from None


def checked(path: str) -> str:
    """`path`, if `encode` can have created it; else raises ReconcilerError, a defect of this program."""
    if _ENCODED.fullmatch(path) is None:
        raise ReconcilerError(f"the path {path!r} is not encoded", id="RC-path-value")
    return path


def _undot(segment: str) -> str:
    # RFC 3986 lets everybody on the way remove `.`, and `..` with the segment before it: a delete would address something else.
    return segment.replace(".", "%2E") if segment in {".", ".."} else segment
