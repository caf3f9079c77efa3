"""`reconciler pipeline`: the command of CI jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from reconciler.cli.terminal.screen import Screen
from reconciler.errors import ConfigError, ReconcilerError, UsageError
from reconciler.features.forges.pipeline.results import PLAN, Results, changes
from reconciler.features.forges.pipeline.trigger import triggered
from reconciler.features.forges.pipeline.works import FAILING, Works, artifact
from reconciler.report.words import count

WORKS: Final = ("auto", "plan", "apply", "drift", "validate")


@click.command("pipeline", short_help="Run a command in a CI job, with reports, a summary and the approved plan.")
@click.argument("work", type=click.Choice(WORKS), metavar="[auto|plan|apply|drift|validate]")
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@click.argument("more", nargs=-1, metavar="[-- OPTIONS]")
@click.option("--env", metavar="NAME", default="", help="The environment: environments/NAME.yaml.")
@click.option(
    "--rules-from",
    metavar="REF",
    default="",
    help="Take guards, prune, protect, access, policies and urls from this branch, tag or commit; target: from the target branch of a pull "
    "request, and from the files otherwise.",
)
@click.option(
    "--reports",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    default=Path("reconciler-reports"),
    show_default=True,
    help="The directory for the reports and the saved plan. Created if needed.",
)
@click.option(
    "--wait",
    type=click.FloatRange(0),
    metavar="SECONDS",
    default=900,
    show_default=True,
    help="How long apply waits while another run holds the state.",
)
@click.option("--rehearse", is_flag=True, help="Try the plan on a copy of the organization, too. Requires the extra sandbox.")
@click.option(
    "--fail-on",
    metavar="LIST",
    default="",
    help="With --rehearse: exit with 2 if at any moment somebody can read more (readers), or a published URL stops answering (urls). "
    "Both: readers,urls.",
)
@click.option("--hold", is_flag=True, help="Let plan hold what is refused, so that the rest is approved and applied.")
@click.pass_context
def command(
    context: click.Context, /, work: str, project: Path, more: tuple[str, ...], env: str, rules_from: str, reports: Path, wait: float,
    rehearse: bool, fail_on: str, hold: bool,
) -> int:  # fmt: skip
    """Run plan, apply, drift or validate as a CI job does. GitHub Actions and GitLab CI are recognized by their variables.

    Every report is written to a directory. In GitHub Actions, annotations, the step summary and the outputs of the step are written too.

    \b
    auto       plan in a pull request, apply after a push to the default branch, drift on a schedule, else plan
    plan       validate, then plan and save the plan; rehearse it with --rehearse. Without RECONCILER_TOKEN: compare the files with the
               target branch
    apply      download the plan that was approved in the pull request, and apply it
    drift      show what was changed outside Reconciler
    validate   validate with lint

    OPTIONS are for the command that runs, for example --allow-delete 5. Without PROJECT, it runs in the current folder.

    \b
    Example:
      reconciler pipeline plan docs --env production -- --allow-delete 5
      reconciler pipeline plan -- --allow-delete 5
      reconciler pipeline plan docs --rehearse --fail-on readers,urls
      reconciler pipeline plan docs --hold
    """
    if str(project).startswith("-"):  # no project before the options
        project, more = Path(), (str(project), *more)
    failing = frozenset(filter(None, (word.strip() for word in fail_on.split(","))))
    if wrong := failing - FAILING.keys():
        hint = f"Write {','.join(FAILING)}, or one of them."
        raise UsageError(f"--fail-on: {min(wrong)!r} is not one of {', '.join(FAILING)}", id="RC-option-value", hint=hint)
    if failing and not rehearse:
        raise UsageError("--fail-on requires --rehearse", id="RC-options-conflict", hint="Add --rehearse, or remove --fail-on.")
    screen: Screen = context.obj
    program = context.find_root().command
    assert isinstance(program, click.Group)
    trigger = triggered()
    results = Results.cleared(screen, reports, trigger.ci)
    works = Works(screen, program, trigger, results, project, env, rules_from, more, wait, failing if rehearse else None, hold)
    wanted = trigger.command if work == "auto" else work
    failure = ""
    code = 1
    try:
        code = works.run(wanted)
    except ConfigError as error:
        code, failure = error.exit_code, f"{count(len(error.problems), 'problem')} in the project."
        raise
    except ReconcilerError as error:
        code, failure = error.exit_code, error.message
        results.say("error", f"{error.message}. {error.hint or ''}".strip())
        raise
    except click.ClickException as error:
        code, failure = 3, error.format_message()
        raise
    finally:
        sentence = failure or results.sentence()
        saved = results.folder / PLAN
        results.summarize(sentence)
        results.output(
            {
                "changes": str(changes(results.document())),
                "exit-code": str(code),
                "summary": sentence,
                "plan-file": str(saved) if saved.is_file() else "",
                "command": wanted,
                "artifact": f"{artifact(project, env)}-{trigger.head}" if wanted == "plan" and saved.is_file() else "",
            }
        )
    return code
