"""A kind as the engine sees it: what a declaration compiles to. Frozen data, and pure functions of it.

The engine never asks which kind it has. It asks these attributes, so that a new kind is a new file in `kinds/` and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address
from reconciler.resource.field import Field, FieldRole
from reconciler.resource.health import ReviewList, SearchList, TopicList
from reconciler.resource.open_work import AttachedList, CountedWork, LinkList
from reconciler.resource.places import Place
from reconciler.resource.requests import LIFECYCLE, Listing, Lookup, One, Pages, PersonalList, Reading, Sighting, Verb
from reconciler.resource.risks import Audience, Needed, Permission, PlanLimit, ProcessingField, PublishedField, SyncedFrom
from reconciler.resource.values import UNSET

URL: Final = "url"
"""The name of the published URL in `expect`; it is not a field."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A declared type of remote object. Every attribute with a default is a keyword of the class of a declaration."""

    # its name in addresses, plans and the state
    name: str
    # one or two sentences about it for users: the docstring of its class
    doc: str
    # where resources of the kind are written in the YAML
    place: Place
    # the requests that show its objects, in the order of preference
    reads: tuple[Reading, ...]
    # the requests that change its objects, by name
    api: Mapping[str, Verb]
    # its fields, by name, in the order in which people read them
    fields: Mapping[str, Field]

    # -- its objects in answers
    # the constant that marks its objects in answers (`object`); the class fills in the kind's name
    object: str = ""
    # the key of an answer that identifies the object in its container
    id_is: str = "id"
    # the dotted path at which an answer names the fixed container, for requests that list the objects of several; "" if under its kind
    owner: str = ""
    # whether two objects in different containers may have the same id
    local_ids: bool = False
    # whether a container has at most one, without an id; the class fills it in from the field that says so
    one_per: bool = False
    # the field that marks a deleted object that can still be restored; None if a delete is final
    deleted_at: str | None = None
    # for how many days it can be restored
    restore_days: int = 0
    # where an object shows whether the service has processed it; None if nothing is processed
    work: ProcessingField | None = None

    # -- what a plan may do with them
    # whether a change of a create-only field may delete the object and create another
    replaceable: bool = False
    # whether deletes require consent by default
    protected: bool = False
    # which undeclared objects a plan deletes by default: those that this project created ("owned"), "all" or "none"
    prune: str = "owned"
    # whether a reference may name one that is not declared
    undeclared: bool = False
    # the output that is true while a person can do nothing, and while nothing in a container is shown; "" if there is none
    inactive: str = ""
    # what shows what a person may do, beside what everybody with their role may do
    personal: tuple[PersonalList, ...] = ()
    # when the last object is in use, so that it cannot be deleted; None if never
    needed: Needed | None = None
    # the protection that a delete removes, as the end of a sentence; "" if none
    loses: str = ""
    # what a create lets others do, as the end of a sentence; "" if nothing
    grants: str = ""
    # what an object lets people do by existing, as the end of a sentence; "" if nothing, or if `grants` says it
    access: str = ""
    # the work of people that an object counts
    counted: tuple[CountedWork, ...] = ()
    # the links in the pages of an object, which lead to others of its kind
    links: LinkList | None = None
    # where an object is attached
    attached: tuple[AttachedList, ...] = ()
    # what `reconciler health` can ask: a search in an object, edits that wait in it, and what its readers ask
    search: SearchList | None = None
    reviews: ReviewList | None = None
    topics: TopicList | None = None
    # what limits what may be done with an object and what it contains, as the service shows it; None if nothing does
    limited: Callable[[Mapping[str, Any]], Iterable[PlanLimit]] | None = None
    # where an object shows that a Git repository governs it; None if none ever does
    synced: SyncedFrom | None = None
    # what requests for an object require; None if any token may send them
    permission: Permission | None = None
    # what a create requires; the class fills in `permission` where that is a permission of the container
    create_permission: Permission | None = None

    # -- who reads them
    # the field with an object's published URL; None if it is not published
    published: PublishedField | None = None
    # the requests that show the pages of its objects; None if they have none
    pages: Pages | None = None
    # who can read its objects; None if no change of them is ever an exposure
    audience: Audience | None = None
    # the JSON Schema of the claims of visitors that an object declares, from its values; None if it declares none
    claims: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    # the list of a sandbox's seed that contains its objects; "" if a seed has none of them
    seeds: str = ""

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
    def shows(self) -> tuple[Field, ...]:
        """The fields that name what an object shows to its readers."""
        return tuple(self.fields[name] for name in self.audience.shows) if self.audience is not None else ()

    @cached_property
    def modelled(self) -> frozenset[str]:
        """The names of the fields from which it follows who can read an object."""
        return frozenset((*self.audience.gates, *self.audience.inherits, *self.audience.shows) if self.audience is not None else ())

    @cached_property
    def deciding(self) -> frozenset[str]:
        """The names of the fields on the service that decide who can read or do something."""
        return frozenset(
            name
            for name, field in self.fields.items()
            if (name in self.modelled or field.exposes is not None)
            and field.compared
            and field.readable
            and field.role not in (FieldRole.LOCAL, FieldRole.CHOICE, FieldRole.WITHIN)
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
    def tells_apart(self) -> Field | None:
        """The place that says which of several objects with the same natural key is which; None where the place is a part of that key."""
        return None if self.inside is None or self.inside.key or not self.keys else self.inside

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

    @property
    def lets(self) -> str:
        """What an object lets people do by existing, as the end of a sentence; "" if nothing: nobody has access because of it."""
        return self.access or self.grants

    @cached_property
    def scarce(self) -> Field | None:
        """The field with a value that a minimum of objects must always have."""
        return next((f for f in self.fields.values() if f.scarce is not None), None)

    def is_active(self, values: Mapping[str, Any]) -> bool:
        """Whether a person with these values can do anything, or what is in such a container is shown."""
        return not self.inactive or values.get(self.inactive) is not True

    def holds_scarce(self, values: Mapping[str, Any]) -> bool:
        """Whether an object with these values counts as one that has the value which some must always keep."""
        scarce = self.scarce
        return scarce is not None and self.is_active(values) and values.get(scarce.name) == scarce.body(scarce.scarce)

    @cached_property
    def seed(self) -> Field | None:
        return next((f for f in self.fields.values() if f.role is FieldRole.SEED), None)

    @cached_property
    def keyed_by(self) -> Field | None:
        """The reference that gives the resource its key, unless the YAML writes a `key`; None if keys are names of their own."""
        field = self.fields.get(self.place.tag or "")
        return field if field is not None and field.refers is not None else None

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

    def may_open(self, name: str, value: Any) -> bool:
        """Whether an object with this value (request form) in a field may give people access that one without it does not give."""
        field, audience = self.fields[name], self.audience
        if value in field.opens or (field.exposes is not None and not field.exposes.rule and field.exposes.may_open(value)):
            return True
        if audience is None or name not in audience.gates:
            return False
        given, without = ([*(audience.grants(values) if audience.grants else ())] for values in ({name: value}, {}))
        asks = audience.at_top and audience.asks is not None and audience.asks({name: value})
        return bool(asks) or any(grant not in without for grant in given)

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
