"""The tools: what an agent can call, in one table. Each calls what a command of the same name calls, and none of them can write.

A description is in our own words: nothing of a project or of the service is in the name, the description or the arguments of a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, create_model
from pydantic.types import StrictBool

from reconciler.address import Glob
from reconciler.cli.checks.rules_from import judged
from reconciler.cli.commands import access, drift, explain, health, plan, validate
from reconciler.cli.mcp.call_screen import CallScreen
from reconciler.cli.options import Options
from reconciler.cli.wiring.connect import connect
from reconciler.cli.wiring.loading import load
from reconciler.cli.wiring.rehearsal import rehearse
from reconciler.errors import ConfigError, Refused, UsageError
from reconciler.kinds import load as load_kinds
from reconciler.plan.guard import guard
from reconciler.report.access import access_sheet
from reconciler.report.brief import BriefParts, one_line, parts, shortened
from reconciler.report.drift import drift_sheet
from reconciler.report.findings import findings_sheet, of_problem
from reconciler.report.health import health_sheet
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.rehearsal import rehearsal_sheet
from reconciler.report.sheet import Sheet
from reconciler.text.names import HERE

TEXT_MAX: Final = 2_000  # characters of an argument
LIST_MAX: Final = 100  # items of an argument
SENTENCE: Final = 1_000  # characters of a line of an explanation, which is our own text

Text = Annotated[str, StringConstraints(strict=True, max_length=TEXT_MAX)]
FORMS: Final[Mapping[str, Any]] = {"text": Text, "texts": list[Text], "flag": StrictBool}
SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "text": {"type": "string"}, "texts": {"type": "array", "items": {"type": "string"}}, "flag": {"type": "boolean"},
}  # fmt: skip
ABSENT: Final[Mapping[str, Any]] = {"text": "", "texts": (), "flag": False}


@dataclass(frozen=True)
class Argument:
    """One argument of a tool. `form`: `text`, `texts` or `flag`; another tool may have an object of its own, with its `schema`."""

    name: str
    says: str
    form: str = "text"
    required: bool = False
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Call:
    """One call: the project it is about, as the options of a command line, and its arguments."""

    screen: CallScreen
    options: Options
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """What a tool answers. `then`: what to do with it, in our own words. `failed`: it is an error."""

    parts: BriefParts
    then: str = ""
    failed: bool = False


@dataclass(frozen=True)
class ToolRow:
    """One tool. `says`: its description. `answer`: called in a thread. `reads_project`: whether it is about one of the projects."""

    name: str
    says: str
    answer: Callable[[Call], Said]
    arguments: tuple[Argument, ...] = ()
    reads_project: bool = True
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


def _explain(call: Call) -> Said:
    text = plain(explain.described(call.given["word"], width=SENTENCE))
    return Said(BriefParts((), others=tuple(one_line(line, longest=SENTENCE) for line in text.splitlines())))


def _validate(call: Call) -> Said:
    try:
        project, findings = validate.checked(call.screen, call.options, load_kinds())
    except ConfigError as error:
        problems = call.screen.masked_data([of_problem(problem) for problem in error.problems])
        return Said(parts(findings_sheet(problems, project="the project", environment=call.options.env)), failed=False)
    named = call.screen.masked_data(list(findings))
    return Said(parts(findings_sheet(named, project=project.settings.project, environment=call.options.env)))


def _plan(call: Call) -> Said:
    options = _selected(call)
    reading = plan.read(call.screen, options, load_kinds())
    shown = call.screen.masked_data(reading.planned.plan)
    folded, whole = (plan_sheet(shown, full=full, zone=HERE, remedies=True) for full in (False, True))
    try:
        guard(reading.planned.plan, reading.by.project.desired, **options.limits)
    except Refused as error:
        return _said(call, folded, whole, f"apply would refuse this: {call.screen.masked(error.message)}")
    return _said(call, folded, whole)


def _access(call: Call) -> Said:
    reading = access.read(call.screen, call.options, load_kinds(), call.given["as"])
    shown = call.screen.masked_data(reading.review)
    return _said(call, access_sheet(shown), access_sheet(shown, full=True))


def _drift(call: Call) -> Said:
    reading = drift.read(call.screen, _selected(call), load_kinds(), coverage=call.given["coverage"])
    shown = call.screen.masked_data(reading.shown)
    return _said(call, drift_sheet(shown, zone=HERE), drift_sheet(shown, full=True, zone=HERE))


def _health(call: Call) -> Said:
    _, result = health.read(call.screen, call.options, load_kinds())
    shown = call.screen.masked_data(result)
    return _said(call, health_sheet(shown, zone=HERE), health_sheet(shown, full=True, zone=HERE))


def _rehearse(call: Call) -> Said:
    kinds, options = load_kinds(), _selected(call)
    project = judged(call.screen, options, kinds, load(call.screen, options, kinds)).project
    with connect(call.screen, options, project, kinds) as service:
        shown = call.screen.masked_data(rehearse(call.screen, options, project, kinds, service))
    return _said(call, rehearsal_sheet(shown), rehearsal_sheet(shown, full=True))


def _said(call: Call, folded: Sheet, whole: Sheet, *remarks: str) -> Said:
    report = parts(folded, whole=whole)
    head = (*report.head, *(shortened(one_line(text)) for text in (*remarks, *call.screen.remarks)))
    return Said(BriefParts(head, report.harms, report.others, report.each))


def _selected(call: Call) -> Options:
    """The options of the call with the addresses that it selects. Raises `UsageError`."""
    try:
        target = tuple(Glob.parse(text) for text in call.given["target"])
    except ValueError as error:
        raise UsageError(str(error), id="RC-option-value", hint="An address is like acme/space/guides; * is one part, ** many.") from None
    return replace(call.options, target=target)


TARGET: Final = Argument("target", "Only these addresses and what they require: acme/space/guides, acme/site/docs/**", "texts")

TOOLS: Final[tuple[ToolRow, ...]] = (
    ToolRow(
        "explain",
        "Describe a kind (site), a field (site.visibility), a key of the project file (guards) or the cause of an error (RC-protected). "
        "Without a word: list the kinds.",
        _explain,
        (Argument("word", "A kind, kind.field, key or cause"),),
        reads_project=False,
    ),
    ToolRow("validate", "Check the files of the project, with lint. Contacts nobody.", _validate),
    ToolRow(
        "plan",
        "Show what an apply would change and why; deletions, exposures and URLs that stop working first. Nothing is applied.",
        _plan,
        (TARGET,),
    ),
    ToolRow(
        "access",
        "Show who can read what, now and after the plan.",
        _access,
        (Argument("as", "Only these readers: anyone, agent, link=KEY, role=ROLE, claims=NAME=VALUE", "texts"),),
    ),
    ToolRow(
        "drift",
        "Show what was changed outside Reconciler since the last apply.",
        _drift,
        (TARGET, Argument("coverage", "Read every list, and show unmanaged objects", "flag")),
    ),
    ToolRow("health", "Show what readers do not find, and what ends soon.", _health),
    ToolRow(
        "rehearse",
        "Apply the plan to a copy of the organization in this process, and show who could read more, which URLs would stop "
        "working, and the worst moment. The organization itself is not changed.",
        _rehearse,
        (TARGET,),
    ),
)  # fmt: skip
