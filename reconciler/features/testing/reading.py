"""The nodes of a test file as tests; every problem at its position. Pure.

In: the map of a file; later the project that each test names, and what evaluates expressions in it. Out: headers, then steps and
expectations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.address import Address, Glob
from reconciler.config.key import by_name
from reconciler.config.keys import IGNORED
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, Map, MapEntry, Node, Scalar, plain
from reconciler.config.source.problems import Problems, described, described_or_nothing, empty, items_of, shown, untainted, wrong_form
from reconciler.features.access.section import NamedReaders, read_access_test
from reconciler.features.policies.cases import EXAMPLES
from reconciler.features.testing import keys as k
from reconciler.features.testing.declared import Header, TwinStep
from reconciler.features.testing.expectations import (
    Bounds,
    Counts,
    Expectation,
    FieldValue,
    IsBlocked,
    IsRefused,
    Readers,
    Snapshot,
    UrlShows,
)
from reconciler.model import Action, Declared, NamedReader, ReaderSort, Source
from reconciler.resource import FieldRole, Kinds
from reconciler.text.names import a, did_you_mean, one_of
from reconciler.text.pages import pages

FORM: Final = "write [{name: …, expect: [{plan: empty}]}]"
EXPECT_FORM: Final = f"write one of {', '.join(dict.fromkeys(k.EXPECTATIONS))}"
COUNTED: Final = (*(action.value for action in Action), "unmanaged", "blocked")
NOT_COMPARED: Final = (FieldRole.SEED, FieldRole.LOCAL, FieldRole.FIRST)  # they say something about a create only
SNAPSHOT_END: Final = ".txt"


def check_top(top: Map, problems: Problems) -> None:
    """Report what a test file has beside tests and examples of policies, and that it has neither."""
    for key, entry in top.entries.items():
        if key not in (k.TESTS, *k.EXAMPLES) and not key.startswith(IGNORED):
            hint = did_you_mean(key, (k.TESTS, *k.EXAMPLES)) or f"; a test file has {k.TESTS}, {', '.join(k.EXAMPLES)}"
            problems.add(entry.at, f'unknown key "{key}"{hint}', id="RC-unknown-key")
    if not {k.TESTS, EXAMPLES} & top.entries.keys():
        wrong = f"this file has no tests; write {k.TESTS}: {FORM}, or move it out of this folder if it is something else"
        problems.add(top.at, wrong, id="RC-missing-key")


def headers(top: Map, problems: Problems) -> list[Header]:
    """The tests of a file, as far as they say it before the project is known."""
    nodes = items_of(top.entries.get(k.TESTS), "a list of tests", FORM, problems.add)
    read = [header for node in nodes if (header := _header(node, problems)) is not None]
    names: dict[str, Source] = {}
    for header in read:
        if header.name in names:
            wrong = f"name is {shown(header.name)}, as of the test at {names[header.name]}; each test has its own"
            problems.add(header.source, wrong, id="RC-declared-twice")
        names.setdefault(header.name, header.source)
    return read


def _header(node: Node, problems: Problems) -> Header | None:
    if not isinstance(node, Map):
        problems.add(node.at, f"a test must be a map, not {described_or_nothing(node)}; {FORM}", id=wrong_form(node))
        return None
    keys = KeyReader("a test", node.entries, problems)
    values = keys.values(key for key in k.TEST if key not in (k.GIVEN, k.WITH))
    missing = keys.missing(k.TEST)
    given, with_ = (_map(keys, key, problems) for key in (k.GIVEN, k.WITH))
    keys.rest()
    if "name" in missing:
        problems.add(node.at, f"a test must have a name, which says what it claims; {FORM}", id="RC-missing-key")
    expected = node.entries.get("expect")
    if "expect" in missing or (expected is not None and isinstance(expected.node, List) and not expected.node.items):
        wrong = f"a test that expects nothing cannot fail; {EXPECT_FORM}, or remove it"
        problems.add(node.at if expected is None else expected.at, wrong, id="RC-expects-nothing")
    name = values["name"]
    if name is None:
        return None
    variables = with_.entries.get("vars")
    return Header(
        name,
        node.entries["name"].node.at,
        node.entries,
        _placed(with_, "env"),
        variables.node.entries if variables is not None and isinstance(variables.node, Map) else {},
        _placed(with_, "project"),
        _placed(given, "seed"),
        _placed(given, "project"),
    )


def _map(keys: KeyReader, key: Any, problems: Problems) -> KeyReader:
    """The map of a key, with its own keys checked."""
    inner = KeyReader.of(key.name, keys.entry(key.name), problems, example=key.example)
    inner.values(key.keys)
    inner.rest()
    variables = inner.entries.get("vars")
    if variables is not None and not isinstance(variables.node, Map):
        wrong = f"with.vars must be a map of variables, not {described_or_nothing(variables.node)}; write {{NAME: VALUE}}"
        problems.add(variables.node.at, wrong, id=wrong_form(variables.node))
    return inner


def _text(keys: KeyReader, name: str) -> str | None:
    entry = keys.entries.get(name)
    return entry.node.text or None if entry is not None and isinstance(entry.node, Scalar) and not entry.node.null else None


def _placed(keys: KeyReader, name: str) -> tuple[str, Source] | None:
    text = _text(keys, name)
    return (text, keys.entries[name].node.at) if text is not None else None


@dataclass(eq=False)
class TestReader:
    """Reads the steps and expectations of tests of one project. `evaluate`: replaces the expressions in a node. `edited`: the values that
    an edit sets, checked as those of the project are; empty with a problem."""

    __test__ = False  # not a test of pytest

    kinds: Kinds
    resources: Mapping[Address, Declared]
    problems: Problems
    evaluate: Callable[[Node], Node]
    edited: Callable[[Address, MapEntry], Mapping[str, Any]]
    removed: Mapping[Address, Declared] = field(default_factory=dict)

    # -- steps -----------------------------------------------------------------------------------------------------------------------

    def steps(self, header: Header) -> tuple[TwinStep, ...]:
        """The steps of a test; without any, one apply."""
        entry = header.entries.get("steps")
        consent = header.entries.get("consent")
        everything = not (consent is not None and isinstance(consent.node, Scalar) and consent.node.text == "none")
        if entry is None:
            return (TwinStep("apply", header.source, everything),)
        entry.node = self.evaluate(entry.node)
        nodes = items_of(entry, "a list of steps", "write [apply]", self.problems.add)
        return tuple(step for node in nodes if (step := self._step(node, everything)) is not None)

    def _step(self, node: Node, consent: bool) -> TwinStep | None:
        way = f"write {', '.join(k.SORTS[:2])}, or a map with {', '.join(k.SORTS[2:])}"
        if isinstance(node, Scalar) and node.text in ("apply", "plan"):
            return TwinStep(node.text, node.at, consent)
        if not isinstance(node, Map):
            hint = did_you_mean(node.text, k.SORTS) if isinstance(node, Scalar) else ""
            wrong = f"a step is {described_or_nothing(node)}, which does not exist{hint or f'; {way}'}"
            self.problems.add(node.at, wrong, id="RC-unknown-choice" if isinstance(node, Scalar) and node.text else wrong_form(node))
            return None
        sorts = [name for name in k.SORTS if name in node.entries]
        keys = KeyReader("a step", node.entries, self.problems)
        keys.known += [key.name for key in k.STEP]
        keys.choice("by", (k.COLLEAGUE,))
        own = keys.choice("consent", k.CONSENT) if "consent" in node.entries else None
        keys.rest()
        if len(sorts) != 1:
            if len(sorts) > 1 or not any(keys.meant(name) for name in k.SORTS):
                wrong = f"a step has one of {', '.join(k.SORTS)}, not {len(sorts) or 'none'} of them"
                self.problems.add(node.at, wrong, id="RC-wrong-form")
            return None
        if own is not None and sorts != ["apply"]:
            self.problems.add(node.entries["consent"].at, f"consent is for apply, not for {sorts[0]}; remove it", id="RC-unknown-key")
        entry = node.entries[sorts[0]]
        return self._of_sort(sorts[0], entry, consent if own is None else own != "none")

    def _of_sort(self, sort: str, entry: MapEntry, consent: bool) -> TwinStep | None:
        if sort in ("apply", "plan"):
            return self._run(sort, entry, consent)
        if sort == "delete":
            address = self._declared(KeyReader("", {sort: entry}, self.problems), sort)
            return TwinStep(sort, entry.at, address=address) if address is not None else None
        if not isinstance(entry.node, Map):
            wrong = f"{sort} must be a map, not {described_or_nothing(entry.node)}; write {{{by_name(k.STEP)[sort].example}}}"
            self.problems.add(entry.node.at, wrong, id=wrong_form(entry.node))
            return None
        keys = KeyReader(sort, entry.node.entries, self.problems)
        return {"edit": self._edit, "create": self._create, "api": self._call}[sort](keys, entry)

    def _run(self, sort: str, entry: MapEntry, consent: bool) -> TwinStep | None:
        """`apply: {consent: none}`; also `{apply, consent: none}`, where nothing is written after the key."""
        node = entry.node
        if isinstance(node, Scalar) and (node.empty or node.null):
            return TwinStep(sort, entry.at, consent)
        if sort == "plan" or not isinstance(node, Map):
            self.problems.add(node.at, f"{sort} has nothing after it here, not {described(node)}; write {sort}", id="RC-wrong-form")
            return None
        keys = KeyReader(sort, node.entries, self.problems)
        values = keys.values(k.APPLY)
        keys.rest()
        return TwinStep(sort, entry.at, values["consent"] != "none" if "consent" in node.entries else consent)

    def _edit(self, keys: KeyReader, entry: MapEntry) -> TwinStep | None:
        address = self._declared(keys, "address")
        values = keys.entry("set")
        keys.rest()
        self._missing(keys, k.EDIT, entry.at, "edit")
        if address is None or values is None:
            return None
        fields = self.edited(address, values)
        return TwinStep("edit", entry.at, address=address, values=fields) if fields else None

    def _create(self, keys: KeyReader, entry: MapEntry) -> TwinStep | None:
        written, values = keys.text("address"), keys.entry("set")
        keys.rest()
        self._missing(keys, k.CREATE, entry.at, "create")
        address = self._new_address(*written) if written is not None else None
        if address is None or values is None:
            return None
        if not isinstance(values.node, Map) or not values.node.entries:
            wrong = f"create.set must be a map of fields, not {described_or_nothing(values.node)}; write {{FIELD: VALUE}}"
            self.problems.add(values.node.at, wrong, id=wrong_form(values.node))
            return None
        kind = self.kinds.of(address)
        known = [sent.name for sent in kind.sent_by("create")]
        for name, value in values.node.entries.items():
            if name not in known:
                wrong = f'no request that creates {a(kind.name)} has "{name}"{did_you_mean(name, known) or f"; {one_of(known)}"}'
                self.problems.add(value.at, wrong, address, id="RC-unknown-field")
        return TwinStep("create", entry.at, address=address, values=plain(values.node))

    def _new_address(self, text: str, at: Source) -> Address | None:
        """An address of a kind that can be created, in a declared container, where nothing is declared; None with a problem."""
        try:
            address = Address.parse(text)
        except ValueError as error:
            self.problems.add(at, str(error), id="RC-address-form")
            return None
        if address.kind is not None and address.kind not in self.kinds:
            hint = did_you_mean(address.kind, self.kinds)
            self.problems.add(at, f'there is no kind "{address.kind}"{hint}', id="RC-unknown-kind")
        elif address in self.resources:
            self.problems.add(at, f"{address} is declared; apply creates it", id="RC-not-declared")
        elif address.container not in self.resources:
            hint = did_you_mean(str(address.container), map(str, self.resources))
            self.problems.add(at, f"{address.container or address} is not declared{hint}", id="RC-unknown-reference")
        elif "create" not in self.kinds.of(address).api:
            wrong = f"the API has no request that creates {a(self.kinds.of(address).name)}"
            self.problems.add(at, wrong, id="RC-not-declared")
        else:
            return address
        return None

    def _call(self, keys: KeyReader, entry: MapEntry) -> TwinStep | None:
        method, path, body = keys.choice("method", k.METHODS), keys.text("path"), keys.entry("body")
        keys.rest()
        self._missing(keys, k.CALL, entry.at, "api")
        if method is None or path is None:
            return None
        if not path[0].startswith("/") or not path[0].isprintable() or " " in path[0]:
            wrong = f"api.path is {shown(path[0])}; it begins with / and has no spaces: /PATH/{{ADDRESS}}"
            self.problems.add(path[1], wrong, id="RC-api-path")
            return None
        return TwinStep("api", entry.at, method=method, path=path[0], body=plain(body.node) if body is not None else None)

    def _missing(self, keys: KeyReader, table: Iterable[Any], at: Source, what: str) -> None:
        for name in keys.missing(table):
            self.problems.add(at, f"{what} lacks {name}", id="RC-missing-key")

    # -- expectations ------------------------------------------------------------------------------------------------------------------

    def expectations(self, header: Header) -> tuple[Expectation, ...]:
        """What a test expects."""
        entry = header.entries["expect"]
        entry.node = self.evaluate(entry.node)
        nodes = items_of(entry, "a list", EXPECT_FORM, self.problems.add)
        return tuple(expectation for node in nodes if (expectation := self._expectation(node)) is not None)

    def _expectation(self, node: Node) -> Expectation | None:
        if not isinstance(node, Map):
            wrong = f"an expectation must be a map, not {described_or_nothing(node)}; {EXPECT_FORM}"
            self.problems.add(node.at, wrong, id=wrong_form(node))
            return None
        keys = KeyReader("an expectation", node.entries, self.problems)
        sort = next((name for name in k.EXPECTATIONS if name in node.entries), None)
        if sort is None:
            known = tuple(dict.fromkeys(key.name for table in k.EXPECTATIONS.values() for key in table))
            for name, entry in node.entries.items():
                wrong = f'unknown key "{name}" in an expectation{did_you_mean(name, known) or f"; {EXPECT_FORM}"}'
                if name in known:
                    wrong = f"{name} belongs to another key of an expectation; {EXPECT_FORM}"
                self.problems.add(entry.at, wrong, id="RC-unknown-key")
            if not node.entries:
                self.problems.add(node.at, f"an expectation that asks about nothing cannot fail; {EXPECT_FORM}", id="RC-expects-nothing")
            return None
        if sort == "as":
            test = read_access_test(node, self.kinds, self.resources, self.removed, self.problems)
            if test is not None and not any(True for _ in test.asks):
                wrong = "no pattern of this reader matches a resource here, so it cannot fail"
                self.problems.absent(node.at, wrong, id="RC-expects-nothing")
            return Readers(test) if test is not None else None
        read = {
            "url": self._page,
            "plan": self._counts,
            "requests": self._counts,
            "blocked": self._blocked,
            "field": self._field,
            "refused": self._refused,
            "snapshot": self._snapshot,
        }[sort]
        expectation = read(node, keys)
        keys.rest()
        return expectation

    def _page(self, node: Map, keys: KeyReader) -> Expectation | None:
        url, title, who = keys.text("url"), keys.text("title"), keys.entry("as")
        site, space = self._declared(keys, k.SITE), self._declared(keys, "shows")
        answers = keys.choice("answers", ("true", "false"))
        readers = NamedReaders(self.kinds, self.resources, self.problems, self.removed)
        reader = readers.read(who.node) if who is not None else NamedReader(ReaderSort.ANYONE)
        if reader is not None and reader.person is not None and who is not None:
            wrong = "a published URL shows a member what it shows anyone"
            self.problems.add(who.at, f"{wrong}; write anyone, or {{claims: {{NAME: VALUE}}}} for whoever signs in", id="RC-unknown-choice")
            return None
        if url is None or reader is None:
            return None
        if not {"shows", "title", "answers"} & node.entries.keys():
            wrong = "what the URL shows is not said, so this cannot fail; write shows: ADDRESS, title: TEXT or answers: false"
            self.problems.add(url[1], wrong, id="RC-expects-nothing")
            return None
        if answers == "false" and (space is not None or title is not None):
            self.problems.add(url[1], "nothing can be there and be shown; write answers: false alone", id="RC-contradictory-tests")
            return None
        if not url[0].startswith("/"):
            self.problems.add(url[1], f"url is {shown(url[0])}; it begins with /: /guides/install", id="RC-wrong-form")
            return None
        return UrlShows(url[1], url[0], reader, site, space, title[0] if title else None, answers != "false")

    def _counts(self, node: Map, keys: KeyReader) -> Expectation | None:
        entry, requests = keys.entry("plan"), keys.entry("requests")
        limit = self._bounds(requests.node, "requests") if requests is not None else None
        actions: dict[str, tuple[Bounds, Source]] = {}
        is_empty = entry is not None and isinstance(entry.node, Scalar) and entry.node.text == k.EMPTY
        if entry is not None and isinstance(entry.node, Map):
            for name, number in entry.node.entries.items():
                if name not in COUNTED:
                    hint = did_you_mean(name, COUNTED) or f"; {one_of(COUNTED)}"
                    self.problems.add(number.at, f'unknown action "{name}" of plan{hint}', id="RC-unknown-key")
                elif (bounds := self._bounds(number.node, f"plan.{name}")) is not None:
                    actions[name] = (bounds, number.at)
            if not entry.node.entries:
                self.problems.add(entry.node.at, "plan asks about no action, so it cannot fail; write {delete: 0}", id="RC-expects-nothing")
        elif entry is not None and not is_empty:
            wrong = f"plan must be a map of actions and numbers, or {k.EMPTY}, not {described_or_nothing(entry.node)}; write {{delete: 0}}"
            self.problems.add(entry.node.at, wrong, id=wrong_form(entry.node))
        at = entry.node.at if entry is not None else node.at
        needed = (limit, requests.at) if limit is not None and requests is not None else None
        return Counts(at, actions, needed, is_empty) if actions or needed or is_empty else None

    def _bounds(self, node: Node, name: str) -> Bounds | None:
        if isinstance(node, Scalar):
            number = self._whole(node, name)
            return Bounds(number, number) if number is not None else None
        if not isinstance(node, Map) or not node.entries:
            what = "an empty map" if isinstance(node, Map) else described(node)
            wrong = f"{name} must be a number, not {what}; write N, {{{k.AT_MOST}: N}} or {{{k.AT_LEAST}: N}}"
            self.problems.add(node.at, wrong, id=wrong_form(node))
            return None
        keys = KeyReader(name, node.entries, self.problems)
        least, most = keys.entry(k.AT_LEAST), keys.entry(k.AT_MOST)
        keys.rest()
        low = self._whole(least.node, f"{name}.{k.AT_LEAST}") if least is not None else 0
        high = self._whole(most.node, f"{name}.{k.AT_MOST}") if most is not None else None
        if low is None or (most is not None and high is None) or (least is None and most is None):
            return None
        if high is None and low == 0:
            self.problems.add(node.at, f"{name} is always at least 0, so this cannot fail; write another number", id="RC-expects-nothing")
            return None
        if high is not None and high < low:
            self.problems.add(node.at, f"{name} cannot be at least {low} and at most {high}", id="RC-out-of-range")
            return None
        return Bounds(low, high)

    def _whole(self, node: Node, name: str) -> int | None:
        value = node.core() if isinstance(node, Scalar) else None
        if isinstance(node, Scalar) and node.empty:
            self.problems.add(node.at, empty(name), id="RC-no-value")
        elif isinstance(value, bool) or not isinstance(value, int):
            self.problems.add(node.at, f"{name} must be a whole number, not {described(node)}", id="RC-not-a-number")
        elif value < 0:
            self.problems.add(node.at, f"{name} is {value}; it is at least 0", id="RC-out-of-range")
        else:
            return value
        return None

    def _blocked(self, node: Map, keys: KeyReader) -> Expectation | None:
        written, cause = keys.text("blocked"), self._cause(keys, "cause")
        glob = self.problems.glob(*written) if written is not None else None
        if written is None or glob is None:
            return None
        self._known_kinds(glob, written[1])
        return IsBlocked(written[1], glob, cause)

    def _known_kinds(self, glob: Glob, at: Source) -> None:
        """Report a kind that does not exist. An address need not be declared: what no longer is may be what is blocked."""
        for segment in glob.segments[1::2] if "**" not in glob.segments else ():
            if "*" not in segment and segment not in self.kinds:
                wrong = f'there is no kind "{segment}"{did_you_mean(segment, self.kinds)}'
                self.problems.add(at, wrong, id="RC-unknown-kind")

    def _cause(self, keys: KeyReader, name: str) -> str | None:
        written = keys.text(name)
        if written is not None and written[0] not in pages():
            self.problems.add(
                written[1], f"there is no cause {shown(written[0])}{did_you_mean(written[0], pages())}", id="RC-unknown-cause"
            )
        return written[0] if written is not None else None

    def _refused(self, node: Map, keys: KeyReader) -> Expectation | None:
        cause = self._cause(keys, "refused")
        return IsRefused(node.entries["refused"].node.at, cause) if cause is not None else None

    def _field(self, node: Map, keys: KeyReader) -> Expectation | None:
        written, value = keys.text("field"), keys.entry("is")
        if value is None and written is not None and not keys.meant("is"):
            self.problems.add(written[1], "field lacks is, the value that it must have; write is: VALUE", id="RC-missing-key")
        if written is None or value is None:
            return None
        if isinstance(value.node, Scalar) and value.node.empty:
            self.problems.add(value.node.at, empty("is"), id="RC-no-value")
            return None
        place = self._place(*written)
        if place is None:
            return None
        address, name, path = place
        field = self.kinds.of(address).fields[name]
        if field.sensitive or not field.readable:
            wrong = f"the service does not show {name} of {address}, so it cannot be compared"
            self.problems.add(written[1], wrong, id="RC-value-not-shown")
            return None
        if not untainted(value.node, "is", self.problems.add):
            return None
        text = value.node.text or None if isinstance(value.node, Scalar) else None
        return FieldValue(written[1], address, name, path, plain(value.node), text)

    def _place(self, text: str, at: Source) -> tuple[Address, str, tuple[str, ...]] | None:
        """The resource, the field and the path in `acme/site/docs.adaptiveContent.enabled`; None with a problem. Keys may contain dots."""
        parts = text.split(".")
        for end in range(len(parts) - 1, 0, -1):
            address = Address.of(".".join(parts[:end]))
            if address is not None and address in self.resources:
                name, *path = parts[end:]
                kind = self.kinds.of(address)
                known = [known for known, field in kind.fields.items() if field.role not in NOT_COMPARED]
                if name in known:
                    return address, name, tuple(path)
                self.problems.add(at, f'unknown field "{name}" of {kind.name}{did_you_mean(name, known)}', address, id="RC-unknown-field")
                return None
        if len(parts) == 1:
            self.problems.add(at, f"field is {shown(text)}; write ADDRESS.FIELD, for example acme/site/docs.title", id="RC-address-form")
            return None
        address_text = text.rpartition(".")[0]
        hint = did_you_mean(address_text, map(str, self.resources))
        self.problems.absent(at, f"{shown(address_text)} is not declared{hint}", id="RC-unknown-reference")
        return None

    def _snapshot(self, node: Map, keys: KeyReader) -> Expectation | None:
        written = keys.text("snapshot")
        if written is None:
            return None
        parts = written[0].split("/")
        if not written[0].endswith(SNAPSHOT_END) or any(part.startswith(".") or not part or "\\" in part for part in parts):
            wrong = f"snapshot is {shown(written[0])}; it is a file of this folder, and ends in {SNAPSHOT_END}: plans/empty{SNAPSHOT_END}"
            self.problems.add(written[1], wrong, id="RC-file-path")
            return None
        return Snapshot(written[1], written[0])

    # -- addresses -----------------------------------------------------------------------------------------------------------------------

    def _declared(self, keys: KeyReader, name: str) -> Address | None:
        """The address of a declared resource; None with a problem, or where the key is missing."""
        written = keys.text(name)
        if written is None:
            return None
        text, at = written
        address = Address.of(text)
        if address is not None and address in self.resources and not self.resources[address].implied:
            return address
        named = [str(known) for known in self.resources if known.key == text]
        hint = f"; did you mean {' or '.join(named[:3])}?" if named else did_you_mean(text, map(str, self.resources))
        self.problems.absent(at, f"{keys.path(name)} is {shown(text)}, which is not declared{hint}", id="RC-unknown-reference")
        return None
