"""One value in a YAML text is changed, and nothing else: comments, quotes, order and spacing stay."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.yamltext.entries import DROP, Loose, ResourcePlace, put
from reconciler.yamltext.tree import Untouchable

TEXT = """\
# top
x-a: &two {reviewers: [a]}
teams:
  # lead
  writers:
    title:   Writers   # said
    rules: *two
    cert: |
      abc
      def

    # about the source
    source:
      # why
      url: http://x   # here
    names:
      - a
      - b
  ed: {title: "A", b: 1} # c
content:
  - {space: one, title: x}
  - two
  - space: three
    default: true   # note
    title: T
members:
  ada: admin
"""


def place(key: str, tag: str | None = None, bare: str | None = None) -> ResourcePlace:
    return ResourcePlace(TEXT.index(key), tag, bare)


@pytest.mark.parametrize(
    ("where", "values", "old", "new"),
    [
        (place("writers:"), {"title": "New: #1"}, "title:   Writers   #", 'title:   "New: #1"   #'),
        (place("writers:"), {"title": "007"}, "Writers   #", '"007"   #'),
        (place("writers:"), {"title": "${{ x }}"}, "Writers   #", '"$${{ x }}"   #'),
        (place("writers:"), {"rules": "inherit"}, "rules: *two", "rules: inherit"),
        (place("writers:"), {"cert": "one\ntwo\n"}, "      abc\n      def\n", "      one\n      two\n"),
        (place("writers:"), {"source": {"url": "http://y"}}, "url: http://x   #", 'url: "http://y"   #'),
        (place("writers:"), {"names": ["q"]}, "names:\n      - a\n      - b\n", "names: [q]\n"),
        (place("writers:"), {"icon": "z"}, "# said\n", "# said\n    icon: z\n"),
        (place("ed:"), {"title": "B"}, '"A"', "B"),
        (place("ed:"), {"c": None}, "b: 1}", "b: 1, c: null}"),
        (place("ed:"), {"b": DROP}, ", b: 1", ""),
        (place("ed:"), {"title": DROP}, 'title: "A", ', ""),
        (place("space: one", "space"), {"title": "z"}, "title: x", "title: z"),
        (place("two\n  - space", "space"), {"space": "six", "key": "two"}, "- two\n", "- {space: six, key: two}\n"),
        (place("two\n  - space", "space"), {"space": "six"}, "- two\n", "- {space: six}\n"),
        (place("two\n  - space", "space"), {"default": True}, "- two\n", "- {space: two, default: true}\n"),
        (place("space: three", "space"), {"default": DROP}, "    default: true   # note\n", "    # note\n"),
        (place("ada:", None, "role"), {"role": "read"}, "ada: admin", "ada: read"),
    ],
)  # fmt: skip
def test_only_what_is_meant_changes(where: ResourcePlace, values: dict[str, Any], old: str, new: str) -> None:
    assert old in TEXT
    assert put(TEXT, where, values) == TEXT.replace(old, new, 1)


def test_what_others_repeat_is_not_touched() -> None:
    with pytest.raises(Untouchable) as refused:
        put("a: {t: &x old}\nb: {t: *x}\n", ResourcePlace(0), {"t": "new"})
    assert (refused.value.line, refused.value.column) == (1, 8)
    assert put("a: {t: &x old}\nb: {t: *x}\n", ResourcePlace(15), {"t": "new"}) == "a: {t: &x old}\nb: {t: new}\n"
    with pytest.raises(Untouchable):
        put("a: &x {t: old}\nb: *x\n", ResourcePlace(15), {"t": "new"})
    with pytest.raises(Untouchable):
        put("a: &x {t: old}\nb: *x\n", ResourcePlace(0), {"t": "new"})


LISTS = """\
a:
  list:
    # of one
    - one   # 1
    - two   # 2

    # of three
    - "three"  # 3
  rules:
    # about users
    - rule: users  # which
      # whom
      users: [x, 'y', z]
      least: 2  # at least
    - other
  map:
    # first
    k: v  # vv
    # second
    gone: 1  # away
    m: {p: 1,   q: 2}
"""


@pytest.mark.parametrize(
    ("values", "cuts"),
    [
        ({"list": ["one", "three", "four"]}, [("    - two   # 2\n", ""), ('"three"  # 3\n', '"three"  # 3\n    - four\n')]),
        ({"list": ["zero", "one", "two", "three"]}, [("    # of one\n", "    - zero\n    # of one\n")]),
        ({"list": ["two", "new", "three"]}, [("    # of one\n    - one   # 1\n", ""), ("# 2\n", "# 2\n    - new\n")]),
        ({"list": Loose(["three", "two", "one"])}, []),
        ({"rules": [{"rule": "users", "users": ["x", "z"], "least": 3}, "other"]}, [("[x, 'y', z]", "[x, z]"), ("least: 2", "least: 3")]),
        ({"rules": [{"rule": "users", "users": ["x", "y"]}, "other"]}, [("'y', z]", "'y']"), ("      least: 2  # at least\n", "")]),
        ({"map": {"k": "w", "m": {"p": 1, "q": 3}}}, [("k: v", "k: w"), ("    gone: 1  # away\n", ""), ("q: 2", "q: 3")]),
        ({"map": {"k": "v", "gone": 1, "m": {"p": 1}, "new": None}}, [("{p: 1,   q: 2}\n", "{p: 1}\n    new: null\n")]),
    ],
)
def test_what_stays_in_a_list_or_map_keeps_its_comments(values: dict[str, Any], cuts: list[tuple[str, str]]) -> None:
    made = LISTS
    for old, new in cuts:
        assert made.count(old) == 1, old
        made = made.replace(old, new)
    assert put(LISTS, ResourcePlace(0), values) == made
