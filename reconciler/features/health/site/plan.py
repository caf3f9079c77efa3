"""One site of a reading: which it is, what belongs to it, and what it shows to whom. Pure.

The premise: a site is what contains objects that show the pages of others. Its health is that of itself, of what is in it, and of what it
shows; what contains it is asked for lists, and no concern about that is one about the site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.errors import UsageError
from reconciler.features.health.model import CheckResult, HealthChecks
from reconciler.features.health.plan import HealthInputs
from reconciler.features.health.site.model import SitePart
from reconciler.features.urls.plan.changes import Trees, page_urls
from reconciler.model import Observed
from reconciler.model.codec import title
from reconciler.model.variants import SiteUrls
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.containment import Key, page_fields, parent
from reconciler.plan.variants import Published, variants
from reconciler.resource import Kind
from reconciler.text.names import did_you_mean


def named_site(inputs: HealthInputs, name: str) -> Key:
    """The site with this key or address. Raises `UsageError` where none or several have it."""
    sites = {inputs.called(key): key for key in _sites(inputs)}
    chosen = [site for site in sites if name in (str(site), site.key)]
    if len(chosen) > 1:
        raise UsageError(
            f"{name} names {len(chosen)} sites", id="RC-site-not-known", hint=f"Pass one of: {', '.join(map(str, sorted(chosen)))}"
        )
    if not chosen:
        known = sorted(map(str, sites))
        near = did_you_mean(name, [site.key for site in sites])
        hint = f"The sites are: {', '.join(known)}" if known else "Nothing that was read is a site."
        raise UsageError(f"no site is called {name}{near}", id="RC-site-not-known", hint=hint)
    return sites[chosen[0]]


def _showing(inputs: HealthInputs) -> Iterator[tuple[Kind, Observed, Key, Key]]:
    """What shows the pages of something: it, what contains it, and what it shows."""
    for kind in inputs.kinds.values():
        for field in page_fields(inputs.kinds, kind) if kind.within is not None else ():
            for observed in inputs.actual.objects.get(kind.name, {}).values():
                site = str(kind.within), observed.within.get(str(kind.within), "")
                yield kind, observed, site, (str(field.refers), str(observed.values.get(field.name)))


def _sites(inputs: HealthInputs) -> list[Key]:
    roots = {kind.within for kind in inputs.kinds.values() if page_fields(inputs.kinds, kind)}
    return [(name, id) for name in inputs.kinds if name in roots for id in inputs.actual.objects.get(name, {})]


def of_site(inputs: HealthInputs, site: Key) -> HealthInputs:
    """The inputs with only what concerns one site."""
    own = {(name, id) for name, some in inputs.actual.objects.items() for id, seen in some.items() if seen.within.get(site[0]) == site[1]}
    observed = inputs.actual.find(*site)
    around = set(observed.within.items()) if observed is not None else set()
    shown = {space for _, _, at, space in _showing(inputs) if at == site}
    return replace(inputs, only=frozenset({site, *own, *around, *shown}))


def checks_of_site(checks: HealthChecks, site: Address) -> HealthChecks:
    """The checks of a project that concern one site."""
    return replace(checks, topics=None, searches=tuple(search for search in checks.searches if search.site in (str(site), site.key)))


def about_site(inputs: HealthInputs, site: Key, results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """The results with only the concerns about the site, what is in it, and what it shows. `inputs`: those `of_site`."""
    address, observed = inputs.called(site), inputs.actual.find(*site)
    around = set(observed.within.items()) if observed is not None else set()
    names = {str(inputs.called(key)) for key in (inputs.only or frozenset()) - around}

    def is_about(at: str) -> bool:
        # What was deleted outside Reconciler is no longer read, and has its address below the site's. What is counted has none.
        return at in names or at.startswith(f"{address}/") or not at

    return tuple(replace(result, concerns=tuple(line for line in result.concerns if is_about(line.address))) for result in results)


def shown_spaces(inputs: HealthInputs, site: Key) -> list[Key]:
    """What the site shows, in its order, each once."""
    return list(dict.fromkeys(space for _, _, at, space in _showing(inputs) if at == site))


def parts(inputs: HealthInputs, site: Key, trees: Trees, readers: Mapping[Address, str]) -> tuple[SitePart, ...]:
    """What the site shows, in its order. `trees`: the pages of these objects. `readers`: in words, by address."""
    nodes: dict[Key | None, list[SitePart]] = {}
    for kind, observed, at, space in _showing(inputs):
        if at == site:
            node = parent(kind, observed)
            nodes.setdefault(node, []).append(_part(inputs, kind, observed, space, trees, readers))
    order = {key: number for number, key in enumerate(_nodes(inputs, nodes))}
    return tuple(part for node in sorted(nodes, key=lambda key: order.get(key, -1) if key is not None else -1) for part in nodes[node])


def _nodes(inputs: HealthInputs, nodes: Iterable[Key | None]) -> Iterator[Key]:
    """The nodes in the order of the lists that show them."""
    names = {node[0] for node in nodes if node is not None}
    return ((name, id) for name in sorted(names) for id in inputs.actual.objects.get(name, {}))


def _part(inputs: HealthInputs, kind: Kind, observed: Observed, space: Key, trees: Trees, readers: Mapping[Address, str]) -> SitePart:
    node = parent(kind, observed)
    tree, address = trees.get(space, "it was not read"), inputs.called((kind.name, observed.id))
    around = inputs.actual.find(*node) if node is not None else None
    content = inputs.actual.find(*space)
    return SitePart(
        address,
        title(content) if content is not None else title(observed),
        kind.url(observed.raw),
        inputs.called(space),
        readers.get(address, ""),
        None if isinstance(tree, str) else len(tree.pages),
        tree if isinstance(tree, str) else "",
        inputs.called(node) if node is not None else None,
        title(around) if around is not None else "",
        any(observed.flags.values()),
        around is not None and any(around.flags.values()),
    )


def url_count(inputs: HealthInputs, site: Key, trees: Trees) -> int | None:
    """At how many URLs pages of the site answer for all whom it admits; None where that is not known."""
    actual = inputs.actual
    now = Published(inputs.kinds, Audiences(inputs.kinds, actual.objects, complete=actual.complete))
    shown = tuple(variant for variant in variants(now).values() if variant.site == site)
    if any(isinstance(trees.get(variant.space, ""), str) or not variant.bases for variant in shown):
        return None
    names = {key: inputs.called(key) for variant in shown for key in (variant.space, variant.site)}
    return len(page_urls(shown, SiteUrls(names=names), trees))
