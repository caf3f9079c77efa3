"""`reconciler validate`: read and check a project without the service."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import ConfigError

if TYPE_CHECKING:
    from reconciler.model import Desired, Violation
    from reconciler.resource import Kinds

VALID = "valid.json"  # only "valid" is ever remembered, with the sentence that said so


@click.command("validate", short_help="Check a project without contacting the service.")
@shared.project()
@shared.output(formats=("text", "github"))
@click.option("--decrypt", is_flag=True, help="Decrypt the secrets, and check their values too. Requires sops and the key.")
@click.pass_obj
def command(screen: Screen, /, decrypt: bool, **words: Any) -> None:
    """Check a project and report every problem at once, with its location. Sends no requests.

    Of secrets it checks the names, which are readable in the encrypted files: it requires no key.

    \b
    Example:
      reconciler validate examples/acme
    """
    from reconciler.cli.wiring.checked import Checked

    options = Options.of(screen, words)
    checked = Checked.of(options, decrypt)
    sentence = checked.recall(VALID) if checked is not None else None
    if sentence is not None:
        screen.out(sentence)
        return
    from reconciler.cli.wiring.connect import load
    from reconciler.kinds import load as load_kinds
    from reconciler.report.words import count

    kinds = load_kinds()
    try:
        project = load(screen, options, kinds, decrypt=decrypt)
    except ConfigError as error:
        if options.format == "github":
            from reconciler.report.github import github_problems

            screen.made(github_problems(screen.masked_data(error.problems), folder=_folder(options)))
        raise
    resources = [resource for resource in project.desired.resources.values() if not resource.implied]
    sentence = (
        f"{project.settings.project} is valid: {count(len(resources), 'resource')} in {count(len(project.settings.files), 'file')}.\n"
    )
    violations, remark = _judged(screen, options, kinds, project.desired)
    screen.out(sentence)
    for name in project.undecrypted:
        screen.say(f"{name} was not decrypted: the names of its secrets were checked, their values were not. --decrypt checks them.")
    sentence = remark + sentence
    if checked is not None and not project.undecrypted and not violations and screen.masked(sentence) == sentence:
        checked.remember(VALID, project, sentence)


def _folder(options: Options) -> str:
    """The project's, from where the command runs; "" where it runs there."""
    place = options.project if options.project.is_dir() else options.project.parent
    return "" if place == Path() else place.as_posix()


def _judged(screen: Screen, options: Options, kinds: Kinds, desired: Desired) -> tuple[Sequence[Violation], str]:
    """Print the policies that the configuration violates, and those that only a plan can decide. Raises `Refused` where one is an error."""
    if not desired.policies:
        return (), ""
    from reconciler.cli.wiring.connect import now
    from reconciler.plan.guard import refuse
    from reconciler.policies.judged import by_configuration
    from reconciler.report.github import github_violations
    from reconciler.text.escape import terminal

    found, remark = by_configuration(kinds, desired, today=now().date())
    shown = screen.masked_data(found)
    if options.format == "github":
        screen.made(github_violations(shown, folder=_folder(options)))
    else:
        screen.out("".join(f"{terminal(_line(violation))}\n" for violation in shown))
    screen.out(remark)
    refuse(shown, "the project")
    return found, remark


def _line(violation: Violation) -> str:
    """`sites/docs.yaml:12:3  error: acme/site/docs: policy x: message (reconciler.yaml:5)`."""
    place = violation.declared or violation.source
    where = f"{place.file}:{place.line}:{place.column}  " if place is not None else ""
    about = f"{violation.address}: " if violation.address is not None else ""
    rule = f" ({violation.source.file}:{violation.source.line})" if violation.source is not None else ""
    return f"{where}{violation.level}: {about}{violation.name}: {violation.message}{rule}"
