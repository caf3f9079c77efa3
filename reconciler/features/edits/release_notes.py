"""What people must know of a release beside its lines: which URLs end, and which tests of access do not name the new version. Pure.

In: what the project declares before and after it. Out: sentences. `access:` is a rule, which only people change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.address import Address
from reconciler.features.edits.operations import EditOperation
from reconciler.features.urls.model.redirects import url_settings
from reconciler.model import Declared, Desired


def release_notes(before: Desired, after: Desired, operation: EditOperation) -> Iterator[str]:
    """Sentences about one release."""
    shown = sorted((other for other in before.resources.values() if other.parent == operation.address), key=lambda other: other.index)
    left = [other for other in shown if other.address not in after.resources]
    new = [other for other in after.resources.values() if other.parent == operation.address and other.address not in before.resources]
    if left:
        yield _ending(after, operation.address, left)
    yield from _access(after, _content([*shown[:1], *left]), _content(new))


def _ending(after: Desired, section: Address, left: Iterable[Declared]) -> str:
    names = ", ".join(str(other.address) for other in left)
    settings = url_settings(after)
    if settings is not None and any(section.is_within(site) for site in settings.sites):
        return f"No longer shown: {names}. Redirects lead from its URLs to the next version that is shown; apply writes them."
    way = "To let redirects lead to the next version, write urls: {redirects: [nginx]} before you apply; other formats are in docs/urls.md."
    return f"No longer shown: {names}. Its URLs end, and nothing leads to the next version. {way}"


def _content(some: Iterable[Declared]) -> list[Address]:
    """What shows versions, and what they show."""
    return [
        address for other in some for address in (other.address, *(value for value in other.values.values() if isinstance(value, Address)))
    ]


def _access(after: Desired, old: Iterable[Address], new: Iterable[Address]) -> Iterator[str]:
    """A sentence for each test of access that names an old version and not the new one."""
    known = {address for address in old if address not in new}
    for test in after.access:
        for pattern in (*test.sees, *test.must_not_see):
            named = known.intersection(pattern.addresses)
            if named and not set(new).intersection(pattern.addresses):
                names = ", ".join(map(str, sorted(named)))
                yield f"access at {test.source.file_and_line} names {names} and not the new version; only people change it."
