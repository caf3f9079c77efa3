"""The loader is generic: kinds it has never heard of, with types of values that ours do not use, load just as well."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import pytest
from annotated_types import Ge
from typing_extensions import TypedDict

from reconciler.address import Address
from reconciler.config import Project, load
from reconciler.config.schemas.document import schema
from reconciler.errors import ConfigError
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Foreign,
    Keyed,
    Kinds,
    Listing,
    ListItem,
    One,
    Resource,
    To,
    Verbs,
    field,
    inside,
    within,
)


class Garden(Resource, kind="garden", place=Keyed("gardens")):
    """A garden."""

    reads = (One("/gardens/{id}"),)
    api = Verbs(update=PATCH("/gardens/{id}"))
    area: Annotated[float, Ge(0)] = field("Square metres.")


class Soil(TypedDict):
    acidity: float
    layers: NotRequired[list[Literal["sand", "loam", "clay"]]]


class Bed(Resource, kind="bed", place=ListItem("bed", {"garden": "beds", "bed": "beds"}, bare=True)):
    """A bed, which may stand in a bed."""

    reads = (Listing("/gardens/{garden}/beds"),)
    api = Verbs(
        create=POST("/gardens/{garden}/beds"),
        update=PATCH("/beds/{id}"),
        move=POST("/beds/{id}/move", anchors={"bed": {"bed": "{id}"}}),
        delete=DELETE("/beds/{id}"),
    )
    garden = within("garden")
    outer = inside("bed", on=("create", "update"))
    rows: int = field("How many rows.", key=True)
    soil: Soil = field("What it is made of.")
    beside: list[Annotated[Address, To("bed")]] = field("The neighbours, in order.")
    by_season: dict[str, Annotated[Address, To("bed")]] = field("Where its plants go.")
    rest: Any = field("Whatever the service takes.")
    alarm: str = field("The code of its alarm.", sensitive=True)
    seen_by: frozenset[Annotated[Address, To("bed")]] = field("Who sees it.")


KINDS = Kinds([Garden.kind, Bed.kind])
HEAD = "version: 1\nproject: green\nvars: {code: {env: RECONCILER_VAR_CODE}}\ngardens:\n  eden:\n    id: g1\n"


def loaded(folder: Path, body: str) -> Project:
    (folder / "reconciler.yaml").write_text(HEAD + body, encoding="utf-8")
    return load(folder, KINDS, environ={"RECONCILER_VAR_CODE": "hunter2"})


def problems(folder: Path, body: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(folder, body)
    return [problem.message for problem in caught.value.problems]


def test_every_type_of_value_is_read_by_its_annotation(tmp_path: Path) -> None:
    created = loaded(
        tmp_path,
        """\
    area: 12
    beds:
      - herbs
      - bed: roses
        rows: 0x10
        soil: {acidity: 6.5, layers: [sand, clay]}
        beside: [herbs, {id: b9}]
        by_season: {summer: herbs, winter: inner}
        rest: {deep: [1, 2.5, no, null, "3"]}
        seen_by: [{id: b2}, inner, {id: b1}, herbs]
        beds:
          - {bed: inner, alarm: "${{ vars.code }}"}
""",
    )
    resources = created.desired.resources
    herbs, roses, inner = (Address.parse(f"eden/bed/{key}") for key in ("herbs", "roses", "inner"))
    assert resources[Address.parse("eden")].values == {"area": 12.0}
    assert resources[herbs].values == {"outer": None}
    assert resources[roses].values == {
        "outer": None,
        "rows": 16,
        "soil": {"acidity": 6.5, "layers": ["sand", "clay"]},
        "beside": [herbs, Foreign("b9")],
        "by_season": {"summer": herbs, "winter": inner},
        "rest": {"deep": [1, 2.5, "no", None, "3"]},
        "seen_by": (herbs, inner, Foreign("b1"), Foreign("b2")),
    }
    assert resources[inner].values == {"outer": roses, "alarm": "hunter2"}
    assert created.sensitive == {"hunter2"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("area: -1", "eden: area is -1; the service allows 0 or more"),
        ("area: wide", 'eden: area must be a number, not "wide"'),
        ("beds: [{bed: a, rows: 1.5}]", "eden/bed/a: rows must be a whole number, not 1.5"),
        ("beds: [{bed: a, soil: {acidity: sour}}]", 'eden/bed/a: soil.acidity must be a number, not "sour"'),
        ("beds: [{bed: a, soil: {}}]", "eden/bed/a: soil lacks acidity"),
        ("beds: [{bed: a, soil: {acidity: 1, layers: [lime]}}]", 'eden/bed/a: soil.layers[0] is "lime"; one of sand, loam, clay'),
        ("beds: [{bed: a, beside: [b]}]", 'eden/bed/a: no bed "b"; declare it, or write {id: …} for a bed outside the project'),
        ("beds: [{bed: a, by_season: {summer: [b]}}]", None),
        ("beds: [{bed: a, seen_by: [a, a]}]", 'eden/bed/a: seen_by names "a" twice'),
        ("beds: [{bed: a, seen_by: [{id: b1}, {id: b1}]}]", "eden/bed/a: seen_by names a map twice"),
    ],
)
def test_what_does_not_fit_is_said_in_the_same_words(tmp_path: Path, body: str, said: str | None) -> None:
    result = problems(tmp_path, f"    {body}\n")
    assert len(result) == 1
    assert said is None or result == [said]


def test_a_value_from_the_environment_reaches_only_a_sensitive_field(tmp_path: Path) -> None:
    assert problems(tmp_path, '    beds: [{bed: a, rest: {deep: ["${{ vars.code }}"]}}]\n') == [
        "eden/bed/a: rest would show a value from the environment (code), which may be a secret; if it is not, pass --public-var code"
    ]


def test_the_schema_follows_the_kinds_it_is_given() -> None:
    created = schema(KINDS)
    assert (
        set(created["$defs"]) >= {"garden", "bed", "garden.beds", "bed.beds", "bed.Soil"} or "soil" in created["$defs"]["bed"]["properties"]
    )
    assert "gardens" in created["$defs"]["project"]["properties"]
