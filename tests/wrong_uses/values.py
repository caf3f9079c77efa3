"""Wrong variables, expressions and secrets."""

from __future__ import annotations

from tests.sops import as_encrypted
from tests.wrong_uses.use import Use, environment, organization, top

BRAND = "vars: {brand: {default: Acme}}\n"
SECRETS = "secrets: secrets.enc.yaml\n"


def title(expression: str, **more: object) -> Use:
    """An expression in a field that is not sensitive."""
    return organization(f"    logo: {expression}", **more)  # type: ignore[arg-type]


USES: dict[str, Use] = {
    "false on every default": organization(
        "    content: [{space: a, id: spc_a, title: Ab}]\n    sites: {d: {title: Docs, structure: [{space: a, default: false}]}}"
    ),
    "a default that is a text": organization(
        "    content: [{space: a, id: spc_a, title: Ab}]\n    sites: {d: {title: Docs, structure: [{space: a, default: first}]}}"
    ),
    "a map that is the name of a file": organization(
        "    content: [{space: a, id: spc_a, title: Ab}]\n    sites: {d: {title: Docs, structure: [a], adaptiveSchema: visitors.json}}"
    ),
    "a list that is the name of a file": organization("    integrations: {charts: {title: C, blocks: manifest.json}}"),
    "a variable that is a text": top("vars: {brand: Acme}"),
    "a name that begins with a digit": top("vars: {9lives: {default: 9}}"),
    "an unknown key of a variable": top("vars: {brand: {defualt: Acme}}"),
    "an unknown type": top("vars: {brand: {type: text}}"),
    "a default of another type": top("vars: {size: {type: integer, default: many}}"),
    "a default that is an expression": top("vars: {brand: {default: '${{ env.name }}'}}"),
    "an environment variable with another prefix": top("vars: {build: {env: BUILD_NUMBER}}"),
    "no value": top("vars: {brand: {type: string, description: The name of the company}}"),
    "a default that is not in enum": top("vars: {tier: {enum: [free, paid], default: basic}}"),
    "a value that is not in enum": top("vars: {tier: {enum: [free, paid]}}", options={"variables": {"tier": "pay"}}),
    "a default that the pattern does not match": top("vars: {host: {pattern: '[a-z.]+', default: Acme}}"),
    "a pattern that is none": top("vars: {host: {pattern: '[a-z', default: acme}}"),
    "a value for an undeclared variable": top(BRAND.strip(), options={"variables": {"brnad": "Beta"}}),
    "a value of another type": top("vars: {size: {type: integer}}", options={"variables": {"size": "many"}}),
    "a file of variables that is a list": top(BRAND.strip(), options={"var_file": {"vars.yaml": "[a]\n"}}),
    "a file of variables with an undeclared one": top(BRAND.strip(), options={"var_file": {"vars.yaml": "brnad: Beta\n"}}),
    "an undeclared variable in an expression": title("${{ vars.brnad }}", before=BRAND),
    "a variable without vars": title("${{ brand }}", before=BRAND),
    "an expression that does not end": title('"${{ vars.brand"', before=BRAND),
    "an expression that cannot be read": title('"${{ vars.brand + }}"', before=BRAND),
    "a filter that does not exist": title('"${{ vars.brand | uper }}"', before=BRAND),
    "an expression that is empty": title('"${{ }}"'),
    "a file outside": title("${{ file('/etc/passwd') }}"),
    "a hidden file": title("${{ file('.env') }}"),
    "a file that does not exist": title("${{ file('logo.txt') }}"),
    "a value from the environment in an open field": title(
        "${{ vars.build }}", before="vars: {build: {env: RECONCILER_VAR_BUILD}}\n", options={"environ": {"RECONCILER_VAR_BUILD": "7"}}
    ),
    "secrets that no file has": title("${{ secrets.clinet }}", before=SECRETS),
    "a part that a secret does not have": title("${{ secrets.okta.pen }}", before=SECRETS),
    "a secret in an open field": title("${{ secrets.client }}", before=SECRETS),
    "a part of a text with a secret": title("https://x.example/${{ secrets.client }}", before=SECRETS),
    "a secret in a key": organization("    teams: {a: {forEach: '${{ secrets.okta }}', title: T}}", before=SECRETS),
    "secrets without a file": title("${{ secrets.client }}"),
    "secrets that is misspelled": title("${{ secret.client }}", before=SECRETS),
    "a file that does not exist as secrets": top("secrets: secrets.yaml"),
    "a file that is not encrypted": top("secrets: plain.yaml", files={"plain.yaml": "client: hunter2\n"}),
    "a file of another type": top("secrets: secrets.env", files={"secrets.env": "A=b\n"}),
    "secrets outside": top("secrets: /etc/secrets.enc.yaml"),
    "secrets that are written out": top("secrets: {client: hunter2}"),
    "nothing behind secrets": top("secrets:"),
    "an expression in secrets": top("secrets: '${{ env.name }}.enc.yaml'"),
    "one secret in two files": top("secrets: [secrets.enc.yaml, more.enc.yaml]", files={"more.enc.yaml": as_encrypted({"client": "x"})}),
    "secrets in an included file": top("include: [a.yaml]", files={"a.yaml": "secrets: secrets.enc.yaml\n"}),
    "secrets of an environment that do not exist": environment("secrets: staging.enc.yaml\n"),
    "a secret in the service": top("service: {member: '${{ secrets.client }}'}\nsecrets: secrets.enc.yaml"),
}
