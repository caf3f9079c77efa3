"""Whatever an agent sends to `propose`: no crash, no file outside of the project, no rule, no consent, no secret, no expression."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from reconciler.address import Address
from reconciler.config.keys import EVERYWHERE, PROJECT
from reconciler.errors import ReconcilerError
from reconciler.features.edits.propose import propose, undo
from reconciler.features.edits.texts import project_texts
from reconciler.model import Desired
from reconciler.resource import FieldRole
from reconciler.run.narration import Narration
from reconciler.run.operation import Operation
from reconciler.text.masks import Masks
from tests.features.edits.proposing import ACME
from tests.features.edits.test_hostile_operations import HOSTILE
from tests.harness import kinds
from tests.hostile.texts import SCRAPS
from tests.proofs import sampled, tries

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
NAMES: Final = ("acme", "environments", "versions", "secrets", "handbook", "urls")
PROTECTED: Final = tuple(key.name for key in (*PROJECT, *EVERYWHERE) if key.name != "removed")
OPS: Final = ("set", "set", "add", "add", "move", "move", "remove", "rename")
WORDS: Final = (
    "title",
    "visibility",
    "path",
    "icon",
    "protect",
    "previously",
    "template",
    "id",
    "forEach",
    "include",
    "structure",
    "content",
    "spaces",
)


class Agent:
    """Draws calls: from the project's own words, from texts that break parsers, and from what is refused in tests."""

    def __init__(self, chance: random.Random, desired: Desired) -> None:
        self.chance = chance
        self.addresses = [str(address) for address in desired.resources]
        self.fields = [*WORDS, *(name for kind in kinds().values() for name in kind.fields)]

    def call(self) -> Any:
        if self.chance.random() < 0.03:
            return self.value(0)
        operation = self.sensible if self.chance.random() < 0.5 else self.operation
        return [operation() for _ in range(self.chance.randint(1, 3))]

    def sensible(self) -> Any:
        """An operation that may well be carried out."""
        address = Address.parse(self.chance.choice(self.addresses))
        fields = [name for name, field in kinds().of(address).fields.items() if field.written and not field.sensitive]
        match self.chance.choice(OPS):
            case "set":
                name = "title" if "title" in fields and self.chance.random() < 0.7 else self.chance.choice(fields or ["title"])
                return {
                    "op": "set",
                    "address": str(address),
                    "fields": {name: self.chance.choice((f"A {self.text()}", "unlisted", True, "read"))},
                }
            case "add":
                new = "/".join([*str(address).split("/")[:-1], f"new-{self.chance.randint(0, 99)}"])
                return {"op": "add", "address": new, "fields": {"title": f"New {self.text()}"}}
            case "move":
                return {"op": "move", "address": str(address), "first": True}
            case "rename":
                return {"op": "rename", "address": str(address), "key": f"renamed-{self.chance.randint(0, 99)}"}
            case _:
                return {"op": "remove", "address": str(address), "forget": self.chance.choice((True, False))}

    def operation(self) -> Any:
        choice = self.chance.random()
        if choice < 0.2:
            return self.chance.choice([*HOSTILE.values()])
        if choice < 0.25:
            return self.value(0)
        op = self.chance.choice(OPS)
        operation: dict[str, Any] = {"op": op, "address": self.address()}
        if op in ("set", "add") and self.chance.random() < 0.95:
            operation["fields"] = self.values()
        if op == "set" and self.chance.random() < 0.2:
            operation["unset"] = [self.chance.choice(self.fields)]
        if op in ("add", "move"):
            operation |= {name: self.address() for name in ("in", "after") if self.chance.random() < 0.4}
            operation |= {"first": True} if self.chance.random() < 0.2 else {}
        if op == "rename":
            operation["key"] = self.chance.choice(("renamed", "x-y", self.text(), "acme"))
        if op == "remove" and self.chance.random() < 0.4:
            operation["forget"] = self.chance.choice((True, False, "yes"))
        return operation

    def address(self) -> str:
        address = self.chance.choice(self.addresses)
        choice = self.chance.random()
        if choice < 0.7:
            return address
        if choice < 0.9:
            return "/".join([*address.split("/")[:-1], f"new-{self.chance.randint(0, 9)}"])
        parts = [*address.split("/"), self.text()]
        self.chance.shuffle(parts)
        return "/".join(parts)

    def values(self) -> dict[str, Any]:
        names = [self.chance.choice(self.fields if self.chance.random() < 0.5 else WORDS[:3]) for _ in range(self.chance.randint(1, 3))]
        return {name if self.chance.random() < 0.97 else self.text(): self.value(0) for name in names}

    def value(self, depth: int) -> Any:
        choice = self.chance.random()
        if choice < 0.6 or depth > 2:
            return self.text()
        if choice < 0.8:
            return self.chance.choice(
                (True, False, None, 0, -1, 1.5, 10**30, "public", "unlisted", "read", ["guides"], {"url": "https://x.example"})
            )
        if choice < 0.9:
            return [self.value(depth + 1) for _ in range(self.chance.randint(0, 3))]
        return {self.chance.choice([*WORDS, self.text()]): self.value(depth + 1) for _ in range(self.chance.randint(0, 3))}

    def text(self) -> str:
        return "".join(self.chance.choice((*SCRAPS, "Guides", "a", " ")) for _ in range(self.chance.randint(1, 3)))


def digests(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


def rules(folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Every key at the top of a file that no operation may change, as data; of a rename its names may change."""
    for file in sorted(folder.rglob("*.yaml")):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        for key in document if isinstance(document, dict) and "members" not in file.name else ():
            if key in PROTECTED or key.startswith("x-"):
                yield str(file.relative_to(folder)), key, document[key]


def consents(desired: Desired) -> dict[str, Any]:
    """What only people say of resources."""
    found: dict[str, Any] = {}
    for address, declared in desired.resources.items():
        fields = kinds()[declared.kind].fields
        private = {name: value for name, value in declared.values.items() if fields[name].role is FieldRole.LOCAL or fields[name].sensitive}
        found[str(address)] = (declared.protect, declared.adopt, declared.ignores, private)
    return found


@sampled
@pytest.mark.parametrize("seed", range(4))
def test_no_call_changes_anything_else(seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"anything {seed}")
    around = tmp_path / "around"
    (around / "other").mkdir(parents=True)
    (around / "reconciler.yaml").write_text("version: 1\n")
    (around / "other/x.yaml").write_text("a: 1\n")
    outcomes: Counter[str] = Counter()
    long = 0
    for number in range(tries(2_500, 40)):
        project = around / "project"
        if number % 10 == 0:
            shutil.rmtree(project, ignore_errors=True)
            name = chance.choice((*NAMES, ""))
            if name:
                shutil.copytree(EXAMPLES / name, project)
            else:
                project.mkdir()
                (project / "reconciler.yaml").write_text(ACME, encoding="utf-8")
            others = {path: digest for path, digest in digests(project).items() if not path.endswith((".yaml", ".yml"))}
            outside = {path: digest for path, digest in digests(around).items() if not path.startswith("project/")}
        texts = project_texts(project, kinds())
        desired = next(iter(texts.projects.values())).desired
        before, kept, agreed, data = digests(project), [*rules(project)], consents(desired), Agent(chance, desired).call()
        expressions = Counter(word for text in texts.texts.values() for word in ["${{"] * text.count("${{"))
        try:
            if number % 7 == 6:
                data = "undo"
                undo(Operation(project), Narration(Masks()))
            else:
                propose(Operation(project), Narration(Masks()), kinds(), data)
            outcomes["written"] += 1
        except ReconcilerError as error:
            long += len(str(error)) > 10_000
            assert {**digests(project), ".reconciler/proposal.lock": ""} == {**before, ".reconciler/proposal.lock": ""}, data
            outcomes[error.id] += 1
            continue
        assert {path: digest for path, digest in digests(around).items() if not path.startswith("project/")} == outside, data
        now = {path: digest for path, digest in digests(project).items() if not path.startswith(".reconciler/")}
        assert {path: digest for path, digest in now.items() if not path.endswith((".yaml", ".yml"))} == others, data
        if data == "undo":
            continue
        after = project_texts(project, kinds())
        renamed = any(isinstance(step, dict) and step.get("op") == "rename" for step in data)
        assert renamed or [*rules(project)] == kept, data
        assert Counter(word for text in after.texts.values() for word in ["${{"] * text.count("${{")) <= expressions, data
        agreed_now = consents(next(iter(after.projects.values())).desired)
        assert all(agreed_now[address] == agreed[address] for address in agreed_now.keys() & agreed.keys()), data
        # A resource that is new, or has a new name, has no consent that nobody gave.
        earlier = [*agreed.values()]
        assert all(consent in earlier or consent == (None, True, frozenset(), {}) for consent in agreed_now.values()), data
    assert not long
    assert outcomes["written"] > tries(250, 3), outcomes
