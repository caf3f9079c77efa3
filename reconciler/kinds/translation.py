"""Translations: spaces that the service fills with another space's content in another language."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from reconciler.kinds._shapes import RichText, written_instructions
from reconciler.kinds._values import Language
from reconciler.resource import (
    DELETE,
    POST,
    PUT,
    Address,
    Keyed,
    Listing,
    One,
    Permission,
    ProcessingField,
    Resource,
    To,
    Verbs,
    field,
    output,
    within,
)


class TranslationSource(TypedDict):
    """The space that is translated, and its language."""

    space: Annotated[Address, To("space")]
    language: Language


class Translation(
    Resource,
    kind="translation",
    place=Keyed("translations"),
    # A new one costs a run, and loses nothing that people wrote.
    replaceable=True,
    # A run costs what it translates, so it is started by people.
    work=ProcessingField(
        "status",
        done=("completed",),
        changed_at="updatedAt",
        label="language",
        start="/orgs/{organization}/translations/{id}/run",
    ),
    permission=Permission("edit"),
    create_permission=Permission("createContent", of="organization"),
):
    """A translation of a space. The service creates the space on the first run, and rewrites its contents on every later run."""

    reads = (Listing("/orgs/{organization}/translations"), One("/orgs/{organization}/translations/{id}"))
    api = Verbs(
        create=POST("/orgs/{organization}/translations"),
        # Its body has the instructions only (the API reference, "Translations"): another source or language is another translation.
        update=PUT("/orgs/{organization}/translations/{id}"),
        delete=DELETE("/orgs/{organization}/translations/{id}"),
    )

    organization = within("organization")
    source: TranslationSource = field(
        "The space to translate, and its language.", on="create", on_change="replace", key=True, required=True
    )
    language: Language = field(
        "The language to translate into.", on="create", on_change="replace", key=True, required=True, differs="source.language"
    )
    instructions: RichText = field("Instructions for the translation: a text, or a rich document.", read=written_instructions, lossy=True)
    status = output()
    original = output("space", read="source.space")
    # The service creates and rewrites this space; a plan neither changes nor deletes it.
    result = output("space", read="result.space", copies="original")
