"""Creates under a unique name: the object is created with a marker as its name, and then gets its declared name. Pure.

In: creates, and random digits. Out: the create with the marker in place of the name, and the step that sets the name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.model import Step
from reconciler.resource import Kind, Kinds, Verb

PREFIX: Final = "reconciler:"
_MARK: Final = re.compile(PREFIX + r"[0-9a-f]{8}")


def is_mark(value: Any) -> bool:
    """Whether a name is a marker: `reconciler:` and eight digits."""
    return isinstance(value, str) and _MARK.fullmatch(value) is not None


def marked(kind: Kind, step: Step, nonce: str) -> Step:
    """The create with a marker as its name; the step itself where creates of the kind carry none. `nonce`: eight hexadecimal digits."""
    name = kind.api[step.verb].marker if step.verb == "create" else None
    if name is None or not isinstance(step.body, dict):
        return step
    mark = PREFIX + nonce
    return replace(
        step,
        body={**step.body, kind.fields[name].wire: mark},
        writes={**step.writes, name: mark},
        identity={**step.identity, name: mark},
    )


def naming(kinds: Kinds, kind: Kind, step: Step) -> Step:
    """The request that gives the object of a marked create the name that the planned `step` has for it."""
    name = kind.api["create"].marker
    assert name is not None
    return renaming(kinds, kind, step, step.address, name, step.writes[name])


def renaming(kinds: Kinds, kind: Kind, step: Step, target: str | Address, name: str, value: Any) -> Step:
    """The request that writes the name of an object, and nothing else. `step`: the planned step that it is part of. `target`: the id of the
    object, or the address of one without an id yet. `name`: the field of its name."""
    verb = naming_verb(kind, name)
    assert verb is not None

    def fill(part: str) -> str | Address:
        if not part.startswith("{"):
            return part
        if part != "{id}":
            return kinds.container(step.address, part[1:-1])
        return bare(target) if isinstance(target, str) else target

    return Step(
        id=step.id,
        address=step.address,
        kind=step.kind,
        verb=verb.name,
        method=verb.method,
        path=tuple(fill(part) for part in verb.path.strip("/").split("/")),
        body={kind.fields[name].wire: value},
        writes={name: value},
        target=target,
    )


def naming_verb(kind: Kind, name: str) -> Verb | None:
    """The verb that can change the field of a name alone; None where the kind has none."""
    return next((verb for verb in kind.update_verbs if verb.name in kind.fields[name].on and not verb.whole), None)
