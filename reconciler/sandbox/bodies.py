"""Request bodies with the limits of the reference; unknown fields are ignored, as the reference's objects are open."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, WithJsonSchema, model_validator

from reconciler.sandbox.body import URI, Body, NotEmpty, Open, uri

MemberRole = Literal["admin", "create", "review", "edit", "comment", "read"]
Level = Literal["admin", "create", "review", "edit", "comment", "read", "inherit"]
Title = Annotated[StrictStr, Field(max_length=50)]
SiteTitle = Annotated[StrictStr, Field(min_length=2, max_length=128)]
Icon = Annotated[StrictStr, Field(max_length=50)]
Uri = Annotated[StrictStr, Field(max_length=2048), AfterValidator(uri), WithJsonSchema(URI)]
Path = Annotated[StrictStr, Field(min_length=1, max_length=100)]
Condition = Annotated[StrictStr, Field(max_length=1024)]
Slug = Annotated[StrictStr, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$")]
HOST = r"^([A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]+\.[A-Za-z]{2,}(/[A-Za-z0-9_-]+)+$"


class ReviewRule(Open):
    rule: StrictStr
    users: list[StrictStr] = Field(default_factory=list)


class MergeRules(Open):
    type: StrictStr
    rules: list[ReviewRule] = Field(default_factory=list)


class CollectionPatch(Body):
    title: Title = ""
    description: Annotated[StrictStr, Field(max_length=100)] | None = None
    defaultLevel: Level | None = None


class CollectionCreate(Body):
    title: Title = ""
    parent: StrictStr | None = None


class SpaceAnchor(Body):
    type: Literal["space"]
    space: StrictStr


class CollectionAnchor(Body):
    type: Literal["collection"]
    collection: StrictStr


class SectionAnchor(Body):
    type: Literal["site-section"]
    siteSection: StrictStr


class GroupAnchor(Body):
    type: Literal["site-section", "site-section-group"]
    id: StrictStr


class SiteSpaceAnchor(Body):
    type: Literal["site-space"]
    siteSpace: StrictStr


ContentAnchor = Annotated[SpaceAnchor | CollectionAnchor, Field(discriminator="type")]


class ContentPosition(Body):
    before: ContentAnchor | None = None
    after: ContentAnchor | None = None


class SectionPosition(Body):
    before: SectionAnchor | None = None
    after: SectionAnchor | None = None


class GroupPosition(Body):
    before: GroupAnchor | None = None
    after: GroupAnchor | None = None


class SiteSpacePosition(Body):
    before: SiteSpaceAnchor | None = None
    after: SiteSpaceAnchor | None = None


class ContentMove(NotEmpty):
    parent: StrictStr | None = None
    position: ContentPosition = ContentPosition()


class SectionMove(NotEmpty):
    position: SectionPosition = SectionPosition()


class GroupMove(NotEmpty):
    position: GroupPosition = GroupPosition()


class SiteSpaceMove(NotEmpty):
    position: SiteSpacePosition = SiteSpacePosition()


class Transfer(Body):
    organization: StrictStr


class SpacePatch(Body):
    editMode: Literal["live", "locked"] = "live"
    title: Title = ""
    defaultLevel: Level | None = None
    language: StrictStr = ""
    mergeRules: MergeRules = MergeRules(type="inherit")
    emoji: Annotated[StrictStr, Field(max_length=50)] | None = None


class DefaultContent(Body):
    type: Literal["site"]
    site: StrictStr


class OrganizationPatch(Body):
    title: Annotated[StrictStr, Field(min_length=2, max_length=255)] = ""
    emailDomains: list[StrictStr] = Field(default_factory=list)
    hostname: Annotated[StrictStr, Field(min_length=3, max_length=32)] = ""
    defaultRole: MemberRole | None = None
    defaultContent: DefaultContent | None = None
    logo: Uri | None = None
    sso: StrictBool = False
    ai: StrictBool = False
    inviteLinks: StrictBool = False
    mergeRules: MergeRules = MergeRules(type="inherit")


class MemberPatch(Body):
    role: MemberRole | None = None


TeamTitle = Annotated[StrictStr, Field(min_length=1, max_length=64)]


class TeamCreate(Body):
    title: TeamTitle
    members: list[StrictStr] = Field(default_factory=list)


class TeamPatch(Body):
    title: TeamTitle


Visibility = Literal["public", "unlisted", "share-link", "visitor-auth"]


class SiteCreate(Body):
    type: Literal["basic", "premium", "ultimate", "sponsored", "legacy-basic", "legacy-premium"] = "basic"
    title: SiteTitle = "Untitled"
    visibility: Visibility = "public"
    spaces: list[StrictStr] = Field(default_factory=list)


class AdaptiveContent(Body):
    enabled: StrictBool


class SitePatch(Body):
    title: SiteTitle = "Untitled"
    visibility: Visibility = "public"
    basename: Path = ""
    adaptiveContent: AdaptiveContent = AdaptiveContent(enabled=False)
    agentsContext: Literal["excluded", "included"] = "included"
    defaultSiteSpace: StrictStr = ""
    defaultSiteSection: StrictStr = ""
    proxy: Annotated[StrictStr, Field(max_length=512, pattern=HOST)] | None = None


class SectionCreate(Body):
    spaceId: StrictStr
    title: SiteTitle = "Untitled"
    icon: Icon | None = None


class SectionPatch(Body):
    title: SiteTitle = "Untitled"
    path: Path = ""
    defaultSiteSpace: StrictStr = ""
    condition: Condition | None = None
    icon: Icon | None = None
    description: Annotated[StrictStr, Field(max_length=256)] | None = None


GroupTitle = Annotated[StrictStr, Field(min_length=1, max_length=100)]


class GroupCreate(Body):
    title: GroupTitle = "Untitled"
    icon: Icon | None = None
    sections: list[StrictStr] = Field(default_factory=list)
    parent: StrictStr | None = None


class GroupPatch(Body):
    title: GroupTitle = "Untitled"
    icon: Icon | None = None


class GroupJoin(Body):
    sectionId: StrictStr


class SiteSpaceCreate(Body):
    spaceId: StrictStr
    sectionId: StrictStr | None = None


class SiteSpacePatch(Body):
    path: Path = ""
    condition: Condition | None = None
    spaceId: StrictStr = ""


LinkName = Annotated[StrictStr, Field(min_length=1, max_length=50)]


class ShareLinkCreate(Body):
    name: LinkName


class ShareLinkPatch(NotEmpty):
    active: StrictBool = True
    name: LinkName = ""


class SpecSource(Body):
    """An address, or the document itself."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"oneOf": [{"required": ["url"]}, {"required": ["text"]}]})

    url: Uri = ""
    text: Annotated[StrictStr, Field(min_length=1)] = ""

    @model_validator(mode="after")
    def either(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("must have either url or text")
        return self


class SpecCreate(Body):
    slug: Slug
    source: SpecSource


class SpecPut(Body):
    source: SpecSource


class SpecPatch(Body):
    visibility: Literal["private", "public"] = "private"


Certificate = Annotated[StrictStr, Field(max_length=10_000)]
Label = Annotated[StrictStr, Field(min_length=1, max_length=30)]


class SamlCreate(Body):
    label: Label
    entityID: Annotated[StrictStr, Field(min_length=1)]
    certificate: Certificate
    ssoURL: Uri
    defaultTeam: StrictStr | None = None
    defaultRole: MemberRole | None = None


class SamlPatch(Body):
    label: Label = "SAML"
    entityID: Annotated[StrictStr, Field(min_length=1)] = "-"
    certificate: Certificate = ""
    ssoURL: Uri = ""
    defaultTeam: StrictStr | None = None
    defaultRole: MemberRole | None = None


class ClockSet(Body):
    now: StrictStr | None = None
    advance: StrictFloat | StrictInt | None = None
