"""Wrong renames and transfers: lines of `moved` and `previously`, with two organizations in the project."""

from __future__ import annotations

from tests.wrong_uses.use import CONTENT, HEAD, ORGANIZATION, SITES, Use

BETA = """\
  beta:
    id: org_beta
    title: Beta
    teams: {readers: {title: Readers}}
    sites: {new: {title: New}}
    content:
      - {space: manual, id: spc_manual, title: Manual}
"""


def moved(line: str) -> Use:
    """`moved`, at line 3."""
    return Use(f"{HEAD}moved: {line}\n{ORGANIZATION}{CONTENT}{SITES}{BETA}")


def line(old: str, new: str) -> Use:
    """One line of `moved`, at line 3."""
    return moved(f"[{{from: {old}, to: {new}}}]")


def previously(value: str) -> Use:
    """A key of the past, of a team at line 9."""
    return Use(f"{HEAD}{ORGANIZATION}{CONTENT}    teams: {{writers: {{title: Writers, previously: {value}}}}}\n")


USES: dict[str, Use] = {
    "moved that is a map": moved("{acme/space/old: acme/space/blank}"),
    "moved that is a text": moved("acme/space/old"),
    "a line that is a text": moved("[acme/space/old]"),
    "no new address": moved("[{from: acme/space/old}]"),
    "a key that is misspelled": moved("[{from: acme/space/old, too: acme/space/blank}]"),
    "no address": line("old", "acme/space/blank"),
    "an unknown kind": line("acme/spaces/old", "acme/space/blank"),
    "another kind": line("acme/space/old", "beta/team/readers"),
    "to what is not declared": line("acme/space/old", "beta/space/manuel"),
    "from what is still declared": line("acme/space/blank", "beta/space/manual"),
    "one object to two": moved("[{from: acme/space/old, to: acme/space/blank}, {from: acme/space/old, to: beta/space/manual}]"),
    "a site to another organization": line("acme/site/old", "beta/site/new"),
    "a team to another organization": line("acme/team/old", "beta/team/readers"),
    "previously that is a text": previously("authors"),
    "previously that is an address": previously("[acme/team/authors]"),
    "previously that is its own key": previously("[writers]"),
    "previously that is empty": previously(""),
}
