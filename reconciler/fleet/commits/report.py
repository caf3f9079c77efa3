"""What a commit does to the projects of a fleet: a group of projects for each thing that happens, as data and as a sheet. Pure.

In: the documents of plans, one for each group. Out: `reconciler.fleet-preview/1`, and the sheet of such a document. The fewest projects
come first: what happens to one of 300 is what nobody would look for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from reconciler.features.urls.model.pages import UrlReason
from reconciler.fleet.documents import (
    PREVIEW_CLASSES,
    PREVIEW_MOMENTS,
    FleetPreviewDocument,
    FleetPreviewGroupData,
    FleetPreviewProblemData,
    FleetPreviewReadingData,
)
from reconciler.model import Severity, Source
from reconciler.report.layout import Span, Style
from reconciler.report.reading import DocumentFormat, sheet_of
from reconciler.report.schemas.plan import PlanDocument
from reconciler.report.sheet import PicturePart, Sheet, SheetEntry, SheetLine, Weight
from reconciler.report.words import SIGNS, count, listed

MERGE, FLEET_APPLY = PREVIEW_MOMENTS
MOST_PROJECTS: Final = 3  # projects of a group, or in a sentence
SHOWN: Final = 8  # lines of an example
SENTENCES: Final = 6  # groups in the sentences at the top; the entries have the rest
SERIOUS: Final = frozenset(PREVIEW_CLASSES[: PREVIEW_CLASSES.index("loosening-rules") + 1])
ENDS: Final = frozenset({UrlReason.GONE, UrlReason.SHADOWED})


def group_data(projects: Sequence[str], plan: PlanDocument, *, after: str) -> FleetPreviewGroupData:
    """A group of projects, of which the first is the example, and `plan` its plan."""
    sheet = sheet_of(plan)
    return {
        "projects": list(projects),
        "example": projects[0],
        "summary": sheet.headline,
        "worst": worst(plan),
        "says": [sentence.text for sentence in sheet.consequences],
        "after": after,
        "plan": plan,
    }


def worst(plan: PlanDocument) -> str:
    """The most serious thing that a plan does: one of `PREVIEW_CLASSES`."""
    exposures = plan["exposures"]
    serious = {
        "violating": any(violation["level"] == Severity.ERROR for violation in plan.get("violations", ())),
        "exposing": any(exposure["readers"] for exposure in exposures),
        "locking-out": bool(plan.get("lostReaders")),
        "deleting": bool(plan["summary"]["delete"] or plan["summary"]["replace"]),
        "breaking-urls": bool(plan["broken"] or any(group["reason"] in ENDS for group in plan.get("urlGroups", ()))),
        "loosening-rules": any(not exposure["readers"] for exposure in exposures),
        "blocked": bool(plan["blocked"]),
    }
    return next((name for name in PREVIEW_CLASSES if serious.get(name)), PREVIEW_CLASSES[-1])


def by_rarity(groups: Sequence[FleetPreviewGroupData]) -> list[FleetPreviewGroupData]:
    """The groups of the fewest projects first; of equally many, the most serious."""
    return sorted(groups, key=lambda group: (len(group["projects"]), PREVIEW_CLASSES.index(group["worst"]), group["example"]))


def preview_sheet(document: FleetPreviewDocument) -> Sheet:
    """The sheet of a preview."""
    groups, problems = document["groups"], document["problems"]
    sentences = [_sentence(group) for group in groups[:SENTENCES]]
    if len(groups) > SENTENCES:
        sentences.append(Span(Style.PLAIN, f"{count(len(groups) - SENTENCES, 'more group')} below."))
    now = {reading["project"]: reading for reading in document.get("readings", ())}
    entries = [*_problems(problems), *(_group(group, now) for group in groups), *_fleet_file(document)]
    numbers = _numbers(document)
    return Sheet(
        "preview",
        document["fleet"],
        None,
        f"Preview: {numbers}",
        entries,
        document["notes"],
        _picture(document),
        headline=numbers,
        consequences=sentences,
        signs=SIGNS,
        quiet=not entries,
        worst_first=True,
    )


# -- numbers ------------------------------------------------------------------------------------------------------------------------


def _numbers(document: FleetPreviewDocument) -> str:
    """`287 of 300 projects change, in 3 ways; 1 appears, 2 vanish; 1 cannot be planned.`"""
    changing, failing = _changing(document), {problem["project"] for problem in document["problems"]}
    total = len(changing | failing | set(document["unchanged"]))
    ways = f", in {len(document['groups']):,} ways" if len(document["groups"]) > 1 else ""
    verb = "changes" if len(changing) == 1 else "change"
    change = f"{len(changing):,} of {count(total, 'project')} {verb}{ways}" if changing else f"none of {count(total, 'project')} changes"
    verbs = ((document["appear"], "appears", "appear"), (document["vanish"], "vanishes", "vanish"))
    moves = ", ".join(count(len(names), *words) for names, *words in verbs if names)
    return "; ".join(filter(None, [change, moves, f"{len(failing):,} cannot be planned" if failing else ""])) + "."


def _changing(document: FleetPreviewDocument) -> set[str]:
    return {project for group in document["groups"] for project in group["projects"]}


def _picture(document: FleetPreviewDocument) -> list[PicturePart]:
    groups = document["groups"]
    serious = {project for group in groups if group["worst"] in SERIOUS for project in group["projects"]}
    numbers = (
        ("cannot be planned", "cannot be planned", len({problem["project"] for problem in document["problems"]}), Style.BLOCKED),
        ("needs attention", "need attention", len(serious), Style.DELETE),
        ("changes", "change", len(_changing(document) - serious), Style.UPDATE),
        ("appears", "appear", len(document["appear"]), Style.CREATE),
        ("vanishes", "vanish", len(document["vanish"]), Style.MOVE),
        ("unchanged", "unchanged", len(document["unchanged"]), Style.DIM),
    )
    return [PicturePart(word if number == 1 else words, number, style) for word, words, number, style in numbers if number]


# -- groups -------------------------------------------------------------------------------------------------------------------------


def _who(group: FleetPreviewGroupData) -> str:
    """`globex`, `5 projects like initech`."""
    number = len(group["projects"])
    return group["example"] if number == 1 else f"{count(number, 'project')} like {group['example']}"


def _sentence(group: FleetPreviewGroupData) -> Span:
    """`globex: Deleted: 1 section (globex/site/docs/section/api).`"""
    says = " ".join(group["says"]) or group["summary"]
    later = ", once `fleet apply` takes the new fleet file" if group["after"] == FLEET_APPLY else ""
    return Span(Style.DELETE if group["worst"] in SERIOUS else Style.PLAIN, f"{_who(group)}{later}: {says}")


def _group(group: FleetPreviewGroupData, now: Mapping[str, FleetPreviewReadingData]) -> SheetEntry:
    """A group, with the plan of its example."""
    others = [name for name in group["projects"] if name != group["example"]]
    lines = [SheetLine(Style.DIM, " ", "", f"the same for {listed(others, MOST_PROJECTS)}")] if others else []
    lines += [SheetLine(Style.DRIFT, "?", "now", sentence) for sentence in _now(group, now)]
    example = list(_example(group["plan"]))
    lines += example[:SHOWN]
    if len(example) > SHOWN:
        lines.append(SheetLine(Style.DIM, " ", "", f"and {count(len(example) - SHOWN, 'more line')}: see the plan in JSON"))
    weight = Weight.URGENT if group["worst"] in SERIOUS else Weight.HINDERED if group["worst"] == "blocked" else Weight.CHANGE
    section = "What the commit does" if group["after"] == MERGE else "What the new fleet file does, once it takes effect"
    where = f"after fleet apply: {group['summary']}" if group["after"] == FLEET_APPLY else group["summary"]
    return SheetEntry(_who(group), where, lines, weight, section=section)


def _example(plan: PlanDocument) -> Iterator[SheetLine]:
    """The lines of a plan, with their addresses where those are not that of the line above, which continues."""
    for entry in sorted(sheet_of(plan).entries, key=lambda entry: entry.weight):
        for number, line in enumerate(entry.lines):
            title = entry.title if not number or line.symbol.strip() else ""
            yield SheetLine(line.style, line.symbol, title, f"{line.name}  {line.value}".strip(), line.note, line.id, line.note_style)


def _now(group: FleetPreviewGroupData, now: Mapping[str, FleetPreviewReadingData]) -> Iterator[str]:
    """The projects of a group that are not Synced, as the fleet read them last."""
    for word in ("OutOfSync", "Unknown"):
        names = [name for name in group["projects"] if name in now and now[name]["status"] == word]
        if names:
            says = "; ".join(now[names[0]]["says"])
            yield f"{word}: {listed(names, MOST_PROJECTS)}" + (f" ({names[0]}: {says})" if says else "")


# -- the rest -----------------------------------------------------------------------------------------------------------------------


def _problems(problems: Sequence[FleetPreviewProblemData]) -> Iterator[SheetEntry]:
    """What keeps projects from being planned."""
    by_project: dict[str, list[FleetPreviewProblemData]] = {}
    for problem in problems:
        by_project.setdefault(problem["project"], []).append(problem)
    for project, about in by_project.items():
        lines = [
            SheetLine(Style.BLOCKED, "!", "error", f"{_place(problem)}{problem['message']}", id=problem["id"]) for problem in about[:SHOWN]
        ]
        if len(about) > SHOWN:
            lines.append(SheetLine(Style.DIM, " ", "", f"and {count(len(about) - SHOWN, 'more problem')}"))
        first = about[0]
        source = Source(first["file"], first["line"], first["column"]) if first["file"] else None
        yield SheetEntry(
            project, "cannot be planned", lines, Weight.URGENT, source, Style.BLOCKED, section="Projects that cannot be planned"
        )


def _place(problem: FleetPreviewProblemData) -> str:
    if not problem["file"]:
        return ""
    return f"{problem['file']}:{problem['line']}:{problem['column']}  " if problem["line"] else f"{problem['file']}  "


def _fleet_file(document: FleetPreviewDocument) -> Iterator[SheetEntry]:
    """The projects that appear, vanish, or of which the fleet file says something else."""
    for names, symbol, style, word in (
        (document["appear"], "+", Style.CREATE, "appears"),
        (document["vanish"], "-", Style.DELETE, "vanishes: it is not run again, and nothing of it is deleted"),
    ):
        for name in names[:SHOWN]:
            yield SheetEntry(name, "", [SheetLine(style, symbol, "", word)], section="The fleet")
        if len(names) > SHOWN:
            line = SheetLine(style, symbol, "", listed(names[SHOWN:], MOST_PROJECTS))
            yield SheetEntry(f"{count(len(names) - SHOWN, 'more project')}", "", [line], section="The fleet")
    keys: dict[str, list[str]] = {}
    for changed in document["reconfigured"]:
        keys.setdefault(", ".join(changed["keys"]), []).append(changed["project"])
    for text, names in keys.items():
        who = names[0] if len(names) == 1 else f"{count(len(names), 'project')} like {names[0]}"
        yield SheetEntry(who, "", [SheetLine(Style.UPDATE, "~", text, "is different in the fleet file")], section="The fleet")


FORMAT: Final = DocumentFormat(
    "reconciler.fleet-preview/1", FleetPreviewDocument, lambda document: preview_sheet(cast("FleetPreviewDocument", document))
)
