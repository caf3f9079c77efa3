"""What is written in the wrong place, in the wrong form, or renamed in some places only."""

from __future__ import annotations

from tests.wrong_uses.use import CONTENT, HEAD, ORGANIZATION, SITES, Use, environment, organization, top

PRODUCTS = "vars: {products: {default: {pay: {title: Pay}, id: {title: Id}}}, versions: {default: [v1, v2]}}\n"
COPIES = """\
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - forEach: ${{ vars.products }}
        collection: ${{ each.key }}
        title: ${{ each.value.title }}
        content:
          - {forEach: "${{ vars.versions }}", space: "${{ each.parent.key }}-${{ each.key }}", title: T, duplicateOf: blank}
    sites:
      ${{ each.key }}:
        forEach: ${{ vars.products }}
        title: ${{ each.value.title }}
        structure:
          - section: s
            title: So
            spaces:
              - {forEach: "${{ vars.versions }}", space: "${{ each.parent.key }}-${{ each.key }}"}
"""


def copies(old: str, new: str, *, before: str = PRODUCTS, **more: object) -> Use:
    """A project of generated spaces and sites, with one change in it."""
    text = f"{HEAD}{before}{ORGANIZATION}{COPIES}"
    assert old in text
    return Use(text.replace(old, new), **more)  # type: ignore[arg-type]


def split(name: str, text: str) -> Use:
    """A map of teams that a file contains."""
    return Use(f"{HEAD}{ORGANIZATION}    teams: {{include: {name}}}\n{CONTENT}", files={"people.yaml": text})


POLICY = "policies: [{id: p, on: [ON], assert: '${{ ASSERT }}', message: M}]"


def policy(on: str, test: str, **more: str) -> Use:
    """A policy at line 3."""
    return copies("vars:", f"{POLICY.replace('ON', on).replace('ASSERT', test)}\nvars:", **more)


USES: dict[str, Use] = {
    "a section of the organization in a file of teams": split("people.yaml", "teams: {a: {title: A}}\ncontent: [{space: a, title: A}]\n"),
    "a whole organization in a file of teams": split("people.yaml", "organizations:\n  acme:\n    teams: {a: {title: A}}\n"),
    "a file that was renamed, which much refers to": Use(
        f"{HEAD}{ORGANIZATION}    content: {{include: [contents.yaml]}}\n{SITES}",
        files={"content.yaml": "- {space: a, id: x, title: B}\n"},
    ),
    "a variable that was renamed, with a policy about what it makes": organization(
        "    content: [{forEach: '${{ vars.versions }}', space: '${{ each.key }}', title: T, id: '${{ each.key }}'}]",
        before="policies: [{id: p, on: [acme/space/v1], assert: '${{ after.editMode }}', message: M}]\nvars: {releases: {default: [a]}}\n",
    ),
    "a kind in defaults in the plural": copies("vars:", "defaults: {spaces: {duplicateOf: blank}}\nvars:"),
    "a default on every element": copies('each.key }}"}\n', 'each.key }}", default: true}\n'),
    "a word that is compared without quotes": copies('each.key }}"}\n', 'each.key }}", default: "${{ each.key == v1 }}"}\n'),
    "an id that every element has": copies("title: T, duplicateOf: blank", "title: T, id: spc_1"),
    "previously that every element has": copies("title: T,", "title: T, previously: [old],"),
    "numbers as keys of which one is written twice": organization(
        "    content: [{forEach: [1.0, 1.1, 1.0], collection: 'v${{ each.key }}', title: T}]"
    ),
    "spaces on a site": organization("    sites: {other: {title: Other, spaces: [blank]}}"),
    "a structure in a section": copies("            title: So\n", "            title: So\n            structure: []\n"),
    "a condition on a site": organization("    sites: {other: {title: Other, condition: visitor.claims.a}}"),
    "template on a collection": organization("    content: [{collection: a, title: A, template: true}]"),
    "a member without a domain": organization("    members: {ada: admin}"),
    "a member of a team without a domain": organization("    teams: {a: {title: A, members: [ada]}}"),
    "a translation whose source is a text": organization("    translations: {a: {source: guides, language: fr}}"),
    "a language by its name": organization("    translations: {a: {source: {space: {id: x}, language: English}, language: fr}}"),
    "an installation that is a text": organization("    installations: {charts: vendor-charts}"),
    "translations that are a list": organization("    translations: [{source: {space: {id: x}, language: en}, language: fr}]"),
    "a structure that is a map": organization("    sites: {other: {title: Other, structure: {guides: {}}}}"),
    "share links that are a list": organization("    sites: {other: {title: Other, shareLinks: [Partners]}}"),
    "a section beside a space": organization(
        "    content: [{space: a, id: s, title: A}]\n    sites: {o: {title: Oo, structure: [a, {section: s, title: So}]}}"
    ),
    "a section that one site lacks": top("access: [{as: anyone, sees: [acme/site/docs/sections/api]}]"),
    "a policy about a field in other letters": policy("space", 'after.editmode == "locked"'),
    "a policy about addresses in the plural": policy('"acme/sites/*"', 'after.title != ""'),
    "a policy without its expression's braces": copies("vars:", "policies: [{id: p, on: [site], assert: after.title, message: M}]\nvars:"),
    "an exception on a day that does not exist": copies(
        "vars:", "use: [few-deletes]\nexceptions: [{policy: few-deletes, until: 2027-02-30, reason: R}]\nvars:"
    ),
    "an environment that is a list": environment("- vars: {}\n", before="vars: {brand: {type: string}}\n"),
    "a declaration in the place of an environment's value": environment(
        "vars: {brand: {default: Beta}}\n", before="vars: {brand: {default: Acme}}\n"
    ),
    "a former key as a text": organization("    teams: {a: {title: A, previously: b}}"),
    "a key of forEach without a dollar sign": organization("    teams: {'{{ each.key }}': {forEach: [a], title: T}}"),
    "braces without a dollar sign": organization("    logo: {{ vars.logo }}", before="vars: {logo: {default: 'https://a.example/x'}}\n"),
}
