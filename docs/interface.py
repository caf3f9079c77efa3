"""The reference of Reconciler for Python, from its signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import reconciler
from reconciler.cli.option_table import ROWS

PAGE: Final = Path(__file__).parent / "python.md"
BEGIN: Final = "<!-- Written by python -m docs.generate from the signatures and docstrings. -->"
SECTION: Final = re.compile(r"^(Args|Attributes|Raises):$", re.MULTILINE)
ITEM: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
HEADINGS: Final = {"Args": ("argument", "meaning"), "Attributes": ("attribute", "meaning"), "Raises": ("error", "when")}


def page() -> str:
    """The page with the present reference at its end."""
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n\n" + "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    public = {name: getattr(reconciler, name) for name in reconciler.__all__}
    errors = {name: thing for name, thing in public.items() if issubclass(thing, reconciler.ReconcilerError)}
    yield from ("### reconciler.open", _signature("open", reconciler.open), _text(reconciler.open))
    yield from _class("OpenedProject", reconciler.OpenedProject)
    yield from ("### Limits", *_limits())
    for name, thing in public.items():
        if name not in errors and name not in ("Glob", "Limits", "OpenedProject"):
            yield from _class(name, thing)
    yield from ("### Errors", _errors(errors))


def _class(name: str, thing: Any) -> Iterator[str]:
    yield from (f"### {name}", _text(thing))
    inherited = [member for base in thing.__mro__[1:-1] for member in vars(base)]
    for member, value in sorted(vars(thing).items(), key=lambda pair: _line(pair[1])):
        if member.startswith("_") or member in inherited:
            continue
        if isinstance(value, property):
            yield f"#### {name}.{member}\n\n`{_annotation(value.fget, 'return')}`. {_text(value)}"
        elif inspect.isfunction(value):
            yield from (f"#### {name}.{member}", _signature(member, value), _text(value))


def _line(value: Any) -> int:
    function = value.fget if isinstance(value, property) else value
    return function.__code__.co_firstlineno if inspect.isfunction(function) else 0


def _signature(name: str, function: Any) -> str:
    given = inspect.signature(function)
    parameters = [part.replace(annotation=_short(part.annotation)) for part in given.parameters.values() if part.name != "self"]
    words = [re.sub(r": '([^']*)'", r": \1", str(part)) for part in parameters]
    words = [re.sub(r"mappingproxy\(\{\}\)", "{}", re.sub(r"Limits\(.*\)$", "Limits()", word)) for word in words]
    star = next((number for number, part in enumerate(parameters) if part.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if star is not None:
        words.insert(star, "*")
    line = f"{name}({', '.join(words)}) -> {_annotation(function, 'return')}"
    if len(line) > 100:
        inner = "".join(f"    {word},\n" for word in words)
        line = f"{name}(\n{inner}) -> {_annotation(function, 'return')}"
    return f"```text\n{line}\n```"


def _annotation(function: Any, name: str) -> str:
    return _short(function.__annotations__[name])


def _short(annotation: object) -> str:
    """`str | os.PathLike[str]` without the modules of names."""
    return re.sub(r"\b\w+\.(?=\w)", "", str(annotation)).replace("Voice", "Callable[[str], object]")


def _text(thing: Any) -> str:
    """A docstring: its sentences, then a table of each section."""
    text = inspect.cleandoc(thing.__doc__ or "")
    first, *rest = SECTION.split(text)
    parts = [first.strip()]
    for name, section in zip(rest[::2], rest[1::2], strict=True):
        rows = [f"| `{item[1]}` | {' '.join(item[2].split())} |".replace("NAME|", "NAME\\|") for item in ITEM.finditer(section)]
        left, right = HEADINGS[name]
        parts.append("\n".join([f"| {left} | {right} |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def _limits() -> Iterator[str]:
    yield "What whoever starts a run allows beyond the rules of the project. The default allows nothing. Patterns are `Glob.parse(text)`."
    assert is_dataclass(reconciler.Limits)
    rows = {row.limit: row for row in ROWS if row.limit}
    lines = [
        f"| `{known.name}` | `{known.type}` | {_sentence(rows[known.name].settings['help'])} | `--{rows[known.name].name}` |".replace(
            " | None`", " \\| None`"
        )
        for known in fields(reconciler.Limits)
    ]
    yield "\n".join(["| field | type | meaning | as an option |", "|---|---|---|---|", *lines])


def _sentence(text: str) -> str:
    return text.replace(" Repeatable.", "")


def _errors(errors: dict[str, Any]) -> str:
    intro = (
        "Each has a `message`, the `id` of its cause, which [a page](reference/problems.md) describes, and a `hint`: the way past it, "
        "`None` if there is none. In a traceback the hint is below the message."
    )
    rows = [
        f"| `{name}` | `{thing.__mro__[1].__name__}` | {thing.exit_code} | {' '.join((thing.__doc__ or '').split())} |"
        for name, thing in errors.items()
    ]
    return "\n".join([f"{intro}\n", "| error | is a | exit code of commands | meaning |", "|---|---|---|---|", *rows])
