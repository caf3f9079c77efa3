"""Random sites of spaces with pages, random reorganizations of them, and what the sandbox serves of both.

Paths of pages, variants and sections come from the same few words, so that one often takes the URL of another.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from reconciler.sandbox.header import SECRET
from reconciler.sandbox.sites.pages import SitePages
from reconciler.sandbox.sites.readers import HEADER, Gate, Reader, Shown
from reconciler.sandbox.sites.structure import published_url
from reconciler.sandbox.store import Store
from tests.organizations import BETA, ORGANIZATION, TOKEN, TWO_SEED, Tree

WORDS: Final = ("a", "b", "c", "v1", "v2", "use")
SPACES: Final = tuple(f"s{number}" for number in range(6))
SITES: Final = ("docs", "help")
VISIBILITIES: Final = ("public", "public", "public", "unlisted", "share-link", "visitor-auth")
KNOWS_THE_URL: Final = Reader(address=True)
CONDITIONS: Final = ("visitor.claims.staff", "visitor.claims.partner")
OF_PAGES: Final = (*CONDITIONS, "visitor.claims.unsigned.beta")


def seed_of(chance: random.Random) -> dict[str, Any]:
    """Two organizations; the first has spaces with pages."""
    plain = {"organization": ORGANIZATION, "parent": None}
    spaces = [{**plain, "id": f"spc_{key}", "title": key, "pages": pages(key, chance)} for key in SPACES]
    return {**TWO_SEED, "spaces": [*TWO_SEED["spaces"], *spaces]}


def pages(key: str, chance: random.Random) -> list[Tree]:
    """Up to eight pages at up to three levels, each with a title of its own; some are headings, some hidden, some have a condition."""
    taken: set[str] = set()
    apart = random.Random(repr(chance.getstate()))  # so that the other choices of a seed stay as they were

    def below(path: str, depth: int) -> list[Tree]:
        rows = []
        for word in chance.sample(WORDS, chance.randint(1 if depth == 0 else 0, 3)):
            inner = f"{path}/{word}".strip("/")
            if len(taken) < 8 and inner not in taken:
                taken.add(inner)
                kind = "group" if chance.random() < 0.15 else "document"
                inside = below(inner, depth + 1) if depth < 2 and chance.random() < 0.5 else []
                page = {"title": f"{key} {inner}", "path": inner, "slug": word, "type": kind, "pages": inside}
                page |= {"condition": apart.choice(OF_PAGES)} if apart.random() < 0.15 else {}
                rows.append({**page, "hidden": True} if chance.random() < 0.1 else page)
        return rows

    return below("", 0)


def world(chance: random.Random) -> dict[str, Tree]:
    """Both organizations; the sites of the first have sections, groups and variants."""
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}]
    content += [{"space": key, "id": f"spc_{key}", "title": key} for key in SPACES]
    sites = {key: _site(key, chance) for key in SITES[: chance.randint(1, 2)]}
    beta = {"content": [{"space": "base", "id": "spc_base", "title": "Base"}], "sites": {}}
    return {"acme": {"content": content, "sites": sites}, "beta": beta}


def _site(key: str, chance: random.Random) -> Tree:
    site: Tree = {
        "title": f"Site {key}",
        "basename": key,
        "published": chance.random() < 0.9,
        "visibility": chance.choice(VISIBILITIES),
        "adaptiveContent": {"enabled": chance.random() < 0.5},
        "shareLinks": {"partners": "Partners"},  # else nobody is admitted to a site with links only
    }
    if chance.random() < 0.25:
        return {**site, "structure": _variants(key, chance)}
    rows: list[Tree] = [_section(key, number, word, chance) for number, word in enumerate(chance.sample(WORDS, chance.randint(1, 4)))]
    chance.choice(rows)["default"] = True
    if chance.random() < 0.4:
        inside = [rows.pop()] if len(rows) > 1 else []
        rows += [{"group": f"{key}-group", "title": "Wildcard", "structure": inside}] if inside else []
    return {**site, "structure": rows}


def _section(key: str, number: int, path: str, chance: random.Random) -> Tree:
    section: Tree = {"section": f"{key}-{number}", "title": f"Section {number}", "path": path}
    if chance.random() < 0.15:
        section["condition"] = chance.choice(CONDITIONS)
    return {**section, "spaces": _variants(f"{key}-{number}", chance)}


def _variants(key: str, chance: random.Random, among: Sequence[str] = SPACES) -> list[Tree]:
    spaces = chance.sample(among, chance.randint(1, 3))
    rows = [variant(key, space, path, chance) for space, path in zip(spaces, chance.sample(WORDS, len(spaces)), strict=True)]
    chance.choice(rows)["default"] = True
    return rows


def variant(key: str, space: str, path: str, chance: random.Random) -> Tree:
    condition = {"condition": chance.choice(CONDITIONS)} if chance.random() < 0.1 else {}
    return {"key": f"{key}-{space}", "space": space, "path": path, **condition}


# -- reorganizations -------------------------------------------------------------------------------------------------------------------


def sections(site: Tree) -> list[Tree]:
    """The sections of a site, those in its groups too."""
    rows: list[Tree] = []
    for node in site["structure"]:
        rows += [node] if "section" in node else sections(node) if "group" in node else []
    return rows


def rows_of(site: Tree) -> list[list[Tree]]:
    """The lists of variants of a site."""
    inside = [section["spaces"] for section in sections(site)]
    return inside or [site["structure"]]


def reorganized(trees: dict[str, Tree], chance: random.Random, number: int) -> tuple[dict[str, Tree], list[tuple[str, str]]]:
    """The trees after so many edits, and the transfers among them as (from, to)."""
    trees, moved = copy.deepcopy(trees), list[tuple[str, str]]()
    for _ in range(number):
        site = chance.choice([*trees["acme"]["sites"].values()])
        chance.choice(EDITS)(trees["acme"], site, chance)
    if chance.random() < 0.1:
        moved += _transfer(trees, chance)
    for site in trees["acme"]["sites"].values():
        for row in [sections(site), *rows_of(site)]:
            _one_default(row)
    return trees, moved


def _one_default(row: list[Tree]) -> None:
    chosen = [node for node in row if node.get("default")]
    for node in chosen[1:]:
        del node["default"]
    if row and not chosen:
        row[0]["default"] = True


def _free(row: list[Tree], chance: random.Random) -> str | None:
    free = [word for word in (*WORDS, "new", "x") if all(node.get("path") != word for node in row)]
    return chance.choice(free) if free else None


def _rename_section(tree: Tree, site: Tree, chance: random.Random) -> None:
    if rows := sections(site):
        chance.choice(rows)["path"] = _free(rows, chance)


def _rename_variant(tree: Tree, site: Tree, chance: random.Random) -> None:
    row = chance.choice(rows_of(site))
    chance.choice(row)["path"] = _free(row, chance)


def _swap_paths(tree: Tree, site: Tree, chance: random.Random) -> None:
    row = chance.choice([*rows_of(site), sections(site)] if sections(site) else rows_of(site))
    if len(row) > 1:
        one, other = chance.sample(row, 2)
        one["path"], other["path"] = other["path"], one["path"]


def _choose(tree: Tree, site: Tree, chance: random.Random) -> None:
    row = chance.choice([*rows_of(site), *([sections(site)] if sections(site) else [])])
    for node in row:
        node.pop("default", None)
    chance.choice(row)["default"] = True


def _move_variant(tree: Tree, site: Tree, chance: random.Random) -> None:
    rows = [row for row in rows_of(site) if len(row) > 1]
    others = rows_of(site)
    if rows and len(others) > 1:
        source = chance.choice(rows)
        target = chance.choice([row for row in others if row is not source])
        node = chance.choice(source)
        source.remove(node)
        node.pop("default", None)
        if any(other["path"] == node["path"] for other in target):
            node["path"] = _free(target, chance)
        target.append(node)


def _add_variant(tree: Tree, site: Tree, chance: random.Random) -> None:
    row = chance.choice(rows_of(site))
    space, path = chance.choice(_shown(tree)), _free(row, chance)
    key = f"added-{chance.randint(0, 10**9)}"
    if path is not None:
        row.append(variant(key, space, path, chance))


def _shown(tree: Tree) -> list[str]:
    return [str(node["space"]) for node in tree["content"] if node["space"] != "blank"]


def _remove_variant(tree: Tree, site: Tree, chance: random.Random) -> None:
    rows = [row for row in rows_of(site) if len(row) > 1]
    if rows:
        row = chance.choice(rows)
        row.remove(chance.choice(row))


def _show_another(tree: Tree, site: Tree, chance: random.Random) -> None:
    chance.choice(chance.choice(rows_of(site)))["space"] = chance.choice(_shown(tree))


def _remove_section(tree: Tree, site: Tree, chance: random.Random) -> None:
    rows = [row for row in _rows_of_sections(site) if len(row) > 1]
    if rows:
        row = chance.choice(rows)
        row.remove(chance.choice([node for node in row if "section" in node] or row))


def _rows_of_sections(site: Tree) -> list[list[Tree]]:
    groups = [node["structure"] for node in site["structure"] if "group" in node]
    return [site["structure"], *groups] if sections(site) else []


def _add_section(tree: Tree, site: Tree, chance: random.Random) -> None:
    rows = sections(site)
    path = _free(rows, chance)
    if rows and path is not None:
        key = f"added-{chance.randint(0, 10**9)}"
        site["structure"].append({"section": key, "title": f"Section {key}", "path": path, "spaces": _variants(key, chance, _shown(tree))})


def _group(tree: Tree, site: Tree, chance: random.Random) -> None:
    groups = [node for node in site["structure"] if "group" in node]
    rows = [node for node in site["structure"] if "section" in node]
    if groups and len(rows) > 1:
        node = chance.choice(rows)
        site["structure"].remove(node)
        chance.choice(groups)["structure"].append(node)
    elif groups:
        node = groups[0]
        site["structure"].remove(node)
        site["structure"] += node["structure"]


def _restructure(tree: Tree, site: Tree, chance: random.Random) -> None:
    """A site without sections gets one, or one with sections loses all of them: the service rearranges what is shown then."""
    rows = sections(site)
    if not rows:
        number = chance.randint(0, 10**9)
        site["structure"] = [{"section": f"all-{number}", "title": "All", "path": "all", "default": True, "spaces": site["structure"]}]
    elif len(rows) == 1 and chance.random() < 0.5:
        site["structure"] = rows[0]["spaces"]


def _visibility(tree: Tree, site: Tree, chance: random.Random) -> None:
    site["visibility"] = chance.choice(VISIBILITIES)


def _publish(tree: Tree, site: Tree, chance: random.Random) -> None:
    site["published"] = True


def _adaptive(tree: Tree, site: Tree, chance: random.Random) -> None:
    site["adaptiveContent"] = {"enabled": not site["adaptiveContent"]["enabled"]}


def _condition(tree: Tree, site: Tree, chance: random.Random) -> None:
    node = chance.choice([*sections(site), *(node for row in rows_of(site) for node in row)])
    node["condition"] = chance.choice((*CONDITIONS, None))


def _basename(tree: Tree, site: Tree, chance: random.Random) -> None:
    if chance.random() < 0.5:
        site["basename"] = f"renamed-{chance.randint(0, 10**9)}"


def _remove_space(tree: Tree, site: Tree, chance: random.Random) -> None:
    if len(_shown(tree)) > 3 and chance.random() < 0.5:
        space = chance.choice(_shown(tree))
        _show_no_more(tree, space, chance)
        tree["content"] = [node for node in tree["content"] if node["space"] != space]


def _show_no_more(tree: Tree, space: str, chance: random.Random) -> None:
    left = [other for other in _shown(tree) if other != space]
    for site in tree["sites"].values():
        for row in rows_of(site):
            kept = [node for node in row if node["space"] != space]
            if kept and chance.random() < 0.6:
                row[:] = kept
            for node in row:
                node["space"] = chance.choice(left) if node["space"] == space else node["space"]


def _transfer(trees: dict[str, Tree], chance: random.Random) -> Iterator[tuple[str, str]]:
    space = chance.choice(_shown(trees["acme"]))
    _show_no_more(trees["acme"], space, chance)
    row = trees["acme"]["content"]
    node = next(node for node in row if node["space"] == space)
    row.remove(node)
    trees["beta"]["content"].append(node)
    yield f"acme/space/{space}", f"beta/space/{space}"


EDITS: Final[tuple[Callable[[Tree, Tree, random.Random], None], ...]] = (
    _rename_section, _rename_section, _rename_variant, _swap_paths, _choose, _choose, _move_variant, _move_variant, _add_variant,
    _remove_variant, _show_another, _remove_section, _add_section, _group, _visibility, _publish, _adaptive, _condition, _basename,
    _remove_space, _restructure,
)  # fmt: skip


# -- what the sandbox serves -------------------------------------------------------------------------------------------------------------


def admitted(store: Store, was: Mapping[str, Reader]) -> dict[str, Reader]:
    """By the id of each published site, somebody whom it admits without a claim: whoever knows the URL if it admits them, else the holder
    of a link, or a visitor who signs in. `was`: the same before: where that was everybody who knows the URL, nobody else counts."""
    readers: dict[str, Reader] = {}
    for organization in (ORGANIZATION, BETA):
        for site in store.select("site", organization=organization):
            gate = Gate.of(store, site)
            candidates = [KNOWS_THE_URL, *(Reader(shareKey=key) for key in gate.keys), Reader(claims={})]
            chosen = next((reader for reader in candidates if gate.opens(reader)), None)
            if chosen is not None and (was.get(site["id"]) != KNOWS_THE_URL or chosen == KNOWS_THE_URL):
                readers[site["id"]] = chosen
    return readers


def served(store: Store, base: str, readers: Mapping[str, Reader]) -> dict[str, str]:
    """The page (id) at each URL that answers for these readers of sites, by the sandbox's own rule. `base`: what its URLs begin with."""
    answers: dict[str, str] = {}
    for organization in (ORGANIZATION, BETA):
        for site in store.select("site", organization=organization):
            if (reader := readers.get(site["id"])) is not None:
                root = published_url(base, site)
                for path, answer in SitePages(store, Shown(store, site, reader)).answers().items():
                    answers[f"{root}/{path}".rstrip("/")] = str(answer.page.data["id"])
    return answers


def crawled(base: str, urls: Iterable[str], readers: Mapping[str, Reader]) -> dict[str, str]:
    """The title of the page at each of these URLs, asked over HTTP; what answers 404 is left out. `readers`: by the URL of the site."""
    titles: dict[str, str] = {}
    for url in sorted(set(urls)):
        reader = next((reader for root, reader in readers.items() if f"{url}/".startswith(f"{root}/")), KNOWS_THE_URL)
        with httpx2.Client(base_url=base, headers={HEADER: reader.model_dump_json(), SECRET: TOKEN}) as client:
            answer = client.get(urlsplit(url).path)
        assert answer.status_code in (200, 404), (url, answer.status_code)
        if answer.status_code == 200:
            title = re.search("<title>(.*?) · ", answer.text)
            assert title is not None
            titles[url] = unescape(title[1])
    return titles


def roots(store: Store, base: str, readers: Mapping[str, Reader]) -> dict[str, Reader]:
    """The readers by the URLs of their sites."""
    sites = [site for organization in (ORGANIZATION, BETA) for site in store.select("site", organization=organization)]
    return {published_url(base, site): readers[site["id"]] for site in sites if site["id"] in readers}
