"""The keys of fleet.yaml: one table, from which come the reader and the JSON Schema. Pure data.

A map of `defaults` may contain what a project requires: such a key is required in one of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.config.key import Key
from reconciler.config.settings import KeyReader
from reconciler.config.source.problems import described
from reconciler.features.drift.model import DriftClass
from reconciler.fleet.declared import values
from reconciler.fleet.drift_groups import ZONE
from reconciler.fleet.model import (
    APPROVALS_DEFAULT,
    EVERY_DEFAULT,
    TENANT_DEFAULT,
    VALID_DEFAULT,
    Approval,
    ChangeClass,
    Event,
    Mode,
    RehearsalRule,
)
from reconciler.fleet.people import ALL, Role

FILE: Final = "fleet.yaml"
EVERY_MAX: Final = 30 * 86_400  # seconds
YEAR: Final = 366 * 86_400  # seconds
VALID_FOR: Final = "validFor"  # a key of approvals, beside the classes of change
SORTS: Final = ("list", "directories", "organizations")
SETTINGS: Final = ("expiresSoon", "notifications", "notify", "dashboard", "webhooks", "people")
"""Keys whose values are stored as they are, as JSON with references instead of secrets."""

_NAME: Final = {"type": ["string", "integer"], "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"}
_CLAIM: Final = {"type": ["string", "integer"], "pattern": "^([A-Za-z0-9._-]{1,100}\\*?|\\*)$"}
_DURATION: Final = {"type": "string", "pattern": "^[1-9][0-9]*(s|m|h|d)$"}
_TIME: Final = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
_WHEN: Final = {"type": "string", "pattern": "^(now|never|([01][0-9]|2[0-3]):[0-5][0-9])$"}
_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_REFERENCE: Final = {"$ref": "#/$defs/reference"}
_SOPS: Final = {"propertyNames": {"pattern": "^(SOPS|AWS|GOOGLE|AZURE|VAULT)_[A-Z0-9_]+$"}}
_TENANTS: Final = {"type": "array", "items": {"anyOf": [_NAME, {"const": ALL}]}}
VALUE: Final = {"type": ["string", "number", "boolean"]}


def _version(keys: KeyReader, key: Key) -> None:
    version = keys.scalar(key.name)
    if version is not None and version.core() != 1:
        keys.problems.add(version.at, f"version is {described(version)}; this program knows version 1", id="RC-version")


REFERENCE: Final = (
    Key("env", "The name of an environment variable of the workers.", schema={**_TEXT, "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}),
    Key("file", "The absolute path of a file on the workers.", schema={**_TEXT, "pattern": "^/"}),
)
SOURCE: Final = (
    Key(
        "git", "The URL of a git repository: https://…, ssh://… or file:///….", reader=values.git, schema=_TEXT, example="URL",
        required=True, elsewhere="defaults",
    ),
    Key(
        "ref", "A branch, a tag or a commit. By default, the repository's default branch.", reader=values.ref, schema=_TEXT,
        default="HEAD",
    ),
    Key("path", "The directory of the project in the repository.", reader=values.folder, schema=_TEXT, default="."),
)  # fmt: skip
WINDOW: Final = (
    Key(
        "days", "The days on which it opens. By default, every day.", reader=values.days, example="[monday, tuesday]", default=range(7),
        schema={"type": "array", "items": {"enum": list(values.DAYS)}},
    ),
    Key("from", "When it opens, such as 22:00.", reader=values.moment, schema=_TIME, example="22:00", required=True),
    Key(
        "until", "When it closes; a time before `from` is on the next day.", reader=values.moment, schema=_TIME, example="06:00",
        required=True,
    ),
    Key("zone", "The time zone, such as Europe/Berlin. By default, UTC.", reader=values.zone, schema=_TEXT, default="UTC"),
)  # fmt: skip
PROJECT: Final = (
    Key(
        "name", "The name of the project in the fleet: 1 to 100 letters, digits or any of . _ -", reader=values.name, schema=_NAME,
        example="NAME", required=True,
    ),
    Key("source", "Where its files are.", form="map", keys=SOURCE, example="git: URL", required=True, elsewhere="defaults"),
    Key(
        "baseUrl", "The URL of the service. The one in the project's own files is not used.", reader=values.service, schema=_TEXT,
        example="https://HOST", required=True, elsewhere="defaults",
    ),
    Key(
        "token", "Where the token of the service is: {env: NAME} or {file: PATH}.", reader=values.reference, schema=_REFERENCE,
        example="{env: NAME}", required=True, elsewhere="defaults",
    ),
    Key(
        "project", "The `project:` that its files must have: a name, or a prefix such as blue-*. By default, its name in the fleet.",
        reader=values.claim, schema=_CLAIM, default="",
    ),
    Key(
        "state", "Where the URL of the state is: {env: NAME} or {file: PATH}. By default, the fleet's database.",
        reader=values.reference, schema=_REFERENCE,
    ),
    Key("environment", "The environment: environments/NAME.yaml.", reader=values.name, schema=_NAME),
    Key(
        "every", "The time from one run to the next, such as 10m. A wish: the service's rate limit may make it longer.",
        reader=values.duration(10, EVERY_MAX), schema=_DURATION, default=EVERY_DEFAULT,
    ),
    Key(
        "mode", "watch: show the status. plan: also keep the plan. apply: also apply what needs no approval.", form="choice",
        options=tuple(Mode), default=Mode.WATCH,
    ),
    Key(
        "revertDrift", "With mode apply, whether changes made outside Reconciler are reverted. By default, they are only shown.",
        form="flag", default=False,
    ),
    Key(
        "hold", "With mode apply, whether what is refused or needs approvals is held, and the rest is applied. By default, nothing is.",
        form="flag", default=False,
    ),
    Key(
        "rulesFrom", "A branch, tag or commit of the same repository, whose rules judge the project. By default, its own files.",
        reader=values.ref, schema=_TEXT, default="",
    ),
    Key(
        "windows", "When changes may be applied. By default, at any time.", form="list", keys=WINDOW, reader=values.windows, default=(),
        example="from: 22:00, until: 06:00",
    ),
    Key(
        "approvals", "Who must approve a class of change, and how long an approval counts (validFor; by default, 7d).", form="map",
        default={**APPROVALS_DEFAULT, VALID_FOR: VALID_DEFAULT}, example="create: one",
        keys=(
            *(Key(change, form="choice", options=tuple(Approval), default=APPROVALS_DEFAULT[change]) for change in ChangeClass),
            Key(VALID_FOR, reader=values.duration(60, YEAR), schema=_DURATION, default=VALID_DEFAULT),
        ),
    ),
    Key(
        "rehearse", "required: nobody can approve a plan that was not rehearsed on what the service contains now. By default, optional.",
        form="choice", options=tuple(RehearsalRule), default=RehearsalRule.OPTIONAL,
    ),
    Key("tenant", "Whose project it is. Tenants get equal turns.", reader=values.name, schema=_NAME, default=TENANT_DEFAULT),
    Key(
        "vars", "Variables of the project. Not for secrets.", reader=values.variables, default={}, example="name: value",
        schema={"type": "object", "additionalProperties": VALUE},
    ),
    Key(
        "secretVars", "Secrets that the project reads as {env: RECONCILER_VAR_NAME}: {NAME: {env: NAME}} or {NAME: {file: PATH}}.",
        reader=values.secrets, default={}, example="NAME: {env: NAME}",
        schema={"type": "object", "additionalProperties": _REFERENCE},
    ),
    Key(
        "sops", "Variables of the environment of the sops command, such as SOPS_AGE_KEY: {env: NAME} or {file: PATH}.",
        reader=values.sops, default={}, example="NAME: {env: NAME}",
        schema={"type": "object", **_SOPS, "additionalProperties": _REFERENCE},
    ),
    Key(
        "wave", "Changes are applied to wave 0 first; the next wave waits until it is Synced and healthy.", form="whole", most=1_000,
        default=0,
    ),
)  # fmt: skip
_ROW: Final = {key.name: key for key in (*SOURCE, *PROJECT)}
DIRECTORIES: Final = (
    replace(_ROW["git"], elsewhere="defaults.source"),
    _ROW["ref"],
    Key("path", "A pattern such as orgs/*; a directory matches if its whole path does.", reader=values.folder, schema=_TEXT, default="*"),
)
ORGANIZATIONS: Final = (
    _ROW["baseUrl"],
    _ROW["token"],
    Key("match", "A pattern that the title or the id of an organization must match. By default, all.", form="text", default="*"),
)
GENERATOR: Final = (
    Key("list", "Each element gives a project. A map of texts, used as ${{ each.KEY }}, or a text, used as ${{ each.value }}."),
    Key(
        "directories",
        "Each directory of a repository that matches a pattern gives a project: ${{ each.name }}, ${{ each.path }}.",
        form="map",
        keys=DIRECTORIES,
        example='path: "orgs/*"',
    ),
    Key(
        "organizations",
        "Each organization that a token can read gives a project: ${{ each.id }}.",
        form="map",
        keys=ORGANIZATIONS,
        example="token: {env: NAME}",
    ),
    Key("template", "The project that each element gives.", required=True),
)
NOTIFICATION: Final = (
    Key(
        "url", "Where the URL of Apprise is that messages are sent to: {env: NAME} or {file: PATH}.", reader=values.secret,
        schema=_REFERENCE, example="{env: NAME}", required=True,
    ),
    Key(
        "on", "Which events. By default, all but applied.", reader=values.events, least=1, example="[failed, unhealthy]",
        default=tuple(event for event in Event if event is not Event.APPLIED),
        schema={"type": "array", "minItems": 1, "items": {"enum": [event.value for event in Event]}},
    ),
    Key(
        "tenants", "The tenants whose projects it is about. By default, all.", reader=values.words, least=1, example="[TENANT]",
        schema={"type": "array", "minItems": 1, "items": _NAME},
    ),
)  # fmt: skip
NOTIFY: Final = (
    *(
        Key(
            drift,
            "now, never, or a time of day such as 08:00. By default, 08:00 for cosmetic and now for all others.",
            reader=values.when,
            schema=_WHEN,
        )
        for drift in DriftClass
    ),
    Key(ZONE, "The time zone of these times, such as Europe/Berlin. By default, UTC.", reader=values.zone, schema=_TEXT, default="UTC"),
)
OIDC: Final = (
    Key(
        "issuer", "The URL of the provider, as its discovery document says it.", reader=values.url(path=True), schema=_TEXT,
        required=True,
    ),
    Key(
        "clientId", "The id of the client that is registered there, with the redirect URL https://HOST/login/callback.", form="text",
        required=True,
    ),
    Key(
        "clientSecret", "Where the client's secret is: {env: NAME} or {file: PATH}. Without it, the client is a public one.",
        reader=values.secret, schema=_REFERENCE,
    ),
    Key(
        "claim", "The claim of the ID token whose values give roles, such as groups or realm_access.roles. By default, groups.",
        form="text", default="groups",
    ),
    Key(
        "scopes", "What is asked for. By default, openid, email and profile.", reader=values.scopes, schema=_TEXTS,
        default=("openid", "email", "profile"), example="[email]",
    ),
)  # fmt: skip
ROLE: Final = (
    Key("value", "A value of the claim.", form="text", required=True, example="docs-leads"),
    Key(
        "role",
        "viewer: sees projects. approver: also rehearses, approves, rejects and runs them, and decides on drift. admin: also pauses, "
        "resumes, and reads the audit log.",
        form="choice",
        options=tuple(Role),
        required=True,
        example="approver",
    ),
    Key(
        "tenants",
        "The tenants in which it has the role. By default, all.",
        reader=values.tenants,
        schema=_TENANTS,
        default=(ALL,),
        example="[TENANT]",
    ),
)
DASHBOARD: Final = (
    Key(
        "url", "The URL that people open: https://HOST. By default, the loopback address that `fleet serve` prints.",
        reader=values.url(path=False), schema=_TEXT,
    ),
    Key(
        "oidc", "The OpenID Connect provider that people log in with. Without it, only the machine's own user can log in.", form="map",
        keys=OIDC, example="issuer: https://HOST, clientId: ID",
    ),
    Key(
        "roles", "Who may do what. Without a role, a person sees nothing.", form="list", keys=ROLE, default=(),
        example="value: docs-leads, role: approver",
    ),
    Key(
        "metrics", "Where the token is with which /metrics is read: {env: NAME} or {file: PATH}.", reader=values.secret, schema=_REFERENCE,
    ),
)  # fmt: skip
WEBHOOK: Final = (
    Key(
        "secret", "Where the secret is: {env: NAME} or {file: PATH}.", reader=values.secret, schema=_REFERENCE, example="{env: NAME}",
        required=True,
    ),
    Key(
        "tenants", "The tenants whose projects a push with this secret makes due. By default, all.", reader=values.tenants, default=(ALL,),
        least=1, schema={**_TENANTS, "minItems": 1}, example="[TENANT]",
    ),
)  # fmt: skip
WEBHOOKS: Final = (
    Key(
        "github",
        "The secret of the webhooks of GitHub, which sign what they send to /webhooks/github.",
        keys=WEBHOOK,
        reader=values.one_or_more,
        example="secret: {env: NAME}",
    ),
    Key(
        "gitlab",
        "The secret token, or the signing token, of the webhooks of GitLab, which send to /webhooks/gitlab.",
        keys=WEBHOOK,
        reader=values.one_or_more,
        example="secret: {env: NAME}",
    ),
)
PERSON: Final = (
    Key(
        "subject",
        "The subject (sub) that the provider of dashboard.oidc gives this person. By default, known by the addresses.",
        form="text",
    ),
    Key(
        "addresses",
        "E-mail addresses in their commits, noreply addresses of forges too.",
        reader=values.emails,
        least=1,
        default=(),
        schema={"type": "array", "minItems": 1, "items": _TEXT},
        example="[ada@acme.example]",
        required=True,
    ),
)
DEFAULTS: Final = Key("defaults", "What every project and every template has unless it says otherwise.")
LISTS: Final = (
    Key("projects", "The projects of the fleet.", form="list", keys=PROJECT, example="name: …, source: {git: …}"),
    Key("generators", "Lists from which a template makes projects.", form="list", keys=GENERATOR, example="list: […], template: {…}"),
)
FLEET: Final = (
    Key("version", "The version of this language: 1.", reader=_version, schema={"const": 1}, example="1", required=True),
    DEFAULTS,
    *LISTS,
    Key(
        "soak", "How long every project of a wave must stay Synced and healthy before the next wave is applied.",
        reader=values.duration(1, EVERY_MAX), schema=_DURATION, default=0,
    ),
    Key(
        "refresh", "The time from one reading of the generators' repositories and organizations to the next. By default, 10m.",
        reader=values.duration(30, 86_400), schema=_DURATION, default=600,
    ),
    Key(
        "expiresSoon", "How long before the end of a certificate or a share link people are warned, such as 30d.",
        reader=values.duration(60, YEAR), schema=_DURATION,
    ),
    Key(
        "notifications", "Where messages about projects are sent.", form="list", keys=NOTIFICATION, example="url: {env: NAME}",
    ),
    Key(
        "notify", "When people are notified of drift, by its class.", form="map", keys=NOTIFY, reader=values.written,
        example="cosmetic: '08:00'",
    ),
    Key(
        "dashboard", "Where `fleet serve` is reached, and who may do what there.", form="map", keys=DASHBOARD, reader=values.dashboard,
        example="url: https://HOST",
    ),
    Key(
        "people", "Whose addresses in commits are whose. An author whom nobody is matched to needs one approval more.", form="list",
        keys=PERSON, reader=values.people, example="addresses: [ada@acme.example]",
    ),
    Key(
        "webhooks", "The secrets with which pushes are signed.", form="map", keys=WEBHOOKS, reader=values.written,
        example="github: {secret: {env: NAME}}",
    ),
)  # fmt: skip
