"""The program, assembled: its commands, and the rows that features add to the tables of the kernel. The only importer of features.

Deleting a feature is deleting its folder and its lines here. `--help` needs the first table alone, and that names modules without importing
them; `assemble` imports the rest when a run begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reconciler import exits
from reconciler.cli.program import PLANS, READS, WRITES, Lazy, Program

COMMANDS: Final[Mapping[str, Lazy]] = {
    "init": Lazy("reconciler.cli.commands.init", "Create a small project."),
    "validate": Lazy("reconciler.cli.commands.validate", "Check a project without contacting the service.", (exits.REFUSED,)),
    "test": Lazy("reconciler.features.testing.command", "Try the project on a twin, and check what tests expect."),
    "plan": Lazy("reconciler.cli.commands.plan", "Show what would change.", PLANS),
    "apply": Lazy("reconciler.cli.commands.apply", "Apply changes after confirmation.", WRITES),
    "rehearse": Lazy("reconciler.features.rehearsal.command", "Try the plan on a copy of the organization.", (*PLANS, exits.LOCKED)),
    "drift": Lazy("reconciler.features.drift.command", "Show what was changed outside Reconciler.", (*WRITES, exits.PENDING)),
    "health": Lazy("reconciler.features.health.command", "Show what readers do not find, and what ends soon.", (*READS, exits.PENDING)),
    "diff": Lazy(
        "reconciler.cli.commands.diff", "Show what a change of the files means, without the service.", (exits.PENDING, exits.REFUSED)
    ),
    "pipeline": Lazy(
        "reconciler.features.forges.pipeline_command",
        "Run a command in a CI job, with reports, a summary and the approved plan.",
        (*WRITES, exits.PENDING),
    ),
    "access": Lazy("reconciler.features.access.command", "Show who can read what, now and after the plan.", READS),
    "graph": Lazy("reconciler.cli.commands.graph", "Draw resources or requests as a Mermaid or Graphviz graph.", READS),
    "import": Lazy("reconciler.features.importer.command", "Import an existing organization as a project.", WRITES),
    "adopt": Lazy("reconciler.features.importer.adopt_command", "Track an existing object at an address.", WRITES),
    "history": Lazy("reconciler.cli.commands.history:history_command", "List runs: who ran what, when, and what it did."),
    "show": Lazy("reconciler.cli.commands.history:show_command", "Show what a run did, or a saved plan."),
    "undo": Lazy("reconciler.features.undo.command", "Plan and apply the reverse of a run.", WRITES),
    "urls": Lazy("reconciler.features.urls.command", "Show and check published URLs, and where old ones lead."),
    "policy": Lazy("reconciler.features.policies.command", "List policies, and test them with examples.", (exits.REFUSED,)),
    "state": Lazy("reconciler.cli.commands.state", "Inspect and change the state."),
    "fleet": Lazy("reconciler.fleet.commands.group", "Watch and apply many projects all the time."),
    "doctor": Lazy("reconciler.features.doctor.command", "Check prerequisites and diagnose problems."),
    "fmt": Lazy("reconciler.features.edits.fmt_command", "Format the files of a project."),
    "propose": Lazy("reconciler.features.edits.command", "Change the files by operations, all or none.", (exits.REFUSED,)),
    "explain": Lazy("reconciler.cli.commands.explain", "Describe a kind, a field or the cause of an error."),
    "config": Lazy("reconciler.cli.commands.config", "Show the evaluated configuration, and compare environments."),
    "console": Lazy("reconciler.cli.commands.console", "Find out what expressions give."),
    "lsp": Lazy("reconciler.features.lsp.command", "Serve editors: problems, completion, definitions, renames."),
    "comment": Lazy(
        "reconciler.features.forges.comment_command", "Show plans, outcomes and drift in the comment of a pull request.", (exits.PARTLY,)
    ),
    "mcp": Lazy("reconciler.features.mcp.command", "Serve agents: they read, check and plan, and apply nothing."),
    "skill": Lazy("reconciler.features.mcp.skill_command", "Print a SKILL.md for coding agents."),
    "schema": Lazy("reconciler.cli.commands.schema", "Print JSON Schemas."),
    "completion": Lazy("reconciler.cli.commands.completion", "Print the completion script of a shell."),
    "api": Lazy("reconciler.cli.commands.api", "Send one authenticated request."),
    "sandbox": Lazy("reconciler.cli.commands.sandbox", "Run and control the embedded sandbox.", READS),
}

main = Program(
    name="reconciler",
    commands_by_name=COMMANDS,
    help="""Manage documentation organizations as code: members, teams, content and sites in YAML.

    \b
    Try it on the embedded sandbox; nothing leaves this machine:
      reconciler init mydocs --sandbox
      reconciler plan mydocs
      reconciler apply mydocs
    """,
    version=True,
)


def assemble() -> None:
    """Fill every seam of the kernel."""
    from reconciler.cli.commands.schema import FILES, FileSchema
    from reconciler.config.sections import SECTIONS as FILE_SECTIONS
    from reconciler.features.access import section as access
    from reconciler.features.access.documents import AccessDocument
    from reconciler.features.access.plan import run_access_tests
    from reconciler.features.drift.documents import DriftDocument, ProposalDocument
    from reconciler.features.drift.report import document as drift_document
    from reconciler.features.health import section as health
    from reconciler.features.health.documents import HealthDocument, SiteDocument
    from reconciler.features.lint import section as lint
    from reconciler.features.policies import report as policies_report, stages as policies
    from reconciler.features.policies.judge import by_configuration
    from reconciler.features.policies.section import row as policies_row
    from reconciler.features.rehearsal import report as rehearsal
    from reconciler.features.rehearsal.documents import RehearsalDocument
    from reconciler.features.testing.documents import TestsDocument
    from reconciler.features.testing.schema import schema as test_schema
    from reconciler.features.urls import guard as url_guard, recording, section as url_keys, stages as urls
    from reconciler.features.urls.report import section as url_section
    from reconciler.features.work import guard as work_guard, report as work_section, stages as work
    from reconciler.fleet import preview_report
    from reconciler.fleet.declared.schema import schema as fleet_schema
    from reconciler.fleet.documents import (
        FleetApprovalDocument,
        FleetAuditLine,
        FleetPlanDocument,
        FleetPreviewDocument,
        FleetStatusDocument,
    )
    from reconciler.plan.checks import CHECKS
    from reconciler.report.explained import EXPLAINED
    from reconciler.report.reading import FORMATS
    from reconciler.report.schemas.documents import DOCUMENTS, Document
    from reconciler.report.schemas.runs import DoctorDocument, UndoDocument
    from reconciler.report.schemas.state import UrlHistoryDocument, UrlListDocument
    from reconciler.report.sections import SECTIONS
    from reconciler.run.applying import BESIDE
    from reconciler.run.comparison import FILE_STAGES
    from reconciler.run.guards import FEATURE_GUARDS
    from reconciler.run.stages import FEATURE_STAGES
    from reconciler.run.validation import JUDGES, LINTERS

    # The files of redirects are read only where the sections before have no problem.
    FILE_SECTIONS.fill(health.SECTION, lint.SECTION, url_keys.SECTION, policies_row.SECTION, access.SECTION)
    CHECKS.fill(run_access_tests)
    EXPLAINED.fill(policies_report.EXPLAINED)
    FEATURE_STAGES.fill(urls.PAGES, *work.STAGES, urls.REDIRECTS, policies.STAGE)
    FILE_STAGES.fill(policies.of_files, urls.of_files)
    FEATURE_GUARDS.fill(work_guard.GUARD, url_guard.GUARD)
    BESIDE.fill(recording.BESIDE)
    SECTIONS.fill(url_section.SECTION, work_section.SECTION)
    FORMATS.fill(drift_document.FORMAT, rehearsal.FORMAT, preview_report.FORMAT)
    FILES.fill(FileSchema("fleet", "fleet files", lambda kinds: fleet_schema()), FileSchema("test", "test files", test_schema))
    DOCUMENTS.fill(
        Document("drift", "Drift", DriftDocument),
        Document("proposal", "What was changed outside Reconciler, as new files", ProposalDocument),
        Document("access", "Who can read what", AccessDocument),
        Document("health", "Whether an organization works for its readers", HealthDocument),
        Document("site-health", "One site on one page", SiteDocument),
        Document("rehearsal", "What a plan led to on a copy", RehearsalDocument),
        Document("undo", "What an undo did", UndoDocument),
        Document("test-results", "What tests found", TestsDocument),
        Document("doctor", "Problems that doctor found", DoctorDocument),
        Document("urls", "The ledger of published URLs", UrlListDocument),
        Document("url-history", "What is known of one URL", UrlHistoryDocument),
        Document("fleet-plan", "What a fleet file changes", FleetPlanDocument),
        Document("fleet-preview", "What a commit does to a fleet", FleetPreviewDocument),
        Document("fleet-approval", "A decision on a plan of a fleet", FleetApprovalDocument),
        Document("fleet-audit", "A line of the audit log of a fleet", FleetAuditLine),
        Document("fleet-status", "The status of a fleet", FleetStatusDocument),
    )
    JUDGES.fill(by_configuration)
    LINTERS.fill(lint.linter)
