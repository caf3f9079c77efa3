"""Templates: whatever its id, a template brings one page, named after it, at the end of a content."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr

from reconciler.sandbox.body import Body, Open
from reconciler.sandbox.content.merging import flat
from reconciler.sandbox.service import Fault
from reconciler.sandbox.sites.structure import free_path
from reconciler.sandbox.store import Object, Store


class ContentRef(Open):
    """A content reference: its kind, and an id in the field that is named after the kind."""

    kind: StrictStr


class Params(Body):
    contentRefs: dict[StrictStr, ContentRef] = Field(default_factory=dict)


class Template(Body):
    id: Annotated[StrictStr, Field(min_length=1)]
    params: Params = Params()


class TemplateApply(Template):
    changeRequestId: StrictStr | None = None


def applied(store: Store, space: Object, template: Template, pages: list[Any], files: list[Any], at: str = "") -> list[Any]:
    """The pages with the template's behind them. Raises 400 for a reference that leads nowhere; `at`: where the template was given."""
    now = store.stamp()
    path = free_path(template.id, {str(item.get("path")) for item in flat(pages)[0].values()})
    page: Object = {"id": store.new_id("pag"), "title": template.id[:50], "slug": path, "path": path, "type": "document"}
    page |= {"createdAt": now, "updatedAt": now, "pages": []}
    lines = []
    for name, ref in template.params.contentRefs.items():
        kind, where = ref.kind, f"{at}params.contentRefs.{name}"
        key = "spec" if kind == "openapi" else kind
        target = (ref.model_extra or {}).get(key)
        if not isinstance(target, str):
            raise Fault(400, f"{where}.{key}: expected the id of what is referred to")
        if kind == "file":
            if target not in {str(item["id"]) for item in files}:
                raise Fault(400, f"{where}.file: there is no file {target}")
            lines.append(f"[{name}](/files/{target})")
        if kind == "openapi":
            spec = store.find("openapi", target)
            if spec is None or spec["organization"] != space["organization"]:
                raise Fault(400, f"{where}.spec: there is no OpenAPI specification {target}")
            page["computed"] = {"type": "builtin:openapi", "dependencies": {"spec": {"ref": {"kind": kind, "spec": target}}}, "props": {}}
    return [*pages, {**page, "markdown": "\n\n".join(lines)}]
