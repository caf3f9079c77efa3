"""A document as a part of a comment shows it: a headline of numbers, what destroys or exposes, and other entries.

In: the data of a validated document. Out: `Content`, with unescaped texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.model import Action, Cause, Severity, StepStatus
from reconciler.plan.drift import DriftWord
from reconciler.report import drift as drifts
from reconciler.report.entries import ReportEntry, ReportLine
from reconciler.report.layout import Style
from reconciler.report.values import HIDDEN, difference_lines, shown
from reconciler.report.warnings import HIDDEN_URL
from reconciler.report.words import DESTRUCTIVE, ENDINGS, NOT_VISIBLE, STYLES, SYMBOLS, TOLD, count

WHOLE: Final = "the whole plan"
FAILED: Final = "The job failed before it had a result."
MARKS: Final = {Cause.DRIFT: "drift", Cause.BOTH: "your change and drift"}
_VERDICTS: Final = {Severity.ERROR: (Style.BLOCKED, "violation"), Severity.WARNING: (Style.UPDATE, "warning")}


@dataclass(frozen=True)
class Content:
    """What a part says. `kind`: `plan`, `diff`, `outcome`, `drift` or `findings`. `urgent`: what destroys, exposes or failed.
    `quiet`: nothing needs attention. The headline contains only numbers and our own words. `notes`: sentences."""

    kind: str
    project: str | None
    environment: str | None
    headline: str
    urgent: tuple[ReportEntry, ...] = ()
    others: tuple[ReportEntry, ...] = ()
    quiet: bool = False
    notes: tuple[str, ...] = ()


def failed(kind: str) -> Content:
    """The content for a job that wrote no document."""
    return Content(kind, None, None, FAILED)


def content(document: Mapping[str, Any]) -> Content:
    """The content of any document that a comment can show; its `format` is one of `FORMATS`."""
    return FORMATS[document["format"]](document)


# -- plans and differences ------------------------------------------------------------------------------------------------------------


def _plan(document: Mapping[str, Any]) -> Content:
    numbers = document["summary"]
    violations = document.get("violations", [])
    wrong = [violation for violation in violations if violation["level"] == Severity.ERROR]
    changes = document["changes"]
    destructive = [change for change in changes if _destroys(change)]
    urgent = [
        *sorted(map(_change, destructive), key=lambda entry: entry.title),
        *map(_exposure, document["exposures"]),
        *map(_broken, document["broken"]),
        *map(_violation, wrong),
    ]
    others = [
        *(_line_entry(item["address"], Style.BLOCKED, "!", "blocked", item["reason"], item["remedy"]) for item in document["blocked"]),
        *(_line_entry(at, Style.BLOCKED, "?", "in doubt", "a request of an earlier run") for at in document["inDoubt"]),
        *(_line_entry(item["kind"], Style.BLOCKED, "?", "unknown", item["reason"]) for item in document["unknown"]),
        *(
            _line_entry(item["address"], Style.BLOCKED, "!", "forbidden", f"{item['verb']}: the token lacks {item['flag']} of {item['of']}")
            for item in document["forbidden"]
        ),
        *(_violation(violation) for violation in violations if violation["level"] != Severity.ERROR),
        *(_change(change) for change in changes if not _destroys(change)),
    ]
    troubles = [
        f"{numbers['blocked']:,} blocked" if numbers["blocked"] else "",
        count(len(document["exposures"]), "exposure") if document["exposures"] else "",
        f"{count(len(document['broken']), 'published URL')} broken" if document["broken"] else "",
        count(len(wrong), "violation") if wrong else "",
        count(len(violations) - len(wrong), "warning") if len(violations) > len(wrong) else "",
        f"{len(document['inDoubt']):,} in doubt" if document["inDoubt"] else "",
        f"{count(len(document['unknown']), 'reading')} failed" if document["unknown"] else "",
        f"{count(numbers['ignored'], 'difference')} ignored" if numbers.get("ignored") else "",
    ]
    todo = ", ".join(f"{numbers[action]:,} to {action}" for action in TOLD if numbers.get(action)) or "No changes"
    outside = f"{count(numbers['outside'], 'change')} outside the selection" if numbers["outside"] else ""
    parts = [todo, ", ".join(filter(None, troubles)), outside]
    requests = "" if numbers["unmanaged"] is None or not numbers["requests"] else f" {count(numbers['requests'], 'request')}."
    kind = "diff" if numbers["unmanaged"] is None else "plan"
    return Content(
        kind,
        document["project"],
        document["environment"],
        "; ".join(filter(None, parts)) + "." + requests,
        tuple(urgent),
        tuple(others),
        quiet=not (urgent or others or numbers["outside"]),
        notes=tuple(document["notes"]),
    )


def _destroys(change: Mapping[str, Any]) -> bool:
    return not DESTRUCTIVE.isdisjoint(change["actions"])


def _change(change: Mapping[str, Any]) -> ReportEntry:
    entry = ReportEntry(change["address"], _where(change["source"]))
    actions = [Action(action) for action in change["actions"]]
    born = not {Action.CREATE, Action.REPLACE}.isdisjoint(actions)
    shown_as_fields = {Action.UPDATE, Action.MOVE}
    for number, action in enumerate(actions):
        if action not in shown_as_fields or not (change["fields"] or change["place"]):
            entry.lines.append(ReportLine(STYLES[action], SYMBOLS[action], action.value, change["reason"] if number == 0 else ""))
    for field in change["fields"]:
        entry.lines += _field(field, born=born)
    if change["place"] is not None:
        before, after = (change["place"][side] for side in ("before", "after"))
        was = f"was after {before['previous']}" if before["previous"] else "was first"
        into = f" in {after['parent']}" if after["parent"] != before["parent"] and after["parent"] else ""
        entry.lines.append(
            ReportLine(Style.MOVE, ">", "after" if after["previous"] else "first", f"{after['previous'] or ''}{into}".strip(), was)
        )
    return entry


def _field(field: Mapping[str, Any], *, born: bool) -> Iterator[ReportLine]:
    style, symbol = (Style.CREATE, "+") if born else (Style.UPDATE, "~")
    if HIDDEN in (field["before"], field["after"]):
        pairs = [(field["name"], HIDDEN)]
    elif born:
        pairs = [(field["name"], shown(field["after"]))]
    else:
        pairs = difference_lines(field["name"], field["before"], field["after"])
    for number, (name, value) in enumerate(pairs):
        yield ReportLine(style, symbol, name, value, MARKS.get(Cause(field["cause"]), "") if number == 0 else "")


def _exposure(item: Mapping[str, Any]) -> ReportEntry:
    change = f"{item['field']} {shown(item['before'])} -> {shown(item['after'])}: " if item["field"] else ""
    entry = _line_entry(item["address"], Style.DELETE, "!", "exposure", f"{change}{item['says']}", where=_where(item["source"]))
    details = [
        f"readers: {', '.join(item['readers'])}" if item["readers"] else "",
        f"also for {', '.join(item['reaches'])}" if item["reaches"] else "",
        f"by {' -> '.join(item['path'])}" if len(item["path"]) > 1 else "",
    ]
    entry.lines += [ReportLine(Style.DIM, " ", "", detail) for detail in details if detail]
    return entry


def _broken(item: Mapping[str, Any]) -> ReportEntry:
    after = f" -> {item['after']}" if item["after"] is not None else ""
    url = f"{item['before'] or HIDDEN_URL}{after}"
    return _line_entry(item["address"], Style.DELETE, "!", "breaks", url, item["reason"], where=_where(item["source"]))


def _violation(item: Mapping[str, Any]) -> ReportEntry:
    style, word = _VERDICTS[Severity(item["level"])]
    text = f"{item['sort']} {item['rule']}: {item['message']}"
    return _line_entry(item["address"] or WHOLE, style, "!", word, text, item["remedy"], where=_where(item["declared"]))


# -- outcomes, drift, findings --------------------------------------------------------------------------------------------------------


def _outcome(document: Mapping[str, Any]) -> Content:
    steps, numbers = document["steps"], document["summary"]
    refused = (document["savedPlan"] or {"refused": []})["refused"]
    undone = [step for step in steps if step["status"] != StepStatus.DONE]
    serious = (StepStatus.FAILED, StepStatus.IN_DOUBT)
    urgent = [_ended(step) for step in undone if step["status"] in serious]
    urgent += [_line_entry(item["address"], Style.BLOCKED, "!", "refused", item["reason"]) for item in refused]
    others = [
        *(_ended(step) for step in undone if step["status"] not in serious),
        *(_line_entry(at, Style.DRIFT, "~", "differs", "still different when it was read after the run") for at in document["leftover"]),
        *map(_edited, document["edited"]),
        *(
            _line_entry(at, Style.BLOCKED, "?", "not checked", "it was written and could not be read again")
            for at in document["unverified"]
        ),
        *(_line_entry(at, Style.BLOCKED, "?", "not visible", NOT_VISIBLE) for at in document.get("notVisible", ())),
    ]
    troubles = [
        f"{numbers[key]:,} {word}"
        for key, word in (("failed", "failed"), ("inDoubt", "in doubt"), ("stale", "stale"), ("skipped", "skipped"))
        if numbers[key]
    ]
    troubles += [f"{len(refused):,} refused"] if refused else []
    of = f" of {len(steps):,}" if undone else ""
    done = f"Applied {numbers['done']:,}{of} {'request' if len(steps) == 1 else 'requests'}" if steps else "Nothing was applied"
    headline = "; ".join(filter(None, [done, ", ".join(troubles)])) + "."
    name, environment = document.get("project"), document.get("environment")
    return Content("outcome", name, environment, headline, tuple(urgent), tuple(others), quiet=not (steps or urgent or others))


def _ended(step: Mapping[str, Any]) -> ReportEntry:
    symbol, word = ENDINGS[StepStatus(step["status"])]
    style = Style.DIM if step["status"] == StepStatus.SKIPPED else Style.BLOCKED
    return _line_entry(step["address"], style, symbol, word, f"{step['verb']}: {step['error'] or 'no reason was given'}")


def _edited(item: Mapping[str, Any]) -> ReportEntry:
    if item["field"] is None:
        return _line_entry(item["address"], Style.DRIFT, "~", "differs", item["reason"])
    entry = ReportEntry(item["address"], "changed by somebody else during the run")
    entry.lines += _field({"name": item["field"], "cause": Cause.YOURS, **item}, born=False)
    return entry


def _drift(document: Mapping[str, Any]) -> Content:
    resources, numbers = document["resources"], document["summary"]
    deleted = [resource for resource in resources if resource["status"] == DriftWord.DELETED]
    others = [
        *(_drifted(resource) for resource in resources if resource["status"] != DriftWord.DELETED),
        *(_line_entry(item["kind"], Style.BLOCKED, "?", "unknown", item["reason"]) for item in document["unknown"]),
        *(_line_entry(at, Style.BLOCKED, "?", "unknown", "not tracked, so not judged") for at in document["unjudged"]),
    ]
    violations = document.get("violations", [])
    changes = ", ".join(f"{numbers[word.value]:,} {word.value}" for word in DriftWord if numbers[word.value]) or "No drift"
    rest = [
        f"{count(len(violations), 'assertion')} not met" if violations else "",
        f"{numbers['unmanaged']:,} unmanaged" if numbers["unmanaged"] else "",
        f"{numbers['silenced']:,} known and ignored" if numbers["silenced"] else "",
        f"{numbers['unjudged']:,} cannot be judged" if numbers["unjudged"] else "",
        f"{count(numbers['ignored'], 'difference')} ignored" if numbers.get("ignored") else "",
        f"{count(len(document['unknown']), 'reading')} failed" if document["unknown"] else "",
    ]
    headline = f"{'; '.join(filter(None, [changes, ', '.join(filter(None, rest))]))}. {count(numbers['managed'], 'object')} managed."
    urgent = (*map(_drifted, deleted), *map(_violation, violations))
    return Content(
        "drift", document["project"], document["environment"], headline, urgent, tuple(others), quiet=not (urgent or others),
        notes=tuple(document["notes"]),
    )  # fmt: skip


def _drifted(resource: Mapping[str, Any]) -> ReportEntry:
    status = DriftWord(resource["status"])
    entry = ReportEntry(resource["address"], _where(resource["source"]))
    if status is DriftWord.DELETED:
        at = f", {resource['deletedAt']}" if resource["deletedAt"] else ""
        entry.lines.append(ReportLine(Style.DELETE, "-", "deleted", f"outside Reconciler{at}"))
    for field in resource["fields"]:
        hidden = HIDDEN in (field["lastApplied"], field["now"])
        pairs = [(field["name"], HIDDEN)] if hidden else difference_lines(field["name"], field["lastApplied"], field["now"])
        entry.lines += [ReportLine(drifts.STYLES[status], "~", name, value, field["note"] or "") for name, value in pairs]
    if resource["place"] is not None:
        then, now = (resource["place"][side]["previous"] for side in ("lastApplied", "now"))
        text = f"{f'after {then}' if then else 'first'} -> {f'after {now}' if now else 'first'}"
        entry.lines.append(ReportLine(Style.MOVE, ">", "position", text))
    return entry


def _findings(document: Mapping[str, Any]) -> Content:
    numbers = document["summary"]
    ordered = sorted(document["findings"], key=lambda finding: finding["severity"] != Severity.ERROR)
    entries = [
        _line_entry(
            finding["address"] or (_place(finding["source"]) or "the project"),
            Style.BLOCKED if finding["severity"] == Severity.ERROR else Style.UPDATE,
            "!",
            finding["severity"],
            f"{finding.get('rule') or finding['id']}: {finding['message']}",
            finding["remedy"] or "",
            where=_place(finding["source"]),
        )
        for finding in ordered
    ]
    counts = [count(numbers[word], word) for word in ("error", "warning") if numbers[word]]
    headline = f"{', '.join(counts)}." if counts else "No problems."
    errors = numbers["error"]
    return Content(
        "findings", document["project"], document["environment"], headline, tuple(entries[:errors]), tuple(entries[errors:]),
        quiet=not entries,
    )  # fmt: skip


# -- lines ----------------------------------------------------------------------------------------------------------------------------


def _line_entry(title: str, style: Style, symbol: str, word: str, text: str, note: str = "", *, where: str = "") -> ReportEntry:
    """An entry of one line."""
    return ReportEntry(title, where, [ReportLine(style, symbol, word, text, note)])


def _where(source: Mapping[str, Any] | None) -> str:
    return "" if source is None else f"{source['file']}:{source['line']}"


def _place(source: Mapping[str, Any] | None) -> str:
    return "" if source is None else f"{source['file']}:{source['line']}" if source["line"] else source["file"]


FORMATS: Final[Mapping[str, Callable[[Mapping[str, Any]], Content]]] = {
    "reconciler.plan/1": _plan,
    "reconciler.outcome/1": _outcome,
    "reconciler.drift/1": _drift,
    "reconciler.findings/1": _findings,
}
"""The documents that a comment can show."""
