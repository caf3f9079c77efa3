"""The rules of the whole project (`prune`, `protect`, `guards`, `lint`), and their positions in the YAML. Pure.

In: the evaluated top of the project file. Out: the parts of Desired that belong to no resource.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from reconciler.config.keys import GUARDS, IGNORE, RULES
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, items_of, untainted, wrong_form
from reconciler.model import RULES as LINT_RULES, Guards, Ignore, Source
from reconciler.resource import PRUNE_SCOPES, Kinds
from reconciler.text.names import did_you_mean, one_of

Prune = Literal["owned", "all", "none"]


def read_prune(top: KeyReader, kinds: Kinds, problems: Problems) -> dict[str, Prune]:
    """The scope of every kind."""
    keys = KeyReader.of("prune", top.entry("prune"), problems, example="team: all")
    scopes: dict[str, Any] = {name: keys.choice(name, PRUNE_SCOPES) or kind.prune for name, kind in kinds.items()}
    keys.rest()
    return scopes


def read_protect(top: KeyReader, kinds: Kinds, problems: Problems) -> frozenset[str]:
    """The kinds whose deletes require consent."""
    entry = top.entry("protect")
    if entry is None:
        return frozenset(name for name, kind in kinds.items() if kind.protected)
    protected = set()
    for node in items_of(entry, "a list of kinds", "write [] for none", problems.add):
        name = node.text if isinstance(node, Scalar) else ""
        if not untainted(node, "protect", problems.add):
            continue
        if name in kinds:
            protected.add(name)
        else:
            problems.add(node.at, f"protect names {described(node)}, which does not exist{did_you_mean(name, kinds)}", id="RC-unknown-kind")
    return frozenset(protected)


def read_guards(top: KeyReader) -> Guards:
    """The limits of a run."""
    return Guards(**top.map(GUARDS))


def rule_lines(top: KeyReader) -> dict[str, Source]:
    """The position of each rule: `guards.maxDelete.percent`; `` is the first line of the file, for rules that are not written."""
    sources = dict(_lines({name: top.entries[name] for name in RULES if name in top.entries}, ""))
    first = min((entry.at for entry in top.entries.values()), default=None)
    return sources if first is None else {"": first, **sources}


def _lines(entries: Mapping[str, MapEntry], within: str) -> Iterator[tuple[str, Source]]:
    for key, entry in entries.items():
        yield within + key, entry.at
        if isinstance(entry.node, Map):
            yield from _lines(entry.node.entries, f"{within}{key}.")


# -- accepted findings ---------------------------------------------------------------------------------------------------------------

IGNORE_FORM: Final = "write {id: RULE, address: PATTERN, reason: WHY}"


def read_ignores(keys: KeyReader, problems: Problems) -> tuple[Ignore, ...]:
    """The entries of `lint.ignore`, in their order."""
    entry = keys.entry("ignore")
    keys.rest()
    ignores = []
    for node in items_of(entry, "a list", "write [{id: RULE}]", problems.add, name="lint.ignore"):
        if not isinstance(node, Map):
            problems.add(node.at, f"lint.ignore contains {described(node)}; {IGNORE_FORM}", id=wrong_form(node))
            continue
        reader = KeyReader("lint.ignore", node.entries, problems)
        values = reader.values(IGNORE)
        reader.rest()
        rule, address = values["id"], values["address"]
        if rule is None:
            if "id" not in node.entries:
                problems.add(node.at, f"lint.ignore must say which rule it ignores; {IGNORE_FORM}", id="RC-missing-key")
        elif (name := rule.removeprefix("RC-")) not in LINT_RULES:
            wrong = f'lint rule "{rule}" does not exist{did_you_mean(name, LINT_RULES) or f"; {one_of(LINT_RULES)}"}'
            problems.add(node.entries["id"].node.at, wrong, id="RC-unknown-lint-rule")
        elif address is None or problems.glob(address, node.entries["address"].node.at) is not None:
            ignores.append(Ignore(name, address or "", values["reason"] or "", node.at))
    return tuple(ignores)
