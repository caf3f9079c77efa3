"""The examples of policies in a file: read, and compared with what the policies do.

In: a file, and the policies of a project where the file has none. Out: cases, and a sentence for each difference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reconciler.config.keys import POLICIES
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.language.variables import Variables
from reconciler.config.source.nodes import Map
from reconciler.config.source.problems import Problems, described
from reconciler.config.source.reader import FILE_MAX, read
from reconciler.errors import UsageError
from reconciler.features.policies.cases import EXAMPLES, FORM, Case, CasesReader
from reconciler.features.policies.section.reading import PolicySections
from reconciler.links import read_file
from reconciler.model.policies import Policies
from reconciler.resource import Kinds
from reconciler.run.loading import now


def document(file: Path, problems: Problems, what: str, *, name: str = "") -> Map | None:
    """The nodes of a file; None, with the problems reported or raised, if it is not a map. `what`: what the map has, in messages. `name`:
    of the file in positions, if it is another one."""
    try:
        text = read_file(file, FILE_MAX)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"{file} cannot be read: {(reason or 'unknown reason').lower()}", id="RC-file-not-read") from error
    nodes = read(text, name or file.as_posix())
    problems.found += nodes.problems
    if nodes.data is None or nodes.problems:
        return None
    if isinstance(nodes.data, Map):
        return nodes.data
    problems.add(nodes.data.at, f"this must be a map with {what}, not {described(nodes.data)}", id="RC-wrong-form")
    return None


def inline(kinds: Kinds, top: Map, problems: Problems) -> Policies | None:
    """The policies that the file itself contains; None if it contains none."""
    entries = {name: [top.entries[name]] if name in top.entries and name != "exceptions" else [] for name in POLICIES}
    if not any(entries.values()):
        return None
    partial, problems.partial = problems.partial, True  # no resource is declared here, so no pattern can match one
    evaluation = Evaluation(Path(), Variables({}, frozenset(), frozenset()), None, problems)
    policies = PolicySections(kinds, {}, problems, evaluation).read(entries)
    problems.partial = partial
    return policies


def cases(kinds: Kinds, top: Map, policies: Policies, problems: Problems) -> list[Case]:
    """The examples of a file; none, with a problem, if it has none."""
    if EXAMPLES not in top.entries:
        problems.add(top.at, f"there are no examples; {FORM}", id="RC-missing-key")
        return []
    reading = CasesReader(kinds, [policy.id for policy in policies.rules], problems, now().date())
    return reading.cases(top.entries[EXAMPLES])


Loaded = Callable[[str | None], Policies]
"""The policies of a project in an environment."""
