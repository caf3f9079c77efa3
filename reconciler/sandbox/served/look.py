"""What the customization of a site says about its pages, cut down to what these pages show.

In: whatever `GET …/published` answers, of which a copy may hold anything. Out: colors that are colors, and texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

COLOR: Final = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})", re.ASCII)
CONTRAST: Final = 4.5  # of text and its ground, as WCAG AA asks
LIGHT, DARK = "#ffffff", "#14171c"  # the grounds of the pages
STYLES: Final = ("info", "success", "warning", "danger")
Rgb = tuple[int, int, int]


class SiteLink(NamedTuple):
    title: str
    url: str


@dataclass(frozen=True)
class Look:
    """`accent` and `notice`: colors for light and dark pages. `logo`: the name of its file, empty without one."""

    title: str
    logo: str
    accent: tuple[str, str]
    header: list[SiteLink]
    announcement: str
    announcement_link: SiteLink | None
    notice: tuple[str, str]
    footer: list[tuple[str, list[SiteLink]]]
    copyright: str


def look_of(customization: Mapping[str, Any], title: str, url: Callable[[Any], str | None], *, has_logo: bool) -> Look:
    """`url`: where a content reference leads; None where it leads nowhere for this reader. `has_logo`: the logo is the site's own."""
    styling, header, footer = (_object(customization.get(name)) for name in ("styling", "header", "footer"))
    announcement = _object(customization.get("announcement"))
    enabled = announcement.get("enabled") is True
    style = announcement.get("style")
    return Look(
        title=_text(customization.get("title")) or title,
        logo=_text(_object(header.get("logo")).get("light")).split("?")[0].rstrip("/").rsplit("/", 1)[-1] if has_logo else "",
        accent=_accent(_object(styling.get("primaryColor"))),
        header=list(_links(header.get("links"), url)),
        announcement=_text(announcement.get("message")) if enabled else "",
        announcement_link=next(_links([_object(announcement.get("link"))], url), None) if enabled else None,
        notice=_accent(_object(styling.get(f"{style if style in STYLES else 'info'}Color"))),
        footer=[(_text(group.get("title")), list(_links(group.get("links"), url))) for group in map(_object, _list(footer.get("groups")))],
        copyright=_text(footer.get("copyright")),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _links(items: Any, url: Callable[[Any], str | None]) -> Iterator[SiteLink]:
    """Links and those below them, in one row, without those that lead nowhere."""
    for item in map(_object, _list(items)):
        to = url(item)
        if to is not None:
            yield SiteLink(_text(item.get("title")) or to.split("?")[0], to)
        yield from (_links(item["links"], url) if isinstance(item.get("links"), list) else ())


# -- colors ------------------------------------------------------------------------------------------------------------------------


def _accent(color: Mapping[str, Any]) -> tuple[str, str]:
    return readable(color.get("light"), LIGHT), readable(color.get("dark"), DARK)


def readable(color: Any, ground: str) -> str:
    """The color, moved towards black or white until text of it can be read on the ground; a default for what is not a color."""
    rgb = _rgb(color) if isinstance(color, str) and COLOR.fullmatch(color) else _rgb("#346ddb")
    below = _rgb(ground)
    end = 0 if _luminance(below) > 0.5 else 255
    for part in range(0, 101, 5):
        red, green, blue = (round(value + (end - value) * part / 100) for value in rgb)
        if _contrast((red, green, blue), below) >= CONTRAST:
            break
    return f"#{red:02x}{green:02x}{blue:02x}"


def _rgb(color: str) -> Rgb:
    digits = color[1:] if len(color) > 4 else "".join(digit * 2 for digit in color[1:])
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def _luminance(color: Rgb) -> float:
    """Relative luminance, https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in (value / 255 for value in color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(first: Rgb, second: Rgb) -> float:
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)
