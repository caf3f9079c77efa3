"""Whatever writes the files of a project changes the lines that it is about; every other line is the same to the byte.

For `propose`, `validate --fix` and `fmt` here; for `drift --accept`, `drift --propose` and `import --into`, after which the plan is empty,
in `tests/features/edits/test_untouched_files.py`.
"""

from __future__ import annotations

import copy
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import Address
from reconciler.errors import ConfigError, Refused
from reconciler.features.edits.texts import ProjectTexts
from tests.command_line import Cli
from tests.features.edits.proposing import proposed, texts
from tests.features.edits.random_project import random_project
from tests.features.edits.test_random_operations import Drawn, declared, plain
from tests.features.edits.untouched import NOTE, About, by_address, entries_of, kept_lines, styled
from tests.organizations import pair, project
from tests.proofs import costly, sampled, tries

SECTIONS = ("moved", "removed", "ignoreChanges", "exceptions")
BY_HAND = ("RC-edit-by-hand", "RC-computed-in-yaml")


@costly
@sampled
@pytest.mark.parametrize("seed", range(2))
def test_operations_leave_every_other_line(seed: int) -> None:
    chance = random.Random(f"untouched {seed}")
    judged = refused = 0
    for _ in range(tries(1_500, 12)):
        tree, _ = pair(chance, full=chance.random() < 0.5)
        text = styled(project({"acme": tree}), chance, anchors=chance.random() < 0.3)
        drawn = Drawn(chance, copy.deepcopy(tree))
        while len(drawn.steps) < 1:
            drawn.draw()
        (step,) = drawn.steps
        with tempfile.TemporaryDirectory() as folder:
            try:
                wanted = texts(Path(folder) / "wanted", plain(drawn.tree)).projects[None]
            except ConfigError:
                continue
            before = texts(Path(folder) / "before", text)
            try:
                after = proposed(before, *drawn.steps)
            except Refused as error:
                if error.id not in BY_HAND:
                    raise
                refused += 1
                continue
            assert declared(after.projects[None].desired) == declared(wanted.desired), (text, step)
            assert kept_lines(before.texts, after.texts, about(before, step), comments=not losing(before, step)) == [], (
                text,
                step,
                after.texts,
            )
            judged += 1
    assert judged > refused, (judged, refused)


def losing(before: ProjectTexts, step: dict[str, Any]) -> bool:
    """Whether an operation removes lines of what may contain comments."""
    old = by_address(before).get(Address.parse(step["address"]))
    names = (*step.get("fields", {}), *step.get("unset", ())) if old is not None else ()
    return step["op"] == "remove" or any(isinstance(old.values.get(name), dict | list | tuple) for name in names)  # type: ignore[union-attr]


def about(before: ProjectTexts, step: dict[str, Any]) -> dict[str, set[int]]:
    """The lines that an operation is about."""
    lines, known = About(before.texts), by_address(before)
    address = Address.parse(step["address"])
    for name in (*step.get("fields", {}), *step.get("unset", ())) if step["op"] == "set" else ():
        lines.value(known[address], name)
    if step["op"] in ("move", "remove"):
        lines.resource(known[address])
        lines.contents(known[known[address].parent])  # type: ignore[index]
    if step["op"] in ("move", "add"):
        lines.contents(known[Address.parse(step["in"])])
    return lines.lines


@sampled
@pytest.mark.parametrize("seed", range(2))
def test_a_formatted_file_means_the_same_and_is_formatted(tmp_path: Path, seed: int) -> None:
    chance, cli = random.Random(f"fmt {seed}"), Cli(tmp_path)
    for number in range(tries(200, 3)):
        files = random_project(chance).render()
        before = {name: styled(data, chance, anchors=name == "reconciler.yaml") for name, data in files.items()}
        where = write(cli, str(number), before)
        cli("fmt", str(number), code=0)
        for name, text in before.items():
            after = (where / name).read_bytes().decode("utf-8")
            if name.startswith("tests/"):
                assert after == text
                continue
            assert yaml.safe_load(after) == yaml.safe_load(text), text
            assert sorted(NOTE.findall(after)) == sorted(NOTE.findall(text)), (text, after)
            assert after.startswith("\ufeff") == text.startswith("\ufeff")
        once = {name: (where / name).read_bytes() for name in before}
        cli("fmt", str(number), code=0)
        assert {name: (where / name).read_bytes() for name in before} == once


@sampled
@pytest.mark.parametrize("seed", range(2))
def test_a_fix_leaves_every_other_line(tmp_path: Path, seed: int) -> None:
    chance, cli = random.Random(f"fix {seed}"), Cli(tmp_path)
    for number in range(tries(200, 3)):
        made = random_project(chance)
        files, environment = made.render(), made.environments[0]
        where = (str(number), *(("--env", environment) if environment else ()))
        top = files["reconciler.yaml"]
        unused = {f"unused{at}": {"default": chance.choice(("x", 1, [1, 2]))} for at in range(chance.randint(1, 3))}
        top["vars"] = dict(chance.sample([*(top["vars"] | unused).items()], len(top["vars"]) + len(unused)))
        ignored = [{"id": "unused-variable", "address": f"vars.nothing{at}"} for at in range(chance.randint(0, 2))]
        kept = [*top.get("lint", {}).get("ignore", ())]
        if ignored:
            top["lint"] = {**top.get("lint", {}), "ignore": chance.sample([*kept, *ignored], len(kept) + len(ignored))}
        before = {name: styled(data, chance, anchors=name == "reconciler.yaml" and chance.random() < 0.3) for name, data in files.items()}
        folder = write(cli, str(number), before)
        said = cli("validate", *where, "--fix").stderr
        after = {name: (folder / name).read_bytes().decode("utf-8") for name in before}
        text = before["reconciler.yaml"]
        again = yaml.safe_load(after["reconciler.yaml"])
        lines = {line for name in (*SECTIONS, "lint") if name in top for span in entries_of(text, name) for line in span}
        for name in top["vars"].keys() - again.get("vars", {}).keys():
            for span in entries_of(text, "vars", *([name] if "vars" in again else [])):
                lines |= {span.start - 1, *span}
        assert kept_lines(before, after, {"reconciler.yaml": lines}, comments=False) == [], (text, after["reconciler.yaml"], said)
        left = {name for name in unused if name in again.get("vars", {})}
        assert all(f"Not fixed RC-unused-variable at vars.{name}" in said for name in left), said
        cli("validate", *where, code=0)


def write(cli: Cli, folder: str, files: dict[str, str]) -> Path:
    """Write files to the byte."""
    where = cli.root / folder
    for name, text in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(text.encode("utf-8"))
    return where
