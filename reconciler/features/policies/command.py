"""`reconciler policy`: the policies of a project, the ready ones, and examples that test them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, LazyGroup
from reconciler.cli.terminal.screen import Screen
from reconciler.config.keys import project_file
from reconciler.config.source.problems import Problems
from reconciler.errors import ConfigError
from reconciler.features.policies.cases import EXAMPLES, differences, unexpected
from reconciler.features.policies.section.reading import ready_policies
from reconciler.features.testing.keys import TESTS
from reconciler.features.testing.twin import policy_examples
from reconciler.kinds import load as load_kinds
from reconciler.model.policies import Policies, Policy
from reconciler.report.layout import table, wrapped
from reconciler.report.words import count
from reconciler.text.escape import terminal

command = LazyGroup(
    name="policy",
    commands_by_name={
        "list": Lazy(f"{__name__}:list_command", "List the policies of the project, and the ready ones."),
        "test": Lazy(f"{__name__}:test_command", "Run policies against examples."),
    },
    short_help="List policies, and test them with examples.",
    help="""List policies, and test them with examples.

    \b
    Example:
      reconciler policy list examples/environments --env staging
      reconciler policy test examples/environments/policies.test.yaml --env staging
    """,
)


@click.command("list", short_help="List the policies of the project, and the ready ones.")
@shared.project()
@shared.output()
@click.pass_obj
def list_command(screen: Screen, /, **parameters: Any) -> None:
    """List the policies of the project with their exceptions, and the ready policies that `use` can name, each with its reason. Without
    a project, list only the ready ones.

    \b
    Example:
      reconciler policy list
      reconciler policy list examples/environments --env staging
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    if project_file(options.project).is_file() or options.project != Path():
        policies = loaded(screen, options, kinds).desired.policies
        screen.out(_own(policies, screen))
    screen.out("Ready policies, for use: [ID]\n")
    for policy in ready_policies(kinds):
        screen.out(_described(policy, screen.width))


def _own(policies: Policies, screen: Screen) -> str:

    if not policies:
        return "The project has no policies.\n\n"
    rows = [("policy", "level", "on", "when", "where")]
    for policy in policies.rules:
        where = policy.source.file_and_line
        rows.append((policy.id, policy.level.value, ", ".join(policy.on), ", ".join(policy.when) or "-", where))
    text = table(rows, width=screen.width) + "\n"
    if policies.exemptions:
        rows = [("exception to", "address", "until", "where", "reason")]
        for exemption in policies.exemptions:
            where = exemption.source.file_and_line
            rows.append((exemption.policy, exemption.address or "-", exemption.until.isoformat(), where, exemption.reason))
        text += table(rows, width=screen.width) + "\n"
    return text


def _described(policy: Policy, width: int) -> str:

    lines = [f"\n{policy.id}  (on {', '.join(policy.on)})"]
    lines += [f"  {line}" for line in wrapped(terminal(policy.reason), width - 2, width - 2)]
    lines += [f"  assert: ${{{{{policy.test}}}}}"]
    return "\n".join(lines) + "\n"


@click.command("test", short_help="Run policies against examples.")
@click.argument("file", type=click.Path(path_type=Path))
@shared.project(nearest=False)
@shared.output()
@click.pass_obj
def test_command(screen: Screen, /, file: Path, **parameters: Any) -> int:
    """Run policies against the examples of FILE, and compare the violations with the expected ones. Sends no requests. Exits with 1 if an
    example gives something else.

    The policies are those that FILE itself contains (policies, use), or those of the project: the folder of FILE unless another is given.

    \b
    Example:
      reconciler policy test examples/environments/policies.test.yaml --env staging
    """
    options = Options.of(screen, parameters)
    kinds, problems = load_kinds(), Problems([])
    with problems.raised():
        top = policy_examples.document(file, problems, "examples")
        policies = policy_examples.inline(kinds, top, problems) if top is not None else None
    if top is None:
        raise ConfigError(problems.found)
    if policies is None:
        given = options if options.project != Path() else replace(options, project=file.parent)
        policies = loaded(screen, given, kinds).desired.policies
    with problems.raised():
        for key, entry in top.entries.items():
            if key not in (EXAMPLES, "policies", "use", TESTS):
                problems.add(entry.at, f'unknown key "{key}"; the keys are examples, policies and use', id="RC-unknown-key")
        cases = policy_examples.cases(kinds, top, policies, problems)
    failed = 0
    for case in cases:
        lines = differences(policies, case)
        failed += bool(lines)
        for line in lines:
            screen.out(f"{case.source}  {terminal(case.name)}: {terminal(line)}\n")
    rest = list(unexpected(cases, policies))
    if rest:
        screen.say(f"No example expects a violation of {', '.join(rest)}.")
    screen.out(f"{count(len(cases) - failed, 'example')} passed" + (f", {failed:,} failed.\n" if failed else ".\n"))
    return exits.FAILED if failed else exits.DONE
