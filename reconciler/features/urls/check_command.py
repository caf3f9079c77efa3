"""`reconciler urls check`: whether the published URLs answer, for a reader without a token."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import ExitStack
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.loading import loaded
from reconciler.cli.opening import connected, service_of, store_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.errors import UsageError, os_reason
from reconciler.features.urls.command import site_option
from reconciler.features.urls.published.checking import SITEMAP_MAX, CheckedUrl, UrlChecker, counts, findings_of
from reconciler.features.urls.recorded import site_of
from reconciler.features.urls.redirects.required import LOOPBACK
from reconciler.features.urls.tables import kept
from reconciler.kinds import load as load_kinds
from reconciler.links import read_file
from reconciler.report.findings import findings_document, findings_sheet, findings_text
from reconciler.report.words import count
from reconciler.run.connection.connecting import TOKEN
from reconciler.run.loading import now

LOCATION: Final = re.compile(r"<loc>([^<>]{1,4096}+)</loc>")
MAPS: Final = 100  # sitemaps that one names


@click.command("check", short_help="Ask each published URL whether it answers.")
@shared.project()
@site_option()
@click.option("--ended", is_flag=True, help="Ask the URLs that ended too: each must lead to a page, or answer 410.")
@click.option("--sitemap", metavar="URL|FILE", help="Ask the URLs of a sitemap instead of those of the ledger.")
@shared.service()
@shared.state()
@reports.option(("json", *reports.CHECKS))
@shared.output(formats=("text", "json", *reports.CHECKS))
@click.pass_obj
def command(
    screen: Screen, /, site: str | None, ended: bool, sitemap: str | None, report: tuple[tuple[str, Path], ...], **parameters: Any
) -> int:
    """Ask each published URL whether it answers, as a reader without a token, through the network of this machine.

    Only hosts of the project's sites are asked, at most 10 requests a second (--max-rps), a sandbox as fast as it answers. A redirect to
    another host is not followed, and one to a page to sign in leads to no page. A server that asks to come later is asked again.
    Exits with 2 if a URL answers nothing, and with 5 if one could not be asked.

    \b
    Example:
      reconciler urls check examples/urls --sandbox .reconciler/urls.db
      reconciler urls check examples/urls --sandbox .reconciler/urls.db --ended --report junit=urls.xml
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    project = loaded(screen, options, kinds)
    with ExitStack() as stack:
        service = service_of(screen, options, project)
        if service is None:
            raise UsageError("there is no sandbox yet, and so no ledger of URLs", id="RC-url-not-recorded", hint="Apply the project first.")
        if service.embedded:
            service = stack.enter_context(connected(screen, options, project, kinds, create=False))
        with store_of(screen, options, project, service) as store:
            chosen = site_of(store, site)
            live = [record.url for record in kept.urls(store, site=chosen)]
            old = [record.url for record in kept.urls(store, site=chosen, ended=True)] if ended else []
        hosts = {urlsplit(url).hostname or "" for url in (*live, *old)}
        if not hosts:
            raise UsageError(
                "no published URLs are recorded", id="RC-url-not-recorded", hint="An apply of a project with urls: records them."
            )
        base = urlsplit(service.settings.base_url)
        served = base.netloc if base.hostname in LOOPBACK else None
        secret = service.settings.token if service.embedded else os.environ.get(TOKEN, "")
        if served is not None and not secret and hosts & LOOPBACK:
            hint = f"Set {TOKEN} to a token of the sandbox at {service.settings.base_url}: it serves pages to whoever has one."
            raise UsageError("there is no token for the sandbox", id="RC-no-token", hint=hint)
        screen.hide([secret])
        checker = UrlChecker(hosts, per_second=options.max_rps, served=served, secret=secret, clock=service.settings.clock)
        urls = list(dict.fromkeys([*live, *old])) if sitemap is None else _of_sitemap(checker, sitemap)
        with TerminalVoice(screen).lasting(f"Asking {count(len(urls), 'URL')}"):
            answers = asyncio.run(checker.answers(urls, pages=[*live, *(urls if sitemap is not None else [])]))
    return _report(screen, options, project, report, answers, frozenset(old) - frozenset(live))


def _of_sitemap(checker: UrlChecker, name: str) -> list[str]:
    """The URLs of a sitemap, and of those that it names."""
    text = asyncio.run(_text(checker, name))
    urls = [unescape(url.strip()) for url in LOCATION.findall(text)]
    if "<sitemapindex" in text:
        inner = [asyncio.run(_text(checker, url)) for url in urls[:MAPS]]
        urls = [unescape(url.strip()) for part in inner for url in LOCATION.findall(part)]
    return list(dict.fromkeys(urls))


async def _text(checker: UrlChecker, name: str) -> str:
    try:
        if "://" in name:
            return await checker.text(name)
        return read_file(Path(name), SITEMAP_MAX)[:SITEMAP_MAX].decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        raise UsageError(f"the sitemap {name} cannot be read: {reason}", id="RC-file-not-read") from None


def _report(
    screen: Screen, options: Options, project: Project, report: tuple[tuple[str, Path], ...], answers: list[CheckedUrl], old: frozenset[str]
) -> int:
    # 410 is what a page that ended on purpose answers.
    right = [answer for answer in answers if not (answer.url in old and answer.status == 410)]
    findings = screen.masked_data(tuple(findings_of(right)))
    numbers = counts(right)
    document = findings_document(findings, project=project.settings.project, environment=options.env)
    sheet = partial(findings_sheet, findings, project=project.settings.project, environment=options.env)
    printed = reports.Report(document, sheet, now(), reports.folder(project))
    printed.write(screen, report)
    if options.format == "text":
        screen.out(findings_text(findings))
        asked = f"{count(len(answers), 'URL')} asked"
        gone = f", {len(answers) - len(right):,} gone on purpose" if len(right) < len(answers) else ""
        led = f" ({numbers['redirected']:,} after a redirect)" if numbers["redirected"] else ""
        screen.out(
            f"{asked}: {numbers['answer']:,} answer{led}{gone}, {numbers['dead']:,} do not, {numbers['unknown']:,} could not be asked.\n"
        )
    else:
        printed.show(screen, options.format)
    return exits.PENDING if numbers["dead"] else exits.PARTLY if numbers["unknown"] else exits.DONE
