"""The program, assembled: its commands, and the rows that features add to the tables of the kernel. The only importer of features.

Deleting a feature is deleting its folder and its lines here. `--help` needs the first table alone, and that names modules without importing
them; `assemble` imports the rest when a run begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reconciler import exits
from reconciler.cli.program import PLANS, READS, WRITES, Lazy, Program

GROUPS: Final[Mapping[str, Mapping[str, Lazy]]] = {
    "Start": {
        "init": Lazy("reconciler.cli.commands.init", "Create a small project."),
        "import": Lazy("reconciler.features.importer.command", "Import an existing organization as a project.", WRITES),
        "doctor": Lazy("reconciler.features.doctor.command", "Check prerequisites and diagnose problems."),
    },
    "Every day": {
        "validate": Lazy("reconciler.cli.commands.validate", "Check a project without contacting the service.", (exits.REFUSED,)),
        "plan": Lazy("reconciler.cli.commands.plan", "Show what would change.", PLANS),
        "apply": Lazy("reconciler.cli.commands.apply", "Apply changes after confirmation.", WRITES),
        "drift": Lazy("reconciler.features.drift.command", "Show what was changed outside Reconciler.", (*WRITES, exits.PENDING)),
        "access": Lazy("reconciler.features.access.command", "Show who can read what, now and after the plan.", READS),
        "undo": Lazy("reconciler.features.undo.command", "Plan and apply the reverse of a run.", WRITES),
    },
    "Look": {
        "diff": Lazy(
            "reconciler.cli.commands.diff", "Show what a change of the files means, without the service.", (exits.PENDING, exits.REFUSED)
        ),
        "rehearse": Lazy("reconciler.features.rehearsal.command", "Try the plan on a copy of the organization.", (*PLANS, exits.LOCKED)),
        "health": Lazy("reconciler.features.health.command", "Show what readers do not find, and what ends soon.", (*READS, exits.PENDING)),
        "urls": Lazy("reconciler.features.urls.command", "Show and check published URLs, and where old ones lead."),
        "history": Lazy("reconciler.cli.commands.history:history_command", "List runs: who ran what, when, and what it did."),
        "show": Lazy("reconciler.cli.commands.history:show_command", "Show what a run did, or a saved plan."),
        "explain": Lazy("reconciler.cli.commands.explain", "Describe a kind, a field or the cause of an error."),
        "graph": Lazy("reconciler.cli.commands.graph", "Draw resources or requests as a Mermaid or Graphviz graph.", READS),
    },
    "Team": {
        "pipeline": Lazy(
            "reconciler.features.forges.pipeline_command",
            "Run a command in a CI job, with reports, a summary and the approved plan.",
            (*WRITES, exits.PENDING),
        ),
        "comment": Lazy(
            "reconciler.features.forges.comment_command",
            "Show plans, outcomes and drift in the comment of a pull request.",
            (exits.PARTLY,),
        ),
        "policy": Lazy("reconciler.features.policies.command", "List policies, and test them with examples.", (exits.REFUSED,)),
        "test": Lazy("reconciler.features.testing.command", "Try the project on a twin, and check what tests expect."),
        "propose": Lazy("reconciler.features.edits.command", "Change the files by operations, all or none.", (exits.REFUSED,)),
        "release": Lazy(
            "reconciler.features.edits.release_command", "Write the next version of a section into the files.", (exits.REFUSED,)
        ),
        "fleet": Lazy("reconciler.fleet.commands.group", "Watch and apply many projects all the time."),
        "mcp": Lazy("reconciler.features.mcp.command", "Serve agents: they read, check and plan, and apply nothing."),
        "skill": Lazy("reconciler.features.mcp.skill_command", "Print a SKILL.md for coding agents."),
    },
    "Tools": {
        "adopt": Lazy("reconciler.features.importer.adopt_command", "Track an existing object at an address.", WRITES),
        "state": Lazy("reconciler.cli.commands.state", "Inspect and change the state."),
        "fmt": Lazy("reconciler.features.edits.fmt_command", "Format the files of a project."),
        "config": Lazy("reconciler.cli.commands.config", "Show the evaluated configuration, and compare environments."),
        "console": Lazy("reconciler.cli.commands.console", "Find out what expressions give."),
        "lsp": Lazy("reconciler.features.lsp.command", "Serve editors: problems, completion, definitions, renames."),
        "schema": Lazy("reconciler.cli.commands.schema", "Print JSON Schemas."),
        "completion": Lazy("reconciler.cli.commands.completion", "Print the completion script of a shell."),
        "api": Lazy("reconciler.cli.commands.api", "Send one authenticated request."),
        "sandbox": Lazy("reconciler.cli.commands.sandbox", "Run and control the embedded sandbox.", READS),
    },
}
"""The commands under the headings of `--help`: what people begin with, and what they use every day, come first."""

COMMANDS: Final[Mapping[str, Lazy]] = {name: command for commands in GROUPS.values() for name, command in commands.items()}

main = Program(
    name="reconciler",
    commands_by_name=COMMANDS,
    headings=GROUPS,
    help="""Manage documentation organizations as code: members, teams, content and sites in YAML.

    \b
    Try it on the embedded sandbox; nothing leaves this machine:
      reconciler init mydocs --sandbox
      reconciler plan mydocs
      reconciler apply mydocs
    """,
    version=True,
)


def _config() -> None:
    from reconciler.config.sections import SECTIONS
    from reconciler.features.access import section as access
    from reconciler.features.health import section as health
    from reconciler.features.lint import section as lint
    from reconciler.features.policies.section import row as policies
    from reconciler.features.urls import section as urls

    # The files of redirects are read only where the sections before have no problem.
    SECTIONS.fill(health.SECTION, lint.SECTION, urls.SECTION, policies.SECTION, access.SECTION)


def _plan() -> None:
    from reconciler.features.access.plan import run_access_tests
    from reconciler.plan.checks import CHECKS

    CHECKS.fill(run_access_tests)


def _run() -> None:
    from reconciler.features.policies import stages as policies
    from reconciler.features.urls import guard as url_guard, stages as urls
    from reconciler.features.work import guard as work_guard, stages as work
    from reconciler.run.comparison import FILE_STAGES
    from reconciler.run.guards import FEATURE_GUARDS
    from reconciler.run.stages import FEATURE_STAGES

    FEATURE_STAGES.fill(urls.PAGES, *work.STAGES, urls.REDIRECTS, policies.STAGE)
    FILE_STAGES.fill(policies.of_files, urls.of_files)
    FEATURE_GUARDS.fill(work_guard.GUARD, url_guard.GUARD)


def _apply() -> None:
    from reconciler.features.urls import recording
    from reconciler.run.applying import BESIDE

    BESIDE.fill(recording.BESIDE)


def _validation() -> None:
    from reconciler.features.policies.judge import by_configuration
    from reconciler.run.validation import JUDGES

    JUDGES.fill(by_configuration)


def _lint() -> None:
    from reconciler.features.lint import run
    from reconciler.run.validation import LINTERS

    LINTERS.fill(run)


def _sheets() -> None:
    from reconciler.features.urls.report import section as urls
    from reconciler.features.work import report as work
    from reconciler.report.sections import SECTIONS

    SECTIONS.fill(urls.SECTION, work.SECTION)


def _formats() -> None:
    from reconciler.features.drift.report import document as drift
    from reconciler.features.rehearsal import report as rehearsal
    from reconciler.fleet.commits import report as preview_report
    from reconciler.report.reading import FORMATS

    FORMATS.fill(drift.FORMAT, rehearsal.FORMAT, preview_report.FORMAT)


def _explained() -> None:
    from reconciler.features.policies import report as policies
    from reconciler.run.explained import EXPLAINED

    EXPLAINED.fill(policies.EXPLAINED)


def _schemas() -> None:
    from reconciler.cli.commands.schema import FILES
    from reconciler.features.testing import schema as testing
    from reconciler.fleet.declared import schema as fleet

    FILES.fill(fleet.FILES, testing.FILES)


def _documents() -> None:
    from reconciler.features.access import documents as access
    from reconciler.features.doctor import documents as doctor
    from reconciler.features.drift import documents as drift
    from reconciler.features.health import documents as health
    from reconciler.features.rehearsal import documents as rehearsal
    from reconciler.features.testing import documents as testing
    from reconciler.features.undo import document as undo
    from reconciler.features.urls.report import ledger as urls
    from reconciler.fleet import documents as fleet
    from reconciler.report.schemas.documents import DOCUMENTS

    DOCUMENTS.fill(
        *drift.DOCUMENTS,
        *access.DOCUMENTS,
        *health.DOCUMENTS,
        *rehearsal.DOCUMENTS,
        *undo.DOCUMENTS,
        *testing.DOCUMENTS,
        *doctor.DOCUMENTS,
        *urls.DOCUMENTS,
        *fleet.DOCUMENTS,
    )


PARTS: Final[Mapping[str, Callable[[], None]]] = {
    "config": _config,
    "plan": _plan,
    "run": _run,
    "apply": _apply,
    "validation": _validation,
    "lint": _lint,
    "sheets": _sheets,
    "formats": _formats,
    "explained": _explained,
    "schemas": _schemas,
    "documents": _documents,
}
"""The parts of the kernel whose seams are filled together."""


def assemble(part: str) -> None:
    """Fill the seams of one part of the kernel."""
    PARTS[part]()
