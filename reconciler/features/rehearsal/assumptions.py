"""What a copy has to guess about the service, as far as a plan depends on it. Pure; docs/service-contract.md has the guesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reconciler.model import Action, Plan
from reconciler.resource import Kind, Kinds


def assumptions(kinds: Kinds, plan: Plan) -> tuple[str, ...]:
    """A sentence for each guess that this plan touches."""
    touched = [(kinds[change.kind], change.actions, {delta.name for delta in change.fields}) for change in plan.changes]
    return tuple(sentence for sentence, concerns in GUESSES if any(concerns(*change) for change in touched))


def _copies(kind: Kind, actions: tuple[Action, ...], fields: set[str]) -> bool:
    create = kind.api.get("create")
    return Action.CREATE in actions and create is not None and create.copies is not None


def _derived(kind: Kind, actions: tuple[Action, ...], fields: set[str]) -> bool:
    return bool(actions) and any(
        field.derived is not None and (Action.CREATE in actions or name in fields) for name, field in kind.fields.items()
    )


def _published(kind: Kind, actions: tuple[Action, ...], fields: set[str]) -> bool:
    return bool(actions) and kind.published is not None


def _deletes(kind: Kind, actions: tuple[Action, ...], fields: set[str]) -> bool:
    return Action.DELETE in actions


def _sends(kind: Kind, actions: tuple[Action, ...], fields: set[str]) -> bool:
    return bool(fields) and not {Action.CREATE, Action.UPDATE}.isdisjoint(actions)


def _orders(kind: Kind, actions: tuple[Action, ...], fields: set[str]) -> bool:
    return kind.ordered and not {Action.CREATE, Action.MOVE}.isdisjoint(actions)


def _processed(kind: Kind, actions: tuple[Action, ...], fields: set[str]) -> bool:
    return bool(actions) and kind.work is not None


GUESSES: Final[tuple[tuple[str, Callable[[Kind, tuple[Action, ...], set[str]], bool]], ...]] = (
    ("Values are stored as they are sent.", _sends),
    ("An object comes where its request puts it, a new one last, and lists show them in that order.", _orders),
    ("A copy of a space comes beside its source, with its pages.", _copies),
    ("A path that the YAML does not write follows from the title: lower case, hyphens, a number where it is taken.", _derived),
    (
        "A published URL is that of the site, then the path of the section, of the variant, and of the page; a copy has no redirects.",
        _published,
    ),
    ("A delete takes what is inside along; the first one that remains becomes the default.", _deletes),
    ("What the service processes later ends well.", _processed),
)
