"""What an apply records of URLs: at which ones pages answer before it and after it; and the files of redirects that follow.

    begins    what answers now is recorded, and what this run moves; until `ends`, the ledger is in doubt
    ends      what answers then is recorded, and the files of redirects are written

What answers before the first request is public, whoever moved it there, and a run that is killed leaves no other memory of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.errors import ServiceError
from reconciler.features.urls.model.ledger import CLOSED
from reconciler.features.urls.model.pages import AnsweringUrls
from reconciler.features.urls.model.planned import REDIRECTS, URLS
from reconciler.features.urls.model.redirects import RedirectPlan, url_settings
from reconciler.features.urls.read.ledger import read_answering, read_ledger
from reconciler.features.urls.redirects.planned import private_moves, with_redirects
from reconciler.features.urls.redirects.written import check_redirects, settled_redirects
from reconciler.features.urls.stages import RECORDED, TREES, kept_trees
from reconciler.features.urls.tables import kept
from reconciler.model import Actual
from reconciler.observe import observe
from reconciler.plan.audience.disclosure import caller
from reconciler.run.applying import ApplySession, BesideApply
from reconciler.run.stages import Planned


def _checks(session: ApplySession, planned: Planned) -> None:
    check_redirects(session.project.settings.root, planned.plan.feature(REDIRECTS))


def _begins(session: ApplySession, planned: Planned) -> None:
    if planned.plan.steps and _keeps_ledger(session):
        _recorded(session, planned.actual)
        if url_settings(session.project.desired) is not None:
            kept.remember_moves(session.journal, private_moves(planned.plan), planned.plan.feature(URLS).replaced)
        kept.doubt_urls(session.journal)
    kept.keep_trees(session.journal, planned.feature(TREES))


def _ends(session: ApplySession, planned: Planned) -> bool:
    redirects, settings = _settled(session, planned), url_settings(session.project.desired)
    written = settled_redirects(session.voice, session.project.settings.root, redirects, planned.plan.feature(REDIRECTS))
    known = planned.feature(RECORDED)
    moves = known.moves or known.replaced or private_moves(planned.plan) or planned.plan.feature(URLS).replaced
    if written and redirects is not None and settings is not None and session.project.desired.writes_files and moves:
        kept.forget_remembered_moves(session.journal)
    return written


BESIDE: Final = BesideApply(_checks, _begins, _ends)


def _settled(session: ApplySession, planned: Planned) -> RedirectPlan | None:
    """Record in the ledger at which URLs pages answer after a run, and return the redirects that follow; None where nobody could look.

    Sends GET requests alone. What cannot be read is said, and changes neither the ledger nor the result of the run.
    """
    if not _keeps_ledger(session) or session.signal is not None:
        return None
    try:
        with session.voice.lasting("Recording published URLs"):
            actual = planned.actual
            if planned.plan.steps:
                actual = session.ask(observe(session.writer, session.kinds, session.project.desired, session.journal.state()))
            after = _recorded(session, actual)
    except ServiceError as error:
        session.voice.warn(f"The published URLs were not recorded: {error.message}", id="RC-ledger-not-updated")
        return None
    if url_settings(session.project.desired) is None:
        return None
    # What the plan knew as public counts as that, although what ended with the run is recorded by now.
    known = planned.feature(RECORDED)
    public = {**kept.recorded_urls(session.journal).public, **known.public}
    return with_redirects(session.project.desired, planned.plan, replace(known, public=public), after=after).feature(REDIRECTS)


def _keeps_ledger(session: ApplySession) -> bool:
    """Whether URLs are recorded: a ledger that has begun is continued without `urls:` too, or it would say what is not so."""
    return url_settings(session.project.desired) is not None or bool(kept.url_digests(session.journal))


def _recorded(session: ApplySession, actual: Actual) -> AnsweringUrls:
    """Record at which URLs pages answer; returns all that answer to anybody. Raises `ServiceError`."""
    return session.ask(_read_ledger(session, actual))


async def _read_ledger(session: ApplySession, actual: Actual) -> AnsweringUrls:
    journal, trees_of = session.journal, kept_trees(session.journal)
    known = kept.url_digests(journal)
    called = caller(session.kinds, journal.state().addresses, actual.objects, actual.objects)
    reading, trees = await read_ledger(session.writer, session.kinds, actual, called, known, trees_of)
    kept.keep_trees(journal, trees)
    # What could not be read may still be published.
    open = {site for site, digest in known.items() if digest != CLOSED}
    gone = () if actual.unknown else open - reading.sites.keys() - reading.unread.keys()
    # By the service's clock, where it shows one: what happens to pages there has its times.
    kept.record_urls(journal, reading.sites, gone, actual.date)
    for site, why in reading.unread.items():
        session.voice.warn(f"{site}: its published URLs were not recorded: {why}", id="RC-ledger-not-updated")
    answering, more = await read_answering(session.writer, session.kinds, actual, called, trees_of)
    kept.keep_trees(journal, more)
    return answering
