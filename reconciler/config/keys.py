"""The keys of project files: one table, from which come the reader, the JSON Schema for editors and the page of the reference.

    PROJECT  (Key("guards", keys=(Key("maxDelete", keys=(Key("percent", …),)),)), …)
        |
        +-- settings.KeyReader.values     the values of a map, each checked: {"max_delete_percent": 20.0}
        +-- schemas.files.schema_of       what editors check and show
        +-- docs.settings.page            the rows of docs/reference/configuration.md
        +-- TOP, SETTINGS, RULES          what is allowed where, and the order in which `fmt` writes keys

A row is a `key.Key`. Pure data.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reconciler.address import is_key
from reconciler.config.key import Key
from reconciler.config.source import state_url
from reconciler.config.source.problems import Mistake, shown
from reconciler.config.url_keys import URLS
from reconciler.model import OPEN_WORK, DeadUrls, Guards, Severity

PROJECT_FILE: Final = "reconciler.yaml"
NO_PROJECT: Final = f"{PROJECT_FILE} does not exist here; reconciler init creates one"
IGNORED: Final = "x-"  # top keys with this prefix may contain anchors
REMOVED_ACTIONS: Final = ("forget", "delete", "delete-all")
ADOPT: Final = ("auto", "never")
CREATE_STRATEGIES: Final = ("snapshot", "marker")
TYPES: Final = ("string", "boolean", "integer", "number", "list", "map")

BASE_URL: Final = "baseUrl"
SANDBOX: Final = "sandbox"
MEMBER: Final = "member"
READ_PEOPLE: Final = "readPeople"
STATE: Final = "state"

IGNORE_CHANGES: Final = "ignoreChanges"
"""A key of the project file and of every resource: fields that are left alone once an object exists."""

SECRETS: Final = "secrets"
"""The encrypted files of a project or of an environment, and their values in expressions."""

ENCRYPTED: Final = (".enc.yaml", ".enc.yml", ".sops.yaml", ".sops.yml")


def is_encrypted(name: str) -> bool:
    """Whether a file name marks an encrypted file: patterns do not include it, and it cannot be an environment."""
    return name.endswith(ENCRYPTED)


def project_file(path: Path) -> Path:
    """The project file of a directory; any other path is one."""
    return path / PROJECT_FILE if path.is_dir() else path


ENVIRONMENTS: Final = "environments"
"""The folder of a project's environments; not a key of any file."""

NO_ENVIRONMENTS: Final = f"each environment is a file: {ENVIRONMENTS}/NAME.yaml, chosen with --env NAME"

# -- numbers ---------------------------------------------------------------------------------------------------------------------------

SECONDS_MAX: Final = 86_400.0  # a day: no request and no service takes longer, and a longer wait is a mistake in the unit
COUNT_MAX: Final = 1_000_000_000
TIMEOUT_DEFAULT: Final = 30.0  # seconds for one request, including everything
SETTLE_DEFAULT: Final = 30.0  # seconds to wait out a request in doubt

# -- checks of texts ---------------------------------------------------------------------------------------------------------------------

_PROJECT: Final = re.compile(r"[A-Za-z0-9._-]{1,100}", re.ASCII)
_EMAIL: Final = re.compile(r"[^@\s/]+@[^@\s/]+")


def _project_name(text: str) -> Mistake | None:
    # The name is a part of keys in state databases and of object names in buckets, so it needs no escaping anywhere.
    if _PROJECT.fullmatch(text):
        return None
    return Mistake("RC-project-name", f"project is {shown(text)}; it must be 1 to 100 letters, digits or any of . _ -")


def _base_url(text: str) -> Mistake | None:
    try:
        parts = urlsplit(text)
        # A user or a query could contain a password, which everybody who reads the repository would see.
        plain = parts.username is None and not parts.query and not parts.fragment
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and plain:
            return None
    except ValueError:
        pass
    wrong = f"service.baseUrl is {state_url.without_secrets(text)}; it must be https://host, without user, query or fragment"
    return Mistake("RC-service-url", wrong)


def _email(text: str) -> Mistake | None:
    if _EMAIL.fullmatch(text):
        return None
    return Mistake("RC-not-an-e-mail", f"service.member is {shown(text)}; it must be the e-mail of the member who owns the token")


LEVELS: Final = tuple(level.value for level in Severity)


def _day(text: str) -> Mistake | None:
    try:
        date.fromisoformat(text)
    except ValueError:
        return Mistake("RC-not-a-day", f"until is {shown(text)}; it must be a day: YYYY-MM-DD")
    return None


def _policy_id(text: str) -> Mistake | None:
    if is_key(text):
        return None
    return Mistake("RC-policy-id", f"the id of a policy is {shown(text)}; only letters, digits and . _ @ + - are allowed")


# -- the project file --------------------------------------------------------------------------------------------------------------------

SERVICE: Final = Key(
    "service",
    "The service that runs read and change.",
    form="map",
    role="setting",
    keys=(
        Key(
            BASE_URL,
            "The URL of the service; used after it is confirmed.",
            form="text",
            check=_base_url,
            more="See [Trust](#trust).",
        ),
        Key(SANDBOX, "The file of an embedded sandbox, instead of baseUrl.", form="text"),
        Key(
            MEMBER,
            "The e-mail of the member who owns the token; must have access to everything and stay an admin.",
            form="text",
            check=_email,
            more="Without it, an admin is found automatically.",
            names="person",
        ),
        Key("timeout", "Seconds for one request, including retries.", form="number", default=TIMEOUT_DEFAULT, above=True),
        Key(
            READ_PEOPLE,
            "Read what each member may do, and the teams that they are in.",
            form="flag",
            default=False,
            more="One or two requests a member. Tests of a `member` or a `team` read it without this. "
            "See [Single people](../access.md#single-people).",
        ),
    ),
)

RECOVERY: Final = Key(
    "recovery",
    form="map",
    role="setting",
    keys=(
        Key(
            "settle",
            "Seconds after which a request in doubt can no longer take effect.",
            form="number",
            default=30.0,
            more="For the same time, lists may not show what was written ([failures](../reliability.md)).",
        ),
        Key(
            "createStrategy",
            form="choice",
            options=CREATE_STRATEGIES,
            default="snapshot",
            more="How to recognize an object whose create response was lost. `snapshot`: it did not exist before. `marker`: it carries a "
            "temporary name until a second request names it (collections, teams, groups, share links).",
        ),
    ),
)

GUARDS: Final = Key(
    "guards",
    "Limits for one run.",
    form="map",
    role="rule",
    keys=(
        Key(
            "maxDelete",
            "How much a run may delete without further consent: a share of the managed objects, but always this number.",
            form="map",
            example="percent: 20, atLeast: 3",
            keys=(
                Key(
                    "percent", form="number", most=100.0, default=Guards.max_delete_percent,
                    more="The share of the managed objects that a run may delete, in percent; see [Deletions](#deletions).",
                ),
                Key(
                    "atLeast", form="whole", default=Guards.max_delete_at_least,
                    more="The number of objects that a run may always delete.",
                ),
            ),
        ),
        Key("minAdmins", "The admins that no run removes.", form="whole", default=Guards.min_admins),
        Key("maxExposed", "The most objects that a run may expose to more readers. Absent: no limit.", form="whole"),
        Key(
            "deadUrls", "What happens to a plan after which nothing answers at a URL that was public.", form="choice",
            options=tuple(DeadUrls),
            more="`block` refuses it, `warn` shows it. Without the key: `block` in a project with `urls.redirects`, else `warn`. "
            "See [URLs](../urls.md#urls-that-die).",
        ),
        Key(
            "openWork", "What happens to a plan that ends work in progress: refuse it, show the work, or do not look.", form="choice",
            options=OPEN_WORK,
            more="See [Work in progress](#work-in-progress). Absent: `block` for what is deleted or replaced, `warn` for the rest.",
        ),
    ),
)  # fmt: skip
"""Its values are the fields of `Guards`: a new guard is a row here, a field there, and its use."""

SEARCH: Final = (
    Key("site", "The site whose readers search: its key, or its address.", form="text", required=True, names="published"),
    Key("query", "What they search for.", form="text", required=True),
    Key("finds", "The path of a page of the site, or a pattern: `*` is one segment, `**` many.", form="text", required=True),
)

CONVENTIONS_MAX: Final = 32_000  # bytes: an agent reads all of it

AGENTS: Final = Key(
    "agents",
    "What agents follow that reconciler mcp serves.",
    form="map",
    role="setting",
    example="conventions: AGENTS.md",
    more="See [Agents](../agents.md).",
    keys=(
        Key(
            "conventions",
            "The file with the conventions of this repository, which agents follow.",
            form="text",
            more=f"A path from the project to a file of its repository, of at most {CONVENTIONS_MAX // 1_000} KB.",
        ),
    ),
)

HEALTH: Final = Key(
    "health",
    "What reconciler health looks at, beyond what a reading shows anyway.",
    form="map",
    role="setting",
    feature="health",
    example="brokenLinks: 0, stalePages: 365",
    keys=(
        Key("brokenLinks", "How many broken links a space may have. Absent: nobody looks.", form="whole"),
        Key("startPages", "Whether every published site must have a page to start with. Absent: nobody looks.", form="flag"),
        Key("stalePages", "After how many days without a change a page is stale. Absent: nobody looks.", form="whole"),
        Key("changeRequests", "For how many days a change request may be open. Absent: nobody looks.", form="whole"),
        Key("outdated", "Whether open change requests must know the latest content. Absent: nobody looks.", form="flag"),
        Key("search", "Searches of readers, and the page that each must find.", form="list", keys=SEARCH),
        Key("topics", "How many of the largest topics of conversations are shown. Absent: none.", form="whole"),
        Key(
            "every",
            "In a fleet: after how many hours the checks that cost requests are made again.",
            form="whole",
            default=24,
            more="See [Health](../health.md).",
        ),
    ),
)

ACCESS_TEST: Final = (
    Key("as", "Who reads.", required=True, names="reader"),
    Key("sees", "What the reader must be able to read: addresses or patterns.", names="pattern"),
    Key("mustNotSee", "What the reader must not be able to read: addresses or patterns.", names="pattern"),
    Key("reason", "Why: shown with each violation.", form="text"),
)

POLICY: Final = (
    Key("id", "The name of the policy, unique in the project.", form="text", check=_policy_id, required=True, names="policy"),
    Key(
        "on",
        "The kinds, addresses or patterns of addresses that it is about; or plan, for the whole plan.",
        required=True,
        names="kind or pattern",
    ),
    Key("when", "The actions that it is about; without it, every declared resource, changed or not."),
    Key("assert", "The expression that must be true.", required=True, names="expression"),
    Key("message", "What is wrong otherwise; may contain expressions.", form="text", required=True, names="expression"),
    Key("level", "error (the default) refuses the run with exit code 4, warning is only shown.", form="choice", options=LEVELS),
    Key("reason", "Why the policy exists.", form="text"),
)

USE: Final = (
    Key("policy", "The id of a ready policy.", required=True, names="policy"),
    Key("level", "Another level than its own.", form="choice", options=LEVELS),
)

EXCEPTION: Final = (
    Key("policy", "The id of the policy.", form="text", required=True, names="policy"),
    Key(
        "address",
        "The address, or the pattern of addresses, where it is not applied; not for a policy about the plan.",
        form="text",
        names="pattern",
    ),
    Key("until", "The last day of the exception; on the next day it is an error.", form="text", check=_day, required=True),
    Key("reason", "Why; reports show it.", form="text", required=True),
)

IGNORE: Final = (
    Key("id", "The rule.", form="text", required=True),
    Key("address", "An address, a pattern, or a setting (vars.brand); the default is all.", form="text", names="pattern"),
    Key("reason", "Why it is accepted.", form="text"),
)

REMOVED: Final = (
    Key(
        "address",
        form="text",
        required=True,
        more="The address of a resource that was removed; see [Deletions](#deletions).",
        names="former",
    ),
    Key(
        "action",
        "forget: stop managing it; delete-all: with what is unmanaged in it.",
        form="choice",
        options=REMOVED_ACTIONS,
        required=True,
    ),
)

MOVED: Final = (
    Key(
        "from",
        form="text",
        required=True,
        more="The former address; see [Renames and moves](#renames-and-moves).",
        names="former",
    ),
    Key("to", form="text", required=True, more="The present address.", names="address"),
)

STATE_KEY: Final = Key(
    STATE,
    "The URL of the state, without a password: a file, a PostgreSQL server or a bucket.",
    form="text",
    role="setting",
    check=state_url.mistake,
    more="`sqlite:///PATH`, relative to the project, `postgresql+psycopg://HOST/DATABASE`, or [a bucket]"
    "(../state.md#share-the-state-in-a-bucket): `s3://BUCKET/PREFIX`, `gs://…`, `az://…`. Set a URL with a password in `RECONCILER_STATE`. "
    "Without it: `sqlite:///.reconciler/state.db`.",
)
SECRETS_KEY: Final = Key(
    SECRETS,
    "Files that SOPS encrypted; their values are secrets.NAME in expressions.",
    more="See [Secrets](#secrets).",
    names="file",
    role="content",
)

# In this order `fmt` writes them, and editors suggest them.
PROJECT: Final = (
    Key("version", "The version of this language.", role="setting", required=True, more="Always `1`."),
    Key(
        "project", "The name of the project; the state is stored under it.", form="text", check=_project_name, role="setting", required=True
    ),
    SERVICE,
    STATE_KEY,
    RECOVERY,
    Key("include", "More files, by name or pattern.", more="See [Several files](#several-files).", names="file", role="content"),
    Key(
        "vars", "Values that expressions can use as vars.NAME.", more="See [Variables](#variables-and-expressions).", names="variable",
        role="content",
    ),
    SECRETS_KEY,
    HEALTH,
    AGENTS,
    Key("prune", "What happens to objects whose lines are removed, by kind.", role="rule", more="See [Deletions](#deletions)."),
    Key("protect", "Kinds whose deletion requires consent.", role="rule", more="See [Deletions](#deletions)."),
    GUARDS,
    Key(
        "access",
        "Readers as tests: what each of them must and must not be able to read. A plan that violates one is refused.",
        form="list",
        keys=ACCESS_TEST,
        role="shared rule",
        feature="access",
        more="See [Who can read what](../access.md).",
    ),
    URLS,
    Key("defaults", "Values for fields that are not written.", more="By kind.", names="defaults", role="content"),
    Key(
        IGNORE_CHANGES, "Fields that are left alone once an object exists, by kind or by a pattern of addresses.",
        more="See [Ignore changes](#ignore-changes).",
        names="kind or pattern",
        role="content",
    ),
    Key(
        "use", "Ready policies, by id; reconciler policy list shows them.", form="list", keys=USE, role="shared rule", names="policy",
        feature="policies",
    ),
    Key(
        "policies", "What no plan may do: each is an expression that must be true.", form="list", keys=POLICY,
        role="shared rule", feature="policies",
        more="See [Policies](../policies.md).",
    ),
    Key(
        "exceptions", "Where a policy is not applied, until a day and for a reason.", form="list", keys=EXCEPTION, role="shared rule",
        feature="policies",
    ),
    Key(
        "lint", "What validate --lint does not report.", form="map", example="ignore: […]", role="content", feature="lint",
        keys=(
            Key("ignore", "Findings that the project accepts.", form="list", keys=IGNORE, more="See [Lint](../lint.md#ignore-a-finding)."),
        ),
    ),
)  # fmt: skip
"""The keys of the project file only, and the rules that any file may contain."""

EVERYWHERE: Final = (
    Key("removed", "What happens to addresses that are no longer declared.", form="list", keys=REMOVED, role="content"),
    Key("moved", "Addresses that were renamed, with everything below them.", form="list", keys=MOVED, role="content"),
)
"""The keys that any file may contain, beside resources."""

PATCH: Final = (
    Key("match", "Which resources: an address or a pattern.", form="text", required=True, names="pattern"),
    Key("set", "Fields, and their values in this environment."),
    Key("remove", "Remove them, with everything in them."),
)

ENVIRONMENT: Final = (
    Key("vars", "Values of variables that the project file declares.", names="variable", role="content"),
    SECRETS_KEY,
    SERVICE,
    STATE_KEY,
    Key("patch", "What differs in this environment.", form="list", keys=PATCH, role="content"),
    EVERYWHERE[0],
)
"""The keys of the file of an environment, beside the ids of root resources."""

TOP: Final = tuple(key.name for key in PROJECT)
SETTINGS: Final = tuple(key.name for key in PROJECT if key.role == "setting")
RULES: Final = tuple(key.name for key in PROJECT if key.role in ("rule", "shared rule"))
RULES_OF_ANY_FILE: Final = tuple(key.name for key in PROJECT if key.role == "shared rule")
POLICIES: Final = ("use", "policies", "exceptions")
JUDGING: Final = tuple(name for key in PROJECT for name, role in key.roles() if role in ("rule", "shared rule"))
"""The keys that --rules-from takes from another commit, by dotted name."""
