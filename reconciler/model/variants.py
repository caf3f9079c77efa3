"""Where the pages of an object are shown, and the URLs below which they answer there, as far as no page need be known for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.address import Address

Key = tuple[str, str]
"""An object: its kind and its id."""


@dataclass(frozen=True)
class Variant:
    """One place that shows the pages of an object at URLs.

    `at`: the object that shows them. `space`: the object that contains them. `site`: what publishes both. `root`: the URL of the site.
    `bases`: the URLs below which the pages answer, by what is left out of them: 0 for every segment; a lower number takes a URL away from a
    higher one. Empty where only the service knows them. `is_open`: to everybody who knows the URL, not only to those whom the site admits.
    `by_link`: to those alone who hold a share link of this site, which opens no other one.
    `conditions`: those that a visitor meets without any claim, such as `!visitor.claims.staff`: who has that claim does not read there.
    `is_adaptive`: whether the conditions of pages count too.
    """

    at: Key
    space: Key
    site: Key
    root: str
    bases: Mapping[int, str]
    is_open: bool = True
    by_link: bool = False
    conditions: frozenset[str] = frozenset()
    is_adaptive: bool = False


class SecretUrl(NamedTuple):
    """A URL that ends and is not shown. `title`: of what admits those who know it. `digest`: the text that stands for the URL."""

    site: Address
    title: str
    digest: str


@dataclass(frozen=True)
class SiteUrls:
    """The variants of every site in which a plan changes a URL, before and after the plan, as far as no page need be known for that.

    `names`: the addresses of spaces and sites. `titles`: of spaces. `created`: spaces that the plan creates, whose pages nobody knows yet.
    `secret`: the URLs that end and are not shown. `readable_before`, `readable_after`: whatever anybody can read at a URL, in any site,
    also by a condition; `is_open` there means: without signing in. Empty where no redirect depends on it.
    """

    before: tuple[Variant, ...] = ()
    after: tuple[Variant, ...] = ()
    names: Mapping[Key, Address] = field(default_factory=dict)
    titles: Mapping[Key, str] = field(default_factory=dict)
    created: frozenset[Key] = frozenset()
    secret: tuple[SecretUrl, ...] = ()
    readable_before: tuple[Variant, ...] = ()
    readable_after: tuple[Variant, ...] = ()
