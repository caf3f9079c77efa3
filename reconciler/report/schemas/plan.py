"""The documents of `plan` and `plan --out`: what changes."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired

from reconciler.model import Action, Cause, Severity
from reconciler.report.schemas import types as t

# Words of features in this document, as their models have them.
URL_REASONS: Final = ("moved", "gone", "new", "shadowed", "unknown")
REDIRECT_FORMATS: Final = ("netlify", "cloudflare", "nginx", "csv", "hosted")
WORK_EFFECTS: Final = ("delete", "replace", "transfer", "move", "lock")


class SummaryData(t.Record):
    create: t.Count
    update: t.Count
    move: t.Count
    replace: t.Count
    delete: t.Count
    adopt: t.Count
    forget: t.Count
    restore: t.Count
    rename: NotRequired[Annotated[t.Count, t.doc("What the state tracks under another address. Absent: none.")]]
    transfer: NotRequired[Annotated[t.Count, t.doc("Absent: none.")]]
    ignored: NotRequired[Annotated[t.Count, t.doc("Differences that the YAML says to leave alone. Absent: none.")]]
    held: NotRequired[Annotated[t.Count, t.doc("Changes that are refused and left alone, with --hold. Absent: none.")]]
    unmanaged: Annotated[t.Count | None, t.doc("Null where only files were compared.")]
    blocked: t.Count
    requests: t.Count
    outside: t.Count


class ForecastData(t.Record):
    writes: t.Count
    reads: Annotated[t.Count, t.doc("About.")]
    seconds: Annotated[t.Seconds, t.doc("About, waiting included.")]
    held: Annotated[t.Seconds, t.doc("How many of them are spent waiting for the service's rate limit.")]


class FieldData(t.Record):
    name: Annotated[t.Text, t.doc("The field, as the YAML calls it.")]
    before: Annotated[Any, t.doc("The current value; null also where it is unknown.")]
    after: Annotated[Any, t.doc("The declared value.")]
    cause: Annotated[str, t.OneOf(Cause), t.doc("Who changed it: your files, the service, or both.")]
    fromDefaults: NotRequired[Annotated[bool, t.doc("`true`: the declared value is that of `defaults`. Absent: it is not.")]]
    note: NotRequired[Annotated[t.Text, t.doc("What else to know about the value; the change's `reason` repeats it. Absent: nothing.")]]


class MoveData(t.Record):
    before: t.SpotData
    after: t.SpotData


class ChangeData(t.ResourceData):
    actions: t.Different[Annotated[str, t.OneOf(Action)]]
    fields: t.Items[FieldData]
    place: Annotated[MoveData | None, t.doc("From where to where it moves, among its managed siblings.")]
    reason: Annotated[t.Text, t.doc("One sentence; empty where nothing needs to be explained.")]
    source: t.SourceData | None


class StepData(t.Record):
    id: t.Number
    address: t.AddressText
    verb: Annotated[t.Text, t.doc("What the request does to the address.")]
    method: t.Method
    path: Annotated[t.RequestPath, t.doc("`{address}` stands for the id of an object that does not exist yet.")]
    fields: Annotated[t.Items[t.Text], t.doc("The fields that the request carries.")]
    needs: Annotated[t.Items[t.Number], t.doc("Steps that must have succeeded.")]
    after: Annotated[t.Items[t.Number], t.doc("Steps that must have ended.")]


class ExposureData(t.ResourceData):
    field: Annotated[t.Text | None, t.doc("The field that does it; null where no field of the object does.")]
    before: Annotated[Any, t.doc("The current value; null also where it is unknown.")]
    after: Annotated[Any, t.doc("The declared value.")]
    says: Annotated[t.Text, t.doc("What is true afterwards, as the end of a sentence.")]
    readers: Annotated[t.Items[t.Text], t.doc("Who can read more; empty where it is not about readers.")]
    path: Annotated[t.Items[t.Text], t.doc("How they reach the object: from the object to what admits them.")]
    cause: Annotated[t.AddressText | None, t.doc("What is changed or created; null where that is the object itself.")]
    reaches: Annotated[t.Items[t.AddressText], t.doc("What else they can read for the same reason.")]
    window: Annotated[t.Count, t.doc("For how many requests it lasts; 0 where it stays.")]
    asked: Annotated[bool, t.doc("Whether apply --yes requires a consent.")]
    source: t.SourceData | None
    id: NotRequired[t.CauseId]


class BrokenUrlData(t.ResourceData):
    before: Annotated[t.Text | None, t.doc("The published URL; null where it is a secret.")]
    after: Annotated[t.Text | None, t.doc("The URL of the same content afterwards; null where there is none or only the service knows it.")]
    reason: Annotated[t.Text, t.doc("One sentence.")]
    source: t.SourceData | None
    id: NotRequired[t.CauseId]


class LeftOutData(t.Record):
    reason: t.Text
    urls: Annotated[t.Count, t.doc("How many.")]


class RedirectFileData(t.Record):
    path: Annotated[t.Text, t.doc("Below the project.")]
    format: Annotated[str, t.OneOf(REDIRECT_FORMATS)]
    table: Annotated[t.Text, t.doc("The table of its site.")]
    written: Annotated[bool, t.doc("Whether apply writes it.")]
    added: Annotated[t.Count, t.doc("New redirects.")]
    changed: Annotated[t.Count, t.doc("Redirects that lead elsewhere.")]
    removed: Annotated[t.Count, t.doc("Redirects that are no longer needed.")]
    leftOut: Annotated[t.Items[LeftOutData], t.doc("Redirects that the format cannot have.")]


class DeadUrlData(t.Record):
    url: Annotated[t.Text, t.doc("A URL that was public; it ends in `/**` where the pages below it are not known.")]
    site: t.AddressText
    path: Annotated[t.Text, t.doc("The URL below that of its site; empty where that is not known.")]
    reason: t.Text


class RedirectsData(t.Record):
    files: Annotated[t.Items[RedirectFileData], t.doc("The files that differ.")]
    dead: Annotated[t.Items[DeadUrlData], t.doc("What was public until now, and nothing answers after the plan.")]
    ended: NotRequired[
        Annotated[t.Items[DeadUrlData], t.doc("What was public, and nothing answers already: not this plan ended it. Absent: none.")]
    ]


class PageChangeData(t.Record):
    page: Annotated[t.Text | None, t.doc("The id of the page; null for all pages of a space that could not be read, and for a secret URL.")]
    title: Annotated[t.Text, t.doc("Of the page, else of what the change is about.")]
    space: Annotated[t.AddressText | None, t.doc("What contains the page; null for a secret URL.")]
    site: Annotated[t.AddressText, t.doc("What publishes it.")]
    before: Annotated[
        t.Text | None,
        t.doc("The URL that answered with the page; null for a new one, a digest of a secret one, URL/** for all below a URL."),
    ]
    after: Annotated[t.Text | None, t.doc("Where the page answers afterwards; null where it does nowhere or only the service knows.")]
    reason: Annotated[
        str,
        t.OneOf(URL_REASONS),
        t.doc("gone: nothing answers there; shadowed: another page does; unknown: only the service knows the new URL, or the pages."),
    ]


class UrlGroupData(t.Record):
    reason: Annotated[str, t.OneOf(reason for reason in URL_REASONS if reason != "new")]
    site: t.AddressText
    root: Annotated[t.Text, t.doc("The URL of the site before the plan; empty where it is not known.")]
    before: Annotated[t.Text | None, t.doc("A URL, or URL/** for all below it.")]
    after: Annotated[t.Text | None, t.doc("Where the same pages answer afterwards.")]
    urls: Annotated[t.Count, t.doc("How many; 0 where the pages could not be read.")]
    pages: Annotated[t.Count, t.doc("A page may have several URLs.")]
    spaces: Annotated[t.Items[t.AddressText], t.doc("What contains the pages.")]


class LinkingPageData(t.Record):
    page: Annotated[t.Text, t.doc("The id of the page that contains the links.")]
    title: t.Text
    space: t.AddressText
    to: Annotated[t.Items[t.Text], t.doc("The titles of the pages that it links to.")]


class WorkItemData(t.Record):
    title: Annotated[t.Text, t.doc("As its author wrote it; empty where it is not known.")]
    author: Annotated[t.Text, t.doc("Empty where it is not known.")]
    since: Annotated[t.Moment | None, t.doc("When it began; null where it is not known.")]
    age: Annotated[t.Seconds | None, t.doc("Since then, by the clock of the service.")]


class WorkSortData(t.Record):
    noun: Annotated[t.Text, t.doc("What one is, such as `draft change request`.")]
    number: Annotated[t.Count | None, t.doc("Null where it is not known.")]
    more: Annotated[bool, t.doc("Whether there may be more.")]
    items: Annotated[t.Items[WorkItemData], t.doc("At most five.")]
    unread: Annotated[t.Text, t.doc("Why no more is known; empty where nothing is missing.")]


class OpenWorkData(t.ResourceData):
    effect: Annotated[str, t.OneOf(WORK_EFFECTS), t.doc("What happens to the object.")]
    within: Annotated[t.Items[t.AddressText], t.doc("What contains it and has the same effect on it.")]
    blocks: Annotated[bool, t.doc("Whether the rules of the project require consent.")]
    asked: Annotated[bool, t.doc("Whether apply requires --allow-open-work.")]
    sorts: t.Items[WorkSortData]
    source: t.SourceData | None
    id: NotRequired[t.CauseId]


class LostReadersData(t.Record):
    address: t.AddressText
    readers: Annotated[t.Items[t.Text], t.doc("Who can no longer read it.")]


class ForbiddenData(t.Record):
    address: t.AddressText
    verb: t.Text
    flag: Annotated[t.Text, t.doc("The permission that is false.")]
    of: t.AddressText
    id: NotRequired[t.CauseId]


class ViolationData(t.Record):
    sort: Annotated[t.Text, t.doc("What the rule is: `policy` or `access`, and in drift also `expect`.")]
    rule: Annotated[t.Text, t.doc("The rule's id, the reader, or the asserted value.")]
    address: Annotated[t.AddressText | None, t.doc("Null where the whole plan violates it.")]
    level: Annotated[str, t.OneOf(Severity), t.doc("An error refuses the run; a warning is only shown.")]
    message: Annotated[t.Text, t.doc("What is wrong, as one sentence.")]
    path: Annotated[t.Items[t.Text], t.doc("How readers reach the object; empty where it is not about readers.")]
    remedy: Annotated[t.Text, t.doc("The way past it.")]
    source: Annotated[t.SourceData | None, t.doc("Where the rule is written.")]
    declared: Annotated[t.SourceData | None, t.doc("Where the resource is declared.")]
    id: NotRequired[t.CauseId]


class BlockedData(t.ReasonData):
    remedy: t.Text
    cause: Annotated[t.AddressText | None, t.doc("What it waits for; null where it is blocked for a reason of its own.")]
    id: NotRequired[t.CauseId]


class HeldChangeData(t.Record):
    address: t.AddressText
    actions: Annotated[
        t.Items[Annotated[str, t.OneOf(Action)]], t.doc("What would happen to it; empty where only more readers would see it.")
    ]
    refused: Annotated[bool, t.doc("Whether a guard refuses it; false where it only requires what is refused, or is required by it.")]
    id: t.CauseId


class HeldRefusalData(t.Record):
    message: t.Text
    remedy: Annotated[t.Text, t.doc("How it is allowed.")]
    id: t.CauseId


class HeldData(t.Record):
    changes: Annotated[t.Items[HeldChangeData], t.doc("What is left alone. A plan with --exclude for each of these is the same.")]
    refusals: Annotated[t.Items[HeldRefusalData], t.doc("Why.")]


class PlanData(t.Record):
    """What a plan and a saved plan have in common."""

    format: Literal["reconciler.plan/1"]
    project: Annotated[t.Text, t.doc("The project's name.")]
    environment: t.Text | None
    createdAt: t.Moment
    summary: SummaryData
    forecast: Annotated[ForecastData | None, t.doc("What applying it takes; null where nobody measured, as in a saved plan.")]
    changes: Annotated[t.Items[ChangeData], t.doc("What happens to each address; addresses without a change are not listed.")]
    steps: Annotated[t.Items[StepData], t.doc("The requests that write, in an order that could be run one by one.")]
    exposures: Annotated[
        t.Items[ExposureData], t.doc("What becomes public or loses its protection; a looser rule of the project has the kind `project`.")
    ]
    broken: Annotated[t.Items[BrokenUrlData], t.doc("Published URLs that stop working.")]
    redirects: NotRequired[Annotated[RedirectsData, t.doc("What follows for redirects. Absent: the project says nothing of its URLs.")]]
    urls: NotRequired[
        Annotated[t.Items[PageChangeData], t.doc("The URLs of pages that end, move or begin, as many as --max-urls allows. Absent: none.")]
    ]
    urlCount: NotRequired[Annotated[t.Count, t.doc("How many there are, also where `urls` is shorter.")]]
    urlGroups: NotRequired[Annotated[t.Items[UrlGroupData], t.doc("The same without new ones, as people read it.")]]
    linking: NotRequired[
        Annotated[t.Items[LinkingPageData], t.doc("Pages with links to pages that answer nowhere afterwards. Absent: none.")]
    ]
    openWork: NotRequired[
        Annotated[
            t.Items[OpenWorkData], t.doc("What people are working on in what the plan deletes, replaces, moves or locks. Absent: nothing.")
        ]
    ]
    lostReaders: NotRequired[Annotated[t.Items[LostReadersData], t.doc("What remains and fewer people can read. Absent: nothing.")]]
    forbidden: Annotated[t.Items[ForbiddenData], t.doc("Requests that the service will refuse, according to the token's permissions.")]
    violations: NotRequired[Annotated[t.Items[ViolationData], t.doc("Rules of the project that the plan violates.")]]
    unmanaged: t.Items[t.UnmanagedData]
    unknown: Annotated[t.Items[t.UnknownData], t.doc("What could not be read.")]
    inDoubt: Annotated[t.Items[t.AddressText], t.doc("Addresses with a request of an earlier run whose outcome is unknown.")]
    blocked: Annotated[t.Items[BlockedData], t.doc("What cannot be done in this run.")]
    held: NotRequired[Annotated[HeldData, t.doc("What is refused and left alone, with --hold, so that the rest can be applied.")]]
    ignored: NotRequired[Annotated[t.Items[t.IgnoredData], t.doc("Differences that the YAML says to leave alone (`ignoreChanges`).")]]
    notes: Annotated[t.Items[t.Text], t.doc("Sentences for the reader.")]


class PlanDocument(PlanData, total=False):
    """A plan. The keys of a saved plan are allowed and not checked, so that a saved plan is a plan too."""

    madeBy: Annotated[Any, t.doc("Only in a saved plan: the version of reconciler.")]
    service: Annotated[Any, t.doc("Only in a saved plan: whose ids are meant.")]
    options: Annotated[Any, t.doc("Only in a saved plan: those it was created with.")]
    digests: Annotated[Any, t.doc("Only in a saved plan: what it was created from.")]
    preconditions: Annotated[Any, t.doc("Only in a saved plan: the object of each change, as it was.")]
    consents: Annotated[Any, t.doc("Only in a saved plan: what it allows to open.")]
    requests: Annotated[Any, t.doc("Only in a saved plan: what each step sends.")]
    origin: Annotated[Any, t.doc("Only in a saved plan: who created it, from which commit.")]
    rulesFrom: Annotated[Any, t.doc("Only in a saved plan: whose rules judged it.")]
    signature: Annotated[Any, t.doc("Only in a saved plan: proves that it comes from whoever has the key.")]


class OptionsData(t.Record):
    target: t.Items[t.Text]
    exclude: t.Items[t.Text]
    allowReplace: t.Items[t.Text]
    allowDelete: t.Count | None
    allowExposure: t.Items[t.Text]
    maxExposed: NotRequired[Annotated[t.Count | None, t.doc("Absent in files of older versions.")]]
    allowDeadUrls: NotRequired[Annotated[t.Items[t.Text], t.doc("Absent in files of older versions.")]]
    allowOpenWork: NotRequired[Annotated[t.Items[t.Text], t.doc("Absent in files of older versions.")]]


class DigestsData(t.Record):
    configuration: Annotated[t.Text | None, t.doc("Of all that the project declares; null where there was no state.")]
    lineage: Annotated[t.Text, t.doc("The state's; empty where there was none.")]
    serial: t.Count


class PreconditionData(t.Record):
    address: t.AddressText
    id: t.Text | None
    seen: Annotated[t.Text | None, t.doc("A digest of what was read of it; null where it does not exist yet.")]


class ConsentData(t.Record):
    address: Annotated[t.Text, t.doc("An address, or a rule of the project.")]
    field: Annotated[t.Text, t.doc("Empty where the object is deleted; `openWork` for work in progress that ends.")]
    principal: Annotated[t.Text, t.doc("Who.")]
    level: Annotated[t.Text, t.doc("What they can do afterwards; of work in progress, what happens to the object.")]
    cause: Annotated[t.Text, t.doc("What opens it, or contains it; empty where it is the field itself.")]
    value: Annotated[t.Text, t.doc("A digest of what is sent, or of the work.")]


class RequestDigestData(t.Record):
    step: t.Number
    digest: Annotated[t.Text, t.doc("Of everything the request sends and touches.")]


class OriginData(t.Record):
    """Shown, and compared only with --require-commit."""

    commit: Annotated[t.CommitId | None, t.doc("The commit of the files; of a pull request, its last one. Null where nobody knows it.")]
    modified: Annotated[bool | None, t.doc("Whether files of the project differed from the commit; null outside a git repository.")]
    actor: Annotated[t.Text | None, t.doc("Who started the CI job, or the user and the machine.")]
    run: Annotated[t.Text | None, t.doc("The URL of the CI job; null outside of one.")]


class RulesFromData(t.Record):
    """Shown, and not compared: apply judges the plan again."""

    ref: Annotated[t.Text, t.doc("As --rules-from names it.")]
    commit: Annotated[t.CommitId, t.doc("The commit of it then.")]


class SavedPlanDocument(PlanData):
    """What `plan --out` writes and `apply --plan` reads."""

    madeBy: Annotated[t.Text, t.doc("The version of reconciler.")]
    service: Annotated[t.Text, t.doc("Whose ids are meant: a base address, or a sandbox.")]
    options: OptionsData
    digests: DigestsData
    preconditions: Annotated[t.Items[PreconditionData], t.doc("The object of each change, as it was.")]
    consents: Annotated[t.Items[ConsentData], t.doc("What it allows to open.")]
    requests: Annotated[t.Items[RequestDigestData], t.doc("What each step sends.")]
    origin: NotRequired[Annotated[OriginData, t.doc("Absent in files of older versions.")]]
    rulesFrom: NotRequired[
        Annotated[RulesFromData, t.doc("The commit whose guards, prune, protect, access, policies and urls judged it. Absent: its own.")]
    ]
    signature: NotRequired[Annotated[t.Signature, t.doc("An HMAC of all the rest, made with RECONCILER_PLAN_KEY. Absent: not signed.")]]
