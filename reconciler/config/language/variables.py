"""Variables: declared once in the project file, given by default, by the command line or by the environment.

In: the `vars` map, `--var` pairs, the entries of `--var-file` and the environment. Out: values by name, and which of them came from the
environment. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from reconciler.config.keys import TYPES
from reconciler.config.language import bounds
from reconciler.config.source import json_text
from reconciler.config.source.nodes import (
    List,
    Map,
    MapEntry,
    Scalar,
    core,
    first_expression,
    inexact_number,
    literals,
    loses_text,
    plain,
)
from reconciler.config.source.problems import Problems, described, described_or_nothing, empty, entries_of, quote_number, shown, wrong_form
from reconciler.config.source.reader import read
from reconciler.errors import Problem
from reconciler.model import Source
from reconciler.text.names import did_you_mean, one_of

# The engine of pydantic's core (Rust's regex) takes time in proportion to the text; Python's would take forever for (a+)+$.
PATTERN_MAX: Final = 1_000  # characters

Fits = Callable[[Any, str], bool]


def are_limits(keys: Mapping[str, MapEntry], kind: str, fits: Fits, problems: Problems, about: str) -> bool:
    """Whether values of the type can meet `enum` and `pattern`; reports those that no value can."""
    before = len(problems.found)
    enum, pattern = keys.get("enum"), keys.get("pattern")
    if enum is not None and (not isinstance(enum.node, List) or not enum.node.items):
        what = "an empty list" if isinstance(enum.node, List) else described(enum.node)
        wrong = f"enum must be a list of values, not {what}; write [{'1, 2' if kind == 'integer' else 'a, b'}]"
        problems.add(enum.node.at, wrong, about, id=wrong_form(enum.node))
    elif enum is not None and isinstance(enum.node, List):
        for node in enum.node.items:
            if not fits(_limit_value(node, kind), kind):
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


def refusal(keys: Mapping[str, MapEntry], kind: str, value: Any, *, secret: bool = False) -> str:
    """What is wrong with a value, as the end of a sentence that names it; "" if it is accepted. `secret`: the value is not repeated."""
    enum, pattern = keys.get("enum"), keys.get("pattern")
    statement = "has a value that is not accepted" if secret else f"is {shown(value)}"
    if enum is not None and isinstance(enum.node, List):
        options = [_limit_value(node, kind) for node in enum.node.items]
        # In Python True == 1, in YAML they are different values.
        if not any(option == value and isinstance(option, bool) == isinstance(value, bool) for option in options):
            texts = [str(shown(option)).strip('"') if isinstance(option, str | int | float) else str(option) for option in options]
            hint = did_you_mean(value, texts) if isinstance(value, str) and not secret else ""
            return f"{statement}; {one_of(texts)}{hint}"
    if pattern is not None and isinstance(pattern.node, Scalar) and not _matches(pattern.node.text, value):
        return (
            f"{statement}, which does not match {pattern.node.text}"
            if not secret
            else f"{statement}: it does not match {pattern.node.text}"
        )
    return ""


def _limit_value(node: Any, kind: str) -> Any:
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
    properties = {
        "default": {"description": "The value if no other is given; no expression.", **literal},
        "type": {"description": "The type; the default is the type of default, else string.", "enum": list(TYPES)},
        "env": {"description": "The environment variable to read.", "type": "string", "pattern": "^RECONCILER_VAR_[A-Za-z0-9_]+$"},
        "enum": {"description": "The values that it accepts.", "type": "array", "minItems": 1},
        "pattern": {"description": "A regular expression that the whole text must match.", "type": "string", "minLength": 1},
        "description": {"description": "What it is for; shown when its value is missing.", **text},
    }
    return {"type": "object", "properties": properties, "additionalProperties": False, "allOf": rules}


ENV_PREFIX = "RECONCILER_VAR_"
LIMITS = frozenset({"enum", "pattern"})
KEYS = ("default", "type", "env", "enum", "pattern", "description")

# As in Python and Jinja, so that vars.NAME needs no quotes.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ENV = re.compile(ENV_PREFIX + r"[A-Za-z0-9_]+", re.ASCII)
_PYTHON: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "list": (list,),
    "map": (dict,),
}


@dataclass(frozen=True)
class Variables:
    """`values` by name. `tainted`: the names whose values came from the environment and are not public. `failed`: the names that are
    declared and have no value, which is reported. `origins`: the source of each value, for people. `places`: where each is declared.
    `unset`: the names of unset variables, if that is allowed; a placeholder text is the value of each."""

    values: Mapping[str, Any]
    tainted: frozenset[str]
    failed: frozenset[str]
    origins: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Source] = field(default_factory=dict)
    unset: frozenset[str] = frozenset()

    @property
    def secrets(self) -> frozenset[str]:
        """Every text to be masked: tainted values, and the texts inside them."""
        return frozenset(text for name in self.tainted for text in texts(self.values[name]) if text)

    @property
    def texts(self) -> Mapping[str, str]:
        """The values that are texts and no secrets, without placeholders."""
        hidden = self.tainted | self.unset
        return {name: value for name, value in self.values.items() if isinstance(value, str) and name not in hidden}

    def with_stand_ins(self, unset: Mapping[str, tuple[Source, str]]) -> Variables:
        """The same with variables that have no value: where each is declared, and the text in place of its value."""
        values = {name: text for name, (_, text) in unset.items()}
        places = {name: at for name, (at, _) in unset.items()}
        return replace(self, values={**self.values, **values}, places={**self.places, **places}, unset=frozenset(unset))


@dataclass(frozen=True)
class ValueSources:
    """Where values come from, beside defaults. `given`: `--var`, which wins; `files`: `--var-file`; `environ`: the environment of the
    process; `chosen`: the file of the project's environment."""

    given: Mapping[str, str]
    files: Mapping[str, MapEntry]
    environ: Mapping[str, str]
    chosen: Mapping[str, MapEntry]


def read_variables(entry: MapEntry | None, sources: ValueSources, public: Collection[str], problems: Problems) -> Variables:
    """Every declared variable's value; reports the unknown, the missing and the mistyped. `public`: those that are no secrets."""
    given, files, environ, chosen = sources.given, sources.files, sources.environ, sources.chosen
    declared = {variable.key: variable for variable in entries_of(entry, "write {} for none", problems.add, name="vars")}
    values: dict[str, Any] = {}
    tainted: set[str] = set()
    names: dict[str, str] = {}
    origins: dict[str, str] = {}
    for variable in declared.values():
        keys = _declaration(variable, problems)
        if keys is None:
            continue
        env = plain(keys["env"].node) if "env" in keys else None
        if isinstance(env, str):
            names[env] = variable.key
        # Which value wins: --var, then --var-file, then the environment's variable `env`, then environments/NAME.yaml, then the default.
        written = files.get(variable.key) or (chosen.get(variable.key) if env not in environ else None)
        if variable.key in given:
            written = None
        from_environment = variable.key not in given and written is None and isinstance(env, str) and env in environ
        # Who runs with --var every day would not see a broken default before somebody else runs without.
        if "default" in keys and (written is not None or from_environment or variable.key in given):
            _value(variable, keys, {}, {}, problems)  # a default that is not used must be valid too
        if written is not None:
            kind = _kind(keys)
            keys = {**keys, "default": written} | ({} if kind is None else {"type": kind})
            if not _is_plain(written, problems):
                continue
        # A limit on a secret is an oracle: whoever may write `pattern: "^a"` in a pull request learns the first letter from the answer.
        secret = from_environment and variable.key not in public and env not in public
        if secret and LIMITS & keys.keys():
            for limit in sorted(LIMITS & keys.keys()):
                problems.add(keys[limit].at, _not_tested(limit, variable.key, str(env)), f"vars.{variable.key}", id="RC-secret-tested")
            continue
        value = _value(variable, keys, given, environ if written is None else {}, problems)
        if value is not None:
            values[variable.key] = value[0]
            set_by = written.at.file_and_line if written is not None else "its default"
            origins[variable.key] = "--var" if variable.key in given else str(env) if from_environment else set_by
            if secret:
                tainted.add(variable.key)
    for written in (*chosen.values(), *files.values()):
        if written.key not in declared:
            wrong = f'variable "{written.key}" is not declared under vars of the project file{did_you_mean(written.key, declared)}'
            nested = "; write the variables at the top of the file: NAME: VALUE" if written.key == "vars" else ""
            problems.add(written.at, wrong + nested, id="RC-unknown-variable")
    for option, name in (*(("--var", name) for name in given), *(("--public-var", name) for name in public if name not in names)):
        if name not in declared:
            wrong = f'variable "{name}" is not declared under vars{did_you_mean(name, declared)}'
            problems.found.append(Problem(option, 0, 0, wrong, id="RC-unknown-variable"))
    places = {variable.key: variable.at for variable in declared.values()}
    return Variables(values, frozenset(tainted), frozenset(declared) - frozenset(values), origins, places)


def _declaration(variable: MapEntry, problems: Problems) -> Mapping[str, MapEntry] | None:
    """The keys of one declaration, checked; None where it cannot be used."""
    about, before = f"vars.{variable.key}", len(problems.found)
    if _NAME.fullmatch(variable.key) is None:
        problems.add(
            variable.at,
            f'"{variable.key}" is not a name; names are letters, digits and _, and begin with no digit',
            "vars",
            id="RC-variable-name",
        )
    if not isinstance(variable.node, Map):
        what = described_or_nothing(variable.node)
        short = isinstance(variable.node, Scalar) and 0 < len(variable.node.text) <= 40 and variable.node.text.isprintable()
        way = variable.node.text if isinstance(variable.node, Scalar) and short else "…"
        problems.add(
            variable.node.at, f"a variable must be a map, not {what}; write {{default: {way}}}", about, id=wrong_form(variable.node)
        )
        return None
    keys = variable.node.entries
    for key, entry in keys.items():
        if key not in KEYS:
            problems.add(entry.at, f'unknown key "{key}"{did_you_mean(key, KEYS)}', about, id="RC-unknown-key")
        elif isinstance(entry.node, Scalar) and entry.node.empty:
            problems.add(entry.node.at, empty(key), about, id="RC-no-value")
        elif (expression := first_expression(entry.node)) is not None:
            wrong = f"{key} cannot contain an expression: variables are evaluated before expressions"
            problems.add(expression.at, wrong, about, id="RC-expression-not-allowed")
        elif key == "type" and (not isinstance(entry.node, Scalar) or entry.node.text not in TYPES):
            hint = did_you_mean(entry.node.text, TYPES) if isinstance(entry.node, Scalar) else ""
            problems.add(entry.node.at, f"type is {described(entry.node)}; {one_of(TYPES)}{hint}", about, id="RC-unknown-choice")
        elif key == "env" and (not isinstance(entry.node, Scalar) or _ENV.fullmatch(entry.node.text) is None):
            problems.add(entry.node.at, f"env is {described(entry.node)}; names begin with {ENV_PREFIX}", about, id="RC-variable-env")
        elif key == "description" and (not isinstance(entry.node, Scalar) or entry.node.null):
            problems.add(entry.node.at, f"description must be text, not {described(entry.node)}", about, id="RC-wrong-form")
    if len(problems.found) == before and LIMITS & keys.keys():
        are_limits(keys, _type(keys), _fits, problems, about)
    if len(problems.found) == before and _keeps_digits(keys, _type(keys)):
        for key in ("default", "enum"):
            if key in keys:
                _report_inexact(keys[key], problems, about)
    return keys if len(problems.found) == before else None


def _keeps_digits(keys: Mapping[str, MapEntry], kind: str) -> bool:
    """Whether a number in the value of a variable must look as it is written: only a declared number or a text may be written freely.
    `keys`: of the declaration."""
    return kind in ("list", "map") or (kind in ("number", "integer") and "type" not in keys)


def _report_inexact(entry: MapEntry, problems: Problems, about: str) -> bool:
    """Report a number that would be written in another way when it becomes a text; returns whether there is one."""
    number = inexact_number(entry.node)
    if number is None:
        return False
    way = ", or declare the variable with type: number" if number is entry.node else ""
    problems.add(number.at, f"{quote_number(number.text)}{way}", about, id="RC-number-not-quoted")
    return True


def _type(keys: Mapping[str, MapEntry]) -> str:
    """The type of a variable: as declared, else that of its default, else that of the first value in `enum`."""
    if "type" in keys:
        return str(plain(keys["type"].node))
    if "default" in keys:
        return _type_of(plain(keys["default"].node))
    enum = keys.get("enum")
    return _type_of(plain(enum.node.items[0])) if enum is not None and isinstance(enum.node, List) and enum.node.items else "string"


def _value(
    variable: MapEntry, keys: Mapping[str, MapEntry], given: Mapping[str, str], environ: Mapping[str, str], problems: Problems
) -> tuple[Any] | None:
    """The value in a tuple, as `None` could be a value; None, with a problem, if there is none."""
    name, about = variable.key, f"vars.{variable.key}"
    default = keys.get("default")
    env = plain(keys["env"].node) if "env" in keys else None
    kind = _type(keys)
    declared = variable.node.entries if isinstance(variable.node, Map) else {}
    if name in given or env in environ:
        text = given[name] if name in given else environ[str(env)]
        origin = f"--var {name}" if name in given else f"{env}"
        try:
            parsed = _parsed(text, kind)
        except json_text.TwiceError as error:
            what = f": {error}" if name in given else " has a map in which a key is written twice"
            problems.add(variable.at, f"{origin}{what}", about, id="RC-key-twice")
            return None
        wrote = _digits_lost(text, parsed, kind) if _keeps_digits(declared, kind) else None
        if wrote is not None:
            secret = name not in given  # a value from the environment may be a secret: it is not repeated
            shows = "a number in it would change as a text" if secret else f"{wrote} is a number and means {core(wrote)}"
            way = "declare the variable with type: string to keep its text, or with type: number"
            if kind in ("list", "map"):
                way = "quote it in the JSON to keep its text"
            problems.add(variable.at, f"{origin}: {shows}; {way}", about, id="RC-number-not-quoted")
            return None
        if parsed is None or not is_usable(parsed[0]):
            # A value from the environment may be a secret: it is not repeated.
            wrong = f"{origin} is not of type {kind}" if is_usable(text) else f"{origin} contains bytes that are not UTF-8"
            problems.add(variable.at, wrong + (f": {shown(text)}" if name in given else ""), about, id="RC-variable-type")
            return None
        if (wrong := refusal(keys, kind, parsed[0], secret=name not in given)) != "":
            problems.add(variable.at, f"{origin} {wrong}", about, id="RC-variable-not-accepted")
            return None
        return parsed
    if default is None:
        ways = f"--var {name}=…" + (f" or {env}" if env else "")
        meaning = f" ({shown(plain(keys['description'].node))})" if "description" in keys else ""
        problems.absent(
            variable.at, f"it has no value{meaning}; set it with {ways}, or write a default", about, id="RC-variable-without-value"
        )
        return None
    if default.key != "default" and _keeps_digits(declared, kind) and _report_inexact(default, problems, about):
        return None
    written = isinstance(default.node, Scalar) and not (default.key != "default" and default.node.null)
    textual = isinstance(default.node, Scalar) and kind == "string" and written
    value = literals(default.node.text if textual and isinstance(default.node, Scalar) else plain(default.node))
    if not _fits(value, kind):
        called = "default" if default.key == "default" else "the value"
        declares = default.key != "default" and isinstance(default.node, Map) and set(default.node.entries) <= set(KEYS)
        way = f"; the project file declares it, so write its value alone: {name}: VALUE" if declares else ""
        problems.add(
            default.node.at, f"{called} is {described(default.node)}, which is not of type {kind}{way}", about, id="RC-variable-type"
        )
        return None
    if (wrong := refusal(keys, kind, value)) != "":
        problems.add(
            default.node.at, f"{'default' if default.key == 'default' else 'the value'} {wrong}", about, id="RC-variable-not-accepted"
        )
        return None
    return (value,)


def _not_tested(limit: str, name: str, env: str) -> str:
    """The message about `enum` or `pattern` of a value that may be a secret: whoever writes them could find it out, test by test."""
    way = f"if it is not, pass --public-var {name}; else remove {limit}"
    return f"{limit} would test a value from the environment ({env}), which may be a secret; {way}"


def _kind(keys: Mapping[str, MapEntry]) -> MapEntry | None:
    """The type of a variable as an entry; None if only its value determines it."""
    known = keys.get("default") or keys.get("enum")
    if "type" in keys or known is None:
        return keys.get("type")
    return MapEntry("type", known.at, Scalar(known.at, _type(keys)))


def _is_plain(entry: MapEntry, problems: Problems) -> bool:
    """Whether an environment gives a value that is not an expression."""
    about = f"vars.{entry.key}"
    if isinstance(entry.node, Scalar) and entry.node.empty:
        problems.add(entry.node.at, empty(entry.key), "vars", id="RC-no-value")
    elif (expression := first_expression(entry.node)) is not None:
        wrong = "it cannot contain an expression: variables are evaluated before expressions"
        problems.add(expression.at, wrong, about, id="RC-expression-not-allowed")
    else:
        return True
    return False


def _type_of(value: Any) -> str:
    return next((name for name in TYPES if _fits(value, name)), "string")


def _fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _PYTHON[kind])


def _parsed(text: str, kind: str) -> tuple[Any] | None:
    """A text from outside as a value of a type, in a tuple; lists and maps are written as JSON. None if it is invalid.

    Raises `TwiceError` for a key that is written twice.
    """
    if kind == "string":
        return (text,) if is_usable(text) else None
    if kind in ("list", "map"):
        try:
            value = json_text.decoded(text)
        except json_text.TwiceError:
            raise
        except (ValueError, RecursionError):
            return None
    else:
        # As YAML would read it: --var count=3 is a number, --var flag=true is true.
        value = core(text)
    return (value,) if _fits(value, kind) else None


def is_usable(value: Any) -> bool:
    """Whether expressions can repeat a value: none may fail because of a value that may be a secret."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    try:
        bounds.plain(value)
    except bounds.ExpressionError:
        return False
    return True


def _digits_lost(text: str, parsed: tuple[Any] | None, kind: str) -> str | None:
    """The number in a text from outside that looks different as a value; None if there is none."""
    if kind not in ("list", "map"):
        return text if loses_text(text) else None
    waiting = list(parsed or ())
    while waiting:
        value = waiting.pop()
        if isinstance(value, json_text.WrittenNumber):
            return value.written
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return None


def texts(value: Any) -> list[str]:
    """The texts in a value, numbers as they are written."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


# -- files of --var-file ------------------------------------------------------------------------------------------------------------------

STANDARD_INPUT: Final = "standard input"


def read_files(files: Sequence[tuple[str, bytes]], problems: Problems) -> dict[str, MapEntry]:
    """The values in the files, each a name and its bytes, by variable; reports entries that are not a map of names and values."""
    given: dict[str, MapEntry] = {}
    for name, text in files:
        document = json_text.document(text, name) or read(text, name)
        for problem in document.problems:
            problems.settle(problem)
        node = document.data
        if isinstance(node, Map):
            given |= {entry.key: entry for entry in node.entries.values() if _is_value(entry, problems)}
        elif node is not None:
            problems.add(node.at, f"a file of variables must be a map of names and values, not {described(node)}", id=wrong_form(node))
    return given


def _is_value(entry: MapEntry, problems: Problems) -> bool:
    if isinstance(entry.node, Scalar) and entry.node.empty:
        problems.add(entry.node.at, empty(entry.key), id="RC-no-value")
        return False
    return True
