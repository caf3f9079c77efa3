"""One field of a kind: what its declaration says, and the values it has in the YAML, in a request, in an answer and in the state. Pure.

The same value has four forms, and `Field` is the only place that knows how one becomes another:

    YAML           request            answer                    state
    guides    ->   "spc_1"       <-   {"space": {"id": …}}      "spc_1"
              to        body          read_from, value_in   stored, remembered

Values are compared in the request's form only. A declaration calls one of the functions at the end of this module (`field`, `within`, …),
which return a `Field` without a name; `Resource` fills in the name and the type when the class is defined.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from reconciler.resource.requests import Verb
from reconciler.resource.risks import AddressPart, Exposes
from reconciler.resource.shapes import Shape, completed, managed, normal, shape_of
from reconciler.resource.values import UNSET, Derived, Known, To, WireForm
from reconciler.text.credentials import CONCEALED, MASK, concealed, has_credentials

SECRET_MIN: Final = 3  # characters; a shorter text is in too many values

HOSTED: Final = "(a copy that the service hosts)"
"""What is known of a value that the service replaces by the URL of its own copy."""

CREATE_AND_UPDATE: Final = ("create?", "update?")
"""The verbs that send a field that names none: those of the two that the kind has. `Resource` takes the "?" away."""


class FieldRole(Enum):
    """The role of a field in the engine."""

    VALUE = "value"  # an ordinary value
    WITHIN = "within"  # the fixed container
    INSIDE = "inside"  # the container that may change, or that replaces when it changes
    MEMBER = "member"  # membership through other endpoints
    CHOICE = "choice"  # a default declared here and written as a flag on a child
    FIRST = "first"  # taken from the first child, which the create request creates
    SEED = "seed"  # an argument of a create, sent once, never compared
    OUTPUT = "output"  # server-assigned
    LOCAL = "local"  # known only to the project and its state


class Missed(NamedTuple):
    """Of a field that refers to a kind: a declared resource of that kind that no such field names is reported. `rule`: the id of the lint
    rule; `says`: the message, after its address (`is on no site`)."""

    kind: str
    rule: str
    says: str


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a kind. `field` and its siblings set what a declaration says; the class that contains it sets `name` and `type`."""

    # its name in the YAML, in plans and in the state; "" until its class is defined
    name: str = ""
    # its annotation; None for a field that users do not write
    type: Any = None
    # what the engine does with it
    role: FieldRole = FieldRole.VALUE
    # one sentence about it for users; "" where its role says enough
    doc: str = ""

    # -- how it is sent
    # the verbs whose requests contain it; () if none does
    on: tuple[str, ...] = CREATE_AND_UPDATE
    # what a change means if no verb can send it after the create: send it anyway, refuse it, report it, or replace the object
    on_change: Literal["send", "refuse", "report", "replace"] = "send"
    # its name in a request; "" if that is its own name
    wire: str = ""
    # whether every create must say it
    required: bool = False
    # whether `null` may be written and is sent: the service then removes the value
    clear: bool = False
    # whether it can become true and never false again, as a site that is published
    one_way: bool = False
    # the value that the service sets if a create omits the field (request form). Unlike `usual` it is a fact about the request: a new share
    # link is active, which is not a link's usual state, and a copy has the usual language only if its source has
    initial: Any = UNSET
    # the value that a create sends if the YAML has none, because services differ in what they choose; UNSET if the choice is theirs
    default: Any = UNSET

    # -- how it is read and compared
    # where an answer shows it: a dotted path, or a pure function of the object; "" if under its own name
    read: str | Callable[[Mapping[str, Any]], Any] = ""
    # whether answers show it at all
    readable: bool = True
    # whether a saved plan stays valid where it changes
    incidental: bool = False
    # whether it lists the people who say that they are in the object, so that it is known where these are asked (`PersonalList`)
    gathered: bool = False
    # whether the service may store it differently from what it was sent, so that a difference may be no change
    lossy: bool = False
    # whether the service shows the URL of its own copy, which may differ in each answer: what was sent is compared
    hosted: bool = False
    # whether it is not written where a Git repository is synchronized with the object, or with what contains it (`Kind.synced`)
    synced: bool = False
    # whether values that differ only in case are the same
    caseless: bool = False
    # the value of an object for which nobody chose one (request form, or a pure function of the object): `import` omits it
    usual: Any = UNSET
    # what the service derives it from if no request names it; None if it does not
    derived: Derived | None = None

    # -- identity
    # whether it is part of the natural identity, by which an object without a known id is recognized
    key: bool = False
    # whether siblings must have different values at any moment, also between two requests of one run
    unique: bool = False

    # -- what it refers to
    # the kind of the container, child or object that the role is about; None of an ordinary value (see `refers`)
    to: str | None = None
    # of INSIDE: whether deleting that node deletes the object
    cascade: bool = False
    # of WITHIN: whether the container has at most one such object, which therefore has no id
    one_per: bool = False
    # of CHOICE: the name of the flag in the YAML of the child
    flag: str | None = None
    # of FIRST: the field of the child whose value the create sends
    child_field: str | None = None
    # of MEMBER: the request that puts the object into the container
    join: Verb | None = None
    # of MEMBER: the request that takes it out
    leave: Verb | None = None
    # of SEED: the text that describes its use in a plan
    label: str | None = None
    # of OUTPUT: the output whose object the service copies into the object that this one names, and keeps up to date; None if it does not
    copies: str | None = None
    # who is reported if no field of this kind names them; None if nobody
    missed: Missed | None = None

    # -- what a change endangers
    # whether its value is a secret: never printed, and stored as a digest
    sensitive: bool = False
    # whether the value may come from a secret of the project, and is then treated as one
    secret_allowed: bool = False
    # the value that `guards.minAdmins` objects must always have; None if there is no such value
    scarce: str | None = None
    # which changes give more access; None if none does
    exposes: Exposes | None = None
    # whether the value is a segment of the published URL, or the whole of one; "" if it is in none
    address: AddressPart = ""
    # the values that let everybody read the object at its published URL
    opens: tuple[Any, ...] = ()
    # the values with which nobody can continue the work in it
    locks: tuple[Any, ...] = ()

    # -- for lint
    # what gives the end of the object's validity: the value is a certificate, or a text with a day after the word `until`; "" if nothing
    expires: Literal["", "certificate", "until"] = ""
    # whether the text names who the object is for
    whom: bool = False
    # the dotted path of a value from which this one should differ; "" for none
    differs: str = ""
    # whether the text is a condition on the claims of visitors
    condition: bool = False

    # -- what a run adds; a declaration never says it
    # the state's key for digests of secrets; None before the state is open, and then no secret can be stored
    digest_key: bytes | None = None
    # the texts that the project has from secrets
    secrets: frozenset[str] = frozenset()

    # -- what follows from the type

    @cached_property
    def _parts(self) -> tuple[Any, ...]:
        return tuple(_parts(self.type))

    @cached_property
    def refers(self) -> str | None:
        """The kind that its value is a reference to; None if it is not a reference."""
        return next((part.kind for part in self._parts if isinstance(part, To)), None)

    @cached_property
    def known(self) -> tuple[str, ...]:
        """The values that the service has today; () for any."""
        return next((part.values for part in self._parts if isinstance(part, Known)), ())

    @cached_property
    def wire_form(self) -> WireForm | None:
        """How its values are sent if not as written."""
        return next((part for part in self._parts if isinstance(part, WireForm)), None)

    @cached_property
    def shape(self) -> Shape | None:
        """The inside of its values; None if they have none."""
        return shape_of(self.type)

    @cached_property
    def exact(self) -> bool:
        """Whether the service returns its values exactly as they were sent."""
        refers = self.role in (FieldRole.INSIDE, FieldRole.MEMBER, FieldRole.CHOICE)
        return not self.lossy and (refers or any(_is_exact(part) for part in self._parts))

    # -- how it is read

    @cached_property
    def at(self) -> str | None:
        """The dotted path of its value in an answer; None where a function finds it."""
        return (self.read or self.name) if isinstance(self.read, str) else None

    @cached_property
    def read_from(self) -> Callable[[Mapping[str, Any]], Any]:
        """The function that reads the field from an answer; UNSET if the answer does not show it."""
        plain = self.read if not isinstance(self.read, str) else _dotted(self.read or self.name)
        declared = frozenset(name for part in self._parts if is_typeddict(part) for name in get_type_hints(part))
        if not declared:
            return plain

        # All keys of a `TypedDict` are declared. Others come from a later version of the service, which is not a difference.
        def known(raw: Mapping[str, Any]) -> Any:
            value = plain(raw)
            return {name: part for name, part in value.items() if name in declared} if isinstance(value, Mapping) else value

        return known

    # -- its role

    @cached_property
    def container(self) -> bool:
        """Whether the field names the container of the object."""
        return self.role in (FieldRole.INSIDE, FieldRole.MEMBER)

    @cached_property
    def written(self) -> bool:
        """Whether users write it as a key of the resource (containers, choices and first children follow from the location in the YAML)."""
        return self.role in (FieldRole.VALUE, FieldRole.SEED, FieldRole.LOCAL)

    @cached_property
    def compared(self) -> bool:
        """Whether a difference in it can be a reason for a change."""
        return self.role in (FieldRole.VALUE, FieldRole.INSIDE, FieldRole.MEMBER, FieldRole.CHOICE)

    def body(self, value: Any) -> Any:
        """The request's form of a value (references already turned into ids): the only form that is compared. Idempotent."""
        if self.wire_form is not None:
            value = self.wire_form.body(value)
        return value if self.shape is None else normal(self.shape, value)

    @cached_property
    def unordered(self) -> bool:
        """Whether its value is a list without an order."""
        return self.shape is not None and self.shape.unordered

    def managed(self, value: Any, *written: Any) -> Any:
        """The part of a value that is compared: without keys that are unknown and that no written value has."""
        return value if self.shape is None else managed(self.shape, value, written)

    def same(self, value: Any, other: Any, *written: Any) -> bool:
        """Whether two values agree in what is compared; see `managed`."""
        return bool(value == other or (self.shape is not None and self.managed(value, *written) == self.managed(other, *written)))

    def agree(self, value: Any, other: Any) -> bool:
        """Whether two readings agree: unknown keys that only one of them has are ignored."""
        return bool(value == other or (self.shape is not None and self.managed(value, other) == self.managed(other, value)))

    def whole(self, raw: Mapping[str, Any]) -> Any:
        """The structured value in an object of the service, with keys that `read` leaves out; UNSET if the object does not show it."""
        value: Any = raw if self.at is not None and self.shape is not None else UNSET
        for key in (self.at or "").split("."):
            value = value.get(key, UNSET) if isinstance(value, Mapping) else UNSET
        return value

    def completed(self, wanted: Any, now: Any, sent: Any) -> Any:
        """The value that a request sends: the wanted one, with the unmanaged parts of the current one."""
        return wanted if self.shape is None or now is UNSET else completed(self.shape, wanted, now, sent)

    def reading(self, value: Any) -> Any:
        """What a value that the service shows says: of a hosted copy only that there is one, because its URL may differ in each answer."""
        return HOSTED if self.hosted and value is not UNSET and value is not None else value

    def remembered(self, value: Any) -> Any:
        """A value of the state in the request's form of this version; a digest is unchanged."""
        return value if self.sensitive or value is UNSET else self.body(value)

    def shown(self, wire: Any) -> Any:
        """The YAML's form of a request's value, for people."""
        return self.wire_form.show(wire) if self.wire_form is not None and wire is not UNSET else wire

    def value_in(self, raw: Mapping[str, Any]) -> Any:
        """The value of this field in an object of the service, in the request's form; UNSET if the object does not show it."""
        if not self.readable:
            return UNSET
        value = self.read_from(raw)
        if value is UNSET and (self.clear or self.container):
            value = None
        return value if value is UNSET else self.reading(self.body(value))

    def stored(self, value: Any, of: str) -> Any:
        """A request's value as the state stores it for the object with the id `of`: a secret as a digest with the key of the state, and of
        any other value the credentials in it.

        Raises `ValueError` for a secret if there is no key; see `Kinds.with_digest_key`.
        """
        if value is UNSET or not self.hides(value):
            return value
        if self.sensitive and self.digest_key is None:
            raise ValueError(f"{self.name} is sensitive, and there is no key to keep it with")

        def digest(secret: Any) -> str:
            text = json.dumps([of, self.name, secret], sort_keys=True, default=str)
            key = self.digest_key or b""
            return CONCEALED + hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest() if key else MASK

        return digest(value) if self.sensitive or self.is_secret(value) else concealed(value, digest)

    def hides(self, value: Any) -> bool:
        """Whether a value is a secret, or contains one: it is never stored in plain text."""
        return self.sensitive or has_credentials(value) or self.is_secret(value)

    def is_secret(self, value: Any) -> bool:
        """Whether a value contains one of the secrets of the project, or is the digest of such a value."""
        if not self.secret_allowed or value is UNSET:
            return False
        if isinstance(value, str) and value.startswith(CONCEALED):
            return True
        if isinstance(value, Mapping):
            return any(self.is_secret(part) for part in value.values())
        return isinstance(value, str) and any(secret in value for secret in self.secrets if len(secret) >= SECRET_MIN)


def _is_exact(part: Any) -> bool:
    """Whether values of a type come back as they were sent: booleans, numbers, enumerations, references, and collections of these."""
    if part in (bool, int, float, Literal) or isinstance(part, To):
        return True
    return is_typeddict(part) and all(any(map(_is_exact, _parts(inner))) for inner in get_type_hints(part, include_extras=True).values())


def _parts(hint: Any) -> Iterator[Any]:
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


def _dotted(path: str) -> Callable[[Mapping[str, Any]], Any]:
    keys = path.split(".")

    def dotted(raw: Mapping[str, Any]) -> Any:
        value: Any = raw
        for key in keys:
            # asking for the class first: answers are dictionaries, and asking an ABC takes longer than the rest of this loop
            if not (type(value) is dict or isinstance(value, Mapping)) or key not in value:
                return UNSET
            value = value[key]
        return value

    return dotted


# -- what declarations call. They return `Any`, because a class body says `title: str = field(…)` --------------------------------------


def _verbs(on: str | tuple[str, ...]) -> tuple[str, ...]:
    return (on,) if isinstance(on, str) else on


def field(doc: str = "", *, on: str | tuple[str, ...] = CREATE_AND_UPDATE, **options: Any) -> Any:
    """An ordinary value. `doc`: one sentence about it for users. `on`: the verbs that send it. `options`: more of `Field`."""
    return Field(doc=doc, on=_verbs(on), **options)


def within(kind: str, *, on: str | tuple[str, ...] = ()) -> Any:
    """The fixed container: fills its placeholder; deleting it deletes this object.

    `on`: the verbs whose body names it too; `transfer` moves the object to the named container.
    """
    return Field(role=FieldRole.WITHIN, to=kind, on=_verbs(on))


def one_per(kind: str) -> Any:
    """The fixed container of an object without an id, of which it has at most one."""
    return Field(role=FieldRole.WITHIN, to=kind, on=(), one_per=True)


def inside(
    kind: str,
    *,
    on: str | tuple[str, ...],
    **options: Any,
) -> Any:
    """The node that contains it, which may change; None at the root of the list. `options`: the other attributes of `Field`."""
    return Field(role=FieldRole.INSIDE, to=kind, on=_verbs(on), **options)


def member_of(kind: str, *, join: Verb, leave: Verb, wire: str) -> Any:
    """Membership that is written through the container's endpoints; `wire` is the body field of `join` that takes this object's id."""
    return Field(role=FieldRole.MEMBER, to=kind, on=(), join=replace(join, name="join"), leave=replace(leave, name="leave"), wire=wire)


def choice(kind: str, *, flag: str, on: str) -> Any:
    """A default among the children of a kind: in the YAML it is a flag on one child per parent; the value is written to the parent."""
    return Field(role=FieldRole.CHOICE, to=kind, flag=flag, on=_verbs(on))


def first(kind: str, child_field: str) -> Any:
    """Sent on create with the first child's field; this create request then creates that child."""
    return Field(role=FieldRole.FIRST, to=kind, child_field=child_field, on=("create",))


def seed(doc: str, to: str, *, label: str) -> Any:
    """An argument of a create, a reference; sent once, never compared, never a reason for a change. `label`: the text that describes its
    use."""
    return Field(role=FieldRole.SEED, to=to, on=("create",), label=label, doc=doc)


def output(to: str | None = None, *, read: str = "", copies: str | None = None, incidental: bool = False) -> Any:
    """Server-assigned: shown, never sent, never compared. `read`: where the answer shows it, a dotted path (default: its own name).
    `incidental`: a saved plan stays valid where it changes.

    `to`: the kind of the object whose id the value is. `copies`: the service creates that object for this one, and copies the contents of
    the object in the output `copies` into it: it needs no management, and its readers read those contents.
    """
    return Field(role=FieldRole.OUTPUT, on=(), to=to, read=read, copies=copies, incidental=incidental)


def local(doc: str, *, exposes: Exposes | None = None) -> Any:
    """A value that only the project knows: never sent, stored in the state."""
    return Field(role=FieldRole.LOCAL, on=(), readable=False, exposes=exposes, doc=doc)
