"""Corrections that need no decision, applied to the text of the files: comments, order and other quotes are unchanged. Pure.

In: the files' texts and findings. Out: the changed texts, and what could not be corrected. A map or list that would become empty is removed
with its key, because a key without a value is not allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from reconciler.model import Edit, Finding, Fix, Source
from reconciler.yamltext import line_ends
from reconciler.yamltext.entries import Edits
from reconciler.yamltext.trail import TrailStep, refuse_aliases
from reconciler.yamltext.tree import MarkedText, Node, Tree, Untouchable, index, parse


def fixed(texts: Mapping[str, str], findings: Iterable[Finding]) -> tuple[dict[str, str], tuple[Finding, ...], dict[Finding, str]]:
    """Apply the fixes of all findings; a finding is corrected completely or not at all.

    Answers the texts of the changed files, the corrected findings, and those that cannot be corrected, with the reason.
    """
    plain = {name: line_ends.plain(text) for name, text in texts.items()}
    files, roots = {name: MarkedText(text) for name, text in plain.items()}, dict[str, Node]()
    done, left, last = list[Finding](), dict[Finding, str](), dict[Finding, int]()
    for finding in findings:
        for place in finding.fix.removes if finding.fix is not None else ():
            try:
                at = index(plain[place.file], place.line, place.column)
                roots[place.file] = roots[place.file] if place.file in roots else parse(plain[place.file]).root
                steps_to(roots[place.file], at)
            except (KeyError, ValueError):
                left[finding] = "the line was not found"
            else:
                files[place.file].marks[(finding, place)] = last[finding] = at
    # From the end: what a comment is about in a list that becomes empty is said by its first item.
    for finding in sorted((finding for finding in last if finding not in left), key=lambda finding: last[finding], reverse=True):
        tried = {name: MarkedText(marked.text, dict(marked.marks)) for name, marked in files.items()}
        try:
            for place in finding.fix.removes if finding.fix is not None else ():
                marked = tried[place.file]
                tree, at = parse(marked.text), marked.marks.pop((finding, place))
                removal(marked.text, tree, steps_to(tree.root, at)).apply(marked)
        except Untouchable as error:
            left[finding] = str(error)
            continue
        files = tried
        done.append(finding)
    changed = {name: line_ends.as_before(files[name].text, texts[name]) for name, text in plain.items() if files[name].text != text}
    return changed, tuple(done), left


def with_edits(texts: Mapping[str, str], findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, each fix with its edits of text: applied alone, they give the result of `fixed` for that finding."""
    return tuple(finding if finding.fix is None else _with_edits(texts, finding, finding.fix) for finding in findings)


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


def steps_to(root: Node, at: int) -> Sequence[TrailStep]:
    """The path to the innermost entry or item that begins at an index or contains it. Raises `ValueError` where there is none."""
    node, path, steps = root, list[TrailStep](), list[TrailStep]()
    while node.children:
        child = next((child for child in reversed(node.children) if child.start <= at), None)
        if child is None:
            break
        path.append(TrailStep(node, child))
        if child.key is None or at == child.start:
            steps = list(path)
        if child.key is None and at == child.value.start:
            break
        node = child.value
    if not steps:
        raise ValueError("nothing begins there")
    return steps


def removal(text: str, tree: Tree, steps: Sequence[TrailStep]) -> Edits:
    """The edits that remove an entry or item, and the maps and lists that this would leave empty. `steps`: the path to it."""
    # `ignore:` with nothing after it would be an error where there was a warning.
    while len(steps) > 1 and len(steps[-1].holder.children) == 1:
        steps = steps[:-1]
    refuse_aliases(tree, text, tuple(steps))
    edits, last = Edits(text), steps[-1]
    if len(steps) == 1 and len(last.holder.children) == 1:  # a file without anything is an error
        edits.empty(last.child)
    else:
        edits.drop(last.holder, last.child, comment=True)
    return edits
