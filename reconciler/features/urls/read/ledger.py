"""At which URLs pages answer now: what a run records in the ledger, and what redirects must not hide. Only GET.

In: what was read of the service, and what the state has. Out: for each published site its URLs, or that they are those that the ledger
has; and every URL that answers to anybody. A space costs a request only if its pages changed since they were last read; an unchanged site
costs none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256

from reconciler.address import Address
from reconciler.client.service import Reader
from reconciler.features.urls.model.ledger import LedgerReading, SiteLedger
from reconciler.features.urls.model.pages import AnsweringUrls, PageTree
from reconciler.features.urls.plan.changes import Trees, answering, page_urls
from reconciler.features.urls.read.pages import KeptTrees, read_trees, revision_of
from reconciler.features.urls.redirects.required import recorded_url
from reconciler.model import Actual
from reconciler.model.variants import Key, SiteUrls, Variant
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.variants import Published, readable, variants
from reconciler.resource import Kinds


async def read_ledger(
    reader: Reader, kinds: Kinds, actual: Actual, called: Callable[[Key], Address], known: Mapping[Address, str], kept: KeptTrees
) -> tuple[LedgerReading, Mapping[Key, PageTree]]:
    """The sites now, and the trees that were read for them. `known`: the digests that the ledger has; `kept`: the trees of the state."""
    now = _now(kinds, actual)
    # Everybody can check a public URL again; what admits only some readers is not in the ledger.
    shown = {at: variant for at, variant in variants(now).items() if variant.is_open}
    by_site: dict[Key, list[Variant]] = defaultdict(list)
    for _, variant in sorted(shown.items()):
        by_site[variant.site].append(variant)
    digests = {site: _digest(kinds, actual, some) for site, some in by_site.items()}
    new = {site: some for site, some in by_site.items() if known.get(called(site)) != digests[site]}
    spaces = sorted({variant.space for some in new.values() for variant in some})
    trees = await read_trees(reader, kinds, actual, spaces, kept)
    sites, unread = {}, {}
    for site, some in by_site.items():
        address = called(site)
        why = next((trees[variant.space] for variant in some if isinstance(trees.get(variant.space), str)), None)
        if site not in new:
            sites[address] = SiteLedger(digests[site])
        elif why is not None:
            unread[address] = str(why)
        else:
            names = {key: called(key) for variant in some for key in (variant.space, variant.site)}
            urls = page_urls(tuple(some), SiteUrls(names=names), trees)
            sites[address] = SiteLedger(digests[site], tuple(replace(url, url=recorded_url(url.url)) for url in urls))
    return LedgerReading(sites, unread), {key: tree for key, tree in trees.items() if isinstance(tree, PageTree)}


async def read_answering(
    reader: Reader, kinds: Kinds, actual: Actual, called: Callable[[Key], Address], kept: KeptTrees
) -> tuple[AnsweringUrls, Trees]:
    """Every URL that answers to anybody now, and the trees that were read for them."""
    shown = tuple(readable(_now(kinds, actual)).values())
    trees = await read_trees(reader, kinds, actual, sorted({variant.space for variant in shown}), kept)
    names = {key: called(key) for variant in shown for key in (variant.space, variant.site)}
    return answering(shown, SiteUrls(names=names), trees), trees


def _now(kinds: Kinds, actual: Actual) -> Published:
    return Published(kinds, Audiences(kinds, actual.objects, complete=actual.complete))


def _digest(kinds: Kinds, actual: Actual, some: list[Variant]) -> str:
    """Of all that the URLs of a site follow from: where its variants answer, and the revisions of what they show. Without a revision the
    pages may have changed, so that the digest is of no use."""
    parts = []
    for variant in some:
        kind = kinds[variant.space[0]]
        revision = revision_of(kind, actual.find(*variant.space))
        bases = {rank: recorded_url(base) for rank, base in sorted(variant.bases.items())}
        parts.append(f"{variant.at} {variant.space} {bases} {revision} {sorted(variant.conditions)} {variant.is_adaptive}")
        if not revision:
            return ""
    return sha256("\n".join(parts).encode()).hexdigest()
