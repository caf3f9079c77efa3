"""A declaration that contradicts itself cannot be imported, and kinds that do not fit together are refused."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from annotated_types import Len

from reconciler.address import Address
from reconciler.errors import DeclarationError
from reconciler.kinds import load
from reconciler.resource import DELETE, PATCH, POST, UNSET, FieldRole, Keyed, Kinds, Listing, One, Resource, Verbs, field, output, within


def declare(**parts: Any) -> Any:
    """A small kind; `parts` replace its class words, its docstring, readings, verbs or fields."""
    words = {"kind": "thing", "place": Keyed("things"), **parts.pop("words", {})}
    body = {
        "__doc__": "A thing.",
        "__annotations__": {"title": Annotated[str, Len(1, 5)]},
        "reads": (Listing("/things"),),
        "api": Verbs(create=POST("/things"), update=PATCH("/things/{id}"), delete=DELETE("/things/{id}")),
        "title": field(key=True),
        **parts,
    }
    return type("Thing", (Resource,), body, **words)


def test_a_sound_declaration_says_what_the_engine_needs() -> None:
    kind = declare().kind
    assert kind.name == "thing"
    assert kind.fields["title"].on == ("create", "update")
    assert [verb.name for verb in kind.carriers] == ["update"]
    assert not kind.ordered


def test_what_a_later_service_adds_to_a_value_makes_no_difference() -> None:
    kinds, later = load(), {"since": 2031}
    adaptive = kinds["site"].fields["adaptiveContent"]
    assert adaptive.seen({"adaptiveContent": {"enabled": True, "later": later}}) == {"enabled": True}
    content = kinds["organization"].fields["defaultContent"]
    shown = {"type": "site", "site": "site_1"}
    assert content.seen({"defaultContent": {**shown, "later": later}}) == shown
    assert content.seen({"defaultContent": {"type": "wiki", "later": later}}) == {"type": "wiki", "later": later}
    assert content.seen({}) is None


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"__doc__": ""}, "a docstring of one sentence is missing"),
        ({"title": field(on="publish")}, "field title names the verb publish, which the kind lacks"),
        ({"title": field(on="create", on_change="replace")}, "field title replaces, but the kind is not replaceable"),
        ({"title": field(on="create")}, "field title cannot be changed after creation: say on_change"),
        (
            {"title": field(key=True, wire="text.title")},
            "field title is sent as text.title, and a name in a request has no dot: say how it is nested with a WireForm",
        ),
        ({"other": field()}, "field other has no annotation"),
        ({"id": field(), "__annotations__": {"id": str, "title": str}}, "field id has the name of a reserved word"),
        ({"reads": (One("/things"),)}, "/things reads one object but names none"),
        ({"reads": (Listing("/things", each="box"),)}, "/things has no {box} to fill"),
        ({"words": {"local_ids": True}}, "local_ids are local to a container, but it has none"),
        ({"words": {"prune": "some"}}, "prune is 'some', not one of owned, all, none"),
        ({"words": {"owner": "owner.id"}}, "its owner is a container, but it has none"),
        (
            {"api": Verbs(create=POST("/things", whole=("title",)), update=PATCH("/things/{id}"))},
            "verb create is not sent without title, which is not a field that it sends and that is never shown",
        ),
        (
            {"made": output("thing", copies="title")},
            "field made copies title, which is not an output that names an object of the same kind",
        ),
    ],
)
def test_a_contradiction_is_named(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(**parts)
    assert caught.value.message == f"kind thing: {says}"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"box": within("box")}, "unknown or circular containers: thing within box"),
        ({"reads": (Listing("/x/{box}", each="box"),)}, "kind thing: a reading names the unknown kind box"),
        (
            {"api": Verbs(create=POST("/{box}/things"), update=PATCH("/things/{id}"))},
            "kind thing: nothing fills {box} in POST /{box}/things",
        ),
        ({"api": Verbs(update=PATCH("/things/{id}", reshapes=("box",)))}, "kind thing: verb update names the unknown kind box"),
    ],
)
def test_kinds_that_do_not_fit_together_are_refused(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Kinds([declare(**parts).kind])
    assert caught.value.message == says


def test_kinds_with_local_ids_contain_nothing() -> None:
    member = load()["member"]
    with pytest.raises(DeclarationError, match="its container is member, whose local_ids cannot fill a path"):
        Kinds([load()["organization"], member, declare(member=within("member")).kind])


def test_two_kinds_of_one_name_are_refused() -> None:
    with pytest.raises(DeclarationError, match="two kinds share a name"):
        Kinds([declare().kind, declare().kind])


def test_containers_come_before_what_they_contain() -> None:
    order = list(load())
    for name, kind in load().items():
        assert kind.within is None or order.index(kind.within) < order.index(name)


def test_every_kind_and_every_written_field_tells_users_what_it_is() -> None:
    silent = [
        f"{kind.name}.{one.name}"
        for kind in load().values()
        for one in kind.fields.values()
        if one.role in (FieldRole.VALUE, FieldRole.SEED) and one.name != getattr(kind.place, "key_is", None) and not one.doc
    ]
    assert silent == []


def test_an_address_is_found_from_inside() -> None:
    kinds = load()
    assert str(kinds.address(Address.parse("acme/site/docs/section/guides"), "space", "guides")) == "acme/space/guides"
    assert str(kinds.container(Address.parse("acme/site/docs/section/guides"), "site")) == "acme/site/docs"
    with pytest.raises(KeyError):
        kinds.container(Address.parse("acme/team/writers"), "site")


def test_guest_travels_as_null_and_comes_back_as_guest() -> None:
    role = load()["member"].fields["role"]
    assert role.body("guest") is None
    assert role.seen({"role": None}) is None
    assert role.shown(None) == "guest"
    assert role.seen({}) is UNSET


def test_what_the_service_shows_differently_is_read_as_it_was_written() -> None:
    kinds = load()
    assert kinds["site"].fields["proxy"].seen({"proxy": {"origin": "a.b/c", "target": "x"}}) == "a.b/c"
    assert kinds["site"].fields["proxy"].seen({}) is None
    assert kinds["openapi"].fields["source"].seen({"sourceURL": "https://a"}) == {"url": "https://a"}
    assert kinds["site-space"].fields["space"].seen({"space": {"id": "s"}}) == "s"
    assert kinds["saml"].fields["defaultTeam"].seen({"defaultTeam": {"id": "t"}}) == "t"
    assert kinds["organization"].fields["emailDomains"].seen({"emailDomains": ["b", "a"]}) == ["a", "b"]
