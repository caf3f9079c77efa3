"""Projects made to hurt: each a name and its files, by family. What they do to `load` is bounded and said with a place.

`ATTACKS` is the whole corpus; `refused` says that there must be an error, None that a calm project may come of it as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

HEAD = "version: 1\nproject: test\norganizations:\n  acme:\n    id: org_acme\n"
BLANK = "    content:\n      - {space: blank, id: spc_blank, title: Blank}\n"


@dataclass(frozen=True)
class Attack:
    """`files`: bytes by path below the project; `links`: symbolic links, their targets by path; `pipes`: named pipes."""

    name: str
    files: Mapping[str, bytes]
    refused: bool | None = True
    links: Mapping[str, str] | None = None
    pipes: tuple[str, ...] = ()


def _one(name: str, text: str | bytes, refused: bool | None = True) -> Attack:
    return Attack(name, {"reconciler.yaml": text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text}, refused)


def _titled(name: str, value: str, refused: bool | None = True) -> Attack:
    """The value as it stands in the source of a title."""
    return _one(name, f"{HEAD}    title: {value}\n", refused)


def _bombs() -> Iterator[Attack]:
    for size in (99, 101, 1_000, 60_000, 500_000):
        for opening, closing in (("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("[{a: ", "}]")):
            yield _one(f"{size} times {opening!r} alone", opening * size)
            if size <= 60_000:
                yield _one(f"{size} times {opening!r} and back", f"{HEAD}    title: {opening * size}x{closing * size}\n")
    for quote in ("'", '"', "|\n", ">\n", "&a ", "*a ", "!", "#", "%", "@", "`", "---\n", "...\n", ": ", "\\", ",", "\n"):
        yield _one(f"100,000 times {quote!r}", quote * 100_000, None if quote in ("#", "\n", "---\n") else True)
    for width in (10, 1_000):
        levels = ["x0: &x0 [" + ", ".join(["a"] * width) + "]"]
        levels += [f"x{n}: &x{n} [" + ", ".join([f"*x{n - 1}"] * width) + "]" for n in range(1, 10)]
        yield _one(f"aliases of aliases, {width} wide", HEAD + "\n".join(levels) + "\n")
    merges = "\n".join(f"x-{n}: &m{n} {{<<: [{', '.join(['*m' + str(n - 1)] * 9) if n else ''}], k{n}: 1}}" for n in range(12))
    yield _one("merge keys of merge keys", f"{merges}\n{HEAD}")
    yield _one("an anchor in itself", f"{HEAD}    title: &a [*a]\n")
    yield _one("an anchor in a map in itself", f"{HEAD}    content: &a [{{space: x, title: x, content: *a}}]\n")
    yield _one("a million anchors", HEAD + "x-a: [" + ",".join(f"&a{n} 1" for n in range(100_000)) + "]\n", None)
    yield _one("one long key", f"{HEAD}    ? {'k' * 2_000_000}\n    : 1\n")
    yield _one("one long scalar", f"{HEAD}    title: {'t' * 2_000_000}\n")
    yield _one("one long line of comment", f"# {'c' * 5_000_000}\n{HEAD}", None)
    yield _one("a file of 17 MiB", HEAD + "#" * 17 * 2**20)
    yield _one("many unknown keys", HEAD + "".join(f"    nothing{n}: 1\n" for n in range(50_000)))
    yield _one("many keys twice", HEAD + "    title: a\n" * 50_000)
    yield _one("many spaces of one name", HEAD + "    content:\n" + "      - {space: a, id: s, title: a}\n" * 20_000)
    yield _one("many unknown aliases", HEAD + "x-a: [" + ", ".join(f"*a{n}" for n in range(20_000)) + "]\n")
    yield _one("many references", HEAD + "    teams: {a: {title: A, members: [" + ", ".join(f"m{n}" for n in range(20_000)) + "]}}\n", None)


TAGS = (
    "!!python/object/apply:os.system ['true']", "!!python/name:os.system x", "!!python/module:os x", "!!python/object:object {}",
    "!!python/object/new:type [a]", "!!binary aGk=", "!!set {a}", "!!omap [a: 1]", "!!pairs [a: 1]", "!!timestamp 2001-01-01", "!!float 1",
    "!!int 1", "!!bool yes", "!!null x", "!!str x", "!custom x", "!<tag:evil.example,2000:x> y", "!!map {}", "!!seq []", "!!merge x", "!!value x",
)  # fmt: skip


def _empty() -> Iterator[Attack]:
    for text in (
        "",
        " ",
        "---",
        "...",
        "null",
        "{}",
        "[]",
        "x-a: 1",
        "vars: {}",
        "include: []",
        "include: [x.yaml]",
        "? []\n: 1",
        "version: 1",
        "project: a",
        "#",
        "a",
    ):
        yield _one(f"nothing but {text!r}", text)


def _tags() -> Iterator[Attack]:
    for tag in TAGS:
        yield _titled(f"the tag {tag}", tag, None if tag.startswith("!!str") else True)


def _bytes() -> Iterator[Attack]:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037"):
        yield _one(f"encoded as {encoding}", f"{HEAD}    title: Ärger\n".encode(encoding), None if encoding == "utf-7" else True)
    yield _one("latin-1", f"{HEAD}    title: Ärger\n".encode("latin-1"))
    for name, raw in (
        ("an overlong slash", b"\xc0\xaf"), ("a cut character", b"\xe2\x82"), ("a surrogate", b"\xed\xa0\x80"), ("beyond Unicode", b"\xf4\x90\x80\x80"),
        ("a lone continuation", b"\x80"), ("0xff", b"\xff"), ("NUL", b"\0"), ("a second BOM", b"\xef\xbb\xbf"), ("an ELF file", b"\x7fELF\x02\x01\x01" + b"\0" * 64),
        ("a gzip file", b"\x1f\x8b\x08\0" + b"\0" * 20), ("a PNG", b"\x89PNG\r\n\x1a\n"),
    ):  # fmt: skip
        yield _one(f"{name} in a title", HEAD.encode() + b"    title: a" + raw + b"b\n")
        yield _one(f"{name} alone", raw)
    for code in (*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF):
        yield _titled(f"U+{code:04X} raw in a title", f"a{chr(code)}b")
    for code in (0x00, 0x07, 0x08, 0x0A, 0x0D, 0x1B, 0x7F, 0x9B, 0x202E, 0x2066, 0x200B, 0xFEFF, 0x2028, 0xD800, 0xE0041):
        yield _titled(f"U+{code:04X} by its escape in a title", f'"a\\U{code:08x}b"', None)


SECTIONS = (
    "version", "project", "service", "service.baseUrl", "service.sandbox", "service.member", "service.timeout", "state", "recovery", "recovery.settle",
    "recovery.createStrategy", "include", "vars", "vars.a", "prune", "prune.space", "protect", "guards", "guards.maxDelete", "guards.maxDelete.percent",
    "guards.minAdmins", "defaults", "defaults.space", "organizations", "organizations.acme", "organizations.acme.id", "organizations.acme.members",
    "organizations.acme.teams", "organizations.acme.content", "organizations.acme.saml", "organizations.acme.openapi", "sites", "removed", "moved",
)  # fmt: skip
VALUES = (
    "",
    "null",
    "[]",
    "{}",
    "-1",
    "1e999",
    ".nan",
    "99999999999999999999",
    "[[]]",
    "{a: {b: {c: []}}}",
    "'${{ vars }}'",
    "*nowhere",
    "2001-01-01",
    "a\\0b",
    "__proto__",
)


def _wrong_values() -> Iterator[Attack]:
    for section in SECTIONS:
        keys = section.split(".")
        for value in VALUES:
            indent = "".join(
                "  " * depth + f"{key}:{' ' if depth == len(keys) - 1 else ''}" + ("" if depth == len(keys) - 1 else "\n")
                for depth, key in enumerate(keys)
            )
            rest = "" if keys[0] in ("version", "project", "organizations") else HEAD
            yield _one(f"{section}: {value or 'nothing'}", f"{rest}{indent}{value}\n", None)


ESCAPES = (
    "''.__class__.__mro__", "vars.__init__.__globals__", "self.__init__", "file.__self__", "cycler.__init__.__globals__.os.popen('id').read()",
    "lipsum.__globals__['os']", "request", "[].__class__.__base__.__subclasses__()", "'%s' % vars", "'{0.__class__}'.format(vars)", "vars|attr('__class__')",
    "vars|map(attribute='__class__')|list", "file('../../../etc/passwd')", "file('/etc/passwd')", "file('reconciler.yaml')", "file('.git/config')",
    "file('.reconciler/state.db')", "file('/proc/self/environ')", "file('a' * 5000)", "file('')", "file('.')", "file('sites')", "json('[' * 100000)",
    "json('{\"a\":' * 5000)", "9 ** 9 ** 9 ** 9", "'a' * 10 ** 12", "range(10 ** 12) | list", "('a' * 1000000) * 1000000", "vars.b.b.b", "1 / 0", "'a' + 1",
    "[1] | sum(start='a')", "'a' | indent(10 ** 10)", "'a' | center(10 ** 10)", "import os", "env.HOME", "env['PATH']", "each", "namespace()", "debug()",
)  # fmt: skip


def _expressions() -> Iterator[Attack]:
    for escape in ESCAPES:
        quoted = escape.replace('"', '\\"')
        yield _titled(f"in a title: {escape}", f'"${{{{ {quoted} }}}}"', None if escape == "file('reconciler.yaml')" else True)
    for place in ("project", "state", "include", "service.baseUrl", "organizations.acme.id"):
        keys = place.split(".")
        text = "".join("  " * depth + f"{key}:" + ("\n" if depth < len(keys) - 1 else "") for depth, key in enumerate(keys))
        head = "" if keys[0] in ("project", "organizations") else HEAD
        yield _one(f"an expression as {place}", f'{head}{text} "${{{{ 1 / 0 }}}}"\n')


def _paths() -> Iterator[Attack]:
    for path in (
        "/etc/passwd", "../*.yaml", "../../../../../../etc/*", "~/.ssh/*", "/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/self/mem", ".git/*", ".reconciler/*",
        "sites/../../x.yaml", "a" * 5_000, "**/**/**/**/**/**/**/**/**/**/x", "[" * 500, "{" + "a," * 500 + "}", "*" * 500 + "x", "reconciler.yaml", ".", "", "//", "C:\\x",
        "file:///etc/passwd", "http://evil.example/x.yaml", "-rf", "$(id)", "`id`", "| id", "%2e%2e/x",
    ):  # fmt: skip
        yield _one(f"include {path[:40]!r}", f"{HEAD}include: ['{path}']\n")
    plain = {"reconciler.yaml": f"{HEAD}include: [more.yaml]\n".encode()}
    for target in ("/etc/passwd", "/dev/zero", "/proc/self/environ", "more.yaml", "/", "."):
        yield Attack(f"an included link to {target}", plain, links={"more.yaml": target})
    yield Attack("an included pipe", plain, pipes=("more.yaml",))
    yield Attack("an included folder", {**plain, "more.yaml/x.yaml": b""})
    yield Attack("the project file is a link to a device", {}, links={"reconciler.yaml": "/dev/zero"})
    yield Attack("the project file is a pipe", {}, pipes=("reconciler.yaml",))
    linked = {"reconciler.yaml": f"{HEAD}    title: ${{{{ file('x.txt') }}}}\n".encode()}
    for target in ("/etc/hostname", "/dev/zero", "/proc/self/environ", "x.txt", "reconciler.yaml/../../../../etc/hostname"):
        yield Attack(f"file() of a link to {target}", linked, links={"x.txt": target})
    yield Attack("file() of a pipe", linked, pipes=("x.txt",))
    yield Attack("file() of two megabytes", {**linked, "x.txt": b"a" * 2_000_000})
    yield Attack("file() of bytes", {**linked, "x.txt": bytes(range(256))})
    yield Attack("a file that includes", {**plain, "more.yaml": b"include: [more.yaml]\n"})
    yield Attack(
        "5,000 included files",
        {"reconciler.yaml": f"{HEAD}include: ['x/*.yaml']\n".encode(), **{f"x/{n}.yaml": b"x-a: 1\n" for n in range(2_000)}},
        None,
    )


def _addresses() -> Iterator[Attack]:
    for address in (
        "a" * 100_000, "/" * 10_000, "acme/" + "x/" * 5_000, "*" * 1_000, "a*" * 500 + "b", "**/" * 300 + "x", "", " ", "acme//x", "../acme", "acme/space/..",
        "acme/space/__proto__", "acme/space/\\x00", "acme/space/a b", "acme/space/" + "é" * 90, "acme/space/\U0001f4a9", "acme/nothing/x", "acme/space", "~1",
    ):  # fmt: skip
        shown = address[:30].encode("unicode_escape").decode()
        yield _one(f"removed {shown!r}, {len(address)} long", f'{HEAD}removed:\n  - {{address: "{address}", action: delete}}\n', None)
        yield _one(f"moved {shown!r}, {len(address)} long", f'{HEAD}moved:\n  - {{from: "{address}", to: acme/space/a}}\n', None)
    loop = "\n".join(f"  - {{from: acme/space/s{n}, to: acme/space/s{(n + 1) % 50}}}" for n in range(50))
    yield _one("moved in a circle", f"{HEAD}moved:\n{loop}\n", None)
    spaces = "\n".join(f"      - {{space: s{n}, title: S{n}, duplicateOf: s{(n + 1) % 500}}}" for n in range(500))
    yield _one("copies in a circle", f"{HEAD}    content:\n{spaces}\n")
    for key in (
        "__proto__",
        "__class__",
        "constructor",
        "",
        " ",
        ".",
        "..",
        "a/b",
        "a" * 101,
        "é",
        "\U0001f4a9",
        "~",
        "null",
        "a\\nb",
        "\\u202e",
        "*",
        "-",
        "true",
        "0x1",
        "1e3",
    ):
        yield _one(f"a team of the key {key[:20]!r}, {len(key)} long", f'{HEAD}    teams:\n      "{key}": {{title: T}}\n', None)


def _services() -> Iterator[Attack]:
    for url in (
        "file:///etc/passwd", "ftp://x", "javascript:alert(1)", "http://user:secret@evil.example", "https://evil.example@good.example", "http://[::1", "http://a b", "//x",
        "https://" + "a" * 5_000, "https://x/\\x00", "https://x\\r\\nHost: y", "https://\u0435vil.example", "http://127.0.0.1:99999", "https://x?token=1", "https://x#a", "x",
    ):  # fmt: skip
        yield _one(f"the service {url[:40]!r}", f'{HEAD}service: {{baseUrl: "{url}"}}\n', None)
    for url in (
        "sqlite:///../../x.db",
        "sqlite:////dev/null",
        "postgresql://u:secret@h/d",
        "mysql://x",
        "sqlite:///:memory:",
        "x",
        "",
        "sqlite:///a?b=c",
        "postgresql://" + "h" * 5_000,
    ):
        yield _one(f"the state {url[:40]!r}", f'{HEAD}state: "{url}"\n', None)


ATTACKS: tuple[Attack, ...] = tuple(
    attack
    for family in (_bombs, _empty, _tags, _bytes, _wrong_values, _expressions, _paths, _addresses, _services)
    for attack in family()
)  # fmt: skip
