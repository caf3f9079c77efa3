"""What a kind declares (`words`), what a declaration compiles to (`kind`), and all kinds together (`registry`)."""

from reconciler.address import Address
from reconciler.resource.audience import Audience, Grant
from reconciler.resource.combinations import narrow_kinds
from reconciler.resource.contradictions import PRUNE_SCOPES, RESERVED
from reconciler.resource.dangers import Exposes, Needed, Permission, ProcessingField, PublishedField
from reconciler.resource.declare import Resource
from reconciler.resource.kind import HOSTED, Field, Kind
from reconciler.resource.places import Keyed, ListItem, Place, SingleValue
from reconciler.resource.registry import Kinds
from reconciler.resource.shapes import Shape
from reconciler.resource.values import UNSET, Checked, Derived, Foreign, JsonSchema, Len, Matching, Named, Spelled, To, Unset, WireForm
from reconciler.resource.verbs import DELETE, LIFECYCLE, PATCH, POST, PUT, Verb, Verbs, placeholders
from reconciler.resource.words import (
    FieldRole,
    Listing,
    Lookup,
    Missed,
    One,
    Reading,
    Sighting,
    choice,
    field,
    first,
    inside,
    local,
    member_of,
    one_per,
    output,
    seed,
    within,
)

__all__ = [
    "DELETE",
    "HOSTED",
    "LIFECYCLE",
    "PATCH",
    "POST",
    "PRUNE_SCOPES",
    "PUT",
    "RESERVED",
    "UNSET",
    "Address",
    "Audience",
    "Checked",
    "Derived",
    "Exposes",
    "Field",
    "FieldRole",
    "Foreign",
    "Grant",
    "JsonSchema",
    "Keyed",
    "Kind",
    "Kinds",
    "Len",
    "ListItem",
    "Listing",
    "Lookup",
    "Matching",
    "Missed",
    "Named",
    "Needed",
    "One",
    "Permission",
    "Place",
    "ProcessingField",
    "PublishedField",
    "Reading",
    "Resource",
    "Shape",
    "Sighting",
    "SingleValue",
    "Spelled",
    "To",
    "Unset",
    "Verb",
    "Verbs",
    "WireForm",
    "choice",
    "field",
    "first",
    "inside",
    "local",
    "member_of",
    "narrow_kinds",
    "one_per",
    "output",
    "placeholders",
    "seed",
    "within",
]  # fmt: skip
