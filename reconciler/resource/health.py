"""How a kind declares what `reconciler health` may ask about its objects beyond what a reading shows. Frozen data.

`features/health/read.py` asks; each word costs one request for each object, or one list. All paths of values are dotted.
"""

from __future__ import annotations

from typing import NamedTuple


class SearchList(NamedTuple):
    """A search in an object.

    `query`: the parameter. `within`: of a result, the id of what contains its pages. `pages`: in a result, those that were found; `url`:
    of a page, the end of its URL.
    """

    path: str
    query: str
    within: str
    pages: str
    url: str


class ReviewList(NamedTuple):
    """The proposed edits in an object that are not decided on. `noun`: what one is; `of`: the kind of what it
    changes, and the key of its id; `outdated`: whether that changed since."""

    noun: str
    path: str
    of: str
    title: str
    author: str
    since: str
    outdated: str


class TopicList(NamedTuple):
    """What the readers of an object ask about. `size`: how many asked."""

    path: str
    title: str
    size: str
