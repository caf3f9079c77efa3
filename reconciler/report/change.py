"""One change of a plan as lines: its address and source, then its actions, then its fields."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

from reconciler.address import Address
from reconciler.model import Action, Cause, Change, Delta, Position
from reconciler.report.layout import VALUE, ReportPage, Style
from reconciler.report.values import HIDDEN, difference_lines, shown
from reconciler.report.words import STYLES, SYMBOLS, id_and_title
from reconciler.resource import UNSET
from reconciler.text.times import minute

ALONE = (Action.RESTORE, Action.TRANSFER, Action.REPLACE, Action.DELETE, Action.FORGET, Action.ADOPT, Action.CREATE)
"""Actions with a line of their own; updates and moves are shown by their fields and locations."""

MARKS = {Cause.YOURS: None, Cause.DRIFT: "drift", Cause.BOTH: "your change and drift"}


def write(page: ReportPage, change: Change) -> None:
    """Append one change."""
    right, style = _right(change)
    page.head(str(change.address), right, style)
    column = max([VALUE, *(len(delta.name) + 6 for delta in _fields(change))])
    for index, action in enumerate(kind for kind in ALONE if kind in change.actions):
        what = _what(change, action, page.zone) if index == 0 else ""
        if what or action is not Action.CREATE or not change.fields:
            page.field(STYLES[action], SYMBOLS[action], action, what, column=column)
    if change.reason and not set(ALONE) & set(change.actions):
        first = change.actions[0]
        page.field(STYLES[first], SYMBOLS[first], first, _reason(change, page.zone), column=column)
    for delta in _fields(change):
        _field(page, change, delta, column)
    if Action.MOVE in change.actions:
        _place(page, change, column)


def _right(change: Change) -> tuple[str, Style]:
    if Action.RESTORE in change.actions and Action.ADOPT not in change.actions and not change.deleted_by_us:
        return "drift: deleted outside Reconciler", Style.DRIFT
    if change.source is None or not change.source.line:
        return "", Style.DIM
    return change.source.file_and_line, Style.DIM


def _reason(change: Change, zone: tzinfo | None) -> str:
    """`deleted 2 days ago, 5 days left (until 29 Nov 2026, 22:10 CET)`."""
    return change.reason if change.until is None else f"{change.reason} (until {minute(change.until, zone)})"


def _what(change: Change, action: Action, zone: tzinfo | None) -> str:
    """The object and the reason after an action's word."""
    reason = _reason(change, zone)
    named = id_and_title(change.id, change.title)
    if action is Action.ADOPT:
        return f"{named} {reason or 'exists and is unmanaged'}".strip()
    if action is Action.TRANSFER:
        return f"{named} {reason}".strip()
    if action in (Action.DELETE, Action.FORGET, Action.REPLACE):
        return "; ".join(part for part in (named, reason) if part)
    return reason


def _fields(change: Change) -> list[Delta]:
    """The fields that are shown as such; the container of a moved object is shown as its location."""
    return [delta for delta in change.fields if not _is_container(change, delta)]


def _is_container(change: Change, delta: Delta) -> bool:
    if change.before is None or change.after is None or change.before.parent == change.after.parent:
        return False

    def stands(value: Any, spot: Position) -> bool:
        return spot.parent in (None, change.address.container) if value is None else value == str(spot.parent)

    return stands(delta.before, change.before) and stands(delta.after, change.after)


def _field(page: ReportPage, change: Change, delta: Delta, column: int) -> None:
    born = bool({Action.CREATE, Action.REPLACE} & set(change.actions))
    mark = MARKS[delta.cause]
    remarks = [part for part in (mark, delta.note) if part]
    dropped = delta.note is not None and delta.before == delta.after
    if delta.sensitive:
        lines = [(delta.name, HIDDEN)]
    elif born:
        lines = [(delta.name, shown(delta.after))]
    elif dropped:
        lines = [(delta.name, shown(delta.after) if delta.after is not UNSET else "")]
    else:
        lines = difference_lines(delta.name, delta.before, delta.after)
    style, symbol = (Style.CREATE, "+") if born else (Style.UPDATE, "." if dropped else "~")
    if mark:
        style = Style.DRIFT
    for number, (name, value) in enumerate(lines):
        note = "; ".join(remarks) if number == 0 else ""
        page.field(style, symbol, name, value, note, column=column, mark=Style.DRIFT if mark else None)


def _place(page: ReportPage, change: Change, column: int) -> None:
    before, after = change.before, change.after
    if after is None:
        page.field(Style.MOVE, ">", "move", "", column=column)
        return
    stays = before is None or before.parent == after.parent
    if not stays:
        mark = next((MARKS[delta.cause] for delta in change.fields if _is_container(change, delta)), None)
        was = f"was in {_parent(before.parent)}" if before is not None else None
        remark = "; ".join(part for part in (mark, was) if part)
        page.field(Style.MOVE, ">", "into", _parent(after.parent), remark, column=column, mark=Style.DRIFT if mark else None)
    was = _was(before.previous, after.previous) if before is not None and stays else ""
    if after.previous is not None:
        page.field(Style.MOVE, ">", "after", str(after.previous), was, column=column)
    elif stays:
        page.field(Style.MOVE, ">", "first", "among its siblings", was, column=column)


def _parent(parent: Address | None) -> str:
    return "the top level" if parent is None else str(parent)


def _was(before: Address | None, after: Address | None) -> str:
    return "again" if before == after else f"was {_neighbour(before)}"  # its neighbour moves too, or nothing shows its position


def _neighbour(previous: Address | None) -> str:
    return "first" if previous is None else f"after {previous}"
