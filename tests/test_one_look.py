"""Reports are composed as sheets and drawn by `report`: nothing else prints or writes HTML, and all pages have one look."""

from __future__ import annotations

import ast
import re
from typing import Final

from docs.generate import COPY
from reconciler.features.rehearsal.page.page import style as preview
from reconciler.report.style import FOLDER, PRODUCT, style
from tests.sources import PACKAGE, dotted, nodes, package

PRINTING: Final = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}
MARKUP: Final = re.compile(
    r"</?(?:html|head|body|main|style|script|meta|link|table|t[rdh]|div|span|p|[uo]l|li|h[1-6]|article|section|details|figure|svg|code|pre)"
    r"(?:\s[^<>]*)?/?>"
)
# What may print, with the reason. Everything else returns a text, or says it to the screen.
PRINTERS: Final = {
    "cli/program.py": "--help and --version end before there is a screen",
    "cli/commands/console.py": "the end of the line at which the reader of a prompt left",
}
# What may write HTML, with the reason. Folders end with a slash.
WRITERS: Final = {
    "report/formats/html.py": "draws sheets",
    "report/formats/figures.py": "draws their pictures",
    "features/forges/comment/part.py": "folds a part of a comment, which is markdown",
    "features/rehearsal/page/first_screen.py": "keeps a number and its noun on one line",
    "fleet/pages/heatmap.py": "draws ten thousand cells, which a template does too slowly",
    "sandbox/": "plays the service, and imports nothing of the program",
    "text/spellings.py": "is no HTML: a group of a pattern has the name `code`",
}


def _file(name: str) -> str:
    return next((known for known in WRITERS if known.endswith("/") and name.startswith(known)), name)


def test_only_listed_modules_print_or_write_html() -> None:
    printing, writing = set(), set()
    for path in package():
        name = path.relative_to(PACKAGE).as_posix()
        texts = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
        for node in nodes(path):
            if isinstance(node, ast.Call) and dotted(node.func) in PRINTING:
                printing.add(name)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts and MARKUP.search(node.value):
                writing.add(_file(name))
    assert printing == set(PRINTERS)
    assert writing == set(WRITERS)


def test_pages_share_one_style_sheet_and_the_sandbox_has_a_copy() -> None:
    product = PRODUCT.read_text(encoding="utf-8")
    assert COPY.read_text(encoding="utf-8") == product, "run python -m docs.generate"
    assert style("report").startswith(product)
    assert preview().startswith(product)
    template = (PACKAGE / "fleet/pages/templates/base.html").read_text(encoding="utf-8")
    assert template.index("assets.PRODUCT") < template.index("assets.STYLE")


def test_only_the_shared_style_sheet_chooses_what_all_pages_have() -> None:
    own = [*FOLDER.glob("report.css"), *PACKAGE.glob("features/rehearsal/page/static/*.css"), *PACKAGE.glob("fleet/pages/static/*.css")]
    own.append(COPY.with_name("style.html"))
    shared = set(re.findall(r"(--[\w-]+):", PRODUCT.read_text(encoding="utf-8")))
    assert len(own) == 5
    for path in own:
        # Paper has colours of its own.
        text = path.read_text(encoding="utf-8").partition("@media print")[0]
        assert not shared & set(re.findall(r"(--[\w-]+):", text)), path
        assert not re.search(r"(?m)^body\b[^{]*\{[^}]*(?:font|color|background)", text), path
        used = set(re.findall(r"var\((--[\w-]+)\)", text))
        assert used <= shared | set(re.findall(r"(--[\w-]+):", text)), (path, "a colour that nothing declares")
