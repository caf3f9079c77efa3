"""What an integration is published with, and the development tunnel: bodies of requests."""

from __future__ import annotations

import base64
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictBool, StrictStr

from reconciler.sandbox.body import Open

Some = Annotated[StrictStr, Field(min_length=1)]


def _image(text: str) -> str:
    base64.b64decode(text, validate=True)
    return text


Image = Annotated[StrictStr, AfterValidator(_image)]


class Markdown(Open):
    codeblock: StrictStr = ""
    body: StrictStr = ""


class Block(Open):
    id: Some
    title: StrictStr = ""
    description: StrictStr = ""
    icon: StrictStr = ""
    urlUnfurl: list[StrictStr] = Field(default_factory=list)
    markdown: Markdown = Markdown()


class Component(Open):
    componentId: StrictStr = ""


class ContentSource(Open):
    id: Some
    title: StrictStr = ""
    description: StrictStr = ""
    icon: StrictStr = ""
    configuration: Component = Component()


class Property(Open):
    type: StrictStr
    title: StrictStr = ""
    description: StrictStr = ""
    completion_url: StrictStr = ""
    enum: list[Any] = Field(default_factory=list)


class Configuration(Open):
    properties: dict[str, Property] = Field(default_factory=dict)
    required: list[StrictStr] = Field(default_factory=list)


class Configurations(Open):
    account: Configuration = Configuration()
    space: Configuration = Configuration()
    site: Configuration = Configuration()


class ExternalLink(Open):
    url: StrictStr
    label: StrictStr = ""


class Publish(Open):
    organization: Some
    title: Some
    runtime: StrictStr = "v1"
    icon: Image = ""
    description: StrictStr = ""
    summary: StrictStr = ""
    previewImages: list[Image] = Field(default_factory=list)
    visibility: StrictStr = "private"
    target: StrictStr = "all"
    scopes: list[StrictStr] = Field(default_factory=list)
    categories: list[StrictStr] = Field(default_factory=list)
    blocks: list[Block] = Field(default_factory=list)
    contentSources: list[ContentSource] = Field(default_factory=list)
    externalLinks: list[ExternalLink] = Field(default_factory=list)
    configurations: Configurations = Configurations()
    script: StrictStr = ""
    secrets: dict[str, StrictStr] = Field(default_factory=dict)
    contentSecurityPolicy: StrictStr | dict[str, StrictStr] = ""


class Install(Open):
    organization: Some


class Tunnel(Open):
    tunnelUrl: Annotated[StrictStr, Field(min_length=1, max_length=256)]
    all: StrictBool = False
