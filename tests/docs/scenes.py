"""Where each page of the docs begins: what its reader has, so that a test can type its command lines in their order."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class Scene(NamedTuple):
    """One reader.

    `before`: shell that prepares what the page assumes. `environ`: variables that are set. `replaced`: lines, and texts of lines, by what
    stands for them on this machine. `codes`: exit codes of lines whose purpose is not 0. `apart`: each block is typed in a copy of what was
    prepared. `running`: shell that starts what runs beside the lines, and ends with them.
    """

    before: str = ""
    environ: Mapping[str, str] = NOTHING
    replaced: Mapping[str, str] = NOTHING
    codes: Mapping[str, int] = MappingProxyType({})
    apart: bool = False
    running: str = ""


INIT: Final = "reconciler init . --sandbox; reconciler apply --yes"
DOCS: Final = "reconciler init docs --sandbox; reconciler apply docs --yes"
EXAMPLES: Final = 'cp -r "$EXAMPLES" .; reconciler apply examples/acme --sandbox .reconciler/acme.db --yes'
IN_ACME: Final = 'cp -r "$EXAMPLES/acme/." .; reconciler apply --yes'
GIT: Final = "git init -q -b main; git add -A; git commit -qm docs; git update-ref refs/remotes/origin/main HEAD"
ADDRESS: Final = """id() { reconciler state list | awk -v address="$1" '$1 == address {print $3}'; }"""
EDITS: Final = (
    f"{ADDRESS}\nreconciler api PATCH /spaces/$(id acme/space/guides) -f title=Mine\n"
    "reconciler api PATCH /orgs/org_acme/teams/$(id acme/team/writers) -f title=Theirs"
)
NAMED: Final = "sed -i 's/^project: .*/project:"
SANDBOX: Final = {"RECONCILER_SANDBOX": ".reconciler/acme.db"}
NO_DOT: Final = {"| dot -Tsvg > acme.svg": "> acme.dot"}

KEEP: Final = "reconciler import acme --org org_acme --people --access-tests"
KEPT: Final = "reconciler import kept --org org_acme --people --access-tests"

SIGNED: Final = """
cat > seed.yaml <<'END'
organizations: [{id: org_acme, title: Acme}]
members:
  - {organization: org_acme, id: usr_ada, email: ada@acme.example, role: admin}
  - {organization: org_acme, id: usr_grace, email: grace@acme.example, role: create}
  - {organization: org_acme, id: usr_gus, email: gus@acme.example, role: null}
  - {organization: org_acme, id: usr_linus, email: linus@acme.example, role: edit}
  - {organization: org_acme, id: usr_rita, email: rita@acme.example, role: edit}
  - {organization: org_acme, id: usr_vera, email: vera@acme.example, role: read}
tokens: [{token: tok_ada, member: usr_ada}]
teams: [{organization: org_acme, id: team_writers, title: Writers, members: [usr_linus]}]
collections:
  - {organization: org_acme, id: col_people, title: People, defaultLevel: null, grants: [{team: team_writers, role: comment}]}
spaces:
  - {organization: org_acme, id: spc_guides, title: Guides, defaultLevel: inherit}
  - {organization: org_acme, id: spc_plans, title: Plans, parent: col_people, defaultLevel: inherit}
  - {organization: org_acme, id: spc_salaries, title: Salaries, defaultLevel: null, grants: [{member: usr_vera, role: admin}]}
sites:
  - organization: org_acme
    id: site_docs
    title: Docs
    published: true
    siteSpaces: [{space: spc_guides}]
END
reconciler sandbox seed --db acme.db seed.yaml
"""
"""An organization of six people, two of whom were given access one by one."""

REFERENCE: Final = Scene(
    f"{IN_ACME}; cp .reconciler/acme.db sandbox.db; (unset RECONCILER_SANDBOX; {DOCS}); cp -r $EXAMPLES .\n"
    f"cp -r .reconciler examples/acme; {GIT}; git tag v1.4; git tag v1.5; cp examples/handbook/sandbox.seed.yaml seed.yaml\n"
    "reconciler state pull --out acme-state.json\n"
    "reconciler import acme --org org_acme; printf '%s\\n' '- {fault: latency, seconds: 0}' > rules.yaml\n"
    """echo '{"id": "1", "subject": "x", "parts": []}' > talk.json""",
    environ=SANDBOX,
    replaced={
        **NO_DOT,
        "reconciler apply examples/acme --sandbox .reconciler/acme.db": "reconciler apply examples/acme --yes",
        "reconciler apply examples/acme --sandbox .reconciler/acme.db --plan acme.plan.json": "reconciler plan examples/acme --out a.json\n"
        "reconciler apply examples/acme --plan a.json",
        "reconciler rehearse examples/acme --sandbox .reconciler/acme.db --plan acme.plan.json": (
            "reconciler plan examples/acme --sandbox .reconciler/acme.db --out acme.plan.json\n"
            "reconciler rehearse examples/acme --sandbox .reconciler/acme.db --plan acme.plan.json"
        ),
        "reconciler health": "reconciler sandbox clock --advance 60 --db .reconciler/acme.db > clock.txt; reconciler health",
        "reconciler drift --accept acme/space/guides.title": "reconciler api PATCH /orgs/org_acme/teams/team_writers -f title=Else\n"
        "reconciler drift --accept acme/team/writers",
        "reconciler drift --revert-plan revert.plan.json --group 5f0c2b9e81d4": (
            "reconciler apply --yes > applied.txt; reconciler api PATCH /orgs/org_acme/teams/team_writers -f title=Again\n"
            "reconciler drift --revert-plan revert.plan.json"
        ),
        "reconciler health examples/urls --sandbox .reconciler/urls.db --site docs": (
            "reconciler apply examples/urls --sandbox .reconciler/urls.db --yes --allow-exposure 'example/space/*'\n"
            "reconciler health examples/urls --sandbox .reconciler/urls.db --site docs"
        ),
        "reconciler skill > .claude": "mkdir -p .claude/skills/reconciler; reconciler skill > .claude",
        "reconciler drift --propose": "git commit -qam accepted; reconciler drift --propose",
        "reconciler pipeline plan docs": "env -u RECONCILER_SANDBOX reconciler pipeline plan docs",
        "reconciler plan docs": "env -u RECONCILER_SANDBOX reconciler plan docs",
        "production examples/environments": "production $PWD/examples/environments",
        "reconciler import acme --org org_acme --sandbox .reconciler/acme.db": "rm -r acme; reconciler import acme --org org_acme",
        "reconciler config render --env staging": "reconciler -C examples/environments config render --env staging",
        "reconciler config diff staging production": "reconciler -C examples/environments config diff staging production",
        "reconciler adopt": "reconciler state forget acme/team/writers examples/acme; reconciler adopt",
        "--base-url https://api.example.com --db copy.db": "--sandbox .reconciler/acme.db --db another.db",
        "reconciler undo last": "reconciler undo last --yes --allow-delete 99 --allow-exposure '**'",
        "reconciler state mv --project acme-handbook": f"{NAMED} x/' examples/acme/*.yaml; reconciler state mv --project acme-docs",
        "reconciler state mv --from-env staging --env preview": "cd examples/environments; reconciler apply --env staging --yes\n"
        "mv environments/staging.yaml environments/preview.yaml; reconciler state mv --from-env staging --env preview",
        "reconciler sandbox seed --db sandbox.db": "rm sandbox.db; reconciler sandbox seed --db sandbox.db",
        " --state 'postgresql://ada@db.example/reconciler?sslmode=verify-full'": "",
        " --into --env staging": " --into",
        " --env production --": " --",
        "team_9f2": "team_writers",
        KEEP: KEPT,
        "reconciler import acme --org org_acme --split": "reconciler import split --org org_acme --split",
        "reconciler show acme.plan.json": "reconciler plan examples/acme --out acme.plan.json; reconciler show acme.plan.json",
    },
    codes={
        # The documents of the example do not exist.
        "reconciler health examples/acme --sandbox .reconciler/acme.db": 2,
        "reconciler health --format json --report junit=health.xml": 2,
        "reconciler undo last examples/acme --sandbox .reconciler/acme.db": 5,
    },
    apart=True,
)
FLEET_UP: Final = """
# What works until it is interrupted: 124, as of `timeout`, once it says that it works.
goes_on() {
  reconciler "$@" > said.txt 2>&1 &
  for _ in $(seq 600); do
    grep -Eq "http://|is ready" said.txt && { cat said.txt; kill $!; wait $!; return 124; }
    kill -0 $! 2> /dev/null || { cat said.txt; wait $!; return; }
    sleep 0.1
  done
  cat said.txt; return 1
}
trap 'kill $(jobs -p); wait' EXIT
openssl rand -hex 16 > token.txt; export ACME_TOKEN=$(cat token.txt)
reconciler sandbox serve --db mydocs/.reconciler/sandbox.db --port 0 --token-file token.txt > serve.log 2>&1 &
until URL=$(grep -m1 -o 'http://127.0.0.1:[0-9]*' serve.log); do kill -0 $! || exit; sleep 0.1; done
printf '%s\n' 'version: 1' 'projects:' '  - name: acme' \\
  "    source: {git: 'file://$PWD/mydocs'}" "    project: mydocs" "    baseUrl: $URL" \
  '    token: {env: ACME_TOKEN}' > fleet.yaml
reconciler fleet up fleet.yaml --no-serve > up.log 2>&1 &
until grep -q ready up.log; do kill -0 $! || { cat up.log; exit; }; sleep 0.1; done
"""
FLEET: Final = Scene(
    f"reconciler init mydocs --sandbox; reconciler apply mydocs --yes; cd mydocs; {GIT}; cd ..",
    replaced={
        "reconciler init mydocs --sandbox": "mkdir again; cd again; reconciler init mydocs --sandbox",
        "reconciler apply docs --base-url https://api.example.com": "reconciler apply mydocs --yes --base-url $URL",
        "reconciler sandbox serve": "openssl rand -hex 16 > token.txt; goes_on sandbox serve",
        "reconciler fleet preview fleet.yaml --from origin/main": "reconciler -C mydocs fleet preview ../fleet.yaml --from main",
        "reconciler fleet move .reconciler/fleet": "mkdir -p .reconciler/fleet/repositories; reconciler fleet move .reconciler/fleet",
        "reconciler fleet serve &": "goes_on fleet serve --port 0",
        "reconciler fleet serve": "goes_on fleet serve",
        "reconciler fleet worker": "goes_on fleet worker",
        "'postgresql://fleet@db.example.com/fleet?sslmode=verify-full'": "$(cat ~/.local/state/reconciler/fleets/*/url)",
        "/etc/reconciler --database 'postgresql://owner@db.example.com/fleet?sslmode=verify-full'": "roles",
        "--port 8400": "--port 0",
        "--port 8080": "--port 0",
    },
    codes={
        "reconciler sandbox serve --db mydocs/.reconciler/sandbox.db --port 8080 --token-file token.txt": 124,
        "reconciler fleet serve --port 8400": 124,
        "reconciler fleet serve &": 124,
        "reconciler fleet worker --concurrency 8": 124,
        "reconciler fleet worker --database 'postgresql://fleet@db.example.com/fleet?sslmode=verify-full'": 124,
    },
    running=FLEET_UP,
)
FLEET_READ: Final = f"""{FLEET_UP}
export RECONCILER_STATE=$(cat ~/.local/state/reconciler/fleets/*/url)
RECONCILER_TOKEN=$ACME_TOKEN reconciler apply mydocs --yes --create-state --base-url $URL; unset RECONCILER_STATE
reconciler fleet sync acme --wait
"""
URLS: Final = (
    "cp -r \"$EXAMPLES\" .; reconciler apply examples/urls --sandbox .reconciler/urls.db --yes --allow-exposure 'example/space/*'\n"
    "reconciler apply examples/urls/reorganized.yaml --sandbox .reconciler/urls.db --yes"
)
SECTIONS: Final = (
    "init", "validate", "plan", "apply", "drift", "health", "diff", "pipeline", "rehearse", "access", "graph", "import", "adopt",
    "history", "release", "show", "undo", "skill", "test", "policy", "state", "doctor", "fmt", "explain", "config", "comment", "schema",
    "api", "sandbox",
)  # fmt: skip

SCENES: Final[Mapping[str, Scene]] = {
    "docs/access.md": Scene(IN_ACME, SANDBOX, replaced={"link=partners": "link=auditors"}),
    "docs/agents.md": Scene(EXAMPLES, replaced={"acme.db\n": "acme.db < /dev/null\n"}),
    "docs/drift.md": Scene(
        f"{INIT}; {EDITS}",
        replaced={
            "reconciler drift --revert-plan revert.plan.json --group 548f10c76fe7": "reconciler drift --revert-plan revert.plan.json",
            "reconciler apply --plan revert.plan.json": f"reconciler apply --plan revert.plan.json; {EDITS}",
        },
    ),
    "docs/exposure.md": Scene(
        "reconciler init . --sandbox\n"
        "sed -i 's/title: Guides, duplicate/title: Salaries, duplicate/; s/: guides/: salaries/; s/\\[guides\\]/[salaries]/' *.yaml\n"
        "reconciler apply --yes; sed -i 's/^        title: Documentation/&\\n        published: true/' reconciler.yaml",
        codes={"reconciler apply --yes --allow-exposure acme/space/salaries": 4},
    ),
    "docs/fleet.md": FLEET._replace(codes={**FLEET.codes, "reconciler fleet status": 5}),  # the project was never applied
    "docs/health.md": Scene(INIT),
    "docs/history.md": Scene(EXAMPLES, codes={"reconciler undo last examples/acme --sandbox .reconciler/acme.db": 4}),
    "docs/how-to/comment-on-pull-requests.md": Scene(DOCS),
    "docs/how-to/delete-resources.md": Scene(
        INIT,
        replaced={"--allow-delete 12": "--allow-delete 12 --yes", "--allow-open-work acme/space/old-wiki": "--allow-open-work '**' --yes"},
    ),
    "docs/how-to/log-and-trace.md": Scene(INIT),
    "docs/how-to/publish-integrations.md": Scene(
        'cp -r "$EXAMPLES/integrations/." .; sed -i "s/^  example:/  acme:/" *.yaml', {"RECONCILER_SANDBOX": ".reconciler/integrations.db"}
    ),
    "docs/how-to/review-changes.md": Scene(f"{INIT}; {GIT}"),
    "docs/how-to/set-options-once.md": Scene(
        'cp -r "$EXAMPLES/environments" docs; reconciler apply docs --env staging --yes; echo RECONCILER_VAR_BRAND=Acme > ci.env',
        {"RECONCILER_SANDBOX": ".reconciler/x.db"},
        replaced={"plan --env-file": "plan docs --env staging --env-file"},
    ),
    "docs/how-to/set-up-shell-and-editor.md": Scene("reconciler init . --sandbox; mkdir -p ~/.config/fish/completions"),
    "docs/how-to/use-environments.md": Scene(
        'cp -r "$EXAMPLES/environments/." .; git init -q; git add -A; git commit -qm docs; reconciler apply --env staging --yes',
        {"RECONCILER_SANDBOX": ".reconciler/environments.db"},
    ),
    "docs/how-to/use-secrets.md": Scene(
        'mkdir shared; echo x > shared/okta.pem; cp -r "$EXAMPLES/secrets" docs; cp docs/age.key age.key; reconciler apply docs --yes',
        {"RECONCILER_SANDBOX": ".reconciler/x.db", "SOPS_AGE_KEY_FILE": "age.key", "RECONCILER_PROJECT": "docs"},
        replaced={"../shared": "shared"},
    ),
    "docs/import.md": Scene(
        "reconciler init x --sandbox; reconciler apply x --yes; mkdir .reconciler; cp x/.reconciler/sandbox.db .reconciler/acme.db",
        SANDBOX,
        replaced={KEEP: KEPT},
    ),
    "docs/pipelines.md": Scene(
        "reconciler init x --sandbox; reconciler apply x --yes; mkdir .reconciler; cp x/.reconciler/sandbox.db .reconciler/acme.db",
        SANDBOX,
        replaced={
            "s3://acme-states/handbook": "sqlite:///handbook.db",
            "reconciler state push": "reconciler state pull docs --out docs.json; reconciler state push",
            "https://api.example.com": "",
            " --env production": "",
        },
    ),
    "docs/policies.md": Scene(
        f"{DOCS}; {GIT}; sed -n '/^# policies.test.yaml/,/^```/p' \"$DOCS/policies.md\" | sed '$d' > policies.test.yaml"
    ),
    **{f"docs/reference/commands.md#{section}": REFERENCE for section in SECTIONS},
    "docs/reference/commands.md#urls": Scene(
        URLS, codes={"reconciler urls check examples/urls --sandbox .reconciler/urls.db --ended --report junit=urls.xml": 2}, apart=True
    ),
    "docs/reference/commands.md#fleet": FLEET._replace(running=FLEET_READ),
    "docs/sandbox.md": Scene(
        "cp -r \"$EXAMPLES\" .; sed -n '/^# rules.yaml/,/^```/p' \"$DOCS/sandbox.md\" | sed '$d' > rules.yaml",
    ),
    "docs/testing.md": Scene('cp -r "$EXAMPLES" .; cp -r "$EXAMPLES/minimal/." .'),
    "docs/propose.md": Scene("cp -r \"$EXAMPLES\" .; sed -n '/^```json/,/^```/p' \"$DOCS/propose.md\" | sed '1d;$d' > operations.json"),
    "docs/how-to/publish-a-version.md": Scene('cp -r "$EXAMPLES" .'),
    "docs/rehearsal.md": Scene('cp -r "$EXAMPLES" .'),
    "docs/security.md": Scene(
        f"{DOCS}; {GIT}",
        replaced={
            "reconciler apply --plan plan.json --require-commit 1f0c5d2ab9e4": "reconciler plan docs --out plan.json\n"
            "reconciler apply docs --plan plan.json --require-commit $(git rev-parse HEAD)",
        },
    ),
    "docs/state.md": Scene(
        f"reconciler init . --sandbox; {NAMED} acme-handbook/' reconciler.yaml; reconciler apply --yes; cp .reconciler/state.db old.db",
        replaced={
            "'postgresql+psycopg://ada@db.example/reconciler?sslmode=verify-full'": "sqlite:///shared-$RANDOM.db",
            "s3://acme-states/handbook": "sqlite:///bucket.db",
            "reconciler apply  ": "reconciler apply --yes --create-state  ",
            "reconciler state mv": f"{NAMED} handbook/' reconciler.yaml; reconciler state mv",
        },
    ),
    "docs/urls.md": Scene(
        'cp -r "$EXAMPLES" .; git init -q -b main; git commit -q --allow-empty -m docs',
        {"RECONCILER_PROJECT": "examples/urls", "RECONCILER_SANDBOX": ".reconciler/urls.db"},
        replaced={
            "https://docs.acme.example/guides/install": "http://127.0.0.1/published/docs/guides/install",
            "reconciler urls check --sitemap https://docs.acme.example/sitemap.xml": "reconciler urls export > map.xml\n"
            "reconciler urls check --sitemap map.xml",
            "git add redirects && git commit": "git add -f examples/urls/redirects && git commit",
        },
        codes={"reconciler urls check --ended --report junit=urls.xml --report sarif=urls.sarif": 2},
    ),
    "docs/tools.md": Scene(f"{IN_ACME}; {EXAMPLES}", SANDBOX, replaced=NO_DOT),
}
"""The pages, and the sections of pages, whose lines are typed."""

FOLLOWED: Final[Mapping[str, str]] = {
    "README.md": "",
    "docs/tutorial.md": "",
    "docs/how-to/rehearse-changes.md": "reconciler init . --sandbox; git init -q; git add -A; git commit -qm docs",
    "docs/how-to/answer-alarms.md": f"""
reconciler init . --sandbox
sed -i 's/^        title: Documentation/&\\n        published: true\\n        visibility: share-link/' reconciler.yaml
reconciler apply --yes
{ADDRESS}
reconciler api PATCH /orgs/org_acme/sites/$(id acme/site/docs) -f visibility=public
reconciler api PATCH /spaces/$(id acme/space/guides) -f 'title=User guides'
""",
    "docs/how-to/give-temporary-access.md": "reconciler init . --sandbox",
    "docs/how-to/review-who-can-read-what.md": SIGNED,
    "docs/how-to/revert-commits.md": """
reconciler init . --sandbox; git init -q; git add -A; git commit -qm docs; reconciler apply --yes
sed -i 's/title: Guides, dup/title: User guides, dup/; s/^        title: Documentation/&\\n        visibility: unlisted/' reconciler.yaml
git commit -qam change; reconciler apply --yes
""",
    "docs/how-to/what-cannot-be-managed.md": INIT,
}
"""The pages that are followed: their edits are made too, and they show what is printed. What the reader has before."""

NEEDS_FORGE: Final = "a pull request of a forge, which has a stand-in: tests/features/forges"
NEEDS_DOUBT: Final = "a request whose outcome is unknown: tests/cli/test_answers.py"
NEEDS_PLAN: Final = "a plan that waits for somebody: tests/fleet/test_approvals.py"
NEEDS_ALARM: Final = "drift of somebody who edits: tests/docs/test_runbooks.py"
NEEDS_FLEET: Final = "a repository with a fleet: tests/fleet/test_preview.py"
NEEDS_OIDC: Final = "a provider of OpenID Connect: tests/fleet/serve"
FLEET_RUNS: Final = "it works until it is interrupted: the scene of the page starts it"
NEEDS_ROOT: Final = "services of a machine, and its administrator: tests/packaging/test_deployment.py"
NEEDS_DOCKER: Final = "an engine of containers: tests/packaging/test_container.py"
NEEDS_NETWORK: Final = "a package index and a server of git: tests/packaging/test_release.py"
NEEDS_ZSH: Final = "another shell than the tests': tests/cli/test_program.py"
NEEDS_CLIENT: Final = "it answers a client until its input ends: tests/features/mcp, tests/features/lsp"
SERVES: Final = "it listens until it is interrupted: tests/cli/test_sandbox.py"


def _lines(page: str, why: str, *lines: str) -> dict[tuple[str, str], str]:
    return {(f"docs/{page}", line): why for line in lines}


NOT_TYPED: Final[Mapping[tuple[str, str], str]] = {
    **_lines("sandbox.md", SERVES, "reconciler sandbox serve --db sandbox.db --port 8080 --token-file token.txt"),
    **_lines(
        "reference/commands.md", NEEDS_CLIENT,
        "reconciler lsp", "reconciler mcp examples/acme --sandbox .reconciler/acme.db",
        "reconciler mcp docs-a docs-b --answer-bytes 16000",
    ),
    **_lines("fleet.md", FLEET_RUNS, "reconciler fleet up fleet.yaml"),
    **_lines("fleet.md", NEEDS_PLAN, "reconciler fleet approve acme", "reconciler fleet rehearse acme --wait"),
    **_lines(
        "fleet.md", NEEDS_ALARM,
        "reconciler fleet drift acme --revert",
        'reconciler fleet drift acme --ignore-until 7d --reason "renamed for the fair"',
    ),
    **_lines(
        "pipelines.md", NEEDS_FLEET,
        "reconciler fleet preview fleet.yaml --from origin/main --report json=preview.json --report html=preview.html",
        "reconciler comment preview.json --name fleet --kind preview",
    ),
    **_lines(
        "pipelines.md", NEEDS_ALARM, "reconciler drift docs --accept acme/space/guides", "reconciler drift docs --baseline known.yaml"
    ),
    **_lines(
        "reference/commands.md", NEEDS_ALARM,
        "reconciler fleet drift acme --revert",
        'reconciler fleet drift acme --ignore-until 7d --reason "renamed for the fair"',
    ),
    **_lines("fleet.md", NEEDS_OIDC, "reconciler fleet serve --host 0.0.0.0 --port 8400"),
    **_lines("reference/commands.md", FLEET_RUNS, "reconciler fleet up fleet.yaml"),
    **_lines(
        "reference/commands.md", NEEDS_PLAN,
        "reconciler fleet approve acme",
        "reconciler fleet rehearse acme --wait",
        "reconciler fleet approve acme --class create",
        'reconciler fleet reject acme --reason "the handbook is still linked"',
    ),
    **_lines(
        "how-to/deploy-a-fleet.md", NEEDS_ROOT,
        "reconciler fleet apply fleet.yaml --database 'postgresql://fleet@db.example.com/fleet?sslmode=verify-full'",
        "reconciler fleet roles /etc/reconciler/roles --database 'postgresql://fleet@db.example.com/fleet?sslmode=verify-full'",
        "useradd --system --home-dir /var/lib/reconciler reconciler",
        "/usr/local/lib/reconciler/bin/reconciler fleet apply fleet.yaml",
        "/usr/local/lib/reconciler/bin/reconciler fleet status",
        'reconciler fleet pause acme --until 1d --reason "restored from a backup"',
        'reconciler plan docs --base-url https://api.example.com --state "$RECONCILER_DATABASE"',
    ),
    **_lines("how-to/install.md", NEEDS_NETWORK, 'PYTHONPATH="$PWD/program" environment/bin/python -P -m reconciler --version'),
    **_lines(
        "how-to/run-in-a-container.md", NEEDS_DOCKER,
        'docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" reconciler validate',
        'docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" --env RECONCILER_TOKEN --env RECONCILER_BASE_URL reconciler plan',
        'docker compose run --rm --user "$(id -u):$(id -g)" reconciler import . --org org_handbook',
        'docker compose run --rm --user "$(id -u):$(id -g)" reconciler plan',
    ),
    **_lines("reliability.md", NEEDS_DOUBT, "reconciler adopt acme/team/writers team_9f2"),
    **_lines("reliability.md", NEEDS_DOUBT, "reconciler state forget acme/team/writers --in-doubt"),
    **_lines("how-to/set-up-shell-and-editor.md", NEEDS_ZSH, "source <(reconciler completion zsh)"),
    **_lines(
        "how-to/comment-on-pull-requests.md", NEEDS_FORGE,
        "reconciler comment plan.json",
        "reconciler comment plan.json --project docs --env prod",
        "reconciler comment --failed handbook/prod",
    ),
    **_lines("reference/commands.md", NEEDS_FORGE, "reconciler comment plan.json --project docs --report-url https://ci.example/plan.html"),
    **_lines(
        "reference/commands.md", SERVES,
        "reconciler sandbox serve --db sandbox.db --port 8080",
        "reconciler sandbox serve --db sandbox.db --port 8080 --token-file token.txt",
        """reconciler sandbox faults set --base-url http://127.0.0.1:8080 --rule '{"fault": "cut", "operation": "POST *", "nth": [2]}'""",
    ),
}  # fmt: skip
"""The lines of blocks that are not typed: what they need, and where that is tried."""
