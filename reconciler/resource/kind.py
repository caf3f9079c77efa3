"""A kind as the engine sees it: what a declaration compiles to. Frozen data, and pure functions of it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address
from reconciler.resource.audience import Audience
from reconciler.resource.dangers import AddressPart, Exposes, Needed, Permission, ProcessingField, PublishedField
from reconciler.resource.places import Place
from reconciler.resource.shapes import Shape, completed, managed, normal
from reconciler.resource.values import UNSET, Derived, WireForm
from reconciler.resource.verbs import LIFECYCLE, Verb
from reconciler.resource.words import Expires, FieldRole, Listing, Lookup, Missed, OnChange, One, Reading, Sighting
from reconciler.text.credentials import CONCEALED, MASK, concealed, has_credentials

SECRET_MIN: Final = 3  # characters; a shorter text is in too many values
URL: Final = "url"
"""The name of the published URL in `expect`; it is not a field."""

HOSTED: Final = "(a copy that the service hosts)"
"""What is known of a value that the service replaces by the URL of its own copy."""


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a kind. `type` is the annotation, `wire` the name in requests, `refers` the kind that its value is a reference to.

    `at`: the dotted path of its value in an answer; None where `read` finds it in another way. `known`: the values that the service
    has today, () for any. `secrets`: texts that the project has from secrets. See `words.field` for the rest.
    """

    name: str
    type: Any
    role: FieldRole
    on: tuple[str, ...]
    on_change: OnChange
    to: str | None
    wire: str
    read: Callable[[Mapping[str, Any]], Any]
    at: str | None
    required: bool
    clear: bool
    sensitive: bool
    readable: bool
    lossy: bool
    hosted: bool
    key: bool
    one_way: bool
    unique: bool
    cascade: bool
    flag: str | None
    child_field: str | None
    join: Verb | None
    leave: Verb | None
    label: str | None
    scarce: str | None
    usual: Any
    initial: Any
    wire_form: WireForm | None
    shape: Shape | None
    exact: bool
    derived: Derived | None
    exposes: Exposes | None
    address: AddressPart
    opens: tuple[Any, ...]
    doc: str
    refers: str | None = None
    copies: str | None = None
    digest_key: bytes | None = None
    expires: Expires = ""
    whom: bool = False
    differs: str = ""
    condition: bool = False
    secret_allowed: bool = False
    secrets: frozenset[str] = frozenset()
    known: tuple[str, ...] = ()
    missed: Missed | None = None
    caseless: bool = False

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
        value = self.read(raw)
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


@dataclass(frozen=True, eq=False)
class Kind:
    """A declared type of remote object."""

    name: str
    doc: str
    place: Place
    reads: tuple[Reading, ...]
    api: Mapping[str, Verb]
    fields: Mapping[str, Field]
    object: str
    replaceable: bool
    protected: bool
    prune: str
    undeclared: bool
    local_ids: bool
    one_per: bool
    deleted_at: str | None
    restore_days: int
    published: PublishedField | None
    loses: str
    needed: Needed | None
    work: ProcessingField | None
    permission: Permission | None
    create_permission: Permission | None
    audience: Audience | None
    claims: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None
    seeds: str
    id_is: str
    owner: str
    grants: str

    def __repr__(self) -> str:
        return f"Kind({self.name})"

    def identity(self, id: str, within: Mapping[str, str]) -> str:
        """The id that no other object of the kind has: the service's own, prefixed with its container's if it is unique only there
        (`local_ids`).

        `within`: the ids of the containers by kind. `bare` returns the service's own id again, for paths and bodies; if `within` lacks the
        container, so does this. No id of the service contains a `/`.
        """
        outer = within.get(self.within or "") if self.local_ids else None
        return f"{outer}/{id}" if outer else id

    def own_id(self, raw: Mapping[str, Any]) -> str:
        """The id of an object of the service in its container; "" if it shows none.

        An object without an id, one per container, is identified by its kind's name: `identity` gives `org_acme/agent-instructions`.
        """
        id = self.name if self.one_per else raw.get(self.id_is)
        return id if isinstance(id, str) else ""

    def owner_of(self, raw: Mapping[str, Any]) -> str | None:
        """The id of the fixed container that an object names; None if it names none."""
        value: Any = raw
        for key in (self.owner or self.within or "").split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, str) else None

    def blank(self, raw: Mapping[str, Any]) -> bool:
        """Whether an object that its container always shows has no values, so that it counts as absent."""
        values = (field.value_in(raw) for field in self.fields.values() if field.compared)
        return self.one_per and all(value is UNSET or value is None for value in values)

    def address(self, container: Address, key: str) -> Address:
        """The address of an object in its fixed container; a singleton has no key."""
        return container.child(self.name) if self.one_per else container.child(self.name, key)

    @cached_property
    def stored_fields(self) -> tuple[tuple[str, Field], ...]:
        """The fields, by name, whose values the state stores."""
        gates = self.audience.gates if self.audience is not None else ()
        return tuple(
            (name, field)
            for name, field in self.fields.items()
            if field.compared or field.key or name in gates or field.role is FieldRole.OUTPUT
        )

    @cached_property
    def service_copies(self) -> tuple[Field, ...]:
        """The fields that name objects that the service creates for an object and updates by itself."""
        return tuple(field for field in self.fields.values() if field.copies is not None)

    @cached_property
    def location_fields(self) -> tuple[Field, ...]:
        """The fields that give an object's location."""
        return tuple(field for field in self.fields.values() if field.container)

    @cached_property
    def expectable(self) -> tuple[str, ...]:
        """The values that the service derives and the YAML may assert: fields, and `url` if it is not secret."""
        derived = tuple(field.name for field in self.fields.values() if field.derived is not None)
        return (*derived, URL) if self.published is not None and not self.published.secret else derived

    @cached_property
    def within(self) -> str | None:
        """The kind of the fixed container; None for a root."""
        return next((f.to for f in self.fields.values() if f.role is FieldRole.WITHIN), None)

    @cached_property
    def inside(self) -> Field | None:
        """The field that names the node that contains the object; None if nodes of this kind do not nest."""
        return next((f for f in self.fields.values() if f.container), None)

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        """The fields of the natural identity."""
        return tuple(f for f in self.fields.values() if f.key)

    @cached_property
    def update_verbs(self) -> tuple[Verb, ...]:
        """The verbs that send fields of an existing object, in the order in which they are tried."""
        return tuple(verb for name, verb in self.api.items() if name not in LIFECYCLE)

    @cached_property
    def reshapes(self) -> frozenset[str]:
        """The kinds whose objects the service rearranges when the first object of this kind is created or the last one deleted."""
        return frozenset(name for verb in self.api.values() for name in verb.reshapes)

    @cached_property
    def transferable(self) -> Field | None:
        """The field of the container that a transfer changes; None if objects of the kind never change their container."""
        return next((field for field in self.fields.values() if field.role is FieldRole.WITHIN and "transfer" in field.on), None)

    @cached_property
    def ordered(self) -> bool:
        """Whether siblings of this kind have an order that can be changed."""
        return "move" in self.api

    @cached_property
    def moves_to_end(self) -> bool:
        """Whether a move to the end names the container instead of a sibling."""
        return self.inside is not None and "move" in self.inside.on

    @cached_property
    def scarce(self) -> Field | None:
        """The field with a value that a minimum of objects must always have."""
        return next((f for f in self.fields.values() if f.scarce is not None), None)

    @cached_property
    def seed(self) -> Field | None:
        return next((f for f in self.fields.values() if f.role is FieldRole.SEED), None)

    @cached_property
    def first(self) -> Field | None:
        return next((f for f in self.fields.values() if f.role is FieldRole.FIRST), None)

    # -- requests that read ---------------------------------------------------------------------------------------------------------

    @cached_property
    def listings(self) -> tuple[Listing, ...]:
        """The requests that list objects, in the order in which they are declared."""
        return tuple(reading for reading in self.reads if isinstance(reading, Listing))

    @cached_property
    def whole_listings(self) -> tuple[Listing, ...]:
        """The listings that each show all objects of a container."""
        return tuple(listing for listing in self.listings if listing.whole)

    @cached_property
    def listed_by(self) -> Field | None:
        """The key field whose values fill a listing: a complete listing shows every object with that value, which no request can change."""
        each = {listing.each for listing in self.listings if listing.each is not None}
        return next((field for field in self.keys if field.role is FieldRole.VALUE and field.refers in each), None)

    def listed_with(self, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """The kind and id of the object with which this one is deleted: no request deletes it, and its list is part of that object."""
        field = self.listed_by
        if field is None or "delete" in self.api or not isinstance(id := values.get(field.name), str):
            return None
        return str(field.refers), id

    @cached_property
    def lister_listing(self) -> Listing | None:
        """The listing that is requested with the id of a member who can see everything."""
        return next((listing for listing in self.listings if listing.lister), None)

    @cached_property
    def by_id(self) -> One | None:
        """The request that reads one object by its own id."""
        return next((reading for reading in self.reads if isinstance(reading, One)), None)

    @cached_property
    def sightings(self) -> tuple[Sighting, ...]:
        """The requests of other kinds that show objects of this one."""
        return tuple(reading for reading in self.reads if isinstance(reading, Sighting))

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """The requests that look up the containers of an object of another kind."""
        return tuple(reading for reading in self.reads if isinstance(reading, Lookup))

    # -- functions ------------------------------------------------------------------------------------------------------------------

    @property
    def needs_id(self) -> bool:
        """Whether the YAML must name the object by `id`: no request creates it, and it has no other identity."""
        return "create" not in self.api and not self.keys

    def stored(self, values: Mapping[str, Any], of: str) -> dict[str, Any]:
        """Values by field as the state stores them for the object with the id `of`; fields of an older version stay unchanged."""
        return {name: self.fields[name].stored(value, of) if name in self.fields else value for name, value in values.items()}

    def sent_by(self, verb: str) -> tuple[Field, ...]:
        """The fields whose values the requests of a verb contain."""
        return tuple(f for f in self.fields.values() if verb in f.on)

    def url(self, raw: Mapping[str, Any]) -> str | None:
        """The published URL of an object; None if it shows none."""
        value: Any = raw
        for key in self.published.at.split(".") if self.published is not None else ():
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, str) else None
