"""The table as Markdown, the chart as SVG, and the machine that they come from."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.rows import Row

MET = {True: "yes", False: "no", None: ""}
COLOURS = {"reconciler": "#2f6fde", "bare GETs": "#9aa4b2", "bound": "#9aa4b2", "decK": "#d9822b", "Terraform": "#7b42bc"}
WIDTH, LEFT, BAR, GAP = 860, 330, 14, 12


def machine() -> str:
    """The processor, the memory, Python, the commit and the date."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor() or "unknown processor")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    day = datetime.now(UTC).date().isoformat()
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, commit {commit or 'unknown'}, {day}"


def table(rows: Sequence[Row]) -> str:
    lines = ["| work | measured | beside it | goal | met |", "|---|---|---|---|---|"]
    lines += [f"| {row.work} | {row.measured} | {row.beside} | {row.goal} | {MET[row.met]} |" for row in rows]
    return "\n".join(lines) + "\n"


def chart(rows: Sequence[Row]) -> str:
    """Bars of seconds, one group for each row that has some."""
    groups = [row for row in rows if row.bars]
    longest = max((seconds for row in groups for seconds in row.bars.values()), default=1.0)
    parts, y = [], GAP
    for row in groups:
        parts.append(f'<text x="{LEFT - 10}" y="{y + BAR - 3}" text-anchor="end">{escape(row.work.replace("`", ""))}</text>')
        for name, seconds in row.bars.items():
            width = max(1.0, seconds / longest * (WIDTH - LEFT - 150))
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[name]}"/>')
            parts.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + BAR - 3}">{escape(name)} {seconds:.2f} s</text>')
            y += BAR
        y += GAP
    style = "<style>text{font:11px sans-serif;fill:#57606a}</style>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}">'
    return "\n".join([head, style, *parts, "</svg>"]) + "\n"
