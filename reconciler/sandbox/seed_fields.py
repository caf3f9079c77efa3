"""What a seed may contain: one model for each of its lists, from which seeds are checked and the reference of the seed is generated.

In: nothing. Out: the models. Not here: the reading of a seed (`seed_entries`), and whether what an entry refers to exists (`seed`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator
from pydantic.functional_validators import AfterValidator

from reconciler.sandbox.bodies import Level, MemberRole, Visibility
from reconciler.sandbox.file import iso
from reconciler.sandbox.integrations.publishing import Publish
from reconciler.sandbox.store import Object


def _time(value: Any) -> Any:
    """A time as the service writes it. YAML parsers may have made a time of the text already."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        return value
    return iso(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _json(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError("it must be JSON") from error
    return value


Id = Annotated[StrictStr, Field(min_length=1)]
Time = Annotated[StrictStr, BeforeValidator(_time), Field(json_schema_extra={"format": "date-time"})]
Free = Annotated[dict[str, Any], AfterValidator(_json)]


class Entry(BaseModel):
    """An entry of a list, or a part of one: unknown fields are refused, and values are never converted."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    def given(self, *without: str) -> Object:
        """The fields that were written, except these."""
        return self.model_dump(exclude_unset=True, exclude=set(without))


class ReviewRule(Entry):
    rule: StrictStr = Field(description="The rule, such as `review-required`.")
    users: list[StrictStr] = Field([], description="The ids of members that the rule names.")


class MergeRules(Entry):
    type: StrictStr = Field(description="`inherit`, `none` or `rules`.")
    rules: list[ReviewRule] = Field([], description="With `rules`: the rules.")


class AdaptiveContent(Entry):
    enabled: StrictBool = Field(description="Whether conditions hide content.")


class Page(Entry):
    """A page of a space."""

    id: Id = Field("", description="Default: a new id.", validate_default=False)
    title: StrictStr = Field("", description="The title.")
    slug: StrictStr = Field("", description="The last part of its path. Default: made from the title.")
    path: StrictStr = Field("", description="Its path in the space. Default: the slug.")
    type: StrictStr = Field("document", description="The type of the page; one of the type `link` or `computed` has no path.")
    description: StrictStr = Field("", description="The description below the title.")
    emoji: StrictStr = Field("", description="An emoji, or its code, such as `1f4d6`.")
    icon: StrictStr = Field("", description="The name of an icon.")
    markdown: StrictStr = Field("", description="The text.")
    variables: dict[str, StrictStr] = Field({}, description="Values for the expressions of this page, by name.")
    hidden: StrictBool = Field(False, description="Whether the table of contents omits it.")
    condition: StrictStr = Field("", description="For which visitors it is shown, with the pages below it. Default: for all.")
    noIndex: StrictBool = Field(False, description="Whether search engines must not index it.")
    noRobotsIndex: StrictBool = Field(False, description="Whether robots must not index it.")
    layout: Free = Field({}, description="The parts of the page that are shown.")
    cover: Free = Field({}, description="The cover.")
    computed: Free = Field({}, description="The source of generated content.")
    git: Free = Field({}, description="The file in git that the page comes from.")
    createdAt: Time = Field("", description="When it was created.")
    updatedAt: Time = Field("", description="When it was changed.")
    pages: list[Page] = Field([], description="The pages below it.")


class File(Entry):
    """A file of a space."""

    id: Id = Field("", description="Default: a new id.", validate_default=False)
    name: StrictStr = Field(description="The name.")
    contentType: StrictStr = Field("", description="The media type, such as `image/png`.")
    downloadURL: StrictStr = Field("", description="Where its content is.")
    size: StrictInt = Field(0, description="The size in bytes.")
    dimensions: dict[str, StrictInt] = Field({}, description="`width` and `height` of an image.")
    git: Free = Field({}, description="The file in git that it comes from.")


class Organization(Entry):
    """Organizations, the owners of everything else."""

    id: Id = Field(description="The id.")
    title: StrictStr = Field("Untitled", description="The title.")
    createdAt: Time = Field("", description="When it was created. Default: now.")
    emailDomains: list[StrictStr] = Field([], description="Domains whose people can join.")
    hostname: StrictStr = Field("", description="The name in the URL of its sites. Default: made from the id.")
    type: StrictStr = Field("business", description="The type.")
    useCase: StrictStr = Field("internalDocs", description="The use that it has for documentation.")
    defaultRole: MemberRole | None = Field("read", description="The role of people who join.")
    sso: StrictBool = Field(False, description="Whether people must sign in with a SAML provider.")
    ai: StrictBool = Field(False, description="Whether AI features are on.")
    inviteLinks: StrictBool = Field(True, description="Whether invite links work.")
    plan: StrictStr = Field("free_2024", description="The plan that it pays for.")
    mergeRules: MergeRules = Field(MergeRules(type="none", rules=[]), description="The rules for merging change requests.")
    billing: Free = Field({}, description="The state of its payments.")
    blocked: Free = Field({}, description="By whom it is blocked, `source`, and why, `reason`.")


class Member(Entry):
    """People in an organization. The same `id` in two organizations is the same person."""

    organization: Id = Field(description="The id of the organization.")
    id: Id = Field(description="The id of the person.")
    email: Id = Field("", description="The e-mail address. Default: the service shows none.", validate_default=False)
    displayName: StrictStr = Field("", description="The name. Default: the part of the address before the @, or the id.")
    role: MemberRole | None = Field("read", description="The role; `null` for a guest.")
    disabled: StrictBool = Field(False, description="Whether they can do nothing, whatever their role is and whatever they were given.")


class Token(Entry):
    """Access tokens."""

    token: Id = Field(description="The token.")
    member: Id = Field(description="The id of the member who owns it.")
    access: Literal["read", "write"] = Field("write", description="Whether it may write.")


class TeamMember(Entry):
    """A member of a team; the id alone is a member with the role `read`."""

    id: Id = Field(description="The id of the member.")
    role: Literal["owner", "admin", "create", "review", "edit", "comment", "read"] = Field("read", description="The role in the team.")


class Team(Entry):
    """Teams."""

    organization: Id = Field(description="The id of the organization.")
    id: Id = Field(description="The id.")
    title: StrictStr = Field("Untitled", description="The title.")
    createdAt: Time = Field("", description="When it was created. Default: now.")
    members: list[Annotated[TeamMember, BeforeValidator(lambda value: {"id": value} if isinstance(value, str) else value)]] = Field(
        [], description="Its members, each with a role, or only their ids."
    )


class Grant(Entry):
    """What one person or one team was given."""

    member: Id | None = Field(None, description="The id of the member who was given it.")
    team: Id | None = Field(None, description="The id of the team that was given it, instead of a member.")
    role: MemberRole = Field(description="What they may do there, whatever the `defaultLevel` says.")

    @model_validator(mode="after")
    def either(self) -> Self:
        if (self.member is None) == (self.team is None):
            raise ValueError("it must have either member or team")
        return self


Grants = Annotated[list[Grant], Field(description="What single people and teams were given there.")]
Creator = Annotated[Id | None, Field(description="The id of the member who created it, who has the role `admin` there. Default: nobody.")]


class Collection(Entry):
    """Collections, each after the collection that contains it."""

    organization: Id = Field(description="The id of the organization.")
    id: Id = Field(description="The id.")
    title: StrictStr = Field("Untitled", description="The title.")
    description: StrictStr = Field("", description="The description.")
    parent: Id | None = Field(None, description="The id of the collection that contains it; `null` for the top.")
    defaultLevel: Level | None = Field(None, description="The access that members have.")
    grants: Grants = []
    createdBy: Creator = None


class ChangeRequest(Entry):
    """A proposed edit of a space."""

    subject: StrictStr = Field("Untitled", description="The title.", max_length=100)
    status: Literal["draft", "open", "archived"] = Field("draft", description="How far it is.")
    createdBy: Id = Field(description="The id of the member who began it.")
    createdAt: Time = Field("", description="When it was begun. Default: now.")
    updatedAt: Time = Field("", description="When it was changed. Default: now.")


class Comment(Entry):
    """A comment on a space."""

    markdown: StrictStr = Field(description="The text.")
    status: Literal["open", "resolved"] = Field("open", description="Whether it is resolved.")
    postedBy: Id = Field(description="The id of the member who wrote it.")
    postedAt: Time = Field("", description="When it was written. Default: now.")


class Space(Entry):
    """Spaces."""

    organization: Id = Field(description="The id of the organization.")
    id: Id = Field(description="The id.")
    title: StrictStr = Field("Untitled", description="The title.")
    emoji: StrictStr = Field("", description="An emoji, or its code, such as `1f4d6`.")
    parent: Id | None = Field(None, description="The id of the collection that contains it; `null` for the top.")
    visibility: Literal["public", "unlisted", "share-link", "visitor-auth", "in-collection", "private"] = Field(
        "private", description="Who can read it. Default in a collection: `in-collection`."
    )
    editMode: Literal["live", "locked"] = Field("live", description="Whether all edits are locked.")
    language: StrictStr = Field("en", description="The language.")
    defaultLevel: Level | None = Field(None, description="The access that members have.")
    grants: Grants = []
    createdBy: Creator = None
    mergeRules: MergeRules = Field(MergeRules(type="inherit", rules=[]), description="The rules for merging change requests.")
    createdAt: Time = Field("", description="When it was created. Default: now.")
    updatedAt: Time = Field("", description="When it was changed. Default: now.")
    deletedAt: Time = Field("", description="When it was deleted: it can be restored for seven days. Default: it is not deleted.")
    revision: Id = Field("", description="The id of its revision. Default: a new id.", validate_default=False)
    gitSync: Free = Field({}, description="The repository that it is synchronized with.")
    pages: list[Page] = Field([], description="The pages. Default: one page, `Page`.")
    files: list[File] = Field([], description="The files.")
    variables: dict[str, StrictStr] = Field({}, description="Values for the expressions of its pages, by name.")
    changeRequests: list[ChangeRequest] = Field([], description="The change requests, the oldest first.")
    comments: list[Comment] = Field([], description="The comments, the oldest first.")


class SiteSpace(Entry):
    """A space on a site."""

    id: Id = Field("", description="Default: a new id.", validate_default=False)
    space: Id = Field(description="The id of the space.")
    path: StrictStr = Field("", description="Its part of the URL. Default: made from the title of the space.")
    draft: StrictBool = Field(False, description="Whether it is shown to nobody.")
    hidden: StrictBool = Field(False, description="Whether navigation omits it.")
    condition: StrictStr = Field("", description="For which visitors it is shown. Default: for all.")


class SectionGroup(Entry):
    """A group of sections."""

    id: Id = Field(description="The id.")
    title: StrictStr = Field("Untitled", description="The title.")
    sectionGroup: Id | None = Field(None, description="The id of the group that contains it, which comes before it.")
    draft: StrictBool = Field(False, description="Whether it is shown to nobody, with everything in it.")
    hidden: StrictBool = Field(False, description="Whether navigation omits it, with everything in it.")


class Section(Entry):
    """A section of a site."""

    id: Id = Field("", description="Default: a new id.", validate_default=False)
    title: StrictStr = Field("Untitled", description="The title.")
    path: StrictStr = Field("", description="Its part of the URL. Default: made from the title.")
    sectionGroup: Id | None = Field(None, description="The id of the group that contains it.")
    draft: StrictBool = Field(False, description="Whether it is shown to nobody, with everything in it.")
    hidden: StrictBool = Field(False, description="Whether navigation omits it.")
    condition: StrictStr = Field("", description="For which visitors it is shown. Default: for all.")
    siteSpaces: list[SiteSpace] = Field(description="Its spaces; the first is the default.", min_length=1)


class Site(Entry):
    """Sites."""

    organization: Id = Field(description="The id of the organization.")
    id: Id = Field(description="The id.")
    title: StrictStr = Field("Untitled", description="The title.")
    type: StrictStr = Field("basic", description="The type, such as `basic` or `premium`.")
    visibility: Visibility = Field("public", description="Who can read it.")
    basename: StrictStr = Field("", description="The name in its URL. Default: made from the title.")
    published: StrictBool = Field(False, description="Whether it is published.")
    createdAt: Time = Field("", description="When it was created. Default: now.")
    adaptiveContent: AdaptiveContent = Field(AdaptiveContent(enabled=False), description="Whether conditions hide content.")
    agentsContext: Literal["excluded", "included"] = Field("excluded", description="Whether agents may use it.")
    features: list[Free] = Field([], description="Its features: the `id`, the `plan` that includes it, and whether it is `frozen`.")
    gitSync: Free = Field({}, description="The repository that it is synchronized with.")
    siteSpaces: list[SiteSpace] = Field([], description="The spaces of a site without sections; the first is the default.")
    sectionGroups: list[SectionGroup] = Field([], description="The groups of its sections.")
    sections: list[Section] = Field([], description="The sections; the first is the default.")


class Specification(Entry):
    """OpenAPI specifications."""

    organization: Id = Field(description="The id of the organization.")
    id: Id = Field("", description="Default: a new id.", validate_default=False)
    slug: Id = Field("", description="The name in its URL. Default: made from the id.", validate_default=False)
    sourceURL: StrictStr = Field("", description="The URL of the document, which is shown as it is written, and never fetched.")
    file: StrictStr = Field("", description="The document itself, with which processing succeeds.")
    visibility: Literal["private", "public"] = Field("private", description="Who can read it.")
    createdAt: Time = Field("", description="When it was created. Default: now.")
    updatedAt: Time = Field("", description="When it was changed. Default: now.")


class Provider(Entry):
    """SAML providers for single sign-on."""

    organization: Id = Field(description="The id of the organization.")
    id: Id = Field(description="The id.")
    label: StrictStr = Field("SAML", description="The text of the button on the sign-in page.")
    entityID: StrictStr = Field("", description="The id of the provider in SAML. Default: the id.")
    ssoURL: StrictStr = Field("", description="The URL where people sign in.")
    certificate: StrictStr = Field("", description="The certificate.")
    defaultTeam: Id | None = Field(None, description="The id of the team of new members.")
    defaultRole: MemberRole | None = Field(None, description="The role of new members.")


class Integration(Publish):
    """Integrations. Their other fields are those of the request that publishes an integration, `PUT /v1/integrations/{integrationName}`."""

    # The parts of these values are as open as those of the request that publishes an integration.
    model_config = ConfigDict(extra="forbid", defer_build=True)

    organization: Id = Field(description="The id of the organization that owns it.")
    name: Id = Field(description="The name, which is its id.")
    id: StrictStr = Field("", description="The name again; may be omitted.")
    title: StrictStr = Field("", description="The title. Default: the name.")


LISTS: Final[Mapping[str, type[BaseModel]]] = {
    "organizations": Organization,
    "members": Member,
    "tokens": Token,
    "teams": Team,
    "collections": Collection,
    "spaces": Space,
    "sites": Site,
    "openapi": Specification,
    "saml": Provider,
    "integrations": Integration,
}
"""The lists of a seed, in the order in which they are loaded: what an entry refers to is loaded before it."""

PARTS: Final[Mapping[str, type[BaseModel]]] = {
    "pages": Page,
    "files": File,
    "changeRequests": ChangeRequest,
    "comments": Comment,
    "grants": Grant,
    "members": TeamMember,
    "siteSpaces": SiteSpace,
    "sectionGroups": SectionGroup,
    "sections": Section,
    "mergeRules": MergeRules,
    "rules": ReviewRule,
    "adaptiveContent": AdaptiveContent,
}
"""The values of fields that have fields of their own, by the names of those."""
