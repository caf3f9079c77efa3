"""`reconciler rehearse`: apply the plan to a copy of the living organization, look at it as its readers do, and undo it there."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.opening import opened, saved_use
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.serving import until_interrupted
from reconciler.client.service import Reader
from reconciler.errors import UsageError
from reconciler.features.rehearsal.model import Rehearsal
from reconciler.features.rehearsal.page.page import page, policy
from reconciler.features.rehearsal.page_texts import pages_of, read_text, read_texts
from reconciler.features.rehearsal.performing import rehearse
from reconciler.features.rehearsal.report import rehearsal_document, rehearsal_sheet
from reconciler.run.connection.embedded import sandbox_errors
from reconciler.run.loading import now
from reconciler.run.opened import Run
from reconciler.run.rules import JudgedProject
from reconciler.text.names import HERE

FORMATS = ("brief", "json", "markdown", "html")
MAX_PAGES = 1_000


@click.command("rehearse", short_help="Try the plan on a copy of the organization.")
@shared.project()
@shared.selection()
@shared.guards()
@shared.rules()
@shared.absences()
@shared.service()
@shared.state()
@click.option(
    "--plan",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    allow_from_autoenv=False,
    help="Rehearse exactly what this saved plan shows.",
)
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit with 2 if somebody can read more or a published URL stops answering to a reader, at any moment, or if that is not known.",
)
@click.option("--serve", is_flag=True, allow_from_autoenv=False, help="Show a preview of the sites in a browser, until interrupted.")
@click.option("--content", is_flag=True, help="Write the text of pages into the HTML report too, not only their titles.")
@click.option(
    "--max-pages",
    type=click.IntRange(0),
    default=MAX_PAGES,
    show_default=True,
    metavar="N",
    help="With --content: the text of this many pages.",
)
@reports.option(FORMATS)
@shared.output(formats=("text", *FORMATS))
@click.pass_obj
def command(
    screen: Screen,
    /,
    file: Path | None,
    detailed_exitcode: bool,
    serve: bool,
    content: bool,
    max_pages: int,
    report: tuple[tuple[str, Path], ...],
    **parameters: Any,
) -> int:
    """Apply the plan to a copy of the living organization, ask after every request what readers see, plan again, and undo it there.

    The living service gets GET requests only, and the living state is not written. Nothing needs consent: what `apply` would refuse is
    listed. Says who can read more, which published URLs stop answering, the worst moment on the way, and what an undo would not bring
    back. Exits with 4 if a policy or an access test refuses the plan, and with 1 if it went differently than planned.

    With --plan FILE, rehearse what `plan --out FILE` saved. A plan that is no longer valid, or was used, is refused.
    --serve prints a link that opens a preview once: every site before and after, as every reader. --report html=FILE writes the same as
    one file.

    \b
    Example:
      reconciler rehearse examples/acme --sandbox .reconciler/acme.db
      reconciler rehearse examples/acme --sandbox .reconciler/acme.db --plan acme.plan.json
      reconciler rehearse examples/acme --sandbox .reconciler/acme.db --report html=preview.html
    """
    options = Options.of(screen, parameters)
    use = None
    if serve and options.format != "text":
        raise UsageError(
            f"--serve prints a URL, and --format {options.format} nothing else",
            id="RC-options-conflict",
            hint=f"Write a file: --report {options.format}=FILE.",
        )
    if file is not None:
        use, options = saved_use(screen, options, file)

    def admit(judged_project: JudgedProject) -> None:
        if use is not None:
            use.check_project(judged_project.project.settings.project)

    with opened(screen, options, create=use is None, admit=admit) as run:
        if use is not None:
            use.check_service(run.service)
        rehearsal = screen.masked_data(rehearse(run, use))
        document, made_at = rehearsal_document(rehearsal), now()
        sheet = partial(rehearsal_sheet, document)
        shown = serve or options.format == "html" or any(name == "html" for name, _ in report)
        texts = asyncio.run(read_texts(run, pages_of(rehearsal.preview)[:max_pages])) if content and shown else None
        html = partial(page, document, rehearsal.preview, created_at=made_at.astimezone(HERE), texts=texts)
        folder = reports.folder(run.project)
        printed = reports.Report(document, sheet, made_at, folder, html)
        printed.write(screen, report)
        printed.show(screen, options.format)
        if serve:
            until_interrupted(_served(screen, run, rehearsal, html(live=True)))
            screen.say("The preview has ended.")
    return _code(rehearsal, detailed=detailed_exitcode)


async def _served(screen: Screen, run: Run, rehearsal: Rehearsal, html: str) -> None:
    with sandbox_errors():
        from reconciler.features.rehearsal.serving import serve_preview  # an extra: the server needs its packages
    known = frozenset(pages_of(rehearsal.preview))
    async with Reader(run.service.settings) as reader:

        async def text(content: str, id: str) -> dict[str, str]:
            return await read_text(run.voice, reader, known, (content, id))

        await serve_preview(
            html,
            policy(live=True),
            text,
            ready=lambda url: screen.out(f"The preview is ready, until Ctrl-C: {url}\n"),
            used=lambda url: screen.out(f"It was opened. To open it in another browser: {url}\n"),
        )


def _code(rehearsal: Rehearsal, *, detailed: bool) -> int:
    if not rehearsal.as_planned:
        return exits.FAILED
    if rehearsal.forbidden:
        return exits.REFUSED
    return exits.PENDING if detailed and (rehearsal.worst is not None or not rehearsal.certain) else exits.DONE
