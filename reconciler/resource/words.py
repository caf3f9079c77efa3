"""The vocabulary of declarations: requests that read, and fields; places are in `places`, its requests in `verbs`, values in `values`.

A declaration in `reconciler/kinds/` imports these and nothing else of the engine. Each word has one generic rule in the engine; the
table is in `docs/decisions/0001-kinds-are-declarations.md`. Values here are frozen and have no behaviour. No I/O, clock or randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Literal, NamedTuple

from reconciler.resource.dangers import AddressPart, Exposes
from reconciler.resource.values import UNSET, Derived
from reconciler.resource.verbs import Verb

# -- requests that read ------------------------------------------------------------------------------------------------------------


class Listing(NamedTuple):
    """All objects of the kind below the objects in the path's placeholders; only a complete listing proves absence.

    `each` names a kind whose objects fill a placeholder of that name, one listing per object (spaces: per collection). `ordered`: the
    answer shows the siblings' order. `item` names the key of the object in each item, None if the item is the object. `lister`: a
    placeholder `{lister}` is filled with the id of a member who can see everything. `single`: the answer is the only possible object
    (`one_per`); a 404, or an answer that shows none of its fields, is a list without items. The declaration says `One`.
    """

    path: str
    each: str | None = None
    ordered: bool = False
    item: str | None = None
    lister: bool = False
    single: bool = False

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs; None if none."""
        return self.each

    @property
    def whole(self) -> bool:
        """Whether one such listing shows all objects of the kind in their container."""
        return self.each is None and not self.lister

    def object(self, item: Mapping[str, Any]) -> Any:
        """The object in an item of the answer."""
        return item if self.item is None else item.get(self.item)

    def id(self, item: Mapping[str, Any]) -> str:
        """The id of the object in an item, "" if it has none; it distinguishes the items of several pages."""
        return str((self.object(item) or {}).get("id"))


class Sighting(NamedTuple):
    """Objects of the kind shown completely inside objects of another kind; proves presence.

    `at`: the key of one object, or of a list. `all`: if their container has any object of the other kind, the list of those shows all
    objects of this kind in that container, in order: it proves absence, and their own list is not read. Otherwise it never does.
    """

    kind: str
    at: str
    all: bool = False

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs."""
        return self.kind


class One(NamedTuple):
    """One object by its own id, or, of a kind with `one_per`, by the path of its container; a 404 proves absence."""

    path: str

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs; None."""
        return None


class Lookup(NamedTuple):
    """The objects of the kind whose contents show one object of the kind `by`: a list, filtered by its id in `query`.

    Read only if a plan must know who can read that object.
    """

    path: str
    by: str
    query: str

    @property
    def names(self) -> str | None:
        """The other kind whose objects it needs."""
        return self.by


Reading = Listing | Sighting | One | Lookup


# -- fields -----------------------------------------------------------------------------------------------------------------------


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


OnChange = Literal["send", "refuse", "report", "replace"]
Expires = Literal["", "certificate", "until"]


class FieldWord(NamedTuple):
    """What `field()` and its siblings return: one field as declared, before its class gives it a name and a type."""

    role: FieldRole = FieldRole.VALUE
    on: tuple[str, ...] | None = None
    on_change: OnChange = "send"
    to: str | None = None
    wire: str | None = None
    read: str | Callable[[Mapping[str, Any]], Any] | None = None
    required: bool = False
    clear: bool = False
    sensitive: bool = False
    readable: bool = True
    lossy: bool = False
    hosted: bool = False
    key: bool = False
    one_way: bool = False
    unique: bool = False
    cascade: bool = False
    flag: str | None = None
    child_field: str | None = None
    join: Verb | None = None
    leave: Verb | None = None
    label: str | None = None
    scarce: str | None = None
    usual: Any = UNSET
    initial: Any = UNSET
    derived: Derived | None = None
    exposes: Exposes | None = None
    address: AddressPart = ""
    opens: tuple[Any, ...] = ()
    expires: Expires = ""
    whom: bool = False
    differs: str = ""
    condition: bool = False
    secret_allowed: bool = False
    missed: Missed | None = None
    caseless: bool = False
    doc: str = ""
    one_per: bool = False
    copies: str | None = None


def _verbs(on: str | tuple[str, ...] | None) -> tuple[str, ...] | None:
    return (on,) if isinstance(on, str) else on


def field(
    doc: str = "",
    *,
    on: str | tuple[str, ...] | None = None,
    on_change: OnChange = "send",
    wire: str | None = None,
    read: str | Callable[[Mapping[str, Any]], Any] | None = None,
    required: bool = False,
    clear: bool = False,
    sensitive: bool = False,
    readable: bool = True,
    lossy: bool = False,
    hosted: bool = False,
    key: bool = False,
    one_way: bool = False,
    unique: bool = False,
    scarce: str | None = None,
    usual: Any = UNSET,
    initial: Any = UNSET,
    derived: Derived | None = None,
    exposes: Exposes | None = None,
    address: AddressPart = "",
    opens: tuple[Any, ...] = (),
    expires: Expires = "",
    whom: bool = False,
    differs: str = "",
    condition: bool = False,
    secret_allowed: bool = False,
    missed: Missed | None = None,
    caseless: bool = False,
) -> Any:
    """An ordinary value; `doc` is one sentence about it for users.

    `on`: the verbs that send it (default: create and update, where the kind has them). `on_change`: what a change means if no verb can
    send it after creation. `wire`: its name in the request (default: its own). `read`: where the answer shows it, a dotted path or a pure
    function of the object (default: its own name). `clear`: `null` may be written and is sent. `readable=False`: never shown by the
    service. `lossy`: the service may store it differently from what it was sent. `hosted`: the service shows the URL of its own copy, which
    may differ in each answer: the value is compared by what was sent. `key`: part of the natural identity. `one_way`: it can
    become true and never false again. `unique`: siblings must have different values at any moment. `scarce`: the value that
    `guards.minAdmins` objects must always have. `usual`: the value of an object for which nobody chose one (request form, or a pure
    function of the object): `import` omits it. `initial`: the value that the service sets if a create omits the field (request form);
    unlike `usual` it is a fact about the request: a new share link is active, which is not a link's usual state, and a copy has the usual
    language only if its source has. `derived`: what the service derives it from if no request names it. `exposes`: which changes give more
    access. `address`: the value is a segment of the published URL, or the whole of one. `opens`: the values that let everybody read the
    object at its published URL. `expires`: what gives the end of the object's validity: the value is a `certificate`, or a text with a day
    after the word `until`. `whom`: the text names who the object is for. `differs`: the dotted path of a value from which this one should
    differ. `missed`: resources without a reference to them are reported. The last three are for lint. `condition`:
    the text is a condition on the claims of visitors. `secret_allowed`: the value may come from a secret, and is then not shown.
    `caseless`: values that differ only in case are the same.
    """
    return FieldWord(
        on=_verbs(on), on_change=on_change, wire=wire, read=read, required=required, clear=clear, sensitive=sensitive,
        readable=readable, lossy=lossy, hosted=hosted, key=key, one_way=one_way, unique=unique, scarce=scarce, usual=usual, initial=initial,
        derived=derived, exposes=exposes, address=address, opens=opens, expires=expires, whom=whom, differs=differs,
        condition=condition, secret_allowed=secret_allowed, missed=missed, caseless=caseless, doc=doc,
    )  # fmt: skip


def within(kind: str, *, on: str | tuple[str, ...] = ()) -> Any:
    """The fixed container: fills its placeholder; deleting it deletes this object.

    `on`: the verbs whose body names it too; `transfer` moves the object to the named container.
    """
    return FieldWord(role=FieldRole.WITHIN, to=kind, on=_verbs(on))


def one_per(kind: str) -> Any:
    """The fixed container of an object without an id, of which it has at most one."""
    return FieldWord(role=FieldRole.WITHIN, to=kind, on=(), one_per=True)


def inside(
    kind: str,
    *,
    on: str | tuple[str, ...],
    wire: str | None = None,
    on_change: OnChange = "send",
    cascade: bool = False,
    key: bool = False,
    read: str | Callable[[Mapping[str, Any]], Any] | None = None,
) -> Any:
    """The node that contains it, which may change; None at the root of the list. `cascade`: deleting that node deletes it."""
    return FieldWord(role=FieldRole.INSIDE, to=kind, on=_verbs(on), wire=wire, on_change=on_change, cascade=cascade, key=key, read=read)


def member_of(kind: str, *, join: Verb, leave: Verb, wire: str) -> Any:
    """Membership that is written through the container's endpoints; `wire` is the body field of `join` that takes this object's id."""
    return FieldWord(role=FieldRole.MEMBER, to=kind, on=(), join=join, leave=leave, wire=wire)


def choice(kind: str, *, flag: str, on: str) -> Any:
    """A default among the children of a kind: in the YAML it is a flag on one child per parent; the value is written to the parent."""
    return FieldWord(role=FieldRole.CHOICE, to=kind, flag=flag, on=_verbs(on))


def first(kind: str, child_field: str) -> Any:
    """Sent on create with the first child's field; this create request then creates that child."""
    return FieldWord(role=FieldRole.FIRST, to=kind, child_field=child_field, on=("create",))


def seed(doc: str, to: str, *, label: str) -> Any:
    """An argument of a create, a reference; sent once, never compared, never a reason for a change. `label`: the text that describes its
    use."""
    return FieldWord(role=FieldRole.SEED, to=to, on=("create",), label=label, doc=doc)


def output(to: str | None = None, *, read: str | None = None, copies: str | None = None) -> Any:
    """Server-assigned: shown, never sent, never compared. `read`: where the answer shows it, a dotted path (default: its own name).

    `to`: the kind of the object whose id the value is. `copies`: the service creates that object for this one, and copies the contents of
    the object in the output `copies` into it: it needs no management, and its readers read those contents.
    """
    return FieldWord(role=FieldRole.OUTPUT, on=(), to=to, read=read, copies=copies)


def local(doc: str, *, exposes: Exposes | None = None) -> Any:
    """A value that only the project knows: never sent, stored in the state."""
    return FieldWord(role=FieldRole.LOCAL, on=(), readable=False, exposes=exposes, doc=doc)
