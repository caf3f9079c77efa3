"""Which comments to create, update, delete or hide, given the comments of ours as they are now and the parts of one job.

No forge supports conditional updates of comments, so a job reads, executes the actions, and repeats until there are none. A part is
replaced only by one of a later run, wherever it is: in the comment, in a second comment that was created at the same time, or in one of
the other mode (`--separate`). A comment is deleted only after its parts were read in the remaining one, the oldest.

Whoever posts as the same user can write any part, with any number of a run. So a part that claims a later run than the job's own counts
only if the forge confirms that run (`claims`); it is `refused` otherwise, and replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reconciler.features.forges.comment.body import CommentText, body, comment_of
from reconciler.features.forges.comment.part import CommentPart, Dialect, Run

Claim = tuple[tuple[str, str], Run]
"""The key of a part, and the run that it claims to be of."""


@dataclass(frozen=True)
class OurComment:
    """A comment of ours. `id`: greater for a later one. `hidden`: minimised."""

    id: int
    body: str
    hidden: bool = False


@dataclass(frozen=True)
class CommentAction:
    """One request to the forge about one comment. `id`: of the comment, 0 of one to create. `body`: of those that write a text."""

    verb: Literal["create", "update", "delete", "hide", "reveal"]
    id: int = 0
    body: str = ""


@dataclass(frozen=True)
class CommentMode:
    """`separate`: a comment for each name. `hides`: whether the forge can minimise comments."""

    dialect: Dialect
    separate: bool = False
    hides: bool = True


@dataclass(frozen=True)
class Upkeep:
    """The next actions; none if the comments are as they should be."""

    actions: tuple[CommentAction, ...]
    # Parts of the job that a later run has written already: they stay.
    superseded: tuple[CommentPart, ...] = ()
    # How many urgent entries are not shown completely.
    short: int = 0


def claims(known: Iterable[OurComment], mine: Iterable[CommentPart]) -> tuple[Claim, ...]:
    """The parts that claim a later run than that of the job whose part they would keep out."""
    own = {part.key: part.run for part in mine if part.run[0]}
    comments = [comment for item in known if (comment := comment_of(item.body)) is not None]
    stored = [part for comment in comments for part in comment.parts if part.key in own]
    return tuple(dict.fromkeys((part.key, part.run) for part in stored if part.run > own[part.key]))


def upkeep(
    known: Sequence[OurComment],
    mine: Sequence[CommentPart],
    mode: CommentMode,
    *,
    written: bool = False,
    refused: Collection[Claim] = (),
) -> Upkeep:
    """The next actions. `written`: the job's parts were in a comment already, so a different part with the same run number came later.
    `refused`: parts of runs that there were not."""
    comments = {item.id: comment for item in sorted(known, key=lambda item: item.id) if (comment := comment_of(item.body)) is not None}
    names = {part.name for part in mine}
    actions: list[CommentAction] = []
    superseded: dict[tuple[str, str], CommentPart] = {}
    short = 0
    for name in sorted(names) if mode.separate else [""]:
        own = [part for part in mine if name in ("", part.name)]
        home = next((id for id, comment in comments.items() if comment.name == name), None)
        elsewhere = {id: _leaving(comment, name, names) for id, comment in comments.items() if id != home}
        read = comments[home].parts if home is not None else ()
        stored = [*read, *(part for leaving in elsewhere.values() for part in leaving)]
        parts = _newest(part for part in stored if _claim(part) not in refused)
        for part in own:
            before = parts.get(part.key)
            if before is None or before.run < part.run or (before.run == part.run and not written):
                parts[part.key] = part
            elif before.version != part.version:
                superseded[part.key] = before
        written_text, left_out = body(CommentText(name, tuple(parts.values())), mode.dialect)
        short += left_out
        place = next((item for item in known if item.id == home), None)
        actions += _at_home(place, read, parts, written_text, moving=any(elsewhere.values()), mode=mode)
        at_home = {part.key: part for part in read}
        for id, leaving in elsewhere.items():
            here = [part.key in at_home and (at_home[part.key].run >= part.run or _claim(part) in refused) for part in leaving]
            if leaving and all(here):
                actions.append(_at_left_comment(id, comments[id], leaving, mode))
            elif not leaving and comments[id].name == name:
                # A second comment of the same name without a part: two jobs created theirs at the same time.
                actions.append(CommentAction("delete", id))
    return Upkeep(tuple(actions), tuple(superseded.values()), short)


def numbered(known: Iterable[OurComment], mine: Iterable[CommentPart]) -> list[CommentPart]:
    """The parts of a job without a run number: each becomes a later attempt of the run whose part it replaces."""
    comments = [comment for item in known if (comment := comment_of(item.body)) is not None]
    latest = _newest(part for comment in comments for part in comment.parts)
    return [part if part.run[0] else replace(part, run=_next(latest.get(part.key), part)) for part in mine]


def _next(before: CommentPart | None, part: CommentPart) -> tuple[int, int]:
    if before is None:
        return 0, 1
    return before.run if before.digest == part.digest else (before.run[0], before.run[1] + 1)


def _at_home(
    home: OurComment | None,
    read: Sequence[CommentPart],
    parts: Mapping[tuple[str, str], CommentPart],
    text: str,
    *,
    moving: bool,
    mode: CommentMode,
) -> list[CommentAction]:
    """The actions for the comment itself. `moving`: parts of it are in another comment."""
    quiet = all(part.quiet for part in parts.values())
    if home is None:
        # A pull request that changes nothing gets no comment, until there is one to correct.
        return [CommentAction("create", body=text)] if moving or not quiet else []
    changed = {part.key: part.version for part in read} != {key: part.version for key, part in parts.items()}
    actions = []
    # Revealed first: if the job is killed in between, an old text is seen rather than a new one hidden.
    if mode.hides and changed and home.hidden and not quiet:
        actions.append(CommentAction("reveal", home.id))
    if changed:
        actions.append(CommentAction("update", home.id, text))
    if mode.hides and quiet and not home.hidden:
        actions.append(CommentAction("hide", home.id))
    return actions


def _claim(part: CommentPart) -> Claim:
    return part.key, part.run


def _newest(parts: Iterable[CommentPart]) -> dict[tuple[str, str], CommentPart]:
    """One part for each key: that of the latest run, the first of equals."""
    newest: dict[tuple[str, str], CommentPart] = {}
    for part in parts:
        if part.key not in newest or newest[part.key].run < part.run:
            newest[part.key] = part
    return newest


def _leaving(comment: CommentText, name: str, names: set[str]) -> tuple[CommentPart, ...]:
    """The parts of another comment that belong to the one called `name`."""
    if comment.name == name:
        return comment.parts
    if name and comment.name:
        return ()
    return tuple(part for part in comment.parts if part.name == name or (not name and part.name in names))


def _at_left_comment(id: int, comment: CommentText, leaving: Sequence[CommentPart], mode: CommentMode) -> CommentAction:
    """The action for a comment whose parts are in another one."""
    moved = {part.key for part in leaving}
    rest = tuple(part for part in comment.parts if part.key not in moved)
    if not rest:
        return CommentAction("delete", id)
    return CommentAction("update", id, body(CommentText(comment.name, rest), mode.dialect)[0])
