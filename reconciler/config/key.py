"""A row of a table of keys: everything about a key whose value is a text, a number or a choice, and about a map of such keys.

The values of the other keys are languages of their own (resources, policies, variables): a row has their names and sentences, and
`form="other"`. The tables are `config.keys` (the project file), `testing.keys` and `fleet.declared.keys`. Pure data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reconciler.config.source.problems import Mistake

Naming = Literal[
    "", "address", "former", "pattern", "kind or pattern", "field", "template", "reference", "values", "defaults",
    "published", "person", "reader", "policy", "expression", "variable", "file",
]  # fmt: skip
"""What texts of the project files name, for whoever follows a name or changes it.

    address          acme/space/guides: one resource
    former           an address that is no longer declared; what contains it may be
    pattern          an address, or a pattern of addresses
    kind or pattern  a kind, an address, or a pattern of addresses
    field            acme/site/docs.title: a field of a resource
    template         a text with {acme/space/guides} in it
    reference        any value; a text in it that is an address with a slash names a resource
    values           fields of the resource at the `address` beside it, as its kind reads them
    defaults         fields by kind, as the kinds read them
    published        the key of what is published, or its address; of a map: its keys
    person           the key of a resource that may be referenced undeclared
    reader           {link: KEY}, the key or the address of what admits its own readers
    policy           the id of a policy
    expression       an expression, with addresses in its texts
    variable         of a map: its keys are variables
    file             a file of the project, or a pattern of files
"""


@dataclass(frozen=True)
class Key:
    """One key of a project file."""

    # As it is written in the YAML.
    name: str
    # What it means, in one sentence: editors and the reference show it.
    doc: str = ""
    # How its value is read. `map`: a map of `keys`. `list`: a list of such maps. `other`: another module reads it, and knows its schema.
    form: Literal["text", "number", "whole", "flag", "choice", "map", "list", "other"] = "other"
    # The value if the key is missing. None: there is no value.
    default: Any = None
    # The bounds of a number; `above`: more than `least`, not equal. Editors check `most` only if it is written here.
    least: float = 0
    most: float | None = None
    above: bool = False
    # The values of a choice.
    options: tuple[str, ...] = ()
    # What is wrong with a text, None if nothing is.
    check: Callable[[str], Mistake | None] | None = None
    # The keys of a map or of the items of a list. What messages write as its value; of a map, what is between the braces.
    keys: tuple[Key, ...] = ()
    example: str = "…"
    # Whether a map without the key is an error; `elsewhere`: the map that may contain it instead, so that editors cannot know.
    required: bool = False
    elsewhere: str = ""
    # How its value is read, by the reader of its map, and its JSON Schema. None: as `form` says.
    reader: Callable[[Any, Key], Any] | None = None
    schema: Mapping[str, Any] | None = None
    # `setting`: how the project is run, nothing of what it declares. `rule`: what no run may do, or what suspends or loosens that: with
    # --rules-from, both come from one commit. `shared rule`: a rule that included files may contain too, so that it can have owners of its
    # own. `content`: what is declared; no rule is suspended by it. "": the role of the map that contains the key. Every key of a file has
    # one, by itself or by such a map.
    role: Literal["", "setting", "rule", "shared rule", "content"] = ""
    # The feature that it belongs to, by the name of its folder: it reads the value, and without it the key is an error. "": the kernel.
    feature: str = ""
    # What the reference adds to the sentence, in Markdown: links, details, a default that is not a value.
    more: str = ""
    # What the texts of its value name; "" if nothing.
    names: Naming = ""

    @property
    def attribute(self) -> str:
        """The name of its value in Python: `max_delete` of `maxDelete`."""
        return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", self.name)

    def roles(self, within: str = "") -> Iterator[tuple[str, str]]:
        """The role of the key, or, if it has none, those of the keys of its map; by dotted name."""
        if self.role or self.form != "map":
            yield within + self.name, self.role
        else:
            for key in self.keys:
                yield from key.roles(f"{within}{self.name}.")

    def leaves(self, within: str = "") -> Iterator[tuple[str, Key]]:
        """The keys that have a value of their own, by dotted name: itself, or those of its map; then those of the items of its list."""
        if self.form != "map":
            yield within + self.name, self
        for key in self.keys:
            yield from key.leaves(f"{within}{self.name}{'[]' if self.form == 'list' else ''}.")


def by_name(keys: Iterable[Key]) -> dict[str, Key]:
    return {key.name: key for key in keys}
