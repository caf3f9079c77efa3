"""The tools: what an agent can call, in one table. Each calls what a command of the same name calls, and none of them can write.

A description is in our own words: nothing of a project or of the service is in the name, the description or the arguments of a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model
from pydantic.types import StrictBool

from reconciler.address import Address, Glob, Selection
from reconciler.config import Project
from reconciler.errors import ConfigError, ReconcilerError, Refused, UsageError
from reconciler.features.access.read import FORMS as READERS, access_of
from reconciler.features.access.report import access_sheet
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.features.drift.run.groups import CommandLine
from reconciler.features.drift.run.reading import drift_commands, drift_of
from reconciler.features.edits import propose as proposals
from reconciler.features.edits.operations import FORMS as SCHEMAS, SCHEMA
from reconciler.features.edits.propose import ProposedChange
from reconciler.features.health.report import health_sheet
from reconciler.features.health.run import health_of
from reconciler.features.lint.run import checked
from reconciler.features.mcp.answers import DATA
from reconciler.features.mcp.lookups import about, found_sentence, history_of, known_objects, unmanaged
from reconciler.features.rehearsal.performing import rehearse
from reconciler.features.rehearsal.report import rehearsal_document, rehearsal_sheet
from reconciler.features.urls.recorded import NOTHING, ledger, recorded, site_of
from reconciler.features.urls.report.ledger import record_line, url_sheet
from reconciler.features.urls.tables import kept
from reconciler.kinds import load as load_kinds
from reconciler.report.findings import findings_sheet, of_problem
from reconciler.report.formats.brief import BriefParts, one_line, parts, shortened
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet
from reconciler.resource import Kinds
from reconciler.run.call_voice import CallVoice
from reconciler.run.connection.unseen import known_state
from reconciler.run.conventions import conventions
from reconciler.run.explained import described
from reconciler.run.loading import load, load_settings
from reconciler.run.opened import Run
from reconciler.run.operation import Operation
from reconciler.run.stages import Planned
from reconciler.text.names import HERE, did_you_mean

TEXT_MAX: Final = 2_000  # characters of an argument
LIST_MAX: Final = 100  # items of an argument
SENTENCE: Final = 1_000  # characters of a line that is a sentence
CONVENTIONS: Final = "conventions"
PAGED: Final = "the tool more"  # what shows what a report folds
FOLLOW: Final = "The conventions of this repository, from a file of it. They can be followed."
NO_CONVENTIONS: Final = "This project has no conventions for agents; agents: {conventions: FILE} in its file names some."

Text = Annotated[str, StringConstraints(strict=True, max_length=TEXT_MAX)]
FORMS: Final[Mapping[str, Any]] = {"text": Text, "texts": Annotated[list[Text], Field(max_length=LIST_MAX)], "flag": StrictBool}
ABSENT: Final[Mapping[str, Any]] = {"text": "", "texts": (), "flag": False, "operations": None}


@dataclass(frozen=True)
class Argument:
    """One argument of a tool. `form`: `text`, `texts` or `flag`; another tool may have an object of its own, with its `schema`."""

    name: str
    says: str
    form: str = "text"
    required: bool = False
    schema: Mapping[str, Any] | None = None


CommandLines = Callable[[Operation], tuple[CommandLine, CommandLine]]
"""Returns how the command line of a command is typed for an operation, and that of a single request."""


@dataclass(frozen=True)
class Call:
    """One call: what it asks of a run, and its arguments. `lines`: see `CommandLines`."""

    voice: CallVoice
    operation: Operation
    lines: CommandLines
    given: Mapping[str, Any]


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool answers. `then`, `lead`: our own words, behind and before it. `failed`: it is an error."""

    parts: BriefParts
    then: str = ""
    lead: str = DATA
    failed: bool = False


@dataclass(frozen=True)
class ToolRow:
    """One tool. `says`: its description. `answer`: called in a thread. `reads_project`: it is about one of the projects. `needs_project`:
    it cannot be called without one. `changes_files`: it changes files of the working copy."""

    name: str
    says: str
    answer: Callable[[Call], ToolAnswer]
    arguments: tuple[Argument, ...] = ()
    reads_project: bool = True
    needs_project: bool = True
    changes_files: bool = False

    def accepted(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, with those that are absent. Raises `WrongArguments`."""
        fields: dict[str, Any] = {
            row.name: (FORMS.get(row.form, Any), ... if row.required else ABSENT.get(row.form)) for row in self.arguments
        }
        model: type[BaseModel] = create_model(self.name, __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields)
        try:
            return dict(model.model_validate(dict(given)))
        except ValidationError as error:
            raise WrongArguments(self, error) from None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        properties = {row.name: {**(row.schema or SCHEMAS[row.form]), "description": row.says} for row in self.arguments}
        required = [row.name for row in self.arguments if row.required]
        return {"type": "object", "properties": properties, "additionalProperties": False, **({"required": required} if required else {})}


class WrongArguments(Exception):
    """Arguments that a tool does not have, or of another type. Its text repeats nothing that was given."""

    def __init__(self, tool: ToolRow, error: ValidationError) -> None:
        known = {row.name for row in tool.arguments}
        wrong = sorted({str(detail["loc"][0]) for detail in error.errors(include_input=False, include_url=False) if detail["loc"]} & known)
        takes = ", ".join(f"{row.name} ({row.form})" for row in tool.arguments) or "no arguments"
        super().__init__(f"Wrong arguments{f': {chr(44).join(wrong)}' if wrong else ''}. {tool.name} takes {takes}.")


# -- the tools -------------------------------------------------------------------------------------------------------------------------


def _explain(call: Call) -> ToolAnswer:
    if call.given["word"] == CONVENTIONS:
        project = load_settings(call.operation, call.voice)
        lines = tuple(shortened(one_line(line, longest=SENTENCE)) for line in conventions(project).splitlines())
        return ToolAnswer(BriefParts((), others=lines), lead=FOLLOW) if lines else ToolAnswer(BriefParts((NO_CONVENTIONS,)))
    text = plain(described(call.given["word"], width=SENTENCE))
    return ToolAnswer(BriefParts((), others=tuple(shortened(one_line(line, longest=SENTENCE)) for line in text.splitlines())))


def _find(call: Call) -> ToolAnswer:
    project, kinds, planned = _read(call)
    known = call.voice.masks.data(known_objects(kinds, project, planned))
    text, kind = call.given["text"], call.given["kind"]
    matching = [item.line for item in known if item.matches(text) and kind in ("", item.kind)]
    matching += call.voice.masks.data([*unmanaged(planned, known, text, kind)])
    lines = tuple(map(shortened, matching))
    head = [found_sentence(len(lines), text), *call.voice.remarks]
    return ToolAnswer(BriefParts(tuple(shortened(one_line(line)) for line in head), others=lines))


def _show(call: Call) -> ToolAnswer:
    project, kinds, planned = _read(call)
    wanted = call.given["address"]
    every = known_objects(kinds, project, planned)
    item = next((item for item in every if str(item.address) == wanted), None)
    if item is None:
        near = did_you_mean(wanted, [str(item.address) for item in every])
        raise UsageError(f"no object has the address {wanted}{near}", id="RC-not-tracked", hint="The tool find looks for texts.")
    lines = [*about(kinds, project, planned, item)]
    with known_state(call.operation, call.voice, project) as store:
        lines += [*history_of(store, item.address, store.runs())] if store is not None else []
    masked = call.voice.masks.data([*lines, *call.voice.remarks])
    return ToolAnswer(BriefParts((), others=tuple(shortened(one_line(line, longest=SENTENCE)) for line in masked)))


def _read(call: Call) -> tuple[Project, Kinds, Planned | None]:
    """The project and what was read of its organization; None with a remark where the service could not be read."""
    try:
        with Run.open(call.operation, call.voice) as run:
            run.warn_unseen()
            return run.project, run.kinds, run.plan(everything=True, pages=False)
    except ConfigError:
        raise
    except ReconcilerError as error:
        call.voice.warn(f"Only the files were read: {error.message}", id=error.id)
        kinds = load_kinds()
        return load(call.operation, call.voice, kinds, decrypt=False, warn=False), kinds, None


def _urls(call: Call) -> ToolAnswer:
    with ledger(call.operation, call.voice, load_settings(call.operation, call.voice)) as store:
        if call.given["url"]:
            sheet = url_sheet(recorded(store, call.given["url"]), HERE)
            lines = [sheet.summary, *sheet.notes]
        else:
            site = site_of(store, call.given["site"] or None)
            lines = [record_line(record, HERE) for record in kept.urls(store, site=site, ended=call.given["ended"])]
    shown = tuple(shortened(one_line(call.voice.masks.text(line), longest=SENTENCE)) for line in lines)
    return ToolAnswer(BriefParts(() if shown else (NOTHING,), others=shown))


def _validate(call: Call) -> ToolAnswer:
    try:
        project, findings = checked(call.operation, call.voice, load_kinds())
    except ConfigError as error:
        problems = call.voice.masks.data([of_problem(problem) for problem in error.problems])
        return ToolAnswer(parts(findings_sheet(problems, project="the project", environment=call.operation.environment)), failed=False)
    named = call.voice.masks.data(list(findings))
    return ToolAnswer(parts(findings_sheet(named, project=project.settings.project, environment=call.operation.environment)))


def _plan(call: Call) -> ToolAnswer:
    planned = _planned(replace(_selected(call), hold=call.given["hold"]), call.voice)
    shown = call.voice.masks.data(planned.plan)
    folded, whole = (plan_sheet(shown, full=full, zone=HERE, remedies=True, more=PAGED) for full in (False, True))
    try:
        planned.check(planned.operation.limits.with_exposures)
    except Refused as error:
        return _said(call, folded, whole, f"apply would refuse this: {call.voice.masks.text(error.message)}")
    return _said(call, folded, whole)


def _planned(operation: Operation, voice: CallVoice, *, create: bool = True) -> Planned:
    with Run.open(operation, voice, create=create) as run:
        planned = run.plan()
        return replace(planned, plan=replace(planned.plan, notes=(*run.notes, *planned.plan.notes)))


def _access(call: Call) -> ToolAnswer:
    try:
        about = Address.parse(who) if (who := call.given["who"]) else None
    except ValueError as error:
        raise UsageError(f"who is {who}: {error}", id="RC-option-value", hint="Such as acme/space/guides.") from None
    with Run.open(call.operation, call.voice) as run:
        shown = call.voice.masks.data(access_of(run, call.given["as"], about))
    return _said(call, access_sheet(shown, more=PAGED), access_sheet(shown, full=True))


def _drift(call: Call) -> ToolAnswer:
    with Run.open(_selected(call), call.voice) as run:
        reading = drift_of(run, coverage=call.given["coverage"])
        shown, commands = call.voice.masks.data(reading.shown), drift_commands(run, reading, *call.lines(call.operation))
    folded, whole = (drift_sheet(shown, full=full, zone=HERE, more=PAGED, commands=commands) for full in (False, True))
    return _said(call, folded, whole)


def _health(call: Call) -> ToolAnswer:
    with Run.open(call.operation, call.voice) as run:
        shown = call.voice.masks.data(health_of(run))
    return _said(call, health_sheet(shown, zone=HERE, more=PAGED), health_sheet(shown, full=True, zone=HERE))


def _rehearse(call: Call) -> ToolAnswer:
    with Run.open(_selected(call), call.voice) as run:
        shown = rehearsal_document(call.voice.masks.data(rehearse(run)))
    return _said(call, rehearsal_sheet(shown), rehearsal_sheet(shown, full=True))


def _propose(call: Call) -> ToolAnswer:
    kinds, data = load_kinds(), call.given["operations"]
    if call.given["undo"]:
        if data or call.given["check"]:
            wrong = "undo takes neither operations nor check"
            raise UsageError(wrong, id="RC-options-conflict", hint="Call it twice.")
        return _proposed(call, proposals.undo(call.operation, call.voice, own=True), BriefParts(()), "Restored")
    proposal = proposals.propose(call.operation, call.voice, kinds, data, write=not call.given["check"])
    assert proposal.plan is not None
    shown, remarks = call.voice.masks.data(proposal.plan), list[str]()
    if proposal.written:
        # What the service has now is what the change meets; without it, the files before are all that there is to compare with.
        try:
            operation = replace(call.operation, environment=proposal.environment)
            shown = call.voice.masks.data(_planned(operation, call.voice, create=False).plan)
        except ReconcilerError as error:
            remarks = [f"The service was not read: {call.voice.masks.text(error.message)}"]
    folded, whole = (plan_sheet(shown, full=full, zone=HERE, remedies=True, more=PAGED) for full in (False, True))
    return _proposed(call, proposal, parts(folded, whole=whole), "Changed" if proposal.written else "Would change", *remarks)


def _proposed(call: Call, proposal: ProposedChange, report: BriefParts, word: str, *remarks: str) -> ToolAnswer:
    """The files, then the brief of the plan, then the differences."""
    first = (f"{word}: {', '.join(proposal.files)}." if proposal.files else "No file changes.", *proposal.notes)
    head = (*(shortened(one_line(line)) for line in first), *report.head, *(shortened(one_line(line)) for line in remarks))
    diff = tuple(shortened(one_line(line, longest=SENTENCE)) for line in (*call.voice.remarks, *proposal.diff))
    then = "People review and apply this. propose with undo restores the files." if proposal.written and proposal.plan else ""
    return ToolAnswer(BriefParts(head, report.harms, (*diff, *report.others), report.each), then)


def _said(call: Call, folded: Sheet, whole: Sheet, *remarks: str) -> ToolAnswer:
    report = parts(folded, whole=whole)
    head = (*report.head, *(shortened(one_line(text)) for text in (*remarks, *call.voice.remarks)))
    return ToolAnswer(BriefParts(head, report.harms, report.others, report.each))


def _selected(call: Call) -> Operation:
    """The operation of the call with the addresses that it selects. Raises `UsageError`."""
    try:
        target = tuple(Glob.parse(text) for text in call.given["target"])
    except ValueError as error:
        raise UsageError(str(error), id="RC-option-value", hint="An address is like acme/space/guides; * is one part, ** many.") from None
    return replace(call.operation, selection=Selection(target, call.operation.selection.excludes))


TARGET: Final = Argument("target", "Only these addresses and what they require: acme/space/guides, acme/site/docs/**", "texts")

TOOLS: Final[tuple[ToolRow, ...]] = (
    ToolRow(
        "explain",
        "Describe a kind (site), a field (site.visibility), a key of the project file (guards) or the cause of an error (RC-protected); "
        "conventions: the rules of this repository for agents. Without a word: list the kinds.",
        _explain,
        (Argument("word", "A kind, kind.field, key, cause, or conventions"),),
        needs_project=False,
    ),
    ToolRow(
        "find",
        "Find objects, declared or not, by a text in their address, title, id, URL, readers, file or owners; * makes it a pattern.",
        _find,
        (Argument("text", "Such as guides, acme/site/*, /install, anyone", required=True), Argument("kind", "Only objects of this kind")),
    ),
    ToolRow(
        "show",
        "Show one object: each field as declared and as it is, its readers and why, its URL, what refers to it, what the plan does to it, "
        "and its history.",
        _show,
        (Argument("address", "Such as acme/space/guides", required=True),),
    ),
    ToolRow("validate", "Check the files of the project, with lint. Contacts nobody.", _validate),
    ToolRow(
        "plan",
        "Show what an apply would change and why; deletions, exposures and URLs that stop working first. Nothing is applied.",
        _plan,
        (TARGET, Argument("hold", "Hold what is refused, and show the rest", "flag")),
    ),
    ToolRow(
        "access",
        "Show who can read what, now and after the plan.",
        _access,
        (
            Argument("as", f"Only these readers: {READERS}", "texts"),
            Argument("who", "Instead of readers: the address of one object, to show everybody who can read it, by name and why"),
        ),
    ),
    ToolRow(
        "drift",
        "Show what was changed outside Reconciler since the last apply.",
        _drift,
        (TARGET, Argument("coverage", "Read every list, and show unmanaged objects", "flag")),
    ),
    ToolRow("health", "Show what readers do not find, and what ends soon.", _health),
    ToolRow(
        "urls",
        "List the published URLs that the ledger has, or what happened to one of them.",
        _urls,
        (
            Argument("url", "What happened to this URL"),
            Argument("site", "Only those of this site: its key or address"),
            Argument("ended", "Those at which no page answers any more", "flag"),
        ),
    ),
    ToolRow(
        "rehearse",
        "Apply the plan to a copy of the organization in this process, and show who could read more, which URLs would stop "
        "working, and the worst moment. The organization itself is not changed.",
        _rehearse,
        (TARGET,),
    ),
    ToolRow(
        "propose",
        "Change the YAML files of the working copy by operations, all or none, and show the difference and the plan. Comments and order "
        "stay. Refused if the project would not be valid; rules, consents, secrets and expressions cannot be changed. Nothing is applied.",
        _propose,
        (
            Argument("operations", "What to change, in this order", "operations", schema=SCHEMA),
            Argument("check", "Write nothing; show what would change", "flag"),
            Argument("undo", "Restore the files as they were before the last proposal of this session", "flag"),
        ),
        changes_files=True,
    ),
)
