"""`reconciler access`: who can read what, now and after the plan. Reads; writes nothing, not even state."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.config.access import NamedReaders
from reconciler.config.source.nodes import Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Enough, Problems
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import Desired, NamedReader, ReaderSort, Source
from reconciler.plan.access.review import Review, review
from reconciler.report.access import access_document, access_html, access_sheet, access_text
from reconciler.report.brief import brief
from reconciler.resource import Kinds
from reconciler.run import stages as run
from reconciler.run.connecting import connect
from reconciler.run.loading import load, now
from reconciler.run.stages import Planned
from reconciler.run.unseen import read_state
from reconciler.text.names import HERE

FORMS: Final = "anyone, agent, link=KEY, role=ROLE or claims=NAME=VALUE[,NAME=VALUE]"


@click.command("access", short_help="Show who can read what, now and after the plan.")
@shared.project()
@click.option("--as", "readers", metavar="READER", multiple=True, help=f"Show this reader only: {FORMS}. Repeatable.")
@shared.absences()
@shared.service()
@shared.state()
@shared.output(formats=("text", "brief", "json", "html"))
@click.pass_obj
def command(screen: Screen, /, readers: tuple[str, ...], **parameters: Any) -> None:
    """Show who can read every site, section, space, collection and OpenAPI document, managed or not, now and after the plan: a tree by
    site, then what is in no site. For an access review, --format html is one page; json shows the path by which each reader gets access.

    Reads every list, and sends only GET requests. Writes nothing.

    \b
    Examples:
      reconciler access examples/acme --sandbox .reconciler/acme.db
      reconciler access --as anyone --as role=guest
      reconciler access --format html > access.html
    """
    options = Options.of(screen, parameters)
    reviewed, made_at = screen.masked_data(read(screen, options, load_kinds(), readers).review), now()
    if options.format == "json":
        screen.document(access_document(reviewed, created_at=made_at))
    elif options.format == "brief":
        screen.raw(brief(access_sheet(reviewed)))
    elif options.format == "html":
        screen.raw(access_html(reviewed, created_at=made_at.astimezone(HERE)))
    else:
        screen.out(access_text(reviewed, width=screen.width))


@dataclass(frozen=True)
class AccessReading:
    """Who can read what, and what it was found from."""

    kinds: Kinds
    project: Project
    planned: Planned
    review: Review


def read(screen: Screen, options: Options, kinds: Kinds, readers: Sequence[str] = ()) -> AccessReading:
    """Who can read what, found with GET requests. `readers`: those of `--as`; all classes of readers where none is given."""
    project = load(screen, options, kinds)
    named = [_reader(text, kinds, project.desired) for text in readers]
    with connect(screen, options, project, kinds) as service:
        state, key, new = read_state(screen, options, project, service)
        if new is not None:
            screen.warn(str(new), id="RC-unseen-state")
        kinds = kinds.with_digest_key(key, project.sensitive)
        planned = run.read_only(Narration(screen), service, kinds, project.desired, state, options.operation, everything=True)
    reviewed = review(kinds, project.desired, planned.state, planned.actual, planned.plan, named)
    return AccessReading(kinds, project, planned, reviewed)


def _reader(text: str, kinds: Kinds, desired: Desired) -> NamedReader:
    """The reader in an argument of the command line. Raises `UsageError`."""
    at, problems = Source("--as", 1), Problems([])

    def entries(pairs: list[tuple[str, Node]]) -> Map:
        return Map(at, {name: MapEntry(name, at, node) for name, node in pairs})

    sort, equals, value = text.partition("=")
    node: Node = Scalar(at, text)
    if equals:
        inner: Node = Scalar(at, value)
        if sort == ReaderSort.CLAIMS:
            pairs = [claim.partition("=") for claim in value.split(",") if claim]
            for name, has_value, _ in pairs:
                if not has_value:
                    hint = f"Write claims={name}=VALUE, for example claims={name}=true."
                    raise UsageError(f"--as {text}: the claim {name} has no value", id="RC-no-value", hint=hint)
            inner = entries([(name, Scalar(at, claim)) for name, _, claim in pairs])
        node = entries([(sort, inner)])
    reader = None
    with suppress(Enough):
        reader = NamedReaders(kinds, desired.resources, problems).read(node)
    if reader is None:
        raise UsageError(f"--as {text}: {problems.found[0].message}", id=problems.found[0].id, hint=f"A reader is {FORMS}.")
    return reader
