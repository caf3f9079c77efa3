"""Corrections that need no decision, applied to the text of the files: comments, order and other quotes are unchanged. Pure.

In: the files' texts and findings. Out: the changed texts, and what could not be corrected. A map or list that would become empty is removed
with its key, because a key without a value is not allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.model import Edit, Finding, Fix, Source
from reconciler.yamltext.entries import Edits, ends
from reconciler.yamltext.trail import TrailStep, begin, end, refuse_aliases
from reconciler.yamltext.tree import Node, Untouchable, index, parse

Path = tuple[str | int, ...]


def fixed(texts: Mapping[str, str], findings: Iterable[Finding]) -> tuple[dict[str, str], tuple[Finding, ...], dict[Finding, str]]:
    """Apply the fixes of all findings; a finding is corrected completely or not at all.

    Answers the texts of the changed files, the corrected findings, and those that cannot be corrected, with the reason.
    """
    now, done = dict(texts), []
    left: dict[Finding, str] = {}
    waiting = [finding for finding in findings if finding.fix is not None]
    paths: dict[Finding, list[tuple[str, Path]]] = {}
    for finding in waiting:
        try:
            paths[finding] = [(place.file, _path(texts[place.file], place)) for place in finding.fix.removes] if finding.fix else []
        except (KeyError, ValueError):
            left[finding] = "the line was not found"
    order = sorted(paths, key=lambda finding: max(_rank(path) for _, path in paths[finding]), reverse=True)
    # From the end of each list: the numbers of earlier items stay valid.
    for finding in order:
        corrected = dict(now)
        try:
            for file, path in paths[finding]:
                corrected[file] = without(corrected[file], path)
        except Untouchable as error:
            left[finding] = str(error)
            continue
        now = corrected
        done.append(finding)
    return {name: text for name, text in now.items() if text != texts[name]}, tuple(done), left


def with_edits(texts: Mapping[str, str], findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, each fix with its edits of text: applied alone, they give the result of `fixed` for that finding."""
    return tuple(finding if finding.fix is None else _with_edits(texts, finding, finding.fix) for finding in findings)


UNUSED: Final = "RC-unused-variable"


def variables_of(findings: Iterable[Finding]) -> frozenset[str]:
    """The names of the variables that findings report as unused."""
    return frozenset(finding.address.removeprefix("vars.") for finding in findings if finding.id == UNUSED)


def in_environments(findings: Iterable[Finding], given: Mapping[str, Sequence[Source]]) -> tuple[Finding, ...]:
    """The findings, with the fix of an unused variable extended to the environments that set it: otherwise those values would be errors.

    `given`: where they do, by the name of the variable."""
    return tuple(_in_environments(finding, given) for finding in findings)


def _in_environments(finding: Finding, given: Mapping[str, Sequence[Source]]) -> Finding:
    places = given.get(finding.address.removeprefix("vars."), ()) if finding.id == UNUSED else ()
    if not places or finding.fix is None:
        return finding
    return replace(finding, fix=replace(finding.fix, removes=(*finding.fix.removes, *places)))


def _with_edits(texts: Mapping[str, str], finding: Finding, fix: Fix) -> Finding:
    changed, _, _ = fixed(texts, [finding])
    return replace(finding, fix=replace(fix, edits=tuple(_edit(name, texts[name], text) for name, text in sorted(changed.items()))))


def _edit(name: str, before: str, after: str) -> Edit:
    """The edit that turns one text into another; a removal starts at the beginning of a line if possible."""
    begin = _alike(before, after)
    while before[begin - 1 : begin] == "\r":  # a line break is not split
        begin -= 1
    same = _alike(before[begin:][::-1], after[begin:][::-1])
    end, text = len(before) - same, after[begin : len(after) - same]
    while not text and begin and before[begin - 1] == before[end - 1] and not before.endswith("\n", 0, begin):
        begin, end = begin - 1, end - 1
    return Edit(_source(name, before, begin), _source(name, before, end), text)


def _alike(left: str, right: str) -> int:
    """The length of the common beginning of two texts."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[:middle] == right[:middle] else (low, middle - 1)
    return low


def _source(name: str, text: str, at: int) -> Source:
    """The line and column of an offset in a text, from 1."""
    return Source(name, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _rank(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in path)


def _path(text: str, place: Source) -> Path:
    """The keys and numbers of the innermost entry or item that begins at a position or contains it."""
    at = index(text, place.line, place.column)
    node, path = parse(text).root, []
    steps: list[str | int] | None = None
    while node.children:
        number = next((number for number in reversed(range(len(node.children))) if node.children[number].start <= at), None)
        if number is None:
            break
        child = node.children[number]
        path.append(child.key.text if child.key is not None else number)
        if child.key is None or at == child.key.start:
            steps = list(path)
        if child.key is None and at == child.value.start:
            break
        node = child.value
    if steps is None:
        raise ValueError("nothing begins there")
    return tuple(steps)


def without(text: str, path: Path) -> str:
    """The text without an entry or item, and without the maps and lists that this would leave empty."""
    tree = parse(text)
    steps = _steps(tree.root, path)
    # `ignore:` with nothing after it would be an error where there was a warning.
    while len(steps) > 1 and len(steps[-1].holder.children) == 1:
        steps = steps[:-1]
    refuse_aliases(tree, text, tuple(steps))
    last = steps[-1]
    if len(steps) == 1 and len(last.holder.children) == 1:  # a file without anything is an error
        return f"{text[: last.child.start]}{{}}{text[ends(text, last.child.value) :]}"
    if last.child.key is None:
        return _without_item(text, last)
    edits = Edits(text)
    edits.drop(last.holder, last.child, comment=True)
    return edits.done()


def _without_item(text: str, step: TrailStep) -> str:
    """The text without one of several items of a list."""
    if not step.holder.flow:
        return text[: begin(text, step.child)] + text[end(text, step.child) :]
    if step.holder.commented:
        raise Untouchable.at("its brackets contain comments", text, step.holder.start)
    before, after = step.beside(-1), step.beside(1)
    start = ends(text, before.value) if before is not None else step.child.value.start
    stop = after.value.start if before is None and after is not None else ends(text, step.child.value)
    return text[:start] + text[stop:]


def _steps(root: Node, path: Path) -> list[TrailStep]:
    steps, node = [], root
    for part in path:
        child = next(child for number, child in enumerate(node.children) if (child.key.text if child.key is not None else number) == part)
        steps.append(TrailStep(node, child))
        node = child.value
    return steps
