"""`reconciler validate`: read and check a project without the service."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.loading import loaded
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.errors import ConfigError, UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import Desired, Finding, Severity, Violation
from reconciler.report.findings import findings_document, findings_sheet, findings_text, in_order, of_problem, of_violation, summary
from reconciler.report.formats.annotations import github_violations
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.guards import raise_first, violated
from reconciler.run.loading import now
from reconciler.run.validation import JUDGES, LINTERS, Linter
from reconciler.text.escape import terminal

FORMATS: Final = ("json", "github", *reports.CHECKS)
LISTED: Final = ("json", *reports.CHECKS)  # formats that hold everything in one list


@click.command("validate", short_help="Check a project without contacting the service.")
@shared.project()
@click.option("--lint", is_flag=True, help="Also report what is allowed and probably a mistake. Warnings do not change the exit code.")
@click.option(
    "--fix", is_flag=True, allow_from_autoenv=False, help="Correct in the files what needs no decision; comments stay. Implies --lint."
)
@click.option("--strict", is_flag=True, help="Exit with 3 for warnings too. Implies --lint.")
@shared.service()
@shared.state()
@reports.option(FORMATS)
@shared.output(formats=("text", *FORMATS))
@click.option("--decrypt", is_flag=True, help="Decrypt the secrets, and check their values too. Requires sops and the key.")
@click.pass_obj
def command(
    screen: Screen, /, lint: bool, fix: bool, strict: bool, decrypt: bool, report: tuple[tuple[str, Path], ...], **parameters: Any
) -> int:
    """Check a project and report every problem at once, with its location. Sends no requests.

    It checks the names of secrets, which are readable in the encrypted files, so it requires no key.

    With --lint it also reports what is probably a mistake, such as an unused variable or a space on no site. It reads the state,
    if there is one, to find renames that were already applied.

    \b
    Example:
      reconciler validate examples/acme
      reconciler validate --lint examples/acme
    """
    options = Options.of(screen, parameters)
    lint = lint or fix or strict
    kinds = load_kinds()
    project = _load(screen, options, kinds, report, decrypt=decrypt, warn=not lint)
    for name in project.undecrypted:
        screen.say(f"{name} was not decrypted: the names of its secrets were checked, their values were not. --decrypt checks them.")
    violations, remark = _judged(kinds, project.desired)
    if lint or options.format in LISTED or report:
        edits = "sarif" in (options.format, *(name for name, _ in report))
        findings = _linted(screen, options, kinds, project, fix=fix, edits=edits) if lint else ()
        _results(screen, options, _listed(findings, violations), project).write(screen, report)
    if lint or options.format in LISTED:
        code = _report(screen, options, findings, violations, project, strict=strict)
        _refused(screen, options, violations, remark)
        return code
    _refused(screen, options, violations, remark)
    screen.out(_valid(project))
    return exits.DONE


def _judged(kinds: Kinds, desired: Desired) -> tuple[Sequence[Violation], str]:
    """What the configuration violates, and a remark on what only a plan can decide."""
    judgements = [judge(kinds, desired, now().date()) for judge in JUDGES]
    return [violation for violations, _ in judgements for violation in violations], "".join(remark for _, remark in judgements)


def _linter() -> Linter:
    """Raises `UsageError` where there is none."""
    for linter in LINTERS:
        return linter
    raise UsageError("--lint belongs to the feature lint, which this installation does not have", id="RC-unknown-option")


def _refused(screen: Screen, options: Options, violations: Sequence[Violation], remark: str) -> None:
    """Print the policies that the configuration violates. Raises `Refused` where one is an error."""
    if not violations and not remark:
        return

    shown = screen.masked_data(violations)
    if options.format == "github":
        screen.raw(github_violations(shown, folder=_folder(options)))
    elif options.format == "text":
        screen.out("".join(f"{terminal(_line(violation))}\n" for violation in shown))
    if options.format not in LISTED:
        screen.out(remark)
    raise_first(violated(shown, "the project"))


def _line(violation: Violation) -> str:
    """`sites/docs.yaml:12:3  error: acme/site/docs: policy x: message (reconciler.yaml:5)`."""
    place = violation.declared or violation.source
    where = f"{place}  " if place is not None else ""
    about = f"{violation.address}: " if violation.address is not None else ""
    rule = f" ({violation.source.file_and_line})" if violation.source is not None else ""
    return f"{where}{violation.level}: {about}{violation.name}: {violation.message}{rule}"


def _folder(options: Options) -> str:
    """The project's, from where the command runs; "" where it runs there."""
    place = options.project if options.project.is_dir() else options.project.parent
    return "" if place == Path() else place.as_posix()


def _load(screen: Screen, options: Options, kinds: Kinds, report: Sequence[tuple[str, Path]], *, decrypt: bool, warn: bool) -> Project:
    """The project. Its problems are printed in the format that was asked for, and raised."""
    try:
        return loaded(screen, options, kinds, decrypt=decrypt, warn=warn)
    except ConfigError as error:
        if options.format != "text" or report:
            findings = [of_problem(problem) for problem in error.problems]
            _results(screen, options, findings, None).write(screen, report)
            if options.format != "text":
                _print(screen, options, findings, None)
        raise


def _valid(project: Project) -> str:

    resources = [resource for resource in project.desired.resources.values() if not resource.implied]
    return f"{project.settings.project} is valid: {count(len(resources), 'resource')} in {count(len(project.settings.files), 'file')}.\n"


def _linted(screen: Screen, options: Options, kinds: Kinds, project: Project, *, fix: bool, edits: bool) -> Sequence[Finding]:
    """What lint finds, without what it corrected. `edits`: with the changes of text that a correction consists of."""
    linter = _linter()
    results = linter.found(options.operation, TerminalVoice(screen), kinds, project)
    if not fix:
        return linter.with_edits(options.operation, kinds, results) if edits else results
    done, left, files = linter.fix(options.operation, kinds, results)
    for finding in done:
        assert finding.fix is not None
        screen.say(f"Fixed {finding.name}: {finding.fix.says}.")
    for finding, reason in left.items():
        screen.say(f"Not fixed {finding.name} at {finding.address}: {reason}.")
    screen.say(f"Changed {', '.join(files)}." if files else "There is nothing to fix.")
    return [finding for finding in results if finding not in set(done)]


def _report(
    screen: Screen, options: Options, findings: Sequence[Finding], violations: Sequence[Violation], project: Project, *, strict: bool
) -> int:
    """Print what lint found; in JSON with the policies that are violated. The exit code as far as lint decides it."""
    if options.format in LISTED:
        _print(screen, options, _listed(findings, violations), project)
    else:
        _print(screen, options, findings, project)
    if options.format not in LISTED:
        screen.out(_valid(project) + summary(findings) + "\n")
    errors = any(finding.severity is Severity.ERROR for finding in findings)
    return exits.WRONG if errors or (strict and findings) else exits.DONE


def _listed(findings: Sequence[Finding], violations: Sequence[Violation]) -> Sequence[Finding]:
    """What lint found and the policies that are violated, by place."""
    return in_order([*map(of_violation, violations), *findings])


def _results(screen: Screen, options: Options, findings: Sequence[Finding], project: Project | None) -> reports.Report:
    """Findings in one of `FORMATS`."""
    shown, folder = screen.masked_data(tuple(findings)), _folder(options)
    called = project.settings.project if project is not None else None
    document = findings_document(shown, project=called, environment=options.env)
    sheet = partial(findings_sheet, shown, project=called or folder or "the project", environment=options.env)
    return reports.Report(document, sheet, now(), folder, findings=shown)


def _print(screen: Screen, options: Options, findings: Sequence[Finding], project: Project | None) -> None:
    """Findings in the format that was asked for."""
    if options.format == "text":
        screen.out(findings_text(screen.masked_data(list(findings))))
    else:
        _results(screen, options, findings, project).show(screen, options.format)
