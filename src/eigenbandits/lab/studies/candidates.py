"""Candidates: the policies of a study that compares with other libraries, and which of them can run here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eigenbandits.extras import MissingExtraError, need
from eigenbandits.lab.errors import unknown

_TITLES = {"vowpalwabbit": "Vowpal Wabbit", "mab2rec": "mab2rec"}


@dataclass(frozen=True)
class Candidate:
    """One policy of a table.

    Attributes
    ----------
    policy : Policy or mapping
        As an experiment takes it.
    description : str
        What it is.
    tuned : bool
        Whether a setting was chosen that its user would have to find: it is shown, but not used as the best.
    module : str
        The package of the extra "peers" that it needs, if any.
    """

    policy: Any
    description: str
    tuned: bool = False
    module: str = ""

    def skip(self) -> str | None:
        """Return why it cannot run here, or None if it can."""
        if not self.module:
            return None
        try:
            need("peers", self.module, what=_TITLES[self.module])
        except MissingExtraError as error:
            return str(error)
        return None


def available(
    known: Mapping[str, Candidate], wanted: Iterable[str] | None = None
) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Return the candidates that can run here, by label, and why the others cannot; all of them, or those wanted."""
    labels = list(known if wanted is None else wanted)
    for label in labels:
        if label not in known:
            raise unknown("policy", label, known)
    skipped = {label: reason for label in labels if (reason := known[label].skip()) is not None}
    return {label: one for label, one in known.items() if label in labels and label not in skipped}, skipped
