"""`reconciler sandbox faults set`, `show`, `log` and `clear`: simulate faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, LazyGroup
from reconciler.cli.sandboxes.control import Control, where
from reconciler.cli.sandboxes.embedded import read_document
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.report.layout import table
from reconciler.report.words import count

command = LazyGroup(
    name="faults",
    commands_by_name={
        "set": Lazy(f"{__name__}:set_command", "Replace the active rules."),
        "show": Lazy(f"{__name__}:show_command", "List the active rules and how often they were used."),
        "log": Lazy(f"{__name__}:log_command", "List the requests that a rule affected."),
        "clear": Lazy(f"{__name__}:clear_command", "Remove all rules."),
    },
    short_help="Inject faults.",
    help="""Inject faults into the requests of a sandbox: delays, cut connections, refusals, limits, corrupt responses.
    Control requests are never affected.

    \b
    Example:
      reconciler sandbox faults set --db sandbox.db --rule '{"fault": "error", "status": 503, "rate": 0.1, "seed": 7}'
      reconciler sandbox faults log --db sandbox.db
    """,
)


@click.command("set", short_help="Replace the active rules.")
@click.argument("file", type=click.Path(path_type=Path), required=False, metavar="[RULES.yaml]")
@click.option(
    "--rule",
    "inline",
    metavar="JSON",
    multiple=True,
    allow_from_autoenv=False,
    help="Add a rule as JSON, after those of the file. Repeatable.",
)
@where()
@shared.output()
@click.pass_obj
def set_command(screen: Screen, /, file: Path | None, inline: tuple[str, ...], **parameters: Any) -> None:
    """Replace the active rules. A rule names a fault and selects requests (operation, rate with seed, nth, times).

    Some faults have additional fields: latency requires seconds, rate-limit requires limit. docs/sandbox.md lists them.

    \b
    Examples:
      reconciler sandbox faults set rules.yaml --db sandbox.db
      reconciler sandbox faults set --base-url http://127.0.0.1:8080 --rule '{"fault": "cut", "operation": "POST *", "nth": [2]}'
      reconciler sandbox faults set --db sandbox.db --rule '{"fault": "latency", "seconds": 0.5}'
    """
    control = _control(screen, parameters)
    rules = [*(_read(file) if file is not None else []), *(_parsed(text) for text in inline)]
    if not rules:
        raise UsageError(
            "there are no rules to set", id="RC-missing-argument", hint="Pass a file or --rule JSON; to remove all rules: faults clear."
        )
    state = control("PUT", "/faults", {"rules": rules})
    screen.say(f"{count(len(state['rules']), 'rule')} active.")


@click.command("show", short_help="List the active rules and how often they were used.")
@where()
@shared.output(formats=("text", "json"))
@click.pass_obj
def show_command(screen: Screen, /, **parameters: Any) -> None:
    """List the active rules, how many requests each has seen and affected, and pending late writes.

    \b
    Example:
      reconciler sandbox faults show --db sandbox.db
    """
    state = _control(screen, parameters)("GET", "/faults")
    if parameters["format"] == "json":
        screen.document({"format": "reconciler.faults/1", **state})
        return
    if not state["rules"]:
        screen.say("No rules are active.")
    else:
        rows = [(late["name"], late["fault"], late["operation"], str(late["seen"]), str(late["injected"])) for late in state["rules"]]
        screen.out(table([("rule", "fault", "operation", "seen", "injected"), *rows]))
    for late in state["late"]:
        screen.say(f"Not done yet: {late['method']} {late['path']}")


@click.command("log", short_help="List the requests that a rule affected.")
@where()
@shared.output(formats=("text", "json"))
@click.pass_obj
def log_command(screen: Screen, /, **parameters: Any) -> None:
    """List the requests that a rule affected: number, time, rule, fault, method and path.

    \b
    Example:
      reconciler sandbox faults log --db sandbox.db
    """
    log = _control(screen, parameters)("GET", "/faults/log")
    fields = ("number", "at", "rule", "fault", "method", "path")
    if parameters["format"] == "json":
        screen.document({"format": "reconciler.faults-log/1", **log})
    elif log["items"]:
        screen.out(table([fields, *([str(entry[field]) for field in fields] for entry in log["items"])]))
    else:
        screen.say("No requests were affected.")


@click.command("clear", short_help="Remove all rules.")
@click.option("--log", "whole", is_flag=True, allow_from_autoenv=False, help="Also clear the log.")
@where()
@shared.output()
@click.pass_obj
def clear_command(screen: Screen, /, whole: bool, **parameters: Any) -> None:
    """Remove all rules. The log and pending late writes are kept.

    \b
    Example:
      reconciler sandbox faults clear --db sandbox.db --log
    """
    control = _control(screen, parameters)
    control("DELETE", "/faults")
    if whole:
        control("DELETE", "/faults/log")
    screen.say("No rules are active.")


def _control(screen: Screen, parameters: dict[str, Any]) -> Control:
    Options.of(screen, parameters)
    return Control(screen, db=parameters["db"], base_url=parameters["base_url"], token=parameters["token"])


def _read(path: Path) -> list[Any]:
    """The rules of a file: a list, or under `rules`."""
    document = read_document(path)
    rules = document.get("rules") if isinstance(document, dict) else document
    if not isinstance(rules, list):
        raise UsageError(f"{path} is not a list of rules", id="RC-fault-rules", hint="Example: - {fault: error, status: 503, rate: 0.1}")
    return rules


def _parsed(text: str) -> Any:

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"--rule {text!r} is not JSON", id="RC-not-json", hint="""Write it like '{"fault": "error", "status": 503}'."""
        ) from error
