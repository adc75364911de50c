"""`ChangeDetector`: detects that a model's answers have become better or worse than expected."""

import math
from typing import ClassVar

from eigenbandits.component import Component

# The change that is looked for, in standard deviations of a model's residuals, and the log-likelihood ratio that
# proves it: false alarms are at least e^PROVED ≈ 3,000 answers apart on average (Lorden 1971), and a change of this
# size is found after about PROVED/(CHANGE²/2) = 16 answers. `eigenbandits router calibrate` has a study of both.
CHANGE, PROVED = 1.0, 8.0
# Residuals beyond so many standard deviations count as this many, so that a few very bad answers prove nothing: each
# adds at most CHANGE · CLIP − CHANGE²/2 = 2, and it takes at least 5 to exceed PROVED.
CLIP = 2.5
# Answers before residuals are judged, and the number over which their moments are averaged at most.
WARM_UP, WINDOW = 8, 200
# A model's variance is taken to be at least this part of the mean over all models: one that has always given the same
# answers so far has not proved that it always will.
LEAST_VARIANCE = 0.1


class ChangeDetector(Component):
    """A two-sided CUSUM (Page 1954) of each model's residuals, in their own standard deviations.

    With z a residual in standard deviations, ±δz − ψ± is the log-likelihood ratio of the same residuals tilted toward
    ±δ, with ψ± = log E e^(±δz), which is δ²/2 for normal ones. Judgments are not normal: of answers that are right or
    wrong, or good with a few that are bad, the mean of e^(±δz) over the latest answers gives ψ±, at least δ²/2. The
    ratios are added up, but never below 0; where a sum exceeds `PROVED` the model has changed, and did so when the sum
    last left 0.

    Examples
    --------
    >>> detector = ChangeDetector()
    >>> for number in range(41):
    ...     assert detector.note(0, (-1) ** number * 0.1, number) is None
    >>> [detector.note(0, -0.2, number) for number in range(41, 48)]  # the change began with answer 41
    [None, None, None, None, None, None, 41]
    """

    _state_names: ClassVar[tuple[str, ...]] = ("sums", "starts", "variances", "tilts", "counts")

    def __init__(self) -> None:
        # For each model: the sums for the worse and for the better, and where they left 0.
        self.sums: list[list[float]] = []
        self.starts: list[list[int]] = []
        # The means of z² and of e^(±δz), and the number of residuals.
        self.variances: list[float] = []
        self.tilts: list[list[float]] = []
        self.counts: list[int] = []

    def note(self, model: int, residual: float, number: int) -> int | None:
        """Add a residual; return the number of the first answer after a change, if one was detected."""
        while len(self.sums) <= model:
            self.sums.append([0.0, 0.0])
            self.starts.append([number, number])
            self.variances.append(0.0)
            self.tilts.append([1.0, 1.0])
            self.counts.append(0)
        self.counts[model] += 1
        share = 1.0 / min(self.counts[model], WINDOW)
        known = [value for value, count in zip(self.variances, self.counts, strict=True) if count > 1]
        before = self.variances[model]
        self.variances[model] += share * (residual * residual - before)
        if self.counts[model] <= WARM_UP:
            return None
        variance = max(before, LEAST_VARIANCE * sum(known) / len(known))
        if variance <= 0.0:
            return None
        z = max(-CLIP, min(residual / math.sqrt(variance), CLIP))
        sums, tilts = self.sums[model], self.tilts[model]
        for side, shift in enumerate((-CHANGE * z, CHANGE * z)):
            if sums[side] <= 0.0:
                self.starts[model][side] = number
            sums[side] = max(0.0, sums[side] + shift - max(math.log(tilts[side]), 0.5 * CHANGE**2))
            tilts[side] += share * (math.exp(shift) - tilts[side])
        side = 0 if sums[0] >= sums[1] else 1
        return self.starts[model][side] if sums[side] > PROVED else None

    def reset(self) -> None:
        """Start over, since answers were renumbered or the belief was rebuilt."""
        self.sums = [[0.0, 0.0] for _ in self.sums]

    def select(self, places: list[int]) -> None:
        """Keep the models at these places, in this order."""
        kept = [place for place in places if place < len(self.sums)]
        for name in self._state_names:
            values = getattr(self, name)
            setattr(self, name, [values[place] for place in kept])
