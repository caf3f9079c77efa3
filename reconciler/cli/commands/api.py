"""`reconciler api`: one authenticated call, whatever the operation."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

import click

from reconciler.cli import options as shared
from reconciler.cli.declare import named_content
from reconciler.cli.loading import loaded
from reconciler.cli.opening import connected
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.client import ClientSettings, RetryClass
from reconciler.client.service import Reader, Writer
from reconciler.config.keys import project_file
from reconciler.errors import UsageError, os_reason
from reconciler.kinds import load as load_kinds
from reconciler.text.escape import terminal

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
INPUT_MAX = 2**30  # bytes of a body, more than a service takes
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_KEY = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_SELECTION = re.compile(r"\.([A-Za-z_][\w-]*)|\.?\[(\d*)\]|\.?\[\"([^\"]*)\"\]")


@click.command("api", short_help="Send one authenticated request.")
@click.argument("method", type=click.Choice(METHODS, case_sensitive=False))
@click.argument("path")
@click.option(
    "-f",
    "--field",
    "fields",
    metavar="KEY=VALUE",
    multiple=True,
    allow_from_autoenv=False,
    help="Add a field to the body, or to the query of a GET. a[b]=c nests, a[]=c adds to a list.",
)
@click.option(
    "--input",
    "given",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    allow_from_autoenv=False,
    help="Read the body as JSON from a file; - is standard input.",
)
@click.option("--paginate", is_flag=True, help="Read all pages of a list, and print its items.")
@click.option("--jq", metavar="EXPR", help="Select part of the response, for example .items[].title.")
@shared.project_option()
@shared.service()
@shared.output()
@click.pass_obj
def command(
    screen: Screen,
    /,
    method: str,
    path: str,
    fields: tuple[str, ...],
    given: Path | None,
    paginate: bool,
    jq: str | None,
    **parameters: Any,
) -> None:
    """Send one request and print the response as JSON. PATH is relative to /v1; values are null, true, false, numbers or text.

    \b
    Examples:
      reconciler api GET /orgs --sandbox .reconciler/acme.db
      reconciler api PATCH /spaces/spc_blank -f title=Blank --sandbox .reconciler/acme.db
      reconciler api POST /orgs/org_acme/conversations --input talk.json --sandbox .reconciler/acme.db
      reconciler api GET /orgs/org_acme/teams --paginate --jq '.[].title' --sandbox .reconciler/acme.db
    """
    options = Options.of(screen, parameters)
    method = method.upper()
    steps = selection(jq) if jq is not None else []
    place, query = target(path)
    if given is not None and (fields or method == "GET"):
        raise UsageError("--input is the complete body and cannot be combined with -f or GET", id="RC-options-conflict")
    data = body(fields) if given is None else body_of_file(given)
    if paginate and method != "GET":
        raise UsageError("--paginate reads a list and requires GET", id="RC-options-conflict")
    kinds = load_kinds() if project_file(options.project).is_file() else None
    project = loaded(screen, options, kinds) if kinds is not None else None
    with connected(screen, options, project, kinds) as service:
        if method == "GET":
            query |= {key: _query(value) for key, value in (data or {}).items()}
            answer = asyncio.run(_read(screen, service.settings, place, query, paginate))
        elif query:
            raise UsageError(f"only GET takes a query, and this is {method}", id="RC-options-conflict")
        else:
            answer = asyncio.run(_send(screen, service.settings, method, place, data))
    if answer is None and not steps:
        return
    for value in pick(answer, steps):
        if isinstance(value, str) and jq is not None:
            screen.raw(terminal(value) + "\n")
        else:
            screen.document(value)


async def _read(screen: Screen, settings: ClientSettings, path: str, query: dict[str, str], paginate: bool) -> Any:
    async with Reader(settings, listener=TerminalVoice(screen)) as reader:
        if not paginate:
            return (await reader.get(path, query)).body
        unnamed = itertools.count()  # an item without an id is never taken for another one
        listing = await reader.list(path, query, key=lambda item: str(item["id"]) if "id" in item else f" {next(unnamed)}")
        if not listing.complete:
            screen.say("The list is incomplete: it contains fewer items than the service counts.")
        return list(listing.items)


async def _send(screen: Screen, settings: ClientSettings, method: str, path: str, data: Any) -> Any:
    async with Writer(settings, listener=TerminalVoice(screen)) as writer:
        return (await writer.send(method, path, data, retry=RetryClass.CREATE)).body  # only the user knows whether it may be sent twice


def target(path: str) -> tuple[str, dict[str, str]]:
    """A typed path in the form for the client, without /v1 and with every segment encoded; and its query."""
    place, _, query = path.partition("?")
    place = place.removeprefix("/v1/") if place.startswith("/v1/") else place.removeprefix("/")
    segments = place.rstrip("/").split("/")
    if not all(segments) or "://" in place or any(segment in (".", "..") for segment in segments):
        raise UsageError(f"{path!r} is not a path of the API", id="RC-api-path", hint=f"Write it like {_example()}.")
    encoded = "".join("/" + quote(unquote(segment), safe="") for segment in segments)
    return encoded, dict(parse_qsl(query, keep_blank_values=True))


def _example() -> str:
    """The path of a list of the service."""
    lists = (listing for kind in load_kinds().values() if kind.within is not None for listing in kind.whole_listings if not listing.single)
    return re.sub(r"\{\w+\}", "ID", next(lists).path)


def typed(text: str) -> Any:
    """The JSON value of a text: null, true, false, a number; else the text."""
    known = {"null": None, "true": True, "false": False}
    if text in known:
        return known[text]
    return json.loads(text) if _NUMBER.fullmatch(text) else text


def body(fields: tuple[str, ...]) -> Any:
    """The body that `-f` options describe; None if there are none."""
    if not fields:
        return None
    document: dict[str, Any] = {}
    for field in fields:
        key, equals, text = field.partition("=")
        match = _KEY.fullmatch(key)
        if not equals or match is None:
            raise UsageError(
                f"-f {field!r} is not KEY=VALUE", id="RC-api-field", hint="Write a[b]=c for nested keys and a[]=c for items of a list."
            )
        path = [match[1], *re.findall(r"\[([^\[\]]*)\]", match[2])]
        _put(document, path, typed(text), field)
    return document


def body_of_file(file: Path) -> Any:
    """The body in a file, `-` for stdin. Raises `UsageError`."""
    try:
        text = named_content(str(file), INPUT_MAX)
    except OSError as error:
        raise UsageError(f"--input {file} cannot be read: {os_reason(error)}", id="RC-file-not-read") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--input {file} is not JSON: {error}", id="RC-not-json") from error


def _put(document: dict[str, Any], path: list[str], value: Any, field: str) -> None:
    at: Any = document
    for name, following in zip(path, [*path[1:], None], strict=True):
        empty: Any = value if following is None else [] if following == "" else {}
        if name == "":
            if not isinstance(at, list):
                raise UsageError(f"-f {field!r}: [] makes it a list, but it is already a map", id="RC-api-field")
            if not (following and at and isinstance(at[-1], dict) and following not in at[-1]):
                at.append(empty)  # a[][b]=… a[][c]=… belong to one item; a repeated name begins the next
            at = at[-1]
        else:
            if not isinstance(at, dict) or (following is None and name in at):
                raise UsageError(f"-f {field!r} contradicts an earlier -f", id="RC-api-field")
            at = at.setdefault(name, empty)


def selection(expression: str) -> list[str | int | None]:
    """The steps of a selection: keys, indices, None for every item. Raises `UsageError` for any other syntax."""
    if expression == ".":
        return []
    steps: list[str | int | None] = []
    at = 0
    while at < len(expression):
        match = _SELECTION.match(expression, at)
        if match is None:
            raise UsageError(
                f"--jq {expression!r} is not supported",
                id="RC-jq-unsupported",
                hint="Use paths like .items[0].title or .items[].id; for more, pipe the output into jq.",
            )
        key, index, quoted = match.groups()
        steps.append(key if key is not None else quoted if quoted is not None else int(index) if index else None)
        at = match.end()
    return steps


def pick(answer: Any, steps: list[str | int | None]) -> list[Any]:
    """The selected values; null for a key or index that does not exist, as in jq."""
    values = [answer]
    for step in steps:
        following: list[Any] = []
        for value in values:
            match step:
                case None:
                    following += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
                case int():
                    following.append(value[step] if isinstance(value, list) and step < len(value) else None)
                case str():
                    following.append(value.get(step) if isinstance(value, dict) else None)
        values = following
    return values


def _query(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
