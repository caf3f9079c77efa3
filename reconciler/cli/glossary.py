"""The words of the documentation that are not a kind or a key, each with its meaning and the page that says more. Data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Meaning(NamedTuple):
    """What a word means, and the page about it."""

    text: str
    page: str


WORDS: Final[Mapping[str, Meaning]] = {
    "address": Meaning(
        "The name of a resource: the key of its organization, then pairs of kind and key, such as acme/site/docs/section/guides.",
        "docs/reference/configuration.md#addresses-and-patterns",
    ),
    "consent": Meaning(
        "What you allow one run to do: an exposure, a deletion of something protected, a replacement, URLs that end. It is an option "
        "(--allow-…) or an answer at the terminal. No file and no variable can give it.",
        "docs/exposure.md#allow-an-exposure",
    ),
    "drift": Meaning(
        "What somebody changed in the service since the last apply, outside Reconciler. It can be accepted into the files, or reverted.",
        "docs/drift.md",
    ),
    "exposure": Meaning(
        "A change that lets more people read something, or that removes a protection. The plan marks it, and apply asks for consent.",
        "docs/exposure.md",
    ),
    "guard": Meaning(
        "A limit of the project that no run exceeds without consent: how many objects may be deleted, how many admins must remain.",
        "docs/reference/configuration.md#project-file",
    ),
    "guest": Meaning(
        "A role of members that gives nothing by itself: a guest can read what lets in every member, or what they were given.",
        "docs/access.md#readers",
    ),
    "inherit": Meaning(
        "A defaultLevel that is the level of the collection around the object. At the top it is each member's own role; a guest has none.",
        "docs/access.md#readers",
    ),
    "ledger": Meaning(
        "The record in the state of the URLs at which pages answered: since when, and which run ended them. Redirects are written from it.",
        "docs/urls.md#the-ledger",
    ),
    "rehearsal": Meaning(
        "A plan that is applied to a copy of the organization on this machine, and watched by readers: what they lose at each moment.",
        "docs/rehearsal.md",
    ),
    "sandbox": Meaning(
        "The whole service as a program on this machine, with its data in one file. Nothing that you try on it reaches the service.",
        "docs/sandbox.md",
    ),
    "tracked": Meaning(
        "Known to the state by its id. A declared object that is not tracked yet is found by its id or name, and adopted.",
        "docs/import.md",
    ),
    "variant": Meaning(
        "One of the spaces of a section or a site between which readers choose: a version, a language, a product. Its kind is site-space.",
        "docs/how-to/change-site-structure.md",
    ),
}
