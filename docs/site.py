"""What the site (`mkdocs.yml`) adds to MkDocs: pages outside docs/, links to files of the repository, folders in the navigation."""

from __future__ import annotations

import posixpath
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Set
from pathlib import Path, PurePath
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # MkDocs loads this file by its path

from docs.generate import SITE  # noqa: E402
from reconciler.cli.commands.schema import write_all  # noqa: E402

CAUSES: Final = ROOT / "reconciler" / "problems"
MOVED: Final = {
    "README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
    **{f"reconciler/problems/{page.name}": f"reference/problems/{page.name}" for page in sorted(CAUSES.glob("*.md"))},
}  # fmt: skip
"""Pages outside docs/, and what they are called on the site: those of the root, and those that `reconciler explain` prints."""

SHOWN: Final = ("examples/",)
"""Folders whose files are part of the site if a page links to them. All schemas are, those that are not committed too."""

IN_FULL: Final = {
    "reference/options.md": "reference/commands.md",
    "reference/problems.md": "reference/causes.md",
    "reference/fields.md": "reference/fields-of-kinds.md",
}
"""Pages of the repository, and the pages of the site that say the same in full: links lead there."""

SEARCH: Final = 'data-md-component="search" role="dialog"'
LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE: Final = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)


def on_config(config: Any) -> Any:
    """Replace FOLDER/*.md in the navigation by the pages of that folder."""
    config["nav"] = list(_expanded(config["nav"], frozenset(_named(config["nav"]))))
    return config


def _named(entries: Any) -> Iterator[str]:
    """The pages that the navigation names, at any depth; a pattern leaves them out."""
    match entries:
        case str():
            yield entries
        case list():
            for entry in entries:
                yield from _named(entry)
        case dict():
            yield from _named(list(entries.values()))


def _expanded(entries: list[Any], named: Set[str]) -> Iterator[Any]:
    for entry in entries:
        match entry:
            case str() if "*" in entry:
                names = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob(entry)]
                names += [name for name in (*MOVED.values(), *SITE) if PurePath(name).match(entry)]
                yield from sorted(set(names) - named, key=_title)
            case dict():
                yield {title: list(_expanded(inner, named)) if isinstance(inner, list) else inner for title, inner in entry.items()}
            case _:
                yield entry


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/, the pages and schemas that are not committed, and the examples that a page links to."""
    from mkdocs.structure.files import File

    for source, name in MOVED.items():
        files.append(File.generated(config, name, content=_text(source)))
    for name, page in SITE.items():
        files.append(File.generated(config, name, content=page()))
    with tempfile.TemporaryDirectory() as folder:
        write_all(Path(folder))
        for path in sorted(Path(folder).iterdir()):
            files.append(File.generated(config, f"schemas/{path.name}", content=path.read_text(encoding="utf-8")))
    linked = {target for file in files.documentation_pages() for _, target in _targets(_source(file.src_uri), file.content_string)}
    for target in sorted(linked):
        if target.startswith(SHOWN) and (ROOT / target).is_file():
            files.append(File.generated(config, target, abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turn links to files of the repository into links of the site, or else of the repository; without one, into text."""
    here = page.file.src_uri
    blocks = [match.span() for match in FENCE.finditer(markdown)]

    def rewritten(match: re.Match[str]) -> str:
        image, text, link = match.groups()
        if any(start <= match.start() < end for start, end in blocks) or _is_elsewhere(link):
            return match[0]
        path, hash_sign, fragment = link.partition("#")
        target = _resolved(_source(here), path)
        name = MOVED.get(target, target.removeprefix("docs/"))
        name = IN_FULL.get(name, name)
        file = files.get_file_from_path(name)
        if file is not None and not file.inclusion.is_excluded():
            return f"{image}[{text}]({posixpath.relpath(name, posixpath.dirname(here) or '.')}{hash_sign}{fragment})"
        repository = config["extra"]["repository"].rstrip("/")
        return f"[{text}]({repository}/blob/main/{target}{hash_sign}{fragment})" if repository else text

    return LINK.sub(rewritten, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Make the empty corner of a table a cell; a header without a text names nothing."""
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)


def on_post_build(config: Any) -> None:
    """Write llms.txt, the list of pages for agents, and a page of Markdown for each how-to guide."""
    site, root = Path(config["site_dir"]), config["site_url"] or ""
    guides = sorted((ROOT / "docs" / "how-to").glob("*.md"))
    for guide in guides:
        text = re.sub(r"\]\((\.\./[^)\s]*?)\.md(?=[#)])", r"](\1.html", guide.read_text(encoding="utf-8"))
        (site / "how-to" / guide.name).write_text(text, encoding="utf-8")
    (site / "llms.txt").write_text(llms(guides, config["site_name"], config["site_description"], root), encoding="utf-8")


def llms(guides: Iterable[Path], name: str, description: str, root: str) -> str:
    """The list of pages in the form of https://llmstxt.org: a line for each how-to guide, with its first sentence."""
    offer = "Agents read, check and plan with `reconciler mcp`; people apply."
    lines = [f"# {name}", "", f"> {description} {offer}", "", "## How-to guides", ""]
    for guide in guides:
        title, _, text = guide.read_text(encoding="utf-8").partition("\n")
        paragraphs = (part.strip() for part in LINK.sub(r"\2", text).split("\n\n"))
        first = next(part for part in paragraphs if part and not part.startswith("#"))
        sentence = " ".join(first.split()).partition(". ")[0].rstrip(".:")
        lines.append(f"- [{title.removeprefix('# ')}]({root}how-to/{guide.name}): {sentence}.")
    more = {
        "agents.html": "Connect agents",
        "reference/commands.html": "Commands",
        "reference/fields-of-kinds.html": "Fields of every kind",
    }
    return "\n".join([*lines, "", "## Reference", "", *(f"- [{title}]({root}{page})" for page, title in more.items())]) + "\n"


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Name the search for screen readers, which the theme does not."""
    return _with_named_search(output)


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The same on the page of what is not found."""
    return _with_named_search(output)


def _with_named_search(output: str) -> str:
    return output.replace(SEARCH, f'{SEARCH} aria-label="Search"')


def _text(source: str) -> str:
    """A page of the repository's root; the first one needs no list of pages beside it."""
    text = (ROOT / source).read_text(encoding="utf-8")
    return f"---\nhide: [navigation]\n---\n\n{text}" if MOVED[source] == "index.md" else text


def _targets(source: str, markdown: str) -> Iterator[tuple[str, str]]:
    for _, text, link in LINK.findall(FENCE.sub("", markdown)):
        if not _is_elsewhere(link):
            yield text, _resolved(source, link.partition("#")[0])


def _is_elsewhere(link: str) -> bool:
    """Whether a link leads to another host, or within its page."""
    return link.startswith("#") or re.match(r"[a-z]+:", link) is not None


def _title(name: str) -> str:
    """The first line of a page of the site."""
    text = SITE[name]() if name in SITE else (ROOT / _source(name)).read_text(encoding="utf-8")
    return text.partition("\n")[0]


def _source(name: str) -> str:
    """The file of the repository that is a page of the site."""
    return {page: source for source, page in MOVED.items()}.get(name, f"docs/{name}")


def _resolved(source: str, link: str) -> str:
    """A link of a file, from the repository's root."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
