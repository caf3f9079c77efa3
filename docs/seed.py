"""The reference of seeds, from the models that check them: a listing of the fields, and for the site what they mean."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from reconciler.sandbox.seed_fields import LISTS, PARTS

INTRO: Final = """\
# Seed of a sandbox

A seed describes what exists in a [sandbox](../sandbox.md) before Reconciler runs: objects as the service has them, with their
ids, in lists. Load it with `reconciler sandbox seed --db FILE SEED.yaml`. A file `sandbox.seed.yaml` beside `reconciler.yaml` is
loaded when `--sandbox` creates a new sandbox.

```yaml
# seed.yaml
organizations:
  - {id: org_acme, title: Acme}
members:
  - {organization: org_acme, id: usr_ada, email: ada@acme.example, displayName: Ada, role: admin}
tokens:
  - {token: t0p, member: usr_ada}
collections:
  - {organization: org_acme, id: col_product, title: Product}
spaces:
  - {organization: org_acme, id: spc_blank, title: Blank}
  - {organization: org_acme, id: spc_guides, title: Guides, parent: col_product, pages: [{title: Start, markdown: Hello.}]}
```

A seed is checked like a project: every unknown field, wrong value and missing object is reported with its file, line and column,
and a seed with a mistake loads nothing. Values are stored as they are written. What an entry refers to must be in the same seed,
or in the sandbox already. The order of a list is the order of the objects on the service.

The lists and their fields follow, as they are in the models that check seeds. The site of this documentation says what each field means, in
*Fields of a seed*.
"""


def page() -> str:
    """Every list with the names of its fields, and the parts that are values of fields."""
    rows = [f"| `{name}` | {_names(model)} |" for name, model in LISTS.items()]
    parts = [f"| {_heading(name)} | {_names(model)} |" for name, model in PARTS.items()]
    head = ["| list | fields: required ones, and others |", "|---|---|"]
    return "\n".join([INTRO, *head, *rows, "", "| value of a field | fields |", "|---|---|", *parts, ""])


def _names(model: type[BaseModel]) -> str:
    names: dict[bool, list[str]] = {True: [], False: []}
    for name, field in model.model_fields.items():
        names[field.is_required()].append(f"`{name}`")
    required = [f"**{', '.join(names[True])}**"] if names[True] else []
    return ", ".join([*required, *names[False]])


def all_fields() -> str:
    """Every list with its fields, and then the parts that are values of fields."""
    parts = ["# Fields of a seed\n\nWhat each field of a [seed](seed.md) means.\n"]
    parts += [f"## {name}\n\n{_about(model)}\n\n{_table(model)}" for name, model in LISTS.items()]
    parts.append("## Values of fields\n")
    parts += [f"### {_heading(name)}\n\n{_table(model)}" for name, model in PARTS.items()]
    return "\n".join(parts)


def _heading(part: str) -> str:
    """The heading of the values of a field, which differs from those of the lists."""
    return next((f"{part} of {name}" for name, model in LISTS.items() if part in LISTS and part in model.model_fields), part)


def _about(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _table(model: type[BaseModel]) -> str:
    lines = ["| field | value | meaning |", "|---|---|---|"]
    whole = model.model_json_schema()
    properties = whole["properties"] if "properties" in whole else whole["$defs"][model.__name__]["properties"]  # a page contains pages
    for name, schema in properties.items():
        field = model.model_fields[name]
        required = "Required. " if field.is_required() else ""
        default = field.default if isinstance(field.default, str | bool) and field.default != "" and not field.is_required() else None
        # A description that names the default says more than the value does.
        shown = f" Default: `{str(default).lower() if isinstance(default, bool) else default}`." if default is not None else ""
        about = f"{required}{field.description or ''}"
        meaning = (about if "Default" in about else about + shown).strip()
        lines.append(f"| `{name}` | {_type(name, schema)} | {meaning} |")
    return "\n".join(lines) + "\n"


def _type(name: str, schema: dict[str, Any]) -> str:
    if name in PARTS:
        return f"[{'a list' if schema.get('type') == 'array' else 'a map'}](#{_heading(name).lower().replace(' ', '-')})"
    match schema:
        case {"anyOf": options}:
            return " or ".join(_type("", option) for option in options)
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": "array", **rest}:
            return f"a list: {_type('', rest.get('items', {}))}"
        case {"type": "object", "additionalProperties": dict() as inner} if inner:
            return f"a map: {_type('', inner)}"
        case {"format": "date-time"}:
            return "a time"
        case {"type": str() as kind}:
            return {
                "string": "text", "boolean": "`true`, `false`", "integer": "an integer", "null": "`null`", "object": "a map",
            }[kind]  # fmt: skip
        case _:
            return "a map"
