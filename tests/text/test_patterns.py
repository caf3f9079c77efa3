"""The one matcher: what patterns mean, and that no pattern takes more steps than its length times that of the text."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from reconciler.config.secrets.secrets import _FRAME
from reconciler.config.source.problems import Problems
from reconciler.config.source.walk import NotWalked, files_matching
from reconciler.model import Source
from reconciler.text.patterns import LENGTH_MAX, STAR, PathPattern, TextPattern, pattern_problem, size_problem
from reconciler.text.private_keys import has_private_key, without_private_keys
from reconciler.yamltext.entries import _REMARK
from tests.command_line import Cli
from tests.effort import calls, within
from tests.sources import PACKAGE, dotted, nodes, package

SEEDS = range(20)


def definition(pattern: list[str], path: list[str]) -> bool:
    """What a pattern matches, by recursion."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(definition(pattern[1:], path[skip:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and definition(pattern[1:], path[1:])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_path_matches_as_defined_also_when_its_folders_are_walked_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        segments = [rng.choice(["**", "a", "b", "*", "a*", "*b", "?", "[ab]", "[!a]*"]) for _ in range(rng.randint(1, 6))]
        path = [rng.choice(["a", "b", "ab", "ba", "c"]) for _ in range(rng.randint(1, 6))]
        pattern = PathPattern.parse("/".join(segments))
        positions = pattern.begin
        for name in path:
            positions = pattern.after(positions, name)
        wanted = definition(segments, path)
        assert (pattern.matches("/".join(path)), pattern.is_matched(positions)) == (wanted, wanted), (segments, path)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_matches_as_in_a_shell(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        pattern = "".join(rng.choice(["a", "b", "*", "?", "[ab]", "[!b]", "[a-b]", "]", "["]) for _ in range(rng.randint(0, 6)))
        text = "".join(rng.choice("ab]") for _ in range(rng.randint(0, 6)))
        assert TextPattern.parse(pattern).matches(text) is fnmatchcase(text, pattern), (pattern, text)


def test_marks_without_a_meaning_are_literal_in_addresses() -> None:
    assert TextPattern.parse("a?[b]", STAR).matches("a?[b]")
    assert not TextPattern.parse("a?", STAR).matches("ab")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 300 + "b", "a" * 3_000),
        ("?*" * 300 + "b", "a" * 3_000),
        ("[a-z]*" * 100 + "0", "a" * 3_000),
        ("*[a]a" * 100 + "b", "a" * 3_000),
        ("/".join(["**", *["*a*"] * 100, "**", *["*a*"] * 100, "b"]), "/".join(["a" * 20] * 500)),
    ],
)
def test_a_hostile_pattern_takes_few_steps(pattern: str, path: str) -> None:
    parsed = PathPattern.parse(pattern)
    assert calls(lambda: parsed.matches(path)) < len(pattern) * len(path) * 3
    assert not parsed.matches(path)


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----" + "A: " * 300,
        "-----BEGIN PRIVATE KEY-----A: " * 5_000,
        "--- BEGIN PRIVATE KEY BLOCK ---Z:a" * 5_000,
        "---BEGIN PRIVATE KEY---" + "\\n" * 100_000,
    ],
)
def test_a_text_that_looks_like_many_keys_is_looked_through_once(text: str) -> None:
    assert not within(2, lambda: has_private_key(text))
    assert within(2, lambda: without_private_keys(f"{text}\n-----BEGIN PRIVATE KEY-----\nProc-Type: 4\n\n{'a' * 40}")).endswith("hidden)")


def test_a_key_behind_four_long_headers_is_a_key() -> None:
    headers = "".join(f"Comment: {'x y ' * 48}\n" for _ in range(4))
    assert has_private_key(f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{headers}\n{'a' * 40}")


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (_REMARK.match, " " * 200_000 + "x"),
        (_FRAME.search, "x" + " " * 200_000 + "x"),
    ],
)
def test_a_long_line_is_looked_through_once(find: Callable[[str], object], text: str) -> None:
    assert within(2, lambda: find(text)) is None


def nested(folder: Path, depth: int) -> None:
    for _ in range(depth):
        for name in ("a", "b"):
            (folder / name).mkdir()
        (folder / "x.txt").write_text("")
        folder = folder / "a"


def test_each_folder_is_listed_once_however_many_ways_lead_to_it(tmp_path: Path) -> None:
    nested(tmp_path, 25)
    pattern = PathPattern.parse("/".join(["**", "*"] * 12) + "/none.yaml")
    assert calls(lambda: list(files_matching(tmp_path, pattern))) < 200_000


def test_links_that_make_a_tree_endless_end_with_an_error(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"link{number}").symlink_to(".")
    with pytest.raises(NotWalked, match="more than 1,000 files and folders"):
        list(files_matching(tmp_path, PathPattern.parse("/".join(["*"] * 30)), most=1_000))
    assert list(files_matching(tmp_path, PathPattern.parse("**/*.yaml"), most=1_000)) == []


def test_a_link_out_of_the_project_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "out").symlink_to(tmp_path)
    with pytest.raises(NotWalked, match="out is a link"):
        list(files_matching(tmp_path / "project", PathPattern.parse("*/*.yaml")))


@pytest.mark.parametrize("text", ["**/a/**/b/**", "/**/**/**", "a" * (LENGTH_MAX + 1)])
def test_a_pattern_has_a_length_and_at_most_two_runs_of_segments(text: str) -> None:
    assert size_problem(text) is not None
    assert pattern_problem(text) is not None
    problems = Problems([])
    assert problems.glob(text, Source("a.yaml", 3, 7)) is None
    assert [(problem.line, problem.column) for problem in problems.found] == [(3, 7)]


PLACES = {
    "include": "include: [{}]",
    "urls.gone": "urls: {{to: redirects, redirects: [csv], gone: [{{url: {}, reason: old}}]}}",
    "health.search": "health: {{search: [{{site: docs, query: x, finds: {}}}]}}",
    "lint.ignore": "lint: {{ignore: [{{id: unused-variable, address: {}, reason: old}}]}}",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_pattern_with_three_runs_of_segments_is_refused_where_it_is_written(tmp_path: Path, place: str) -> None:
    line = PLACES[place].format('"/**/a/**/b/**"' if place in ("urls.gone", "health.search") else '"**/a/**/b/**"')
    (tmp_path / "reconciler.yaml").write_text(f"version: 1\nproject: p\norganizations: {{acme: {{id: org_acme}}}}\n{line}\n")
    result = Cli(tmp_path)("validate", code=3)
    (wrong,) = [text for text in (result.stdout + result.stderr).splitlines() if "more than 2 times" in text]
    assert wrong.startswith(f"reconciler.yaml:4:{line.index(chr(34)) + 1} ")


# -- one matcher ---------------------------------------------------------------------------------------------------------------------

OWN_TEXTS = {
    ("config/secrets/encrypted.py", "form"): "the forms of values, a constant",
    ("features/lsp/language.py", "value['pattern']"): "the JSON Schema of this program",
    ("state/tables/schema.py", "tables"): "names of its own tables",
    ("fleet/sources/copies.py", "_name(url)"): "a digest",
    ("fleet/declared/values.py", "TIME.pattern"): "another expression of its own",
}
"""What expressions and names of files are made of besides constants, and why nobody else writes it."""


def made_of(node: ast.AST) -> Iterator[str]:
    """What an expression is made of, besides constants and texts that are escaped."""
    match node:
        case ast.Constant() | ast.operator():
            return
        case ast.Name(id=name) if name.strip("_").isupper():
            return
        case ast.Call(func=func, args=args) if dotted(func) == "re.escape" or "re.escape" in map(dotted, args):
            return
        case ast.Call(func=ast.Attribute(attr="join"), args=[argument]):
            yield from made_of(argument)
        case ast.JoinedStr() | ast.FormattedValue() | ast.BinOp():
            for part in ast.iter_child_nodes(node):
                yield from made_of(part)
        case _:
            yield ast.unparse(node)


def test_there_is_one_matcher_and_no_pattern_of_people_becomes_a_regular_expression() -> None:
    others, known = [], set()
    for path in package():
        name = path.relative_to(PACKAGE).as_posix()
        for node in nodes(path) if not name.startswith("sandbox/") else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                others += [(name, module) for module in modules & {"fnmatch", "glob", "wcmatch", "pathspec"}]
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            called = dotted(node.func)
            of_files = node.func.attr in ("glob", "rglob", "full_match") and not called.endswith("problems.glob")
            if of_files or (called.startswith("re.") and called != "re.escape"):
                found = {(name, text) for text in made_of(node.args[0])}
                known |= found & OWN_TEXTS.keys()
                others += sorted(found - OWN_TEXTS.keys())
    assert others == [], "reconciler.text.patterns is the one matcher"
    assert known == OWN_TEXTS.keys(), "what is no longer used is no longer listed"
