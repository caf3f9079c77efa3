"""Random projects as data, valid ones: collections in collections, spaces, teams, members, sites with sections and groups."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


class _Names:
    """Keys that nobody has yet."""

    def __init__(self) -> None:
        self.number = 0
        self.spaces: list[str] = []

    def next(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"


def projects() -> st.SearchStrategy[dict[str, Any]]:
    """The data of a project file."""
    return st.composite(_project)()


def _project(draw: Any) -> dict[str, Any]:
    names = _Names()
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}, *_content(draw, names, 0)]
    names.spaces.append("blank")
    sites = {names.next("site"): _site(draw, names) for _ in range(draw(st.integers(0, 3)))}
    teams = {names.next("team"): {"title": _title(draw)} for _ in range(draw(st.integers(0, 3)))}
    members: dict[str, Any] = {"ada@acme.example": "admin", "linus@acme.example": {"role": "read"}}
    return {
        "version": 1,
        "project": "random",
        "defaults": {"space": {"duplicateOf": "blank"}},
        "organizations": {"acme": {"id": "org_acme", "content": content, "sites": sites, "teams": teams, "members": members}},
    }


def _title(draw: Any) -> str:
    return str(draw(st.sampled_from(["Guides", "API", "Überblick", "no", "007", "a: b"])))


def _content(draw: Any, names: _Names, depth: int) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 4 - depth))):
        if depth < 3 and draw(st.booleans()):
            key = names.next("c")
            result.append({"collection": key, "title": _title(draw), "content": _content(draw, names, depth + 1)})
        else:
            names.spaces.append(names.next("s"))
            result.append({"space": names.spaces[-1], "title": _title(draw)})
    return result


def _site(draw: Any, names: _Names) -> dict[str, Any]:
    result: dict[str, Any] = {"title": f"{_title(draw)} docs"}
    if draw(st.booleans()):
        spaces = draw(st.lists(st.sampled_from(names.spaces), unique=True, max_size=3))
        result["structure"] = [item if draw(st.booleans()) else {"space": item, "path": names.next("p")} for item in spaces]
    else:
        result["structure"] = [_section(draw, names) for _ in range(draw(st.integers(0, 3)))]
        if draw(st.booleans()):
            inner = [_section(draw, names) for _ in range(draw(st.integers(0, 2)))]
            result["structure"].append({"group": names.next("g"), "title": _title(draw), "structure": inner})
    result["shareLinks"] = {names.next("l"): {"name": _title(draw)} for _ in range(draw(st.integers(0, 2)))}
    return result


def _section(draw: Any, names: _Names) -> dict[str, Any]:
    variant = {"key": names.next("v"), "space": draw(st.sampled_from(names.spaces)), "path": names.next("p")}
    return {"section": names.next("x"), "title": f"{_title(draw)} section", "path": names.next("p"), "spaces": [variant]}
