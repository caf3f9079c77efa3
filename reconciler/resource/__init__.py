"""What a kind declares (`words`), what that compiles to (`kind`), and all kinds together (`registry`)."""

from reconciler.resource.declare import RESERVED, Resource
from reconciler.resource.kind import Field, Kind
from reconciler.resource.registry import Kinds
from reconciler.resource.words import (
    DELETE,
    LIFECYCLE,
    PATCH,
    POST,
    PUT,
    UNSET,
    Api,
    Foreign,
    Keyed,
    Listing,
    Named,
    Node,
    One,
    Reading,
    Role,
    Sighting,
    Spelled,
    To,
    Unset,
    Verb,
    Wire,
    choice,
    field,
    first,
    inside,
    member_of,
    output,
    placeholders,
    seed,
    within,
)

__all__ = [
    "DELETE", "LIFECYCLE", "PATCH", "POST", "PUT", "RESERVED", "UNSET", "Api", "Field", "Foreign", "Keyed", "Kind", "Kinds", "Listing",
    "Named", "Node", "One", "Reading", "Resource", "Role", "Sighting", "Spelled", "To", "Unset", "Verb", "Wire", "choice", "field", "first",
    "inside", "member_of", "output", "placeholders", "seed", "within",
]  # fmt: skip
