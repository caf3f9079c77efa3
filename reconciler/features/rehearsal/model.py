"""A rehearsal: what a plan led to on a copy of the organization, moment by moment, as readers see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.address import Address


@dataclass(frozen=True)
class ReaderChange:
    """One reader who can read an object, or no longer can. `reader`: as `sandbox readers` names it. `who`: the same for people.

    `before`: who the same reader was, where they could read it already and may do more now; "" for a reader who is new. `people`: of new
    members those by name whom the plan names. `others`: whoever was given access one by one may be among them too, which was not read.
    """

    reader: str
    kind: str
    title: str
    # None for an object that is not managed.
    address: Address | None
    who: str = ""
    before: str = ""
    people: str = ""
    others: bool = False


@dataclass(frozen=True)
class MovedUrl:
    """A published URL that no longer answers to its readers, and the one at which its page answers to all of them now."""

    before: str
    after: str


@dataclass(frozen=True)
class ClosedUrls:
    """Published URLs that no longer answer to the same readers. `readers`: as `sandbox readers` names them. `who`: the same for people.

    `answering`: how many of the URLs still answer to somebody.
    """

    readers: tuple[str, ...]
    who: tuple[str, ...]
    urls: tuple[str, ...]
    answering: int = 0


@dataclass(frozen=True)
class RehearsedMoment:
    """After one write, compared with the start. Counts of published URLs that do not answer to a reader to whom they answered, and of
    readers of objects that are new.

    `opened`: how many objects have a new reader. `refused`: the demands of access tests that are not met, and were at the start.
    `dead_for`: the readers to whom those URLs do not answer. `passing_urls`, `passing_readers`: those of both counts that count neither at
    the start nor at the end.
    """

    after: int
    # The method and path of the write, without a query.
    request: str
    dead_urls: int
    readers_gained: int
    opened: int = 0
    refused: tuple[str, ...] = ()
    # The object that it was about, and what it did in words: `path: guides -> use`. None for a write that belongs to no step.
    address: Address | None = None
    what: str = ""
    dead_for: tuple[str, ...] = ()
    passing_urls: int = 0
    passing_readers: int = 0


@dataclass(frozen=True)
class Divergence:
    """Where the planner said something else than the copy showed. `prediction`, `observation`: sentences without a full stop.

    `address`: what it is about, None for the whole plan. `after`: the request after which it was observed, None for the end.
    """

    prediction: str
    observation: str
    address: Address | None = None
    after: int | None = None

    def __str__(self) -> str:
        about = f"{self.address}: " if self.address is not None else ""
        when = f" after request {self.after}" if self.after is not None else ""
        return f"{about}planned was: {self.prediction}; the copy showed{when}: {self.observation}"


@dataclass(frozen=True)
class DeletedObject:
    """An object that existed at the start and does not at the end. `pages`: how many were in it."""

    kind: str
    title: str
    address: Address | None
    pages: int = 0


@dataclass(frozen=True)
class RehearsedSite:
    """A site at the end, compared with the start. Pages by their URLs; `opened` and `closed`: spaces that it shows, by their readers."""

    id: str
    title: str
    url: str
    address: Address | None
    published: bool = True
    dead_pages: int = 0
    moved_pages: int = 0
    new_pages: int = 0
    opened: int = 0
    closed: int = 0
    # Parts and pages with another title.
    renamed: int = 0

    @property
    def differences(self) -> int:
        return self.dead_pages + self.moved_pages + self.new_pages + self.opened + self.closed + self.renamed


@dataclass(frozen=True)
class Rehearsal:
    """A plan that was applied to a copy, and undone there."""

    project: str
    environment: str | None
    # Digests of the plan, and of the answers that the copy was made of.
    plan_digest: str
    reading_digest: str
    # GETs that made the copy, and writes of the apply.
    copy_requests: int
    writes: int
    # What the reading could not show, one sentence each.
    unread: tuple[str, ...]
    # Sentences about what a second plan would still do; empty where it is empty.
    remaining: tuple[str, ...]
    # Whether undo took everything back, and what it did not, one sentence each.
    undo_exact: bool
    leftovers: tuple[str, ...]
    # At the end, compared with the start.
    gained: tuple[ReaderChange, ...]
    lost: tuple[ReaderChange, ...]
    # Published URLs that answered to somebody before and after; those that no longer answer to a reader to whom they did.
    urls_before: int
    urls_after: int
    dead: tuple[str, ...]
    moved: tuple[MovedUrl, ...]
    moments: tuple[RehearsedMoment, ...]
    # Whether a policy or an access test of the project refuses the plan, at any moment.
    forbidden: bool
    # What apply would refuse, and what failed on the copy, one sentence each.
    refusals: tuple[str, ...]
    failures: tuple[str, ...]
    # Where the planner said something else than the copy showed: a defect of Reconciler.
    divergences: tuple[Divergence, ...]
    # What the copy had to guess about the service.
    assumptions: tuple[str, ...]
    # What people work on in what the plan changes, and apply would not refuse, one sentence each.
    open_work: tuple[str, ...] = ()
    deleted: tuple[DeletedObject, ...] = ()
    sites: tuple[RehearsedSite, ...] = ()
    # Redirects of the project's files that were asked of the copy, and those from before that do not work, one sentence each.
    redirects: int = 0
    broken_redirects: tuple[str, ...] = ()
    # The URLs of `dead` and `moved` by the readers to whom they no longer answer.
    closed: tuple[ClosedUrls, ...] = ()
    # Data of the preview, for `report.preview.page`; not part of the document.
    preview: Mapping[str, Any] = field(default_factory=dict)

    @property
    def worst(self) -> RehearsedMoment | None:
        """The moment at which it would be worst to stop; the first of equals. None: none is worse than the start.

        What readers see for a while and not at the end is nobody's intention: the moment with most of that is the worst, new readers before
        URLs that do not answer. Without any, the one with most new readers, then most URLs that do not answer.
        """
        worst = max(
            self.moments,
            key=lambda moment: (moment.passing_readers, moment.passing_urls, moment.readers_gained, moment.dead_urls, -moment.after),
            default=None,
        )
        return worst if worst is not None and (worst.readers_gained or worst.dead_urls) else None

    @property
    def certain(self) -> bool:
        """Whether everything that the plan could change for readers was read, so that the copy has it."""
        return not self.unread

    @property
    def as_planned(self) -> bool:
        """Whether the apply and a second plan went as the plan said. It may have said itself that something needs a second run."""
        return not (self.failures or self.divergences)
