"""Variables: declared once in the project file, given by default, by the command line or by the environment.

In: the `vars` map, `--var` pairs, the entries of `--var-file` and the environment. Out: values by name, and which of them came from the
environment. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.config.keys import TYPES
from reconciler.config.language import bounds
from reconciler.config.language.accepted import are_limits, refusal
from reconciler.config.source import json_text
from reconciler.config.source.nodes import List, Map, MapEntry, Scalar, core, first_expression, inexact_number, literals, loses_text, plain
from reconciler.config.source.problems import Problems, described, described_or_nothing, empty, quote_number, shown, wrong_form
from reconciler.errors import Problem
from reconciler.model import Source
from reconciler.text.suggest import did_you_mean, one_of

ENV_PREFIX = "RECONCILER_VAR_"
LIMITS = frozenset({"enum", "pattern"})
WORDS = ("default", "type", "env", "enum", "pattern", "description")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ENV = re.compile(ENV_PREFIX + r"[A-Za-z0-9_]+", re.ASCII)
_PYTHON: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "list": (list,), "map": (dict,),
}  # fmt: skip


@dataclass(frozen=True)
class Variables:
    """`values` by name. `tainted`: the names whose values came from the environment and are not public. `failed`: the names that are
    declared and have no value, which is reported. `origins`: the source of each value, in words. `places`: where each is declared.
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

    def with_stand_ins(self, unset: Mapping[str, tuple[Source, str]]) -> Variables:
        """The same with variables that have no value: where each is declared, and the text in place of its value."""
        values = {name: text for name, (_, text) in unset.items()}
        places = {name: at for name, (at, _) in unset.items()}
        return replace(self, values={**self.values, **values}, places={**self.places, **places}, unset=frozenset(unset))


def read_variables(
    entry: MapEntry | None,
    given: Mapping[str, str],
    public: Collection[str],
    environ: Mapping[str, str],
    problems: Problems,
    *,
    chosen: Mapping[str, MapEntry] = {},
    files: Mapping[str, MapEntry] = {},
) -> Variables:
    """Every declared variable's value; reports the unknown, the missing and the mistyped. `chosen`: values of the project's environment,
    which win over defaults; `files`: those of `--var-file`, which win over all but `--var`."""
    declared: dict[str, MapEntry] = {}
    if entry is not None and isinstance(entry.node, Map):
        declared = entry.node.entries
    elif entry is not None:
        nothing = isinstance(entry.node, Scalar) and entry.node.empty
        wrong = empty("vars") if nothing else f"vars must be a map, not {described(entry.node)}; write {{}} for none"
        problems.add(entry.node.at, wrong, id=wrong_form(entry.node))
    values: dict[str, Any] = {}
    tainted: set[str] = set()
    names: dict[str, str] = {}
    origins: dict[str, str] = {}
    for each in declared.values():
        words = _words(each, problems)
        if words is None:
            continue
        env = plain(words["env"].node) if "env" in words else None
        if isinstance(env, str):
            names[env] = each.key
        written = files.get(each.key) or (chosen.get(each.key) if env not in environ else None)
        if each.key in given:
            written = None
        from_environment = each.key not in given and written is None and isinstance(env, str) and env in environ
        if "default" in words and (written is not None or from_environment or each.key in given):
            _value(each, words, {}, {}, problems)  # a default that is not used must be valid too
        if written is not None:
            kind = _kind(words)
            words = {**words, "default": written} | ({} if kind is None else {"type": kind})
            if not _is_plain(written, problems):
                continue
        secret = from_environment and each.key not in public and env not in public
        if secret and LIMITS & words.keys():
            for limit in sorted(LIMITS & words.keys()):
                problems.add(words[limit].at, _not_tested(limit, each.key, str(env)), f"vars.{each.key}", id="RC-secret-tested")
            continue
        value = _value(each, words, given, environ if written is None else {}, problems)
        if value is not None:
            values[each.key] = value[0]
            set_by = written.at.file_and_line if written is not None else "its default"
            origins[each.key] = "--var" if each.key in given else str(env) if from_environment else set_by
            if secret:
                tainted.add(each.key)
    for one in (*chosen.values(), *files.values()):
        if one.key not in declared:
            wrong = f'variable "{one.key}" is not declared under vars of the project file{did_you_mean(one.key, declared)}'
            nested = "; write the variables at the top of the file: NAME: VALUE" if one.key == "vars" else ""
            problems.add(one.at, wrong + nested, id="RC-unknown-variable")
    for name in given:
        if name not in declared:
            problems.found.append(
                Problem(
                    "--var", 0, 0, f'variable "{name}" is not declared under vars{did_you_mean(name, declared)}', id="RC-unknown-variable"
                )
            )
    for name in public:
        if name not in declared and name not in names:
            problems.found.append(
                Problem(
                    "--public-var",
                    0,
                    0,
                    f'variable "{name}" is not declared under vars{did_you_mean(name, declared)}',
                    id="RC-unknown-variable",
                )
            )
    places = {each.key: each.at for each in declared.values()}
    return Variables(values, frozenset(tainted), frozenset(declared) - frozenset(values), origins, places)


def _words(each: MapEntry, problems: Problems) -> Mapping[str, MapEntry] | None:
    """The words of one declaration, checked; None where it cannot be used."""
    about, before = f"vars.{each.key}", len(problems.found)
    if _NAME.fullmatch(each.key) is None:
        problems.add(
            each.at, f'"{each.key}" is not a name; names are letters, digits and _, and begin with no digit', "vars", id="RC-variable-name"
        )
    if not isinstance(each.node, Map):
        what = described_or_nothing(each.node)
        short = isinstance(each.node, Scalar) and 0 < len(each.node.text) <= 40 and each.node.text.isprintable()
        way = each.node.text if isinstance(each.node, Scalar) and short else "…"
        problems.add(each.node.at, f"a variable must be a map, not {what}; write {{default: {way}}}", about, id=wrong_form(each.node))
        return None
    words = each.node.entries
    for key, entry in words.items():
        if key not in WORDS:
            problems.add(entry.at, f'unknown key "{key}"{did_you_mean(key, WORDS)}', about, id="RC-unknown-key")
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
    if len(problems.found) == before and LIMITS & words.keys():
        are_limits(words, _type(words), _fits, problems, about)
    if len(problems.found) == before and _keeps_digits(words, _type(words)):
        for key in ("default", "enum"):
            if key in words:
                _report_inexact(words[key], problems, about)
    return words if len(problems.found) == before else None


def _keeps_digits(words: Mapping[str, MapEntry], kind: str) -> bool:
    """Whether a number in the value of a variable must look as it is written: only a declared number or a text may be written freely.
    `words`: of the declaration."""
    return kind in ("list", "map") or (kind in ("number", "integer") and "type" not in words)


def _report_inexact(entry: MapEntry, problems: Problems, about: str) -> bool:
    """Report a number that would be written in another way when it becomes a text; returns whether there is one."""
    number = inexact_number(entry.node)
    if number is None:
        return False
    way = ", or declare the variable with type: number" if number is entry.node else ""
    problems.add(number.at, f"{quote_number(number.text)}{way}", about, id="RC-number-not-quoted")
    return True


def _type(words: Mapping[str, MapEntry]) -> str:
    """The type of a variable: as declared, else that of its default, else that of the first value in `enum`."""
    if "type" in words:
        return str(plain(words["type"].node))
    if "default" in words:
        return _type_of(plain(words["default"].node))
    enum = words.get("enum")
    return _type_of(plain(enum.node.items[0])) if enum is not None and isinstance(enum.node, List) and enum.node.items else "string"


def _value(
    each: MapEntry, words: Mapping[str, MapEntry], given: Mapping[str, str], environ: Mapping[str, str], problems: Problems
) -> tuple[Any] | None:
    """The value in a tuple, as `None` could be a value; None, with a problem, if there is none."""
    name, about = each.key, f"vars.{each.key}"
    default = words.get("default")
    env = plain(words["env"].node) if "env" in words else None
    kind = _type(words)
    declared = each.node.entries if isinstance(each.node, Map) else {}
    if name in given or env in environ:
        text = given[name] if name in given else environ[str(env)]
        origin = f"--var {name}" if name in given else f"{env}"
        try:
            parsed = _parsed(text, kind)
        except json_text.TwiceError as error:
            what = f": {error}" if name in given else " has a map in which a key is written twice"
            problems.add(each.at, f"{origin}{what}", about, id="RC-key-twice")
            return None
        wrote = _digits_lost(text, parsed, kind) if _keeps_digits(declared, kind) else None
        if wrote is not None:
            secret = name not in given  # a value from the environment may be a secret: it is not repeated
            shows = "a number in it would change as a text" if secret else f"{wrote} is a number and means {core(wrote)}"
            way = "declare the variable with type: string to keep its text, or with type: number"
            if kind in ("list", "map"):
                way = "quote it in the JSON to keep its text"
            problems.add(each.at, f"{origin}: {shows}; {way}", about, id="RC-number-not-quoted")
            return None
        if parsed is None or not is_usable(parsed[0]):
            # A value from the environment may be a secret: it is not repeated.
            wrong = f"{origin} is not of type {kind}" if is_usable(text) else f"{origin} contains bytes that are not UTF-8"
            problems.add(each.at, wrong + (f": {shown(text)}" if name in given else ""), about, id="RC-variable-type")
            return None
        if (wrong := _refusal(words, kind, parsed[0], secret=name not in given)) != "":
            problems.add(each.at, f"{origin} {wrong}", about, id="RC-variable-not-accepted")
            return None
        return parsed
    if default is None:
        ways = f"--var {name}=…" + (f" or {env}" if env else "")
        meaning = f" ({shown(plain(words['description'].node))})" if "description" in words else ""
        problems.absent(each.at, f"it has no value{meaning}; set it with {ways}, or write a default", about, id="RC-variable-without-value")
        return None
    if default.key != "default" and _keeps_digits(declared, kind) and _report_inexact(default, problems, about):
        return None
    written = isinstance(default.node, Scalar) and not (default.key != "default" and default.node.null)
    textual = isinstance(default.node, Scalar) and kind == "string" and written
    value = literals(default.node.text if textual and isinstance(default.node, Scalar) else plain(default.node))
    if not _fits(value, kind):
        called = "default" if default.key == "default" else "the value"
        declares = default.key != "default" and isinstance(default.node, Map) and set(default.node.entries) <= set(WORDS)
        way = f"; the project file declares it, so write its value alone: {name}: VALUE" if declares else ""
        problems.add(
            default.node.at, f"{called} is {described(default.node)}, which is not of type {kind}{way}", about, id="RC-variable-type"
        )
        return None
    if (wrong := _refusal(words, kind, value)) != "":
        problems.add(
            default.node.at, f"{'default' if default.key == 'default' else 'the value'} {wrong}", about, id="RC-variable-not-accepted"
        )
        return None
    return (value,)


def _not_tested(limit: str, name: str, env: str) -> str:
    """The message about `enum` or `pattern` of a value that may be a secret: whoever writes them could find it out, test by test."""
    way = f"if it is not, pass --public-var {name}; else remove {limit}"
    return f"{limit} would test a value from the environment ({env}), which may be a secret; {way}"


def _refusal(words: Mapping[str, MapEntry], kind: str, value: Any, *, secret: bool = False) -> str:
    """Why `enum` or `pattern` refuses a value; "" if neither does."""
    if not LIMITS & words.keys():
        return ""

    return refusal(words, kind, value, secret=secret)


def _kind(words: Mapping[str, MapEntry]) -> MapEntry | None:
    """The type of a variable as an entry; None if only its value determines it."""
    known = words.get("default") or words.get("enum")
    if "type" in words or known is None:
        return words.get("type")
    return MapEntry("type", known.at, Scalar(known.at, _type(words)))


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
