"""Wrong forEach, include and split files."""

from __future__ import annotations

from tests.wrong_uses.use import Use, node, organization, top

PRODUCTS = "vars: {products: {default: {pay: Payments, id: Identity}}}\n"
USES: dict[str, Use] = {
    "over a text": node("{forEach: pay, collection: '${{ each.key }}', title: T}"),
    "over the name of a file": node("{forEach: products.json, collection: '${{ each.key }}', title: T}"),
    "over a number": node("{forEach: 3, collection: '${{ each.key }}', title: T}"),
    "over nothing": node("{forEach: , collection: '${{ each.key }}', title: T}"),
    "over a range of texts": node("{forEach: '${{ range(\"a\", \"c\") }}', collection: 'v${{ each.key }}', title: T}"),
    "over an unknown variable": node("{forEach: '${{ vars.product }}', collection: '${{ each.key }}', title: T}", before=PRODUCTS),
    "over a file that does not exist": node("{forEach: '${{ json(file(\"product.json\")) }}', collection: '${{ each.key }}', title: T}"),
    "over a file that is not JSON": node(
        "{forEach: '${{ json(file(\"products.json\")) }}', collection: '${{ each.key }}', title: T}", files={"products.json": "[pay"}
    ),
    "over a value from the environment": node(
        "{forEach: '${{ vars.names }}', collection: '${{ each.key }}', title: T}",
        before="vars: {names: {type: list, env: RECONCILER_VAR_NAMES}}\n",
        options={"environ": {"RECONCILER_VAR_NAMES": '["a"]'}},
    ),
    "one key for all elements": node("{forEach: [a, b], collection: same, title: '${{ each.value }}'}"),
    "an element twice": node("{forEach: [a, a], collection: '${{ each.key }}', title: T}"),
    "a key that a literal entry has": node("{forEach: [blank], space: '${{ each.key }}', title: T, duplicateOf: blank}"),
    "the key of an element that is a map": node("{forEach: [{name: pay}], collection: '${{ each.key }}', title: T}"),
    "a part that elements do not have": node("{forEach: [{name: pay}], collection: '${{ each.value.nmae }}', title: T}"),
    "a part that elements do not have, and nothing like it": node(
        "{forEach: {a: {name: A, lang: en}}, collection: c, title: '${{ each.value.x }}'}"
    ),
    "a part of an element that is a text": node("{forEach: [a], collection: '${{ each.key }}', title: '${{ each.value.title }}'}"),
    "each that is misspelled": node("{forEach: [a], collection: '${{ eahc.key }}', title: T}"),
    "a part of each that does not exist": node("{forEach: [a], collection: '${{ each.kye }}', title: T}"),
    "each.parent at the top": node("{forEach: [a], collection: '${{ each.parent.key }}', title: T}"),
    "each outside forEach": node("{collection: c, title: '${{ each.key }}'}"),
    "an expression in a key outside forEach": organization("    teams: {'${{ each.key }}': {title: T}}"),
    "a key that is no key": node("{forEach: [a b], collection: '${{ each.key }}', title: T}"),
    "a key that is a list": node("{forEach: [[a]], collection: '${{ each.value }}', title: T}"),
    "an unknown field": node("{forEach: [a], collection: '${{ each.key }}', titel: T}"),
    "no kind": node("{forEach: [a], title: T}"),
    "forEach at the top": top("forEach: [a]"),
    "forEach on a section": organization("    teams: {forEach: [a], title: T}"),
    "forEach inside a value": organization("    mergeRules: {reviewers: {forEach: [a]}}"),
    "forEach that is misspelled": node("{foreach: [a], collection: c, title: T}"),
    "forEach whose elements something refers to": organization(
        "    content: [{forEach: '${{ vars.product }}', space: '${{ each.key }}', id: spc_a, title: Ab}]\n"
        "    sites: {d: {title: Docs, structure: [pay]}}",
        before="vars: {products: {default: [pay]}}\n",
    ),
    "a key of forEach that something refers to": organization(
        "    content: [{forEach: [pay], space: '${{ each.name }}', id: spc_a, title: Ab}]\n    sites: {d: {title: Docs, structure: [pay]}}"
    ),
    "include inside forEach": node("{forEach: [a], collection: '${{ each.key }}', title: T, content: {include: a.yaml}}"),
    "too many elements": node("{forEach: '${{ range(0, 200000) }}', collection: 'c${{ each.key }}', title: T}"),
    "an included file that does not exist": top("include: [people.yaml]", files={"peopel.yaml": "teams: {}\n"}),
    "a pattern that matches no file": top("include: ['sites/*.yaml']"),
    "include that is a text": top("include: people.yaml", files={"people.yaml": "teams: {}\n"}),
    "an included file outside": top("include: [../people.yaml]"),
    "an expression in include": top("include: ['${{ env.name }}.yaml']"),
    "an encrypted file": top("include: [secrets.enc.yaml]"),
    "an included file that is a list": top("include: [nodes.yaml]", files={"nodes.yaml": "- {space: a, title: A}\n"}),
    "a key of the project file in an included file": top("include: [people.yaml]", files={"people.yaml": "vars: {}\n"}),
    "an included file of an unknown organization": top("include: [a.yaml]", files={"a.yaml": "organization: acmee\nteams: {}\n"}),
    "a section in two files": top("include: [a.yaml]", files={"a.yaml": "content: []\n"}),
    "a resource in two files": top("include: [a.yaml]", files={"a.yaml": "teams: {writers: {title: W}}\n"}),
    "a split list that names no file": organization("    content: {include: }"),
    "a split list with other keys": organization("    content: {include: a.yaml, title: T}", files={"a.yaml": "[]\n"}),
    "a split list whose file is a map": organization("    content: {include: a.yaml}", files={"a.yaml": "contents: []\n"}),
    "a split map whose file is a list": organization("    teams: {include: a.yaml}", files={"a.yaml": "- {title: A}\n"}),
    "a split file that includes itself": organization("    content: {include: a.yaml}", files={"a.yaml": "content: {include: a.yaml}\n"}),
    "a split file that does not exist": organization("    content: {include: 'content/*.yaml'}"),
    "the project file": organization("    content: {include: reconciler.yaml}"),
}
