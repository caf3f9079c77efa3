"""`reconciler validate`: read and check a project without the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import ConfigError

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

    try:
        project = load(screen, options, load_kinds(), decrypt=decrypt)
    except ConfigError as error:
        if options.format == "github":
            from reconciler.report.github import github_problems

            place = options.project if options.project.is_dir() else options.project.parent
            screen.made(github_problems(screen.masked_data(error.problems), folder="" if place == Path() else place.as_posix()))
        raise
    resources = [resource for resource in project.desired.resources.values() if not resource.implied]
    sentence = (
        f"{project.settings.project} is valid: {count(len(resources), 'resource')} in {count(len(project.settings.files), 'file')}.\n"
    )
    screen.out(sentence)
    for name in project.undecrypted:
        screen.say(f"{name} was not decrypted: the names of its secrets were checked, their values were not. --decrypt checks them.")
    if checked is not None and not project.undecrypted and screen.masked(sentence) == sentence:
        checked.remember(VALID, project, sentence)
