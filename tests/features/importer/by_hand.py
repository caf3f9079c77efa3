"""Random organizations in the hand of a person: a node on a line, defaults, keys that say what they are, and no ids but the two that every
project needs. No `forEach`, no environments, no expressions but the certificate's file.

    by_hand(seed)   the files of a project, by path
"""

from __future__ import annotations

import random
from typing import Final

from tests.certificates import IDP, pem

PRODUCTS: Final = ("Loki", "Mimir", "Tempo", "Pyroscope", "Beyla", "Faro", "Alloy", "Agent")
PARTS: Final = ("Get started", "Guides", "API reference", "Operations", "Release notes", "Troubleshooting", "Concepts", "Tutorials")
PEOPLE: Final = ("linus", "grace", "barbara", "donald", "edsger", "margaret", "ken", "dennis")
TEAMS: Final = ("Writers", "Reviewers", "Engineering", "Support", "Partners")
EMOJI: Final = ("🚀", "📘", "🧭", "🛠️")
WIDTH: Final = 100  # columns
ICONS: Final = ("rocket", "book-open", "code", "lightbulb")
DEFAULTS: Final = ("editMode: locked", "defaultLevel: read", "language: de", "mergeRules: {reviewers: [ada@acme.example]}")


def key_of(text: str) -> str:
    return text.lower().replace(" ", "-")


def by_hand(seed: int) -> dict[str, str]:
    """A project of 40 to 120 lines; the sandbox creates what it expects to exist."""
    chance = random.Random(seed)
    products = chance.sample(PRODUCTS, chance.randint(2, 5))
    parts = {product: chance.sample(PARTS, chance.randint(2, 6)) for product in products}
    files = {"okta.pem": pem(IDP)} if chance.random() < 0.5 else {}
    lines = ["version: 1", "project: docs", "service: {member: ada@acme.example}", "", "defaults:"]
    lines.append("  space: {" + ", ".join(["duplicateOf: blank", *chance.sample(DEFAULTS, chance.randint(0, 3))]) + "}")
    if chance.random() < 0.5:
        lines.append("  site: {visibility: unlisted}")
    lines += ["", "organizations:", "  acme:", "    id: org_acme", "    title: Acme"]
    lines += [f"    {line}" for line in _organization(chance, with_saml=bool(files))]
    lines += [f"    {line}" for line in _content(chance, parts)]
    lines += [f"    {line}" for line in _sites(chance, parts)]
    return {"reconciler.yaml": "\n".join(lines) + "\n", **files}


def _organization(chance: random.Random, *, with_saml: bool) -> list[str]:
    fields = ("emailDomains: [acme.example]", "defaultRole: read", "ai: true", "inviteLinks: false", "sso: false", "hostname: acme-docs")
    lines = sorted(chance.sample(fields, chance.randint(2, 6)))
    people = chance.sample(PEOPLE, chance.randint(1, 6))
    roles = {person: chance.choice(("edit", "read", "review")) for person in people}
    lines += ["members:", "  ada@acme.example: admin", *(f"  {person}@acme.example: {role}" for person, role in roles.items())]
    teams = chance.sample(TEAMS, chance.randint(1, 4))
    lines += ["teams:"]
    for team in teams:
        lines.append(f"  {key_of(team)}: {{title: {team}, members: [{chance.choice(people)}@acme.example]}}")
    if with_saml:
        lines += ["saml:", "  okta:", "    label: Okta", "    entityID: http://okta.example/1", "    ssoURL: https://okta.example/sso"]
        lines += ['    certificate: ${{ file("okta.pem") }}', f"    defaultTeam: {key_of(teams[0])}"]
    apis = chance.sample(("payments", "accounts"), chance.randint(0, 2))
    lines += ["openapi:"] if apis else []
    lines += [f'  {api}: {{source: {{url: "https://acme.example/{api}.json"}}, visibility: public}}' for api in apis]
    return lines


def _content(chance: random.Random, parts: dict[str, list[str]]) -> list[str]:
    lines = ["content:", "  - {space: blank, id: spc_blank, title: Blank, template: true}"]
    for product, titles in parts.items():
        lines += [f"  - collection: {key_of(product)}", f"    title: {product}"]
        lines += [f"    description: All about {product}"] if chance.random() < 0.4 else []
        lines += ["    content:"]
        for title in titles:
            more = [f"emoji: {chance.choice(EMOJI)}"] if chance.random() < 0.3 else []
            more += ["defaultLevel: edit"] if chance.random() < 0.15 else []
            lines.append("      - {" + ", ".join([f"space: {key_of(f'{product} {title}')}", f"title: {title}", *more]) + "}")
    return [*lines, "  - {space: handbook, title: Handbook}"]


def _sites(chance: random.Random, parts: dict[str, list[str]]) -> list[str]:
    lines = ["sites:", "  docs:", "    title: Acme documentation", "    published: true"]
    lines += ["    shareLinks: {partners: Partners, press: Press}"] if chance.random() < 0.4 else []
    lines += ["    structure:"]
    grouped = sorted(parts)[:2] if chance.random() < 0.5 else []
    for product in [product for product in parts if product not in grouped]:
        lines += [f"      {line}" for line in _section(chance, product, parts[product])]
    if grouped:
        lines += ["      - group: more", "        title: More", "        structure:"]
        for product in grouped:
            lines += [f"          {line}" for line in _section(chance, product, parts[product])]
    if chance.random() < 0.6:
        product = next(iter(parts))
        spaces = ", ".join(key_of(f"{product} {title}") for title in parts[product][:3])
        lines += ["  help:", "    title: Help center", "    published: true", f"    structure: [{spaces}]"]
    return lines


def _section(chance: random.Random, product: str, titles: list[str]) -> list[str]:
    """A section on a line where it is short, else a line for each field, and for each space where those do not fit on one."""
    names = [key_of(f"{product} {title}") for title in titles]
    if chance.random() < 0.3:
        names[0] = f"{{space: {names[0]}, default: true}}"
    fields = [f"section: {key_of(product)}", f"title: {product}"]
    fields += [f"icon: {chance.choice(ICONS)}"] if chance.random() < 0.5 else []
    spaces = f"spaces: [{', '.join(names)}]"
    line = "- {" + ", ".join([*fields, spaces]) + "}"
    if len(line) <= WIDTH:
        return [line]
    block = [spaces] if len(spaces) <= WIDTH - 12 else ["spaces:", *(f"  - {name}" for name in names)]
    return [f"- {fields[0]}", *(f"  {field}" for field in [*fields[1:], *block])]
