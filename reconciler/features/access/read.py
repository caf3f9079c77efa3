"""Who can read what, now and after the plan: read from every list, and reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from reconciler.address import Address
from reconciler.config.source.nodes import Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Enough, Problems
from reconciler.errors import UsageError
from reconciler.features.access.review import Review, review
from reconciler.features.access.section import NamedReaders
from reconciler.model import Desired, NamedReader, ReaderSort, Source
from reconciler.resource import Kinds
from reconciler.run.opened import Run
from reconciler.run.stages import Planned

FORMS: Final = "anyone, agent, link=KEY, role=ROLE, member=E-MAIL, team=KEY or claims=NAME=VALUE[,NAME=VALUE]"


def access_of(run: Run, readers: Sequence[str] = (), about: Address | None = None, *, people: bool = False, whole: bool = False) -> Review:
    """Who can read what, found with GET requests. `readers`: only these, as texts such as `role=guest`; all classes of readers where none
    is given. `about`: one object, with everybody who can read it by name. `people`: what single people were given is read. `whole`: see
    `review`. Raises `UsageError`, for a reader before anything is asked."""
    desired = run.project.desired
    named = [_named(text, run.plain, desired) for text in readers]
    run.warn_unseen()
    if people or about is not None or any(reader.person is not None for reader in named):
        desired = replace(desired, read_people=True)
    planned = run.plan(everything=True, pages=False, desired=desired)
    try:
        shown = reviewed(planned, named, about, whole=whole)
    except KeyError:
        hint = "reconciler access shows everything that has readers."
        raise UsageError(f"--who {about}: nothing with readers has this address", id="RC-not-tracked", hint=hint) from None
    if shown.strangers:
        wrong = f"{' and '.join(shown.strangers)} is not a member of the organization"
        raise UsageError(wrong, id="RC-not-a-member", hint="Pass the e-mail of a member: --as member=ada@acme.example")
    return shown


def reviewed(planned: Planned, named: Sequence[NamedReader] = (), about: Address | None = None, *, whole: bool = False) -> Review:
    """Who can read what before and after a plan that was made from every list. See `review`."""
    return review(planned.kinds, planned.desired, planned.state, planned.actual, planned.plan, named, about, whole=whole)


def _named(text: str, kinds: Kinds, desired: Desired) -> NamedReader:
    """The reader in a text such as `role=guest`. Raises `UsageError`."""
    at, problems = Source("--as", 1), Problems([])

    def entries(pairs: list[tuple[str, Node]]) -> Map:
        return Map(at, {name: MapEntry(name, at, node) for name, node in pairs})

    sort, equals, value = text.partition("=")
    node: Node = Scalar(at, text)
    if equals:
        inner: Node = Scalar(at, value)
        if sort == ReaderSort.CLAIMS:
            pairs = [claim.partition("=") for claim in value.split(",") if claim]
            for name, has_value, _ in pairs:
                if not has_value:
                    hint = f"Write claims={name}=VALUE, for example claims={name}=true."
                    raise UsageError(f"--as {text}: the claim {name} has no value", id="RC-no-value", hint=hint)
            inner = entries([(name, Scalar(at, claim)) for name, _, claim in pairs])
        node = entries([(sort, inner)])
    reader = None
    with suppress(Enough):
        reader = NamedReaders(kinds, desired.resources, problems).read(node)
    if reader is None:
        raise UsageError(f"--as {text}: {problems.found[0].message}", id=problems.found[0].id, hint=f"A reader is {FORMS}.")
    return reader
