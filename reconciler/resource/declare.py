"""`Resource`, the base class of every declaration: compiles a class body into a `Kind` and refuses contradictions.

Raises `DeclarationError` when the class is defined, so that an invalid declaration cannot be imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from reconciler.errors import DeclarationError
from reconciler.resource.audience import Audience
from reconciler.resource.contradictions import contradictions
from reconciler.resource.dangers import Needed, Permission, ProcessingField, PublishedField
from reconciler.resource.kind import Field, Kind
from reconciler.resource.places import Place
from reconciler.resource.shapes import shape_of
from reconciler.resource.values import UNSET, Known, To, WireForm
from reconciler.resource.verbs import Verb, Verbs
from reconciler.resource.words import FieldRole, FieldWord, Listing, One, Reading


class Resource:
    """A resource kind: subclass it with a docstring, `reads`, `api` and fields. See CONTRIBUTING, "Add a kind".

    Class attributes: `kind` the name used everywhere; `place` its location in the YAML; `object` the constant that marks its objects in
    answers (default: the kind's name); `replaceable`: a change of a create-only field may delete and create; `protected`: deletes require
    consent by default; `prune`: the default scope; `undeclared`: may be referenced without being declared; `local_ids`: two objects in
    different containers may have the same id; `deleted_at` and `restore_days`: the field that marks a deleted object that can still be
    restored, and for how long; `published`: the field with an object's published URL; `loses`: the protection that a delete removes;
    `needed`: when an object is in use; `work`: where an object shows whether the service has processed it; `permission`: what requests for
    an object require, `create_permission`: what a create requires (default: the same, of a container); `audience`: who can read its
    objects; `claims`: the JSON Schema of the claims of visitors that an object declares; `seeds`: the list of a sandbox's seed
    that contains its objects; `id_is`: the key of the answers that identifies an object (default: `id`); `owner`: the dotted path at which
    answers name the fixed container (default: its kind), for requests that list the objects of several; `grants`: what a create lets others
    do.
    """

    kind: ClassVar[Kind]
    reads: ClassVar[tuple[Reading, ...]] = ()
    api: ClassVar[Verbs] = Verbs()

    def __init_subclass__(
        cls,
        *,
        kind: str,
        place: Place,
        object: str | None = None,
        replaceable: bool = False,
        protected: bool = False,
        prune: str = "owned",
        undeclared: bool = False,
        local_ids: bool = False,
        deleted_at: str | None = None,
        restore_days: int = 0,
        published: PublishedField | None = None,
        loses: str = "",
        needed: Needed | None = None,
        work: ProcessingField | None = None,
        permission: Permission | None = None,
        create_permission: Permission | None = None,
        audience: Audience | None = None,
        claims: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
        seeds: str = "",
        id_is: str = "id",
        owner: str = "",
        grants: str = "",
    ) -> None:
        super().__init_subclass__()
        hints = get_type_hints(cls, include_extras=True)
        words = {name: word for name, word in vars(cls).items() if isinstance(word, FieldWord)}
        one_per = any(word.one_per for word in words.values())
        reads = tuple(Listing(read.path, single=True) if one_per and isinstance(read, One) else read for read in cls.reads)
        fields = {name: _compile(name, hints.get(name), word, cls.api) for name, word in words.items()}
        of_container = permission is not None and permission.of is not None
        cls.kind = Kind(
            name=kind, doc=inspect.cleandoc(cls.__doc__ or ""), place=place, reads=reads, api=cls.api, fields=fields,
            object=object or kind, replaceable=replaceable, protected=protected, prune=prune, undeclared=undeclared,
            local_ids=local_ids or one_per, one_per=one_per, deleted_at=deleted_at, restore_days=restore_days, published=published,
            loses=loses, needed=needed, work=work, permission=permission, audience=audience, claims=claims, seeds=seeds, id_is=id_is,
            owner=owner, grants=grants,
            create_permission=create_permission or (permission if of_container else None),
        )  # fmt: skip
        wrong = next(contradictions(cls.kind), None)
        if wrong is not None:
            raise DeclarationError(f"kind {kind}: {wrong}", id="RC-kind-contradiction")


def _compile(name: str, hint: Any, word: FieldWord, api: Verbs) -> Field:
    on = word.on if word.on is not None else tuple(verb for verb in ("create", "update") if verb in api)
    parts = list(_parts(hint))
    read = name if word.read is None else word.read
    return Field(
        name=name, type=hint, role=word.role, on=on, on_change=word.on_change, to=word.to, wire=name if word.wire is None else word.wire,
        read=_reader(read, parts), at=read if isinstance(read, str) else None, required=word.required, clear=word.clear,
        sensitive=word.sensitive, readable=word.readable, lossy=word.lossy, hosted=word.hosted, key=word.key,
        one_way=word.one_way, unique=word.unique, cascade=word.cascade,
        flag=word.flag, child_field=word.child_field, join=_named(word.join, "join"), leave=_named(word.leave, "leave"), label=word.label,
        copies=word.copies, scarce=word.scarce, usual=word.usual, initial=word.initial, derived=word.derived,
        exposes=word.exposes, address=word.address, opens=word.opens, expires=word.expires, whom=word.whom, differs=word.differs,
        condition=word.condition, secret_allowed=word.secret_allowed, missed=word.missed, caseless=word.caseless,
        known=next((part.values for part in parts if isinstance(part, Known)), ()),
        wire_form=next((part for part in parts if isinstance(part, WireForm)), None),
        shape=shape_of(hint),
        refers=next((part.kind for part in parts if isinstance(part, To)), None),
        exact=not word.lossy and (word.role in _REFERENCES or any(_is_exact(part) for part in parts)), doc=word.doc,
    )  # fmt: skip


_REFERENCES = (FieldRole.INSIDE, FieldRole.MEMBER, FieldRole.CHOICE)


def _is_exact(part: Any) -> bool:
    """Whether the service returns its values exactly as they were sent: booleans, numbers, enumerations, references, and collections of
    these."""
    if part in (bool, int, float, Literal) or isinstance(part, To):
        return True
    return is_typeddict(part) and all(any(map(_is_exact, _parts(inner))) for inner in get_type_hints(part, include_extras=True).values())


def _named(verb: Verb | None, name: str) -> Verb | None:
    return None if verb is None else Verb(**{**vars(verb), "name": name})


def _parts(hint: Any) -> Any:
    """The annotation's own type and metadata, through `Annotated` and unions, not into collections."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *extras = get_args(hint)
        yield from extras
        yield from _parts(inner)
    elif origin in (Union, UnionType):
        for option in get_args(hint):
            yield from _parts(option)
    else:
        yield origin or hint


def _reader(read: str | Callable[[Mapping[str, Any]], Any], parts: Sequence[Any]) -> Callable[[Mapping[str, Any]], Any]:
    """The function that reads the field from an answer. Of a value whose keys are all declared (a `TypedDict`), other keys are ignored:
    later versions of the service may add some, which is not a difference.
    """
    plain = read if not isinstance(read, str) else _dotted(read)
    declared = frozenset(name for part in parts if is_typeddict(part) for name in get_type_hints(part))
    if not declared:
        return plain

    def known(raw: Mapping[str, Any]) -> Any:
        value = plain(raw)
        return {name: part for name, part in value.items() if name in declared} if isinstance(value, Mapping) else value

    return known


def _dotted(read: str) -> Callable[[Mapping[str, Any]], Any]:
    keys = read.split(".")

    def dotted(raw: Mapping[str, Any]) -> Any:
        value: Any = raw
        for key in keys:
            if not (type(value) is dict or isinstance(value, Mapping)) or key not in value:
                return UNSET
            value = value[key]
        return value

    return dotted
