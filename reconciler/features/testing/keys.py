"""The keys of test files: one table, from which come the reader, the JSON Schema for editors and the page of the reference. Pure data."""

from __future__ import annotations

from typing import Final

from reconciler.config.key import Key
from reconciler.config.keys import ACCESS_TEST

TESTS: Final = "tests"
CONSENT: Final = ("all", "none")
COLLEAGUE: Final = "colleague"
SITE: Final = "site"  # a key of an expectation
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
AT_MOST, AT_LEAST, EMPTY = "atMost", "atLeast", "empty"

GIVEN: Final = Key(
    "given",
    "What exists before the first step. Without it, what a new sandbox has: what the project adopts, and sandbox.seed.yaml beside it.",
    form="map",
    example="seed: FILE",
    keys=(
        Key("seed", "A seed, instead of sandbox.seed.yaml; a file of the test's folder.", form="text", more="See [its fields](seed.md)."),
        Key("project", "Another project file of the test's folder, which is applied first: the project as it was.", form="text"),
    ),
)
WITH: Final = Key(
    "with",
    "Which project is tested.",
    form="map",
    example="env: NAME",
    keys=(
        Key("env", "The environment.", form="text", more="Required in a project that has environments, unless `--env` names one."),
        Key(
            "vars",
            "Values of variables.",
            names="variable",
            more="A variable of the environment, and a secret, have no value in tests; a placeholder stands for one that is not set here.",
        ),
        Key("project", "Another project file of the test's folder, instead of the project.", form="text"),
    ),
)
EDIT: Final = (
    Key("address", "What is edited; it is declared.", form="text", required=True, names="address"),
    Key("set", "Fields and their new values, as in the project.", required=True, names="values"),
)
CREATE: Final = (
    Key(
        "address",
        "The address that it would have; it says the kind and the container.",
        form="text",
        required=True,
        names="address",
    ),
    Key("set", "Its fields, as in the project; a reference is an address.", required=True, names="reference"),
)
CALL: Final = (
    Key("method", "The method.", form="choice", options=METHODS, required=True),
    Key(
        "path",
        "The path without /v1; {ADDRESS} is replaced by the id of that resource.",
        form="text",
        required=True,
        names="template",
    ),
    Key("body", "What is sent, as the API has it; {ADDRESS} in a text is replaced too.", names="template"),
)
APPLY: Final = (Key("consent", "none: without any consent, as apply --yes.", form="choice", options=CONSENT, default="all"),)
STEP: Final = (
    Key("apply", "Apply the project."),
    Key("plan", "Plan; what cannot be planned fails the test."),
    Key("edit", "Edit a resource in the service, as a colleague does.", form="map", keys=EDIT, example="address: ADDRESS, set: {…}"),
    Key(
        "create",
        "Create an object in the service that the project does not declare, as a colleague does.",
        form="map",
        keys=CREATE,
        example="address: ADDRESS, set: {…}",
    ),
    Key("delete", "Delete a resource in the service, as a colleague does: its address.", form="text", names="address"),
    Key("api", "Send any request to the service.", form="map", keys=CALL, example="method: PATCH, path: /PATH/{ADDRESS}"),
    Key("by", "Who edits.", form="choice", options=(COLLEAGUE,), default=COLLEAGUE),
    Key("consent", "Of apply: all, or none.", form="choice", options=CONSENT),
)
SORTS: Final = ("apply", "plan", "edit", "create", "delete", "api")
"""The keys of which each step has one."""

READERS: Final = ACCESS_TEST
PAGE: Final = (
    Key("url", "A path of a site, such as /guides/install, or /published/SITE/PATH.", form="text", required=True),
    Key(SITE, "The address of the site. Without it, any site that is published.", form="text", names="address"),
    Key(
        "as",
        "Who asks for it.",
        more="As in [`access`](../access.md#readers), by default `anyone`; whoever asks knows the URL.",
        names="reader",
    ),
    Key("shows", "The address of the space whose page is there.", form="text", names="address"),
    Key("title", "The title of the page.", form="text"),
    Key("answers", "false: nothing is there for this reader.", form="choice", options=("true", "false")),
)
PLAN: Final = (
    Key(
        "plan",
        "How often each action is in a plan after the last step.",
        more="`{create: 1, delete: 0}`, with numbers, `{atMost: N}` or `{atLeast: N}`; or `empty`.",
    ),
    Key("requests", "How many requests that plan sends: a number, {atMost: N} or {atLeast: N}."),
)
BLOCKED: Final = (
    Key("blocked", "An address, or a pattern, that a plan after the last step cannot do.", form="text", required=True, names="pattern"),
    Key("cause", "The id of the cause.", form="text"),
)
FIELD: Final = (
    Key("field", "A field of a declared resource: ADDRESS.FIELD.", form="text", required=True, names="field"),
    Key("is", "Its value in the service; references are addresses.", required=True, names="reference"),
)
REFUSED: Final = (Key("refused", "The last apply was refused with this cause.", form="text", required=True),)
SNAPSHOT: Final = (Key("snapshot", "A text file of the test's folder with the plan after the last step.", form="text", required=True),)

EXPECTATIONS: Final = {
    "url": PAGE,
    "as": READERS,
    "plan": PLAN,
    "requests": PLAN,
    "blocked": BLOCKED,
    "field": FIELD,
    "refused": REFUSED,
    "snapshot": SNAPSHOT,
}
"""What an expectation is about, by the key that says so; of several the first."""

TEST: Final = (
    Key("name", "What the test claims; unique in its file.", form="text", required=True),
    WITH,
    GIVEN,
    Key("consent", "Of every apply of the test: all, or none.", form="choice", options=CONSENT, default="all"),
    Key("steps", "What happens, in this order; without it, apply."),
    Key("expect", "What is so after the last step; at least one.", required=True),
)
EXAMPLES: Final = ("examples", "policies", "use")
"""Keys of test files that `policy test` reads."""
