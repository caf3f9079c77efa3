"""`reconciler sandbox clock`, `readers`, `faults`, `export` and `reset`: requests to the control interface of a sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, LazyGroup
from reconciler.cli.sandboxes.control import Control, where
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError, os_reason
from reconciler.kinds import load
from reconciler.links import read_file
from reconciler.report.layout import table
from reconciler.report.words import count
from reconciler.run.connection.embedded import sandbox_errors
from reconciler.run.connection.seed_file import read_document, read_seed, seed_errors


@click.command("clock", short_help="Show, stop or move the clock.")
@click.option("--now", metavar="TIME", help="Stop the clock at this time (ISO 8601).")
@click.option("--advance", type=float, metavar="SECONDS", help="Move the clock forward, without starting or stopping it.")
@where()
@shared.output(formats=("text", "json"))
@click.pass_obj
def clock_command(screen: Screen, /, now: str | None, advance: float | None, **parameters: Any) -> None:
    """Show, stop or move the clock of a sandbox, which controls timestamps, retention, processing and rate limits.

    \b
    Example:
      reconciler sandbox clock --db sandbox.db --advance 3600
    """
    control = _control(screen, parameters)
    clock = control("GET", "/clock") if now is None and advance is None else control("PUT", "/clock", {"now": now, "advance": advance})
    if parameters["format"] == "json":
        screen.document(clock)
    else:
        screen.out(f"{clock['now']} ({'stopped' if clock['still'] else 'running'})\n")


@click.command("export", short_help="Export everything as JSON.")
@where()
@shared.output()
@click.pass_obj
def export_command(screen: Screen, /, **parameters: Any) -> None:
    """Print the contents of a sandbox as JSON, including tokens and secrets. `sandbox reset --export` restores them.

    \b
    Example:
      reconciler sandbox export --db sandbox.db > sandbox.json
    """
    screen.document(_control(screen, parameters)("GET", "/export"))


@click.command("reset", short_help="Reset the sandbox.")
@click.option("--seed", type=click.Path(path_type=Path), metavar="SEED.yaml", help="Load this seed afterwards.")
@click.option("--export", type=click.Path(path_type=Path), metavar="FILE", help="Restore an export.")
@where()
@shared.output()
@click.pass_obj
def reset_command(screen: Screen, /, seed: Path | None, export: Path | None, **parameters: Any) -> None:
    """Delete everything in a sandbox: objects, tokens, faults, clock settings. Its identity is kept, so states still recognize it.

    \b
    Example:
      reconciler sandbox reset --db sandbox.db --seed seed.yaml
    """
    control = _control(screen, parameters)
    if seed is not None and export is not None:
        raise UsageError("--seed and --export cannot be combined", id="RC-options-conflict", hint="Pass one of them.")
    body = {"seed": _seed(seed) if seed is not None else None, "export": _exported(export) if export is not None else None}
    answer = control("POST", "/reset", body)
    screen.say(f"It contains {count(answer['objects'], 'object')} now.")


def _control(screen: Screen, parameters: dict[str, Any]) -> Control:
    Options.of(screen, parameters)
    return Control(screen, db=parameters["db"], base_url=parameters["base_url"], token=parameters["token"])


def _seed(path: Path) -> Mapping[str, Any]:
    """The data of a seed whose form is right: a running sandbox knows nothing of the file, so it cannot name positions."""
    file = read_seed(path)
    with sandbox_errors(), seed_errors(file):
        from reconciler.sandbox.seed_entries import entries  # the sandbox is an extra

        entries(file.document)
    return file.document


EXPORT_MAX: Final = 1024 * 2**20  # bytes


def _exported(path: Path) -> Any:

    try:
        return json.loads(read_file(path, EXPORT_MAX))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {os_reason(error)}", id="RC-file-not-read") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not what sandbox export printed", id="RC-not-a-sandbox-export") from error


ANYONE: Final = "anyone"
WITHIN_ANYONE: Final = ("anyone-with-the-address", "link:", "visitor")  # readers that need no line of their own besides `anyone`
UNSAID: Final = ("admin", "member:")  # the same for every object, or in the list of members
OF_ROLE, PERSON, GUEST = "role:", "person:", "guest"


@click.command("readers", short_help="Show who can read what.")
@click.option("--org", metavar="ID", help="Show one organization only.")
@click.option("--condition", multiple=True, metavar="C", help="Also show visitors for whom this condition is true. Repeatable.")
@where()
@shared.output(formats=("text", "json"))
@click.pass_obj
def readers_command(screen: Screen, /, org: str | None, condition: tuple[str, ...], **parameters: Any) -> None:
    """Show who can read every site, section, site space, space and OpenAPI document of a sandbox, and who can join an organization.

    The sandbox computes this independently of plans. Text shows the largest audience of each object; JSON shows all readers.

    \b
    Example:
      reconciler sandbox readers --db sandbox.db --org org_acme
    """
    Options.of(screen, parameters)
    control = _control(screen, parameters)
    asked = [(load().roots[0].name, org)] if org is not None else []
    query = urlencode([*asked, *(("condition", text) for text in condition)])
    readers = control("GET", f"/readers?{query}" if query else "/readers")
    if parameters["format"] == "json":
        screen.document(readers)
        return
    rows = [(entry["kind"], entry["title"], entry["id"], readers_text(entry["readers"])) for entry in readers["items"]]
    if rows:
        screen.out(table([("kind", "title", "id", "readers"), *rows]))


def readers_text(readers: Sequence[Mapping[str, str]]) -> str:
    """The widest readers with their levels, unless those are `read`."""
    names = {entry["reader"] for entry in readers}
    shown = [entry for entry in readers if not entry["reader"].startswith(UNSAID) and not _within(entry["reader"], names)]
    texts = [entry["reader"] + ("" if entry["level"] == "read" else f" ({entry['level']})") for entry in shown]
    by_role = {entry["reader"].removeprefix(OF_ROLE): entry["level"] for entry in shown if entry["reader"].startswith(OF_ROLE)}
    if by_role:
        others = [text for text in texts if not text.startswith((OF_ROLE, PERSON))]
        texts = [*others, _members(by_role), *(text for text in texts if text.startswith(PERSON))]
    return ", ".join(texts) or "nobody"


def _members(by_role: Mapping[str, str]) -> str:
    """The members of several roles, by their levels."""
    if GUEST not in by_role:
        return "members by their role" if all(role == level for role, level in by_role.items()) else "members with a role"
    return "members" if by_role[GUEST] == "read" else f"members ({by_role[GUEST]})"


def _within(reader: str, names: set[str]) -> bool:
    """Whether one of the names is a wider reader."""
    if ANYONE in names:
        return reader.startswith(WITHIN_ANYONE)
    if WITHIN_ANYONE[0] in names:
        return reader.startswith(WITHIN_ANYONE[1:])
    return "visitor" in names and reader.startswith("visitor:")


faults_group = LazyGroup(
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
