"""What a kind declares (`words`), what that compiles to (`kind`), and all kinds together (`registry`)."""

from reconciler.resource.audience import Audience, Grant
from reconciler.resource.dangers import Exposes, Needed, Permission, Published
from reconciler.resource.declare import RESERVED, Resource
from reconciler.resource.kind import Field, Kind
from reconciler.resource.places import Keyed, Node, Place, Single
from reconciler.resource.registry import Kinds, narrow_kinds
from reconciler.resource.values import UNSET, Derived, Foreign, Named, Spelled, To, Unset, Wire
from reconciler.resource.verbs import DELETE, LIFECYCLE, PATCH, POST, PUT, Api, Verb, placeholders
from reconciler.resource.words import (
    Finding,
    Listing,
    One,
    Reading,
    Role,
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
    "LIFECYCLE",
    "PATCH",
    "POST",
    "PUT",
    "RESERVED",
    "UNSET",
    "Api",
    "Audience",
    "Derived",
    "Exposes",
    "Field",
    "Finding",
    "Foreign",
    "Grant",
    "Keyed",
    "Kind",
    "Kinds",
    "Listing",
    "Named",
    "Needed",
    "Node",
    "One",
    "Permission",
    "Place",
    "Published",
    "Reading",
    "Resource",
    "Role",
    "Sighting",
    "Single",
    "Spelled",
    "To",
    "Unset",
    "Verb",
    "Wire",
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
