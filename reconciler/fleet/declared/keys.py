"""What each key of fleet.yaml means; the JSON Schema and the messages use the same texts."""

from __future__ import annotations

from typing import Final

from reconciler.fleet.model import Approval, ChangeClass, Event, Mode, RehearsalRule
from reconciler.fleet.people import Role
from reconciler.model.drift import DriftClass

FILE: Final = "fleet.yaml"
TOP: Final = {
    "version": "The version of this language: 1.",
    "defaults": "What every project and every template has unless it says otherwise.",
    "projects": "The projects of the fleet.",
    "generators": "Lists from which a template makes projects.",
    "refresh": "The time from one reading of the generators' repositories and organizations to the next. By default, 10m.",
    "soak": "How long every project of a wave must stay Synced and healthy before the next wave is applied.",
    "expiresSoon": "How long before the end of a certificate or a share link people are warned, such as 30d.",
    "notifications": "Where messages about projects are sent.",
    "notify": "When people are notified of drift, by its class.",
    "dashboard": "Where `fleet serve` is reached, and who may do what there.",
    "webhooks": "The secrets with which pushes are signed.",
    "people": "Whose addresses in commits are whose. An author whom nobody is matched to needs one approval more.",
}
PERSON: Final = {
    "subject": "The subject (sub) that the provider of dashboard.oidc gives this person. By default, known by the addresses.",
    "addresses": "E-mail addresses in their commits, noreply addresses of forges too.",
}
NOTIFICATION: Final = {
    "url": "Where the URL of Apprise is that messages are sent to: {env: NAME} or {file: PATH}.",
    "on": "Which events. By default, all but applied.",
    "tenants": "The tenants whose projects it is about. By default, all.",
}
NOTIFY: Final = {
    **dict.fromkeys(
        map(str, DriftClass), "now, never, or a time of day such as 08:00. By default, 08:00 for cosmetic and now for all others."
    ),
    "zone": "The time zone of these times, such as Europe/Berlin. By default, UTC.",
}
PROJECT: Final = {
    "name": "The name of the project in the fleet: 1 to 100 letters, digits or any of . _ -",
    "source": "Where its files are.",
    "baseUrl": "The URL of the service. The one in the project's own files is not used.",
    "token": "Where the token of the service is: {env: NAME} or {file: PATH}.",
    "project": "The `project:` that its files must have: a name, or a prefix such as blue-*. By default, its name in the fleet.",
    "state": "Where the URL of the state is: {env: NAME} or {file: PATH}. By default, the fleet's database.",
    "environment": "The environment: environments/NAME.yaml.",
    "every": "The time from one run to the next, such as 10m. A wish: the service's rate limit may make it longer.",
    "mode": "watch: show the status. plan: also keep the plan. apply: also apply what needs no approval.",
    "revertDrift": "With mode apply, whether changes made outside Reconciler are reverted. By default, they are only shown.",
    "rulesFrom": "A branch, tag or commit of the same repository, whose rules judge the project. By default, its own files.",
    "windows": "When changes may be applied. By default, at any time.",
    "approvals": "Who must approve a class of change, and how long an approval counts (validFor; by default, 7d).",
    "rehearse": "required: nobody can approve a plan that was not rehearsed on what the service contains now. By default, optional.",
    "tenant": "Whose project it is. Tenants get equal turns.",
    "vars": "Variables of the project. Not for secrets.",
    "secretVars": "Secrets that the project reads as {env: RECONCILER_VAR_NAME}: {NAME: {env: NAME}} or {NAME: {file: PATH}}.",
    "sops": "Variables of the environment of the sops command, such as SOPS_AGE_KEY: {env: NAME} or {file: PATH}.",
    "wave": "Changes are applied to wave 0 first; the next wave waits until it is Synced and healthy.",
}
SOURCE: Final = {
    "git": "The URL of a git repository: https://…, ssh://… or file:///….",
    "ref": "A branch, a tag or a commit. By default, the repository's default branch.",
    "path": "The directory of the project in the repository.",
}
REFERENCE: Final = {"env": "The name of an environment variable of the workers.", "file": "The absolute path of a file on the workers."}
WINDOW: Final = {
    "days": "The days on which it opens. By default, every day.",
    "from": "When it opens, such as 22:00.",
    "until": "When it closes; a time before `from` is on the next day.",
    "zone": "The time zone, such as Europe/Berlin. By default, UTC.",
}
GENERATOR: Final = {
    "list": "Each element gives a project. A map of texts, used as ${{ each.KEY }}, or a text, used as ${{ each.value }}.",
    "directories": "Each directory of a repository that matches a pattern gives a project: ${{ each.name }}, ${{ each.path }}.",
    "organizations": "Each organization that a token can read gives a project: ${{ each.id }}.",
    "template": "The project that each element gives.",
}
DIRECTORIES: Final = {
    "git": SOURCE["git"],
    "ref": SOURCE["ref"],
    "path": "A pattern such as orgs/*; a directory matches if its whole path does.",
}
ORGANIZATIONS: Final = {
    "baseUrl": PROJECT["baseUrl"],
    "token": PROJECT["token"],
    "match": "A pattern that the title or the id of an organization must match. By default, all.",
}
DASHBOARD: Final = {
    "url": "The URL that people open: https://HOST. By default, the loopback address that `fleet serve` prints.",
    "oidc": "The OpenID Connect provider that people log in with. Without it, only the machine's own user can log in.",
    "roles": "Who may do what. Without a role, a person sees nothing.",
    "metrics": "Where the token is with which /metrics is read: {env: NAME} or {file: PATH}.",
}
OIDC: Final = {
    "issuer": "The URL of the provider, as its discovery document says it.",
    "clientId": "The id of the client that is registered there, with the redirect URL https://HOST/login/callback.",
    "clientSecret": "Where the client's secret is: {env: NAME} or {file: PATH}. Without it, the client is a public one.",
    "claim": "The claim of the ID token whose values give roles, such as groups or realm_access.roles. By default, groups.",
    "scopes": "What is asked for. By default, openid, email and profile.",
}
ROLE: Final = {
    "value": "A value of the claim.",
    "role": "viewer: sees projects. approver: also rehearses, approves, rejects and runs them, and decides on drift. admin: also pauses, "
    "resumes, and reads the audit log.",
    "tenants": "The tenants in which it has the role. By default, all.",
}
WEBHOOKS: Final = {
    "github": "The secret of the webhooks of GitHub, which sign what they send to /webhooks/github.",
    "gitlab": "The secret token, or the signing token, of the webhooks of GitLab, which send to /webhooks/gitlab.",
}
WEBHOOK: Final = {
    "secret": "Where the secret is: {env: NAME} or {file: PATH}.",
    "tenants": "The tenants whose projects a push with this secret makes due. By default, all.",
}
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MODES: Final = tuple(Mode)
CHANGES: Final = tuple(ChangeClass)
APPROVALS: Final = tuple(Approval)
REHEARSALS: Final = tuple(RehearsalRule)
EVENTS: Final = tuple(Event)
ROLES: Final = tuple(Role)
SORTS: Final = ("list", "directories", "organizations")
EVERY_MIN: Final = 10  # seconds
EVERY_MAX: Final = 30 * 86_400
REFRESH_DEFAULT: Final = 600  # seconds
REFRESH_MIN: Final = 30
REFRESH_MAX: Final = 86_400
WAVE_MAX: Final = 1_000
VALID_FOR: Final = "validFor"  # a key of approvals, beside the classes of change
VALID_MIN: Final = 60  # seconds
VALID_MAX: Final = 366 * 86_400
