"""Prompts: how to do what people ask for most, as steps with the tools. Their texts are ours; what a person typed is quoted in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.report.formats.brief import one_line

END: Final = (
    "Do not apply anything: people do that. At the end, show the changed files and the plan, deletions, exposures and URLs that stop "
    "working first, and say what a person must consent to."
)


@dataclass(frozen=True)
class PromptArgument:
    """What a person types. `asks`: its description."""

    name: str
    asks: str
    required: bool = True


@dataclass(frozen=True)
class PromptRow:
    """One prompt. `steps`: with `{name}` where an argument is quoted."""

    name: str
    says: str
    arguments: tuple[PromptArgument, ...]
    steps: tuple[str, ...]

    def text(self, given: Mapping[str, str]) -> str:
        """The prompt for these arguments. Raises `KeyError` for one that is missing."""
        known = {row.name: given[row.name] if row.required else given.get(row.name, "not said") for row in self.arguments}
        shown = {name: '"' + one_line(value).replace('"', "'") + '"' for name, value in known.items()}
        lines = [f"{number}. {step.format(**shown)}" for number, step in enumerate(self.steps, 1)]
        return "\n".join([self.says, "", *lines, "", END])


FIRST: Final = "Call explain with word conventions, and follow the conventions of the repository."
CHECK: Final = "Call validate, then plan. Correct what validate reports."
REHEARSE: Final = "Call rehearse: it shows who could read more and which URLs would stop working, also on the way."

PROMPTS: Final[tuple[PromptRow, ...]] = (
    PromptRow(
        "restructure-a-site",
        "Restructure a site of the documentation.",
        (PromptArgument("site", "The site: its key or address"), PromptArgument("goal", "How it is meant to become")),
        (
            FIRST,
            "The site is {site}. The goal is {goal}. Call find and show for the site, its sections and its spaces.",
            "Call propose with the operations that change the structure. Keep keys; where a key has to change, rename writes previously.",
            "Keep URLs: leave each path as it is. Where a URL has to move or end, print the lines of urls for a person.",
            CHECK,
            REHEARSE,
        ),
    ),
    PromptRow(
        "add-a-version",
        "Add a version of a product's documentation, beside the present one.",
        (PromptArgument("space", "The space of the present version: its key or address"), PromptArgument("version", "The new version")),
        (
            FIRST,
            "The present version is {space}, the new one {version}. Call show for the space, and find for the sections that show it.",
            "Call propose: add a new space with duplicateOf, or one that exists by id, after the present one, and titled with its version.",
            "In the same call, add it to the section as a site-space with a path of its own. The default keeps its path, and so its URLs.",
            CHECK,
            REHEARSE,
        ),
    ),
    PromptRow(
        "give-temporary-access",
        "Give somebody access for a limited time.",
        (
            PromptArgument("who", "Who needs access"),
            PromptArgument("what", "What they need to read: a site, or a space"),
            PromptArgument("until", "The last day", required=False),
        ),
        (
            FIRST,
            "{who} needs to read {what}, until {until}. Call access, and show for what they need: it may be readable already.",
            "Prefer a share link of the site, with a name that says whom it is for; it ends when its line is removed. Call propose. "
            "Do not make anything public for one reader.",
            "Print the lines of an access test with as, sees and mustNotSee for a person: it refuses a wider opening.",
            CHECK,
            "Call access again, and compare: nothing else may gain a reader.",
        ),
    ),
    PromptRow(
        "explain-this-drift",
        "Explain what was changed outside Reconciler, and what to do about it.",
        (PromptArgument("address", "Only this address", required=False),),
        (
            FIRST,
            "The address is {address}. Call drift; with an address, set target to it.",
            "For each line, call show: its history says what the last run sent. Say what changed, whether readers or URLs are concerned, "
            "and how serious it is.",
            "For each, recommend one: apply restores what is declared; reconciler drift --accept ADDRESS.FIELD writes the change into the "
            "files; ignoreChanges leaves the field alone from now on. To put back one group only, its id goes to reconciler drift "
            "--revert-plan FILE --group ID.",
        ),
    ),
)
