"""Diagnostics: what a policy knows about itself, in typed fields and in sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from eigenbandits.inputs import Array
from eigenbandits.policy.explanation import explain, warn


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What `Policy.diagnostics` returns.

    Attributes
    ----------
    policy
        The policy and its parameters.
    rounds
        Number of choices so far.
    dim
        Length of the actions, once known.
    center
        What is subtracted from the actions; see `Policy`.
    vectors_seen, decision_sets_seen, rewards_learned
        How much data the policy has taken in.
    rank, spectrum, projection_error
        The subspace: its dimension, the eigenvalues of the second moment, and the bound on its error.
    noise
        The noise of the rewards, as given or learned.
    prior
        A short description of the prior that a belief has learned.
    widths
        The scales of that prior, by name.
    warnings
        Problems that someone should act on.
    summary
        What all of this means, in sentences.
    details
        Entries that only some beliefs and subspaces have: radii, counts, and so on.
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
    def gather(cls, report: Mapping[str, Any]) -> Self:
        """Return diagnostics from the report of a policy's parts: known names become fields, all others details."""
        known = {one.name for one in fields(cls)} - {"summary", "details", "warnings"}
        own = {name: value for name, value in report.items() if name in known}
        rest = {name: value for name, value in report.items() if name not in known and name != "warnings"}
        warnings = (*report.get("warnings", ()), *warn(report))
        return cls(**own, warnings=warnings, summary=tuple(explain(report)), details=rest)

    def as_dict(self) -> dict[str, Any]:
        """Return everything in one flat dictionary, for JSON and for tables."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "details"}
        return own | {"warnings": list(self.warnings), "summary": list(self.summary)} | self.details
