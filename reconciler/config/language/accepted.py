"""Which values a variable accepts: `enum` and `pattern` of its declaration. Imported only if a declaration uses them.

In: the words of a declaration. Out: a sentence about a value that is not accepted. A pattern is a regular expression of Rust's engine,
which takes time in proportion to the text: no pattern of a pull request can stop a run. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from reconciler.config.keys import TYPES
from reconciler.config.source.nodes import List, MapEntry, Scalar, literals, plain
from reconciler.config.source.problems import Problems, described, shown, wrong_form
from reconciler.text.suggest import did_you_mean, one_of

PATTERN_MAX: Final = 1_000  # characters

Fits = Callable[[Any, str], bool]


def are_limits(words: Mapping[str, MapEntry], kind: str, fits: Fits, problems: Problems, about: str) -> bool:
    """Whether values of the type can meet `enum` and `pattern`; reports those that no value can."""
    before = len(problems.found)
    enum, pattern = words.get("enum"), words.get("pattern")
    if enum is not None and (not isinstance(enum.node, List) or not enum.node.items):
        what = "an empty list" if isinstance(enum.node, List) else described(enum.node)
        wrong = f"enum must be a list of values, not {what}; write [{'1, 2' if kind == 'integer' else 'a, b'}]"
        problems.add(enum.node.at, wrong, about, id=wrong_form(enum.node))
    elif enum is not None and isinstance(enum.node, List):
        for node in enum.node.items:
            if not fits(_value(node, kind), kind):
                problems.add(node.at, f"enum contains {described(node)}, which is not of type {kind}", about, id="RC-variable-type")
    if pattern is not None and kind != "string":
        problems.add(pattern.at, f"pattern is for texts, but the variable is of type {kind}; remove it", about, id="RC-variable-pattern")
    elif pattern is not None:
        text = pattern.node.text if isinstance(pattern.node, Scalar) else ""
        if not text or len(text) > PATTERN_MAX:
            what = f"{len(text):,} characters long" if text else described(pattern.node)
            wrong = f"pattern is {what}; it must be a regular expression of at most {PATTERN_MAX:,} characters"
            problems.add(pattern.node.at, wrong, about, id="RC-variable-pattern")
        else:
            try:
                _matcher(text)
            except SchemaError as error:
                reason = str(error).strip().splitlines()[-1].removeprefix("error: ").strip()
                problems.add(pattern.node.at, f"pattern is not a regular expression: {reason}", about, id="RC-variable-pattern")
    return len(problems.found) == before


def refusal(words: Mapping[str, MapEntry], kind: str, value: Any, *, secret: bool = False) -> str:
    """What is wrong with a value, as the end of a sentence that names it; "" if it is accepted. `secret`: the value is not repeated."""
    enum, pattern = words.get("enum"), words.get("pattern")
    said = "has a value that is not accepted" if secret else f"is {shown(value)}"
    if enum is not None and isinstance(enum.node, List):
        options = [_value(node, kind) for node in enum.node.items]
        if not any(option == value and isinstance(option, bool) == isinstance(value, bool) for option in options):
            texts = [str(shown(option)).strip('"') if isinstance(option, str | int | float) else str(option) for option in options]
            hint = did_you_mean(value, texts) if isinstance(value, str) and not secret else ""
            return f"{said}; {one_of(texts)}{hint}"
    if pattern is not None and isinstance(pattern.node, Scalar) and not _matches(pattern.node.text, value):
        return f"{said}, which does not match {pattern.node.text}" if not secret else f"{said}: it does not match {pattern.node.text}"
    return ""


def _value(node: Any, kind: str) -> Any:
    return literals(node.text if kind == "string" and isinstance(node, Scalar) and not node.null else plain(node))


def _matcher(pattern: str) -> TypeAdapter[str]:
    TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])  # on its own: a bracket too many would close the group below
    return TypeAdapter(Annotated[str, StringConstraints(pattern=rf"\A(?:{pattern})\z")])


def _matches(pattern: str, value: Any) -> bool:
    try:
        _matcher(pattern).validate_python(value)
    except ValidationError:
        return False
    return True


def variable_schema(*, text: dict[str, Any], literal: dict[str, Any], textlike: list[str]) -> dict[str, Any]:
    """The JSON Schema of the declaration of a variable. `text`, `literal`: those of a text and of a value without expressions; `textlike`:
    the types that an editor may see instead of a text."""
    typed = {"string": textlike, "list": "array", "map": "object"}
    rules = [
        {
            "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
            "then": {"properties": {"default": {"type": typed.get(name, name)}}},
        }
        for name in TYPES
    ]
    words = {
        "default": {"description": "The value if no other is given; no expression.", **literal},
        "type": {"description": "The type; the default is the type of default, else string.", "enum": list(TYPES)},
        "env": {"description": "The environment variable to read.", "type": "string", "pattern": "^RECONCILER_VAR_[A-Za-z0-9_]+$"},
        "enum": {"description": "The values that it accepts.", "type": "array", "minItems": 1},
        "pattern": {"description": "A regular expression that the whole text must match.", "type": "string", "minLength": 1},
        "description": {"description": "What it is for; shown when its value is missing.", **text},
    }
    return {"type": "object", "properties": words, "additionalProperties": False, "allOf": rules}
