"""`reconciler skill`: print a SKILL.md for coding agents."""

from __future__ import annotations

from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.options import Options
from reconciler.cli.program import Program
from reconciler.cli.terminal.screen import Screen
from reconciler.config.keys import project_file
from reconciler.features.mcp.skill import SkillProject, skill
from reconciler.kinds import load as load_kinds


@click.command("skill", short_help="Print a SKILL.md for coding agents.")
@shared.project()
@shared.output()
@click.pass_obj
def command(screen: Screen, /, **parameters: Any) -> None:
    """Print a SKILL.md for coding agents: how to change the project, what not to do, its files, the commands and the kinds. At most 6 KB;
    nothing of the service, and no titles. Without a project, it is about every project.

    \b
    Examples:
      reconciler skill examples/acme
      reconciler skill > .claude/skills/reconciler/SKILL.md
    """
    options = Options.of(screen, parameters)
    kinds, about = load_kinds(), None
    if project_file(options.project).is_file():
        project = loaded(screen, options, kinds, decrypt=False, stand_ins=True, warn=False)
        root = project.settings.root.resolve()
        first, *others = (path.resolve() for path in project.settings.files)
        names = [path.relative_to(root).as_posix() for path in others if path.is_relative_to(root)]
        about = SkillProject(project.desired, first.name, names, project.settings.conventions)
    program = click.get_current_context().find_root().command
    assert isinstance(program, Program)
    screen.raw(skill(kinds, {name: lazy.says for name, lazy in program.by_name.items()}, about))
