"""The one matcher of patterns that people write: addresses, files, URLs, titles. Pure.

    *     any characters within one segment        **    a segment of its own: any number of segments, or none
    ?     one character                             [a-c] one of these characters, [!a-c] any other    (files and titles only)

No pattern is given to a regular expression: whoever proposes a change writes patterns, and some regular expressions never end. Here only
the latest `*` or `**` is ever widened, because a shorter run at an earlier one leaves later ones more to take. So the steps are at most the
length of the pattern times that of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

LENGTH_MAX: Final = 1_000  # characters of a pattern
MANY_MAX: Final = 2
MANY: Final = "**"
STAR: Final = "*"  # the marks of patterns of addresses and URLs, whose `?` and `[` mean themselves
FILE_MARKS: Final = "*?["

_T = TypeVar("_T")
_U = TypeVar("_U")


def size_problem(text: str) -> str | None:
    """What is wrong with the size of a pattern, as the end of a sentence; None if nothing is."""
    if len(text) > LENGTH_MAX:
        return f"it is longer than {LENGTH_MAX:,} characters"
    if text.split("/").count(MANY) > MANY_MAX:
        return f"it contains ** more than {MANY_MAX} times"
    return None


def pattern_problem(text: str) -> str | None:
    """What is wrong with the form of a pattern of segments, as the end of a sentence; None if nothing is."""
    if any(MANY in segment and segment != MANY for segment in text.split("/")):
        return "** must be a whole segment, as in /v1/**"
    return size_problem(text)


def fits(pattern: Sequence[_T], items: Sequence[_U], *, many: Callable[[_T], bool], part: Callable[[_T, _U], bool]) -> bool:
    """Whether `pattern` covers all of `items`. `many`: whether a part stands for any run of items; `part`: whether one covers an item."""
    at = behind = 0  # positions in items; `behind` is the end of the run that the latest `many` takes
    index, latest = 0, -1  # positions in pattern
    while at < len(items):
        if index < len(pattern) and many(pattern[index]):
            latest, behind = index, at
            index += 1
        elif index < len(pattern) and part(pattern[index], items[at]):
            index += 1
            at += 1
        elif latest >= 0:
            behind += 1
            index, at = latest + 1, behind
        else:
            return False
    return all(map(many, pattern[index:]))


@dataclass(frozen=True)
class CharacterClass:
    """One character: of `ranges`, or, if `excludes`, none of them."""

    ranges: tuple[tuple[str, str], ...]
    excludes: bool = False

    def matches(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) is not self.excludes


@dataclass(frozen=True)
class TextPattern:
    """A pattern over one text, such as a segment of a path or a title. `chunks`: what is before, between and after each `*`."""

    chunks: tuple[str | tuple[str | CharacterClass, ...], ...]

    @classmethod
    def parse(cls, text: str, marks: str = FILE_MARKS, spelled: Callable[[str], str] = str) -> TextPattern:
        """The pattern. `marks`: the characters with a meaning, any other stands for itself. `spelled`: how the texts spell what a pattern
        says literally. A `[` without its `]` is literal."""
        chunks: list[list[str | CharacterClass]] = [[]]
        literal, at = "", 0
        while at < len(text):
            character, end = text[at], at + 1
            sort = character if character in marks else ""
            if sort == "[":
                end = _end_of_class(text, at)
                sort = "" if end == at + 1 else sort
            if sort:
                chunks[-1] += spelled(literal)
                literal = ""
            match sort:
                case "*":
                    chunks.append([])
                case "?":
                    chunks[-1].append(_ANY)
                case "[":
                    chunks[-1].append(_class(text[at + 1 : end - 1]))
                case _:
                    literal += character
            at = end
        chunks[-1] += spelled(literal)
        return cls(tuple("".join(map(str, chunk)) if all(isinstance(token, str) for token in chunk) else tuple(chunk) for chunk in chunks))

    def matches(self, text: str) -> bool:
        """Whether the whole text matches; case-sensitive."""
        first, *rest = self.chunks
        if not rest:
            return len(text) == len(first) and _is_at(first, text, 0)
        *inner, last = rest
        at, end = len(first), len(text) - len(last)
        if at > end or not _is_at(first, text, 0) or not _is_at(last, text, end):
            return False
        for chunk in inner:
            at = _find(chunk, text, at, end)
            if at < 0:
                return False
            at += len(chunk)
        return True


_ANY: Final = CharacterClass((), excludes=True)


def _is_at(chunk: str | tuple[str | CharacterClass, ...], text: str, at: int) -> bool:
    if isinstance(chunk, str):
        return text.startswith(chunk, at)
    return all(
        token == text[at + index] if isinstance(token, str) else token.matches(text[at + index]) for index, token in enumerate(chunk)
    )


def _find(chunk: str | tuple[str | CharacterClass, ...], text: str, begin: int, end: int) -> int:
    """Where a chunk is first in a part of a text; -1 if it is not."""
    if isinstance(chunk, str):
        return text.find(chunk, begin, end)
    return next((at for at in range(begin, end - len(chunk) + 1) if _is_at(chunk, text, at)), -1)


def _end_of_class(text: str, begin: int) -> int:
    """The position after the `]` that closes the `[` at a position; the one after the `[` itself if nothing closes it."""
    first = begin + 2 if text[begin + 1 : begin + 2] == "!" else begin + 1
    close = text.find("]", first + 1)  # a `]` right behind the opening is a member
    return begin + 1 if close < 0 else close + 1


def _class(inner: str) -> CharacterClass:
    excludes = inner.startswith("!")
    members = inner[1:] if excludes else inner
    ranges, at = [], 0
    while at < len(members):
        wide = at + 2 < len(members) and members[at + 1] == "-"
        ranges.append((members[at], members[at + 2] if wide else members[at]))
        at += 3 if wide else 1
    return CharacterClass(tuple(ranges), excludes)


@lru_cache(maxsize=4_096)
def text_pattern(text: str, marks: str = FILE_MARKS) -> TextPattern:
    """The pattern over one text, parsed once."""
    return TextPattern.parse(text, marks)


Positions = frozenset[int]
"""How much of a pattern a folder's path has matched, in each way in which it can."""


@dataclass(frozen=True)
class PathPattern:
    """A pattern over texts with segments. None is `**`."""

    segments: tuple[TextPattern | None, ...]

    @classmethod
    def parse(cls, text: str, marks: str = FILE_MARKS, spelled: Callable[[str], str] = str) -> PathPattern:
        """The pattern; see `TextPattern.parse`. `**` next to other characters is `*`."""
        return cls(tuple(None if segment == MANY else TextPattern.parse(segment, marks, spelled) for segment in text.split("/")))

    def matches(self, path: str) -> bool:
        """Whether the whole path matches; case-sensitive."""
        return fits(self.segments, path.split("/"), many=_is_many, part=_covers)

    # A folder is walked with the positions that its path leads to, and so listed once, in however many ways it can match.

    @property
    def begin(self) -> Positions:
        """The positions of the top folder."""
        return self._widened({0})

    def after(self, positions: Positions, name: str, *, link: bool = False) -> Positions:
        """The positions of an entry of a folder with these positions. `link`: `**` does not lead through it."""
        following = set()
        for at in positions:
            segment = self.segments[at] if at < len(self.segments) else None
            if segment is not None and segment.matches(name):
                following.add(at + 1)
            elif segment is None and at < len(self.segments) and not link:
                following.add(at)
        return self._widened(following)

    def is_matched(self, positions: Positions) -> bool:
        """Whether the whole pattern is matched there."""
        return len(self.segments) in positions

    def leads_on(self, positions: Positions) -> bool:
        """Whether something in a folder with these positions can match."""
        return any(at < len(self.segments) for at in positions)

    def _widened(self, positions: set[int]) -> Positions:
        for at in sorted(positions):
            while at < len(self.segments) and self.segments[at] is None:
                at += 1
                positions.add(at)
        return frozenset(positions)


def _is_many(segment: TextPattern | None) -> bool:
    return segment is None


def _covers(segment: TextPattern | None, text: str) -> bool:
    return segment is not None and segment.matches(text)
