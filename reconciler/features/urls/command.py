"""`reconciler urls list`, `where` and `export`: the ledger of published URLs; `check` has a module of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from reconciler import exits
from reconciler.address import Address
from reconciler.cli import options as shared, reports
from reconciler.cli.opening import confirm_hosts, opened
from reconciler.cli.options import Decorator, Options
from reconciler.cli.program import Lazy, LazyGroup
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.errors import UsageError
from reconciler.features.urls.model.planned import REDIRECTS, URLS
from reconciler.features.urls.model.redirects import Redirect, RedirectFormat, UrlSettings, url_settings, with_settings
from reconciler.features.urls.recorded import NOTHING, ledger, recorded, site_of
from reconciler.features.urls.redirects.formats import texts
from reconciler.features.urls.redirects.planned import with_redirects
from reconciler.features.urls.redirects.written import write_redirects
from reconciler.features.urls.report.ledger import SITEMAP_MOST, history_document, record_line, sitemap, url_sheet, urls_document
from reconciler.features.urls.stages import kept_trees, present
from reconciler.features.urls.tables import kept
from reconciler.run.loading import load_settings, now
from reconciler.run.rules import JudgedProject
from reconciler.state import Store
from reconciler.text.names import HERE

command = LazyGroup(
    name="urls",
    commands_by_name={
        "list": Lazy(f"{__name__}:list_command", "List the published URLs, or those that ended."),
        "where": Lazy(f"{__name__}:where_command", "Show what happened to a URL."),
        "check": Lazy(
            "reconciler.features.urls.check_command",
            "Ask each published URL whether it answers.",
            (exits.REFUSED, exits.PARTLY, exits.PENDING),
        ),
        "export": Lazy(f"{__name__}:export_command", "Print the published URLs as a sitemap, or redirects for those that ended."),
    },
    short_help="Show and check published URLs, and where old ones lead.",
    help="""Show and check published URLs, and where old ones lead.

    The ledger has them: an apply of a project with `urls:` records at which URLs pages answer.

    \b
    Example:
      reconciler urls list examples/urls --sandbox .reconciler/urls.db --ended
    """,
)

LINES: Final = 1_000  # printed at once


def site_option() -> Decorator:
    """The site of the URLs."""
    return click.option("--site", metavar="SITE", help="Only those of this site: its key, or its address.")


@click.command("list", short_help="List the published URLs, or those that ended.")
@shared.project()
@click.option("--ended", is_flag=True, help="Those at which no page answers any more.")
@site_option()
@shared.service()
@shared.state()
@shared.output(formats=("text", "json"))
@click.pass_obj
def list_command(screen: Screen, /, ended: bool, site: str | None, **parameters: Any) -> None:
    """List the published URLs in their order, since when each answers, and the run that saw it first.

    \b
    Example:
      reconciler urls list examples/urls --sandbox .reconciler/urls.db --site docs
      reconciler urls list examples/urls --sandbox .reconciler/urls.db --ended --format json
    """
    options = Options.of(screen, parameters)
    with _ledger(screen, options) as store:
        records = kept.urls(store, site=site_of(store, site), ended=ended)
        if options.format == "json":
            screen.document(urls_document(records))
            return
        number = 0
        while some := list(islice(records, LINES)):
            number += len(some)
            screen.out("".join(f"{record_line(record, HERE)}\n" for record in some))
    if not number:
        screen.say("No URL has ended." if ended else NOTHING)


@click.command("where", short_help="Show what happened to a URL.")
@click.argument("url", metavar="URL")
@shared.project()
@shared.service()
@shared.state()
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def where_command(screen: Screen, /, url: str, report: tuple[tuple[str, Path], ...], **parameters: Any) -> None:
    """Show what happened to a published URL: whether it answers, or when, by which run and from which commit its page moved, and where to.

    \b
    Example:
      reconciler urls where http://127.0.0.1/published/docs/guides/install examples/urls --sandbox .reconciler/urls.db
    """
    options = Options.of(screen, parameters)
    with _ledger(screen, options) as store:
        history = screen.masked_data(recorded(store, url))
    sheet = partial(url_sheet, history, HERE, environment=options.env)
    printed = reports.Report(history_document(history), sheet, now())
    printed.write(screen, report)
    printed.show(screen, options.format)


@click.command("export", short_help="Print the published URLs as a sitemap, or redirects for those that ended.")
@shared.project()
@site_option()
@click.option(
    "--write", is_flag=True, allow_from_autoenv=False, help="Write the files of urls.redirects below the project instead, as an apply does."
)
@shared.service()
@shared.state()
@shared.output(formats=("sitemap", *map(str, RedirectFormat)))
@click.pass_obj
def export_command(screen: Screen, /, site: str | None, write: bool, **parameters: Any) -> None:
    """Print the published URLs as a sitemap; or, in a format of redirects, where each URL that ended leads now.

    A URL whose page is no longer published has no redirect, and no redirect hides a page from a reader. Without --site, the redirects of
    all sites follow each other.

    The redirects are those that the next apply would write: from the ledger, from the lines of the tables, and from what answers now, which
    is read from the service. With --write, the files of urls.redirects get them: a fleet, which commits to no repository, writes none.

    \b
    Example:
      reconciler urls export examples/urls --sandbox .reconciler/urls.db --site docs --format nginx
      reconciler urls export examples/urls --sandbox .reconciler/urls.db --write
    """
    options = Options.of(screen, parameters)
    if write and options.format != "sitemap":
        hint = "Each file has the format that urls.redirects names."
        raise UsageError(f"--write writes files, and --format {options.format} prints one", id="RC-options-conflict", hint=hint)
    if write or options.format != "sitemap":
        _redirects(screen, options, site, write=write)
        return
    with _ledger(screen, options) as store:
        urls = [record.url for record in kept.urls(store, site=site_of(store, site))]
    if len(urls) > SITEMAP_MOST:
        screen.warn(f"A sitemap has at most {SITEMAP_MOST:,} URLs, and this one has {len(urls):,}.", id="RC-sitemap-too-large")
    screen.raw("".join(sitemap(urls)))


def _redirects(screen: Screen, options: Options, site: str | None, *, write: bool) -> None:
    """Write or print the redirects that follow from the ledger and from what answers now. Raises `UsageError`."""
    chosen_sites: list[str | None] = []

    def admit(judged_project: JudgedProject) -> None:
        settings = url_settings(judged_project.project.desired)
        if write and (settings is None or not (settings.sites or settings.formats)):
            raise UsageError(
                "this project writes no redirects", id="RC-url-not-recorded", hint="Write urls: {redirects: [nginx]}, or another format."
            )
        with ledger(options.operation, TerminalVoice(screen), judged_project.project) as store:
            chosen_sites.append(site_of(store, site))

    with opened(screen, options, create=False, admit=admit) as run:
        project, of_site = run.project, chosen_sites[0]
        settings = url_settings(project.desired)
        desired, recorded = with_settings(project.desired, settings or UrlSettings()), kept.recorded_urls(run)
        with run.reading():
            planned = run.ask(lambda reader: present(reader, run.kinds, desired, run.state, kept_trees(run)))
        planned = with_redirects(desired, planned, recorded)
    redirects = planned.feature(REDIRECTS)
    assert redirects is not None
    if not write:
        by_site: dict[Address, list[Redirect]] = defaultdict(list)
        for redirect in redirects.redirects:
            by_site[redirect.site].append(redirect)
        after = planned.feature(URLS).answering_after
        roots = after.roots if after is not None else {}
        for at, some in sorted(by_site.items()):
            host = urlsplit(roots.get(at, "")).netloc
            for file in texts(at.key, RedirectFormat(options.format), some, host=host) if of_site in (None, str(at)) else ():
                screen.raw(file.text)
        return
    assert settings is not None
    tables = {
        f"{files.folder}/{files.name}.csv" for at, files in {**settings.sites, **settings.former}.items() if of_site in (None, str(at))
    }
    chosen = [file for file in redirects.files if of_site is None or file.table in tables]
    for url in redirects.ended:
        screen.warn(f"Nothing answers at {url.url}, which was public: {url.reason}", id="RC-dead-urls")
    if not write_redirects(run.voice, project.settings.root, replace(redirects, files=tuple(chosen))):
        screen.say("The files of redirects have all that they must have.")


@contextmanager
def _ledger(screen: Screen, options: Options) -> Iterator[Store]:
    """The state to read; see `ledger`."""
    project = load_settings(options.operation, TerminalVoice(screen))
    confirm_hosts(screen, options, project)
    with ledger(options.operation, TerminalVoice(screen), project) as store:
        yield store
