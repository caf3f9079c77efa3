"""A declaration that contradicts itself cannot be imported, and kinds that do not fit together are refused."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from annotated_types import Len

from reconciler.address import Address
from reconciler.errors import ReconcilerError
from reconciler.kinds import load
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    UNSET,
    FieldRole,
    Keyed,
    Listing,
    ListItem,
    Needed,
    One,
    Permission,
    Resource,
    To,
    Verbs,
    combined,
    field,
    output,
    within,
)


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
    assert (kind.name, kind.fields["title"].on) == ("thing", ("create", "update"))
    assert [verb.name for verb in kind.update_verbs] == ["update"]
    assert not kind.ordered


def test_what_a_later_service_adds_to_a_value_makes_no_difference() -> None:
    kinds, later = load(), {"since": 2031}
    assert kinds["site"].fields["adaptiveContent"].value_in({"adaptiveContent": {"enabled": True, "later": later}}) == {"enabled": True}
    content = kinds["organization"].fields["defaultContent"]
    shown = {"type": "site", "site": "site_1"}
    assert content.value_in({"defaultContent": {**shown, "later": later}}) == shown
    assert content.value_in({"defaultContent": {"type": "wiki", "later": later}}) == {"type": "wiki", "later": later}
    assert content.value_in({}) is None


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"__doc__": ""}, "a docstring of one sentence is missing"),
        ({"title": field(on="publish")}, "field title names the verb publish, which api does not have"),
        ({"title": field(on="create", on_change="replace")}, 'field title has on_change="replace", but the kind is not replaceable=True'),
        (
            {"title": field(on="create")},
            'field title is sent by no verb but create; say on_change="refuse", "report" or "replace"',
        ),
        (
            {"title": field(key=True, wire="text.title")},
            "field title has wire='text.title', and a name in a request has no dot; write how it is nested with a WireForm",
        ),
        ({"other": field()}, "field other has no annotation"),
        (
            {"id": field(), "__annotations__": {"id": str, "title": str}},
            "field id has the name of a key that every resource has; choose another, and say wire= and read=",
        ),
        ({"reads": (One("/things"),)}, "One('/things') reads one object, but its path names none; add {id}"),
        ({"reads": (Listing("/things", each="box"),)}, "/things has no {box}, which each='box' fills"),
        ({"words": {"local_ids": True}}, "local_ids are local to a container, but it has none; declare one with within"),
        ({"words": {"prune": "some"}}, "prune is 'some', not one of owned, all, none"),
        ({"words": {"owner": "owner.id"}}, "owner names its container, but it has none; declare one with within"),
        (
            {"api": Verbs(create=POST("/things", whole=("title",)), update=PATCH("/things/{id}"))},
            "verb create has whole='title', which must be a field that it sends and that has readable=False",
        ),
        (
            {"made": output("thing", copies="title")},
            "field made copies title, which is not an output that names an object of the same kind",
        ),
        (
            {"a": within("box"), "b": within("crate")},
            "it has two fixed containers; keep the innermost, which is in the others itself",
        ),
        ({"reads": ()}, "no reading shows its objects: reads = (Listing(…),)"),
        ({"title": field()}, "no field has key=True: after an interrupted create, its object could not be recognized"),
        (
            {"words": {"place": ListItem("thing", {"box": "things"})}},
            "its list in the YAML has an order, but it has no verb move; add one, or declare place=Keyed(…)",
        ),
        (
            {"api": Verbs(create=POST("/things"), update=PATCH("/things/{id}"), move=POST("/things/{id}/move"))},
            "it has a verb move, but its place has no order; declare place=ListItem(…)",
        ),
        ({"words": {"place": Keyed("things", bare="name")}}, "place has bare='name', which is not a field"),
        ({"words": {"place": Keyed("things", key_is="name")}}, "place has key_is='name', which is not a field"),
        ({"reads": (Listing("things"),)}, "the path things of a reading must begin with /"),
        (
            {"api": Verbs(create=POST("things"), update=PATCH("/things/{id}"))},
            "the path of the verb create must begin with /",
        ),
        (
            {"other": field(), "__annotations__": {"title": str, "other": Address}},
            'field other is a reference without a kind: write Annotated[Address, To("KIND")]',
        ),
    ],
)
def test_a_contradiction_is_named(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ReconcilerError) as caught:
        declare(**parts)
    assert caught.value.message == f"kind thing: {says}"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"box": within("box")}, "its container box does not exist"),
        ({"inner": within("thing")}, "its container thing is within thing itself"),
        ({"reads": (Listing("/x/{box}", each="box"),)}, "a reading names the kind box, which does not exist"),
        ({"reads": (Listing("/x/{box}"),)}, "nothing fills {box} in GET /x/{box}; a path may name {id} and fields"),
        (
            {"api": Verbs(create=POST("/{box}/things"), update=PATCH("/things/{id}"))},
            "nothing fills {box} in POST /{box}/things; a path may name {id} and fields",
        ),
        ({"api": Verbs(update=PATCH("/things/{id}", reshapes=("box",)))}, "verb update names the kind box, which does not exist"),
        (
            {"other": field(), "__annotations__": {"title": str, "other": frozenset[Annotated[Address, To("thin")]]}},
            'field other refers to the kind thin, which does not exist; did you mean "thing"?',
        ),
    ],
)
def test_kinds_that_do_not_fit_together_are_refused(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ReconcilerError) as caught:
        combined([declare(**parts).kind])
    assert caught.value.message == f"kind thing: {says}"


IN_THE_SITE = {"site": within("site"), "reads": (Listing("/orgs/{organization}/sites/{site}/things"),)}
MOVED = Verbs(create=POST("/things"), update=PATCH("/things/{id}"), move=POST("/things/{id}/move"))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"words": {"place": Keyed("shareLinks")}}, "its name in the YAML of site, shareLinks, is that of thing; choose another"),
        ({"words": {"place": Keyed("title")}}, "its name in the YAML of site, title, is that of a field; choose another"),
        (
            {"words": {"place": ListItem("thing", {"site": "things"})}, "api": MOVED},
            "its verb move must name each kind of sibling in the list things of site that it can be placed beside; "
            "missing in anchors={…}: thing",
        ),
        (
            {"words": {"place": ListItem("thing", {"sight": "things"})}, "api": MOVED},
            'its place is in the kind sight, which does not exist; did you mean "site"?',
        ),
        (
            {"words": {"needed": Needed("sso", True)}},
            "needed names a field of site, which is not its container or beside it, or has no such field",
        ),
        (
            {"words": {"needed": Needed("title", "x", of=("space",))}},
            "needed names a field of space, which is not its container or beside it, or has no such field",
        ),
        ({"words": {"permission": Permission("admin", of="space")}}, "it requires a permission of space, which does not contain it"),
    ],
)
def test_a_kind_that_does_not_fit_beside_the_others_is_refused(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(ReconcilerError) as caught:
        combined([*load().values(), declare(**IN_THE_SITE, **parts).kind])
    assert caught.value.message.partition(": ")[2] == says


def test_two_kinds_in_one_list_begin_with_different_words() -> None:
    verbs = Verbs(create=POST("/things"), move=POST("/things/{id}/move", anchors={"thing": {}, "other": {}}))
    parts = {"box": within("box"), "api": verbs}
    two = [declare(words={"kind": kind, "place": ListItem("thing", {"box": "things"})}, **parts).kind for kind in ("thing", "other")]
    with pytest.raises(ReconcilerError, match="two kinds in the list things of box begin with thing: …; choose another tag"):
        combined([declare(words={"kind": "box", "place": Keyed("boxes")}).kind, *two])


def test_the_name_of_a_kind_can_be_part_of_an_address() -> None:
    with pytest.raises(ReconcilerError, match="kind my_thing: its name is part of addresses: write lower-case words joined by -"):
        declare(words={"kind": "my_thing"})


def test_only_one_kind_has_no_container() -> None:
    with pytest.raises(ReconcilerError, match="only one kind has no container, but organization and thing have none"):
        combined([*load().values(), declare().kind])


def test_kinds_with_local_ids_contain_nothing() -> None:
    member = load()["member"]
    with pytest.raises(ReconcilerError, match="its container is member, whose local_ids cannot fill a path"):
        combined([load()["organization"], member, declare(member=within("member")).kind])


def test_two_kinds_of_one_name_are_refused() -> None:
    with pytest.raises(ReconcilerError, match="two kinds have the name thing; choose another for one of them"):
        combined([declare().kind, declare().kind])


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
    assert role.value_in({"role": None}) is None
    assert role.shown(None) == "guest"
    assert role.value_in({}) is UNSET


def test_what_the_service_shows_differently_is_read_as_it_was_written() -> None:
    kinds = load()
    assert kinds["site"].fields["proxy"].value_in({"proxy": {"origin": "a.b/c", "target": "x"}}) == "a.b/c"
    assert kinds["site"].fields["proxy"].value_in({}) is None
    assert kinds["openapi"].fields["source"].value_in({"sourceURL": "https://a"}) == {"url": "https://a"}
    assert kinds["site-space"].fields["space"].value_in({"space": {"id": "s"}}) == "s"
    assert kinds["saml"].fields["defaultTeam"].value_in({"defaultTeam": {"id": "t"}}) == "t"
    assert kinds["organization"].fields["emailDomains"].value_in({"emailDomains": ["b", "a"]}) == ["a", "b"]
