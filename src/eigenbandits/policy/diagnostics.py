"""What a policy knows about itself, as typed fields, and in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from eigenbandits.inputs import Array
from eigenbandits.policy.explanation import explain, warn


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What `Policy.diagnostics` gives; looking changes nothing.

    Attributes
    ----------
    policy
        The policy and its settings.
    rounds
        Choices made so far.
    dim
        Length of the actions, once it is known.
    center
        What is subtracted from the actions; see `Policy`.
    vectors_seen, decision_sets_seen, rewards_learned
        How much went in.
    rank, spectrum, projection_error
        The subspace: its dimensions, the eigenvalues behind it, and the bound on its error.
    noise
        The noise of the rewards, as it was given or learned.
    prior
        The prior that a belief has learned, in a few words.
    widths
        The sizes of that prior, by name.
    warnings
        What a person should do something about.
    summary
        What all of that means, in sentences.
    details
        What only some beliefs and subspaces know: radii, counts, and so on.
    """

    policy: str
    rounds: int
    dim: int | None = None
    center: str = "none"
    vectors_seen: int = 0
    decision_sets_seen: int = 0
    rewards_learned: int = 0
    rank: int | None = None
    spectrum: Array | None = None
    projection_error: float | None = None
    noise: float | None = None
    prior: str | None = None
    widths: dict[str, float] | None = None
    warnings: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def gather(cls, found: Mapping[str, Any]) -> Self:
        """Return what the parts of a policy report: names of fields become fields, all others details."""
        known = {one.name for one in fields(cls)} - {"summary", "details", "warnings"}
        own = {name: value for name, value in found.items() if name in known}
        rest = {name: value for name, value in found.items() if name not in known and name != "warnings"}
        warnings = (*found.get("warnings", ()), *warn(found))
        return cls(**own, warnings=warnings, summary=tuple(explain(found)), details=rest)

    def as_dict(self) -> dict[str, Any]:
        """Return everything in one flat dictionary, for JSON and for tables."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "details"}
        return own | {"warnings": list(self.warnings), "summary": list(self.summary)} | self.details
