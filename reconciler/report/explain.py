"""The declaration of a kind or of one of its keys, and the page of a cause, for people. In: the kinds, or a page. Out: spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from reconciler.config.resources.ignored_changes import ignorable
from reconciler.config.schemas.document import schema
from reconciler.report.layout import ReportPage, Span, Style
from reconciler.report.types import in_words, sample, target
from reconciler.resource import RESERVED, Field, FieldRole, Kind, Kinds
from reconciler.text import pages
from reconciler.text.names import a

COLUMN: Final = 20  # the column of values
WITHOUT: Final = "it is not managed and keeps its value"

Row = tuple[str, str]


def words(kinds: Kinds, kind: Kind) -> tuple[str, ...]:
    """Every key of a kind that can be explained: its fields, its flags, its sections, and the reserved ones."""
    return tuple(dict.fromkeys([*_fields(kind), *_described(kinds, kind)]))


def explain_kinds(kinds: Kinds, *, width: int) -> list[Span]:
    """The list of kinds, containers first."""
    page = ReportPage(width)
    for kind in kinds.values():
        page.field(Style.PLAIN, "", kind.name, kind.doc, column=COLUMN)
    return page.spans


def explain_kind(kinds: Kinds, kind: Kind, *, width: int) -> list[Span]:
    """One kind: its location, its identity, its contents, an example."""
    page = _page(kind.name, kind.doc, width)
    _rows(page, _facts(kinds, kind))
    page.blank()
    page.line("Fields:", Style.HEAD)
    for field in _fields(kind).values():
        note = "required" if field.required else ""
        page.field(Style.PLAIN, "", field.name, field.doc or in_words(field.type), note, column=COLUMN)
    others = {name: text for name, text in _described(kinds, kind).items() if name not in _fields(kind)}
    if others:
        page.blank()
        page.line("Other keys:", Style.HEAD)
    for name, text in others.items():
        page.field(Style.PLAIN, "", name, text, column=COLUMN)
    _example(page, sample(kinds, kind))
    return page.spans


def explain_word(kinds: Kinds, kind: Kind, word: str, *, width: int) -> list[Span]:
    """One key of a kind. Raises `KeyError` if it is not among its `words`."""
    field = _fields(kind).get(word)
    if field is not None:
        page = _page(f"{kind.name}.{word}", field.doc, width)
        _rows(page, facts_of(kinds, kind, word))
        _example(page, sample(kinds, kind, word))
        return page.spans
    page = _page(f"{kind.name}.{word}", _described(kinds, kind)[word], width)
    _rows(page, facts_of(kinds, kind, word))
    value = _instance(kinds, kind, word)
    if value is not None:
        _example(page, sample(kinds, kind, word, value))
    return page.spans


def facts_of(kinds: Kinds, kind: Kind, word: str) -> list[Row]:
    """What there is to say about a key of a kind: names and texts, without its description."""
    field = _fields(kind).get(word)
    return list(_of_field(kind, field) if field is not None else _of_word(kinds, kind, word))


# -- pages --------------------------------------------------------------------------------------------------------------------------


def _page(title: str, doc: str, width: int) -> ReportPage:
    page = ReportPage(width)
    page.head(title)
    if doc:
        page.line(doc)
    page.blank()
    return page


def _rows(page: ReportPage, rows: Sequence[Row] | Iterator[Row]) -> None:
    for name, text in rows:
        page.field(Style.PLAIN, "", name, text, column=COLUMN)


def _example(page: ReportPage, text: str) -> None:
    page.blank()
    page.line("Example:", Style.HEAD)
    for line in text.splitlines():
        page.add(Style.PLAIN, f"  {line}\n")


# -- keys ---------------------------------------------------------------------------------------------------------------------------


def _fields(kind: Kind) -> dict[str, Field]:
    """The fields that users write, including the one that is the key."""
    return {field.name: field for field in kind.fields.values() if field.written}


@lru_cache(maxsize=1)
def _definitions(kinds: Kinds) -> dict[str, Any]:
    """What the schema defines, which takes longer to make than everything else here, and is the same for all kinds."""
    return dict(schema(kinds)["$defs"])


def _described(kinds: Kinds, kind: Kind) -> dict[str, str]:
    """Every key that the YAML of a kind may contain, with its description in the schema."""
    definitions = _definitions(kinds)
    definition = definitions[kind.name]
    if kind.place.value_is is not None:
        return {kind.place.value_is: str(definition["description"])}
    properties: dict[str, Any] = (definition if "properties" in definition else definition["then"])["properties"]

    def description(key: dict[str, Any]) -> str:
        return str(key.get("description") or description(definitions[key["$ref"].rpartition("/")[2]]))

    return {name: description(key) for name, key in properties.items()}


# -- a kind -------------------------------------------------------------------------------------------------------------------------


def _facts(kinds: Kinds, kind: Kind) -> Iterator[Row]:
    place, hosts = kind.place, kind.place.hosts(kind.within)
    what = "list" if place.in_list else "map" if place.value_is is None else "value"
    locations = [f"the {what} {section} of {a(host)}" for host, section in hosts.items()]
    yield "defined in", " or ".join(locations) or f"the {what} {place.section_in(None)} at the top of a file"
    if place.bare_is is not None:
        bare = place.bare_is
        yield "short form", f"- KEY for - {{{bare}: KEY}}" if place.in_list else f"KEY: {bare.upper()} for KEY: {{{bare}: {bare.upper()}}}"
    outer = "".join(
        f"{name.upper()}/" if at == 0 else f"{name}/{name.upper()}/" for at, name in enumerate(reversed(kinds.containers(kind.name)))
    )
    yield "address", outer + (kind.name if kind.one_per else f"{kind.name}/KEY" if kind.within else "KEY")
    keys = " and ".join(f"its location, {a(field.to or '')}" if field.container else field.name for field in kind.keys)
    if kind.one_per:
        yield "matched by", f"its {kind.within}, which has one at most; it has no id"
    else:
        yield "matched by", "its id, which is required" if kind.needs_id else f"{keys}; or by id, if it is written"
    if "create" not in kind.api:
        yield "made", "never: it must exist already"
    if "delete" not in kind.api:
        yield "deleted", "never: it is only no longer managed"
    else:
        wants = "; requires consent, because the kind is protected" if kind.protected else ""
        yield "deleted", ("only if prune allows it" if kind.prune == "none" else "when its lines are removed") + wants
    if kind.restore_days:
        yield "restored", f"for {kind.restore_days} days after deletion"
    if kind.transferable is not None:
        yield "transferred", f"to another {kind.transferable.to} of the project with all it contains, by a line in moved"
    if kind.replaceable:
        yield "replaced", "deleted and recreated if a change requires it, with --allow-replace"
    if kind.ordered:
        yield "order", "the order of the lines is the order on the page"


# -- a field ------------------------------------------------------------------------------------------------------------------------


def _of_field(kind: Kind, field: Field) -> Iterator[Row]:
    yield "value", in_words(field.type)
    to = target(field.type)
    if to is not None:
        yield "refers to", f"{a(to)} by its key, or {{id: …}} for one outside the project"
    if kind.place.key_is == field.name:
        yield "written", "as the key of the map; a new key is a new resource"
        return
    if kind.place.value_is == field.name:
        yield "written", f"as the value behind {kind.place.section_in(kind.within)}"
    if field.required:
        yield "required", f"yes, here or under defaults: {kind.name}:"
    yield "when absent", _absent(field)
    yield "a change", _change(kind, field)
    yield "null", "clears it" if field.clear else "is refused: it cannot be cleared"
    if field.key:
        yield "identity", "an existing object is matched by it"
    if field.unique:
        yield "unique", "siblings must have different values"
    if field.scarce is not None:
        yield "guarded", f"guards.minAdmins objects keep the value {field.scarce}"
    if field.sensitive:
        yield "secret", "it is never shown, and may come from the environment"
    if field.secret_allowed:
        yield "secret", "its value may come from a secret or the environment, and is then not shown"
    if field.role is FieldRole.LOCAL:
        yield "reading", "it is not sent to the service"
    elif not field.readable:
        yield "reading", "the service never shows it: compared with what was sent last"
    elif field.hosted:
        yield "reading", "the service shows the URL of its own copy: compared with what was sent last"
    elif field.lossy:
        yield "reading", "the service may store it differently: also compared with what was sent last"


def _absent(field: Field) -> str:
    if field.role is FieldRole.SEED:
        return "the object must exist already (id: …), unless defaults give one"
    if field.role is FieldRole.LOCAL:
        return "no effect"
    return "an error" if field.required else WITHOUT


def _change(kind: Kind, field: Field) -> str:
    if field.role is FieldRole.SEED:
        return "has no effect: it is used once, at creation"
    if field.role is FieldRole.LOCAL:
        return "is stored in the state; nothing is sent"
    carriers = [verb for verb in kind.update_verbs if verb.name in field.on]
    once = "true" if field.one_way else ""
    if carriers:
        sent = "sent with " + " or ".join(f"{verb.method} ({verb.name})" for verb in carriers)
        return f"{sent}; once {once}, it stays {once}" if once else sent
    return {
        "refuse": "refused: it cannot be changed after creation",
        "report": "is reported and not sent: no request can change it after creation",
        "replace": "deletes and recreates the object, with --allow-replace",
        "send": "is not sent",
    }[field.on_change]


# -- other keys -------------------------------------------------------------------------------------------------------------------------


def _of_word(kinds: Kinds, kind: Kind, word: str) -> Iterator[Row]:
    sections, lists, flags = kinds.sections(kind.name), kinds.lists(kind.name), kinds.flags(kind.name)
    if word in sections:
        yield "value", f"a map: KEY: {{…}} for each {sections[word].name}"
        yield "more", f"reconciler explain {sections[word].name}"
    elif word in lists:
        yield "value", "an ordered list of: " + ", ".join(kind_of_node.name for kind_of_node in lists[word])
        yield from (("more", f"reconciler explain {kind_of_node.name}") for kind_of_node in lists[word])
    elif word in flags:
        yield "value", "true, on one of the siblings; false is the same as leaving it out"
        yield "chosen by", " or ".join(f"the {parent.name} ({field.name})" for parent, field in flags[word])
    if word in sections or word in lists:
        yield "when absent", f"nothing in it is managed; {'{}' if word in sections else '[]'} declares that there is none"
    elif word in flags:
        yield "when absent", "the choice is not managed"
    else:
        yield "on", "every kind"


def _instance(kinds: Kinds, kind: Kind, word: str) -> Any:
    """A value for the example of a key; None if the examples of other kinds show it."""
    if word in kinds.flags(kind.name):
        return True
    shown = {"id": f"id-of-my-{kind.name}", "key": "another-key", "previously": ["old-key"], "protect": False, "adopt": "never"}
    if names := ignorable(kind):
        shown["ignoreChanges"] = [names[0]]
    if kind.expectable:
        shown["expect"] = {kind.expectable[0]: "some-text"}
    return shown.get(word) if word in RESERVED else None


def explain_cause(cause: pages.CausePage, *, width: int) -> list[Span]:
    """The page of one cause."""
    page = ReportPage(width)
    page.line(f"{cause.id}: {cause.summary}", Style.HEAD)
    page.blank()
    for line in cause.example.splitlines():
        page.add(Style.DIM, f"  {line}\n")
    page.blank()
    for text in (cause.why, f"What to do: {cause.remedy}"):
        page.line(text.replace("`", ""))
    return page.spans


def explain_text(word: str, text: str, *, width: int) -> list[Span]:
    """What a text says of a word, each of its lines as a paragraph."""
    page = ReportPage(width)
    page.head(word)
    for line in text.splitlines():
        page.line(line)
    return page.spans


ENVIRONMENTS = "environments"
"""The name that explains the files of environments; not a key of any file."""


def keys(kinds: Kinds) -> dict[str, dict[str, Any]]:
    """The keys of the project file and of environments that the schema describes."""
    every = schema(kinds)["$defs"]
    properties: dict[str, dict[str, Any]] = {**every["environment"]["properties"], **every["project"]["properties"]}
    properties[ENVIRONMENTS] = every["environment"]
    return {name: value for name, value in properties.items() if "description" in value}


def explain_key(kinds: Kinds, name: str, *, width: int) -> list[Span]:
    """One key: its description, and the keys of its value, of its items or of its entries."""
    every, value = schema(kinds)["$defs"], keys(kinds)[name]
    page = ReportPage(width)
    page.head(name)
    page.line(str(value["description"]))
    entries = value.get("additionalProperties")
    inner, whose = (
        (_properties(every, value["items"]), "Keys of an item:")
        if "items" in value
        else (_properties(every, entries), "Keys of an entry:")
        if isinstance(entries, dict)
        else (_properties(every, value), "Keys:")
    )
    if inner:
        page.blank()
        page.line(whose, Style.HEAD)
    for key, schema_of_key in inner.items():
        page.field(Style.PLAIN, "", key, str(schema_of_key.get("description", "")), column=COLUMN)
    return page.spans


def _properties(every: dict[str, Any], value: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The keys of a map, and of all its forms if there are several."""
    if "$ref" in value:
        value = every[str(value["$ref"]).rpartition("/")[2]]
    alternatives = [*value.get("anyOf", []), *(value[word] for word in ("then", "else") if word in value)]
    forms = [_properties(every, form) for form in alternatives]
    return {**value.get("properties", {}), **{key: value for form in forms for key, value in form.items()}}
