"""`Resource`, the base class of every declaration: compiles a class body into a `Kind` and refuses contradictions.

Raises `DeclarationError` when the class is defined, so that an invalid declaration cannot be imported.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, ClassVar, get_type_hints

from reconciler.resource.contradictions import check
from reconciler.resource.field import Field
from reconciler.resource.kind import Kind
from reconciler.resource.places import Place
from reconciler.resource.requests import Listing, One, Reading, Verbs


class Resource:
    """A resource kind: subclass it with a docstring, `reads`, `api` and fields. See CONTRIBUTING, "Add a kind".

    Keywords of the class: `kind`, its name; `place`, its location in the YAML; and the attributes of `Kind` that have a default.
    """

    kind: ClassVar[Kind]
    reads: ClassVar[tuple[Reading, ...]] = ()
    api: ClassVar[Verbs] = Verbs()

    def __init_subclass__(cls, *, kind: str, place: Place, **options: Any) -> None:
        super().__init_subclass__()
        hints = get_type_hints(cls, include_extras=True)
        fields = {
            name: replace(field, name=name, type=hints.get(name), wire=field.wire or name, on=_verbs(field.on, cls.api))
            for name, field in vars(cls).items()
            if isinstance(field, Field)
        }
        declared = Kind(kind, inspect.cleandoc(cls.__doc__ or ""), place, cls.reads, cls.api, fields, **options)
        permission = declared.permission
        if declared.create_permission is None and permission is not None and permission.of is not None:
            declared = replace(declared, create_permission=permission)
        if any(field.one_per for field in fields.values()):
            # One object by its container's path shows all that the container can have: it is a list that is never incomplete.
            reads = tuple(Listing(reading.path, single=True) if isinstance(reading, One) else reading for reading in cls.reads)
            declared = replace(declared, one_per=True, local_ids=True, reads=reads)
        cls.kind = replace(declared, object=declared.object or kind)
        check(cls.kind)


def _verbs(on: tuple[str, ...], api: Verbs) -> tuple[str, ...]:
    """The verbs that send a field; of those with a "?", the ones that the kind has."""
    return tuple(verb.removesuffix("?") for verb in on if not verb.endswith("?") or verb.removesuffix("?") in api)
