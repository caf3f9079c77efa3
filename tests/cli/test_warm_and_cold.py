"""With and without the files that save time a command prints the same, to the byte: whatever was edited, set, renamed or damaged."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final

import httpx2
import pytest

from reconciler.cli.wiring import checked, connect
from reconciler.sandbox.server import Embedded, embedded
from tests.cli.conftest import Cli
from tests.proofs import sampled, spread, tries

SEALED: Final = ("valid.json", "unchanged.json", "settings.json")
COMMANDS: Final = (("validate",), ("plan",), ("state", "list"), ("history",))
LASTS: Final = 200  # days for which the exception of the project holds
PROJECT: Final = """\
version: 1
project: p
service: {member: ada@acme.example}
vars:
  title: {default: Writers, env: RECONCILER_VAR_TITLE}
  idle: {default: x, env: RECONCILER_VAR_IDLE}
use: [few-deletes]
exceptions:
  - {policy: few-deletes, until: UNTIL, reason: a test}
organizations:
  acme:
    id: org_acme
    members:
      ada@acme.example: admin
    teams: {include: ["parts/*.yaml"]}
    content:
      - {space: blank, id: spc_blank, title: Blank, template: true}
      - {space: guides, title: Guides, duplicateOf: blank}
    sites:
      docs: {title: Documentation, structure: [guides]}
"""
TEAM: Final = 'writers: {title: "TITLE", members: [ada@acme.example]}\n'
TITLES: Final = ("Writers", "Authors", "${{ vars.title }}", "${{ file('title.txt') }}", "${{ vars.titel }}")
ENVIRONMENTS: Final = (
    "{}\n",
    "patch: [{match: acme/team/*, set: {title: '${{ vars.idle }}'}}]\n",
    "vars: {title: Others}\n",
    "nonsense: 1\n",
)


class Session:
    """A project that was applied to a service, and what a user does to it between two commands."""

    def __init__(self, cli: Cli, running: Embedded, chance: random.Random, now: Callable[[], datetime]) -> None:
        self.cli, self.running, self.chance, self.days = cli, running, chance, 0
        self.folder, self.copies = cli.root / "p", cli.root / "copies"
        self.words: dict[str, tuple[str, ...]] = {}
        self.env: dict[str, str | None] = {"RECONCILER_TOKEN": running.token}
        self.project = PROJECT.replace("UNTIL", str((now() + timedelta(days=LASTS)).date()))
        self.cli.write("p/reconciler.yaml", self.project)
        self.cli.write("p/parts/a.yaml", TEAM.replace("TITLE", "Writers"))
        self.cli.write("p/title.txt", "Writers")
        assert self.run("apply", "--yes", "--create-state")[0] == 0
        self.copies.mkdir()
        shutil.copy(self.folder / ".reconciler/state.db", self.copies / "state.db")

    def run(self, *command: str) -> tuple[int, str, str]:
        """The exit code and what a command printed, without narration, which tells how it was found out."""
        words = [word for option in self.words.values() for word in option]
        done = self.cli("-q", *command, "p", "--base-url", self.running.base_url, *words, env=self.env)
        return done.exit_code, done.stdout, done.stderr

    def both(self, *command: str) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
        """What a command prints with the sealed files, and without them."""
        kept = self.cli.root / "kept"
        warm = self.run(*command)
        kept.mkdir(exist_ok=True)
        for name in SEALED:
            self.move(self.folder / ".reconciler" / name, kept / name)
        cold = self.run(*command)
        if self.chance.random() < 0.5:  # else an older one is found next time
            for name in SEALED:
                self.move(kept / name, self.folder / ".reconciler" / name)
        return warm, cold

    @staticmethod
    def move(file: Path, to: Path) -> None:
        if file.exists():
            file.replace(to)

    # -- what happens between two commands -------------------------------------------------------------------------------------------

    def nothing(self) -> None:
        """Nothing, which is what the files are for."""

    def edit_the_project_file(self) -> None:
        file = self.folder / "reconciler.yaml"
        texts = (
            self.project,
            self.project + "# a comment\n",
            self.project.replace("Documentation", "Handbook"),
            self.project.replace("vars:", "vars:\n  more: {default: 1}"),
            self.project.replace("  idle", "  title"),
            self.project.replace("project: p", "project: q"),
            self.project.replace("project: p", "project: p\nstate: sqlite:///other.db"),
            self.project.replace("version: 1", "version: 1\nstat: x"),
            self.project.replace("sites:", "sits:"),
            self.project[:-30],
        )
        file.write_text(self.chance.choice(texts))

    def edit_an_included_file(self) -> None:
        file = self.chance.choice(sorted((self.folder / "parts").iterdir()) or [self.folder / "parts/a.yaml"])
        file.write_text(TEAM.replace("TITLE", self.chance.choice(TITLES)))

    def rename_an_included_file(self) -> None:
        for file in sorted((self.folder / "parts").iterdir()):
            file.rename(file.with_name(self.chance.choice(("a.yaml", "b.yaml", "a.yml"))))

    def add_an_included_file(self) -> None:
        self.cli.write("p/parts/c.yaml", self.chance.choice(("{}\n", "guests: {title: Guests}\n", TEAM)))

    def remove_an_included_file(self) -> None:
        (self.folder / "parts/c.yaml").unlink(missing_ok=True)

    def move_an_included_file_out(self) -> None:
        for file in sorted((self.folder / "parts").iterdir()):
            if not file.is_symlink():
                file.replace(self.copies / file.name)
                file.symlink_to(self.copies / file.name)

    def edit_the_text_of_file(self) -> None:
        self.cli.write("p/title.txt", self.chance.choice(("Writers", "Authors")))

    def set_variables(self) -> None:
        self.env |= {"RECONCILER_VAR_TITLE": self.chance.choice((None, "Writers", "writers"))}
        self.env |= {"RECONCILER_VAR_IDLE": self.chance.choice((None, "y"))}
        self.words["public"] = self.chance.choice(((), ("--public-var", "title"), ("--public-var", "RECONCILER_VAR_TITLE")))
        self.words["variable"] = self.chance.choice(((), ("--var", "title=Writers"), ("--var", "title=Authors"), ("--var", "nobody=1")))

    def edit_environments(self) -> None:
        name = self.chance.choice(("staging", "production", "production"))
        self.cli.write(f"p/environments/{name}.yaml", self.chance.choice(ENVIRONMENTS))

    def choose_an_environment(self) -> None:
        self.words["environment"] = self.chance.choice(((), ("--env", "staging"), ("--env", "production"), ("--env", "nobody")))

    def remove_environments(self) -> None:
        shutil.rmtree(self.folder / "environments", ignore_errors=True)
        self.words["environment"] = ()

    def let_days_pass(self) -> None:
        self.days = self.chance.choice((0, 1, LASTS + 2))

    def change_the_token(self) -> None:
        self.env["RECONCILER_TOKEN"] = self.chance.choice((self.running.token, self.running.token, "nobody", None))

    def change_the_terminal(self) -> None:
        self.env["COLUMNS"] = self.chance.choice((None, "40", "120"))

    def apply(self) -> None:
        self.run("apply", "--yes")

    def forget_a_resource(self) -> None:
        self.run("state", "forget", self.chance.choice(("acme/team/writers", "acme/site/docs", "acme/space/guides")))

    def restore_an_old_state(self) -> None:
        self.copy(self.copies / "state.db", self.folder / ".reconciler/state.db")

    def use_another_state(self) -> None:
        place = f"sqlite:///{self.copies / 'state.db'}"
        self.words["state"] = self.chance.choice(((), ("--state", place), ("--state", "sqlite:///nowhere.db")))

    def change_the_service(self) -> None:
        headers = {"Authorization": f"Bearer {self.running.token}"}
        url = f"{self.running.base_url}/v1/orgs/org_acme/teams"
        team = httpx2.get(url, headers=headers).json()["items"][0]
        title = self.chance.choice(("Writers", "Somebody else"))
        httpx2.patch(f"{url}/{team['id']}", json={"title": title}, headers=headers).raise_for_status()

    def damage_a_sealed_file(self) -> None:
        file = self.sealed()
        if file.exists():
            text = file.read_bytes()
            file.write_bytes(self.chance.choice((b"", text[:-20], text.replace(b"o", b"0"), text + b" ", b"0" * 64 + text[64:])))

    def copy_a_sealed_file(self) -> None:
        self.copy(self.sealed(), self.copies / self.sealed().name)

    def restore_a_sealed_file(self) -> None:
        self.copy(self.copies / self.sealed().name, self.sealed())

    def be_another_user(self) -> None:
        self.cli.home = self.cli.root / self.chance.choice(("home", "home", "other"))

    def begin_again(self) -> None:
        """As it was applied first, with or without environments, and each command has remembered that."""
        self.words, self.env, self.days = {}, {"RECONCILER_TOKEN": self.running.token}, 0
        self.cli.home = None
        shutil.rmtree(self.folder / "environments", ignore_errors=True)
        shutil.rmtree(self.folder / "parts")
        self.cli.write("p/reconciler.yaml", self.project)
        self.cli.write("p/parts/a.yaml", TEAM.replace("TITLE", self.chance.choice(TITLES[:4])))
        self.cli.write("p/title.txt", "Writers")
        self.run("apply", "--yes")
        if self.chance.random() < 0.5:
            self.cli.write("p/environments/staging.yaml", "{}\n")
            self.cli.write("p/environments/production.yaml", self.chance.choice(ENVIRONMENTS))
            self.words["environment"] = ("--env", "staging")
        if self.chance.random() < 0.3:
            self.set_variables()
        for command in COMMANDS:
            self.run(*command)

    def sealed(self) -> Path:
        return self.folder / ".reconciler" / self.chance.choice(SEALED)

    @staticmethod
    def copy(file: Path, to: Path) -> None:
        if file.exists():
            shutil.copy(file, to)

    def steps(self) -> Sequence[Callable[[], None]]:
        """Everything that may happen, as often as it is worth trying."""
        return (
            self.nothing, self.set_variables, self.set_variables, *[self.edit_environments] * 3, self.choose_an_environment,
            self.remove_environments, self.edit_the_project_file, self.edit_an_included_file, self.rename_an_included_file,
            self.add_an_included_file, self.remove_an_included_file, self.move_an_included_file_out, self.edit_the_text_of_file,
            self.let_days_pass, self.change_the_token, self.change_the_terminal, self.apply, self.forget_a_resource,
            self.restore_an_old_state, self.use_another_state, self.change_the_service, self.damage_a_sealed_file,
            self.copy_a_sealed_file, self.restore_a_sealed_file, self.be_another_user,
        )  # fmt: skip


@pytest.fixture
def session(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Session]]:
    """What starts a session of a seed; its clock is a number of days ahead of that of this machine."""
    started: list[Session] = []

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(days=started[0].days if started else 0)

    for module in (checked, connect):
        monkeypatch.setattr(module, "datetime", Clock)
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("plan", "p").exit_code == 0  # creates the sandbox
    with embedded(cli.root / "p/.reconciler/sandbox.db") as running:

        def start(seed: int) -> Session:
            started.append(Session(cli, running, random.Random(seed), lambda: datetime.now(UTC)))
            return started[0]

        yield start


def test_each_of_these_commands_uses_what_it_remembered(session: Callable[[int], Session]) -> None:
    """Or the comparison below would compare nothing."""
    known = session(0)
    for command in COMMANDS:
        known.run(*command)
    before = stamps(known)
    for command in COMMANDS:
        assert known.run(*command)[0] == 0
    assert set(before) == set(SEALED)
    assert stamps(known) == before


def stamps(known: Session) -> Mapping[str, int]:
    """When each sealed file was written."""
    files = [known.folder / ".reconciler" / name for name in SEALED]
    return {file.name: file.stat().st_mtime_ns for file in files if file.exists()}


@sampled
@pytest.mark.parametrize("seed", spread(range(100), 3))
def test_with_and_without_these_files_everything_printed_is_the_same(session: Callable[[int], Session], seed: int) -> None:
    known = session(seed)
    for _ in range(tries(10, 4)):
        known.begin_again()
        done = []
        for step in known.chance.choices(known.steps(), k=known.chance.randint(1, 4)):
            step()
            done.append(step.__name__)
            for command in known.chance.sample(COMMANDS, k=2):
                warm, cold = known.both(*command)
                assert warm == cold, f"{' '.join(command)} after {', '.join(done)}"
