"""Titles that attack whoever reads them: a terminal, a comment, a page, the log of a workflow, the files that import writes.

Each is at most 50 characters, which every kind takes. `HIJACK` stands in those that would run something; a page whose document has an
element or a title with that name was taken over.
"""

from __future__ import annotations

from typing import Any

from tests.harness import ORGANIZATION, TOKEN

HIJACK = "hijacked"

TITLES: dict[str, str] = {
    "clears the screen": "\x1b[2J\x1b[H\x1b[31mred\x1b[0m",
    "names the window": f"\x1b]0;{HIJACK}\x07 and a bell",
    "links the terminal": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "eight bit controls": "a\x9b31mred\x9dtitle\x9c b\x85c",
    "goes back": "Paid\b\b\b\bFree\rOver",
    "turns around": "\u202egnihtemos\u202c and \u2066this\u2069",
    "hides": "in\u200bvis\u200dib\u2060le\ufeff \U000e0041\U000e0042",
    "fills": "\u3164 \u115f \u2800 \uffa0 \u034f \u00ad",
    "private": "pri\ue000va\U000f0000te \U0010fffd",
    "separates": "one\u2028two\u2029three",
    "breaks": "one\n## two\n\n- three\r\nfour",
    "command after a break": "x\n::error::no\n::stop-commands::t\n##[error]no",
    "command at the beginning": "::error file=a,line=1::no",
    "command of old": "see ##[stop-commands]t ##vso[task.x]y",
    "command encoded": "x%0A::set-output name=a::b%0D%0A::error::",
    "command where lines wrap": "a" * 30 + " ::add-mask::e",
    "script": f"<script>document.title='{HIJACK}'</script>",
    "image": f"<img src=x onerror=document.title='{HIJACK}'>",
    "out of an attribute": f"\"'><svg id={HIJACK} onload=alert(1)>",
    "out of the style": f"</style></title></table><b id={HIJACK}>b</b>",
    "comment": f"--><p id={HIJACK}>p</p><!-- --!> ]]>",
    "entities": "&lt;b&gt; &#60;i&#62; &amp;amp; &nbsp;",
    "link": "[x](javascript:alert(1)) ![y](//evil.example)",
    "fence": "````\n```\n~~~~\n# out <b>b</b>\n```diff",
    "mention": "@all @everyone #1 !2 www.evil.example GH-3",
    "table": "a | b | c\n|---|---|\n*x* _y_ `z` ~~u~~",
    "address": "https://evil.example/?a=<b> mailto:a@b.example",
    "yaml": "&a *a !!python/object:os.system {x: [y]} # no",
    "yaml document": "---\nproject: other\n...\n%YAML 1.1\n- x: &y",
    "yaml word": "null",
    "yaml number": "0x1F",
    "quotes": "\"it's\" \\\" \\n '' `` \\x1b[0m",
    "expression": "${{ vars.secret }} $${{ 1 }} $$",
    "jinja": "{{ 7 * 7 }} {% for x in y %} {# no #}",
    "placeholder": "%s %(x)s {0} {x!r} $HOME `id` $(id)",
    "path": "../../../../etc/passwd\\..\\con.yaml",
    "spaces around": "  two at both ends  ",
    "rich": "[bold red]x[/] [/] :smile: [link=http://e]y",
}


def seed() -> dict[str, Any]:
    """An organization whose every name is one of them: as somebody with the service's own interface could have made it."""
    texts = list(TITLES.values())
    at = {"organization": ORGANIZATION}
    people = [{**at, "id": f"usr_{n}", "email": f"u{n}@acme.example", "displayName": one, "role": "read"} for n, one in enumerate(texts)]
    return {
        "organizations": [{"id": ORGANIZATION, "title": TITLES["script"]}],
        "members": [{**at, "id": "usr_ada", "email": "ada@acme.example", "displayName": "\x1b[31mAda", "role": "admin"}, *people],
        "tokens": [{"token": TOKEN, "member": "usr_ada", "access": "write"}],
        "collections": [{**at, "id": f"col_{n}", "title": one} for n, one in enumerate(texts)],
        "spaces": [
            {**at, "id": "spc_blank", "title": "Blank", "parent": None},
            *({**at, "id": f"spc_{n}", "title": one, "parent": f"col_{n}"} for n, one in enumerate(texts)),
        ],
        "teams": [{**at, "id": f"team_{n}", "title": one, "members": ["usr_ada"]} for n, one in enumerate(texts)],
        "sites": [{**at, "id": f"site_{n}", "title": one} for n, one in enumerate(texts[:6])],
    }


def other(title: str) -> str:
    """Another title that attacks in the same way, of at most 50 characters."""
    return (title[:-1] if len(title) > 49 else title) + "!"
