"""`ChangeDetector`: notices that a model's answers have become better or worse than expected."""

from __future__ import annotations

from typing import ClassVar

from eigenbandits.component import Component

# The change that is looked for, in standard deviations of a model's residuals, and the log-likelihood ratio that
# proves it: false alarms are at least e^PROVED ≈ 3,000 answers apart on average for normal residuals (Lorden 1971), and
# a change of this size is found after about PROVED/(CHANGE²/2) = 16 answers. That one standard deviation is the change
# that matters, and that 3,000 answers are far enough apart, is judgment.
CHANGE, PROVED = 1.0, 8.0
# Residuals beyond so many standard deviations count as this many: a few very bad answers prove nothing. Clipped answers
# add CHANGE · CLIP − CHANGE²/2 = 2 each, so that it takes at least 5 to exceed PROVED; that 5 are enough is judgment.
CLIP = 2.5
# Answers before residuals are judged, and the number over which their variance is averaged at most.
WARM_UP, WINDOW = 8, 200
# A model's variance is taken to be at least this part of the mean over all models.
LEAST_VARIANCE = 0.1


class ChangeDetector(Component):
    """A two-sided CUSUM (Page 1954) of each model's residuals, in their own standard deviations.

    With z a residual in standard deviations, ±z·δ − δ²/2 is the log-likelihood ratio of a mean that has moved by ±δ.
    These are added up, but never below 0; where a sum exceeds `PROVED` the model has changed, and did so when the sum
    last left 0.

    Examples
    --------
    >>> detector = ChangeDetector()
    >>> for number in range(41):
    ...     assert detector.note(0, (-1) ** number * 0.1, number) is None
    >>> [detector.note(0, -0.2, number) for number in range(41, 47)]  # the change began with answer 41
    [None, None, None, None, None, 41]
    """

    _state_names: ClassVar[tuple[str, ...]] = ("sums", "starts", "variances", "counts")

    def __init__(self) -> None:
        self.sums: list[list[float]] = []
        self.starts: list[list[int]] = []
        self.variances: list[float] = []
        self.counts: list[int] = []

    def note(self, model: int, residual: float, number: int) -> int | None:
        """Take note of a residual; return the number of the first answer after a change, if there was one."""
        while len(self.sums) <= model:
            self.sums.append([0.0, 0.0])
            self.starts.append([number, number])
            self.variances.append(0.0)
            self.counts.append(0)
        self.counts[model] += 1
        square, share = residual * residual, 1.0 / min(self.counts[model], WINDOW)
        known = [value for value, count in zip(self.variances, self.counts, strict=True) if count > 1]
        before = self.variances[model]
        self.variances[model] += share * (square - before)
        if self.counts[model] <= WARM_UP:
            return None
        variance = max(before, LEAST_VARIANCE * sum(known) / len(known))
        if variance <= 0.0:
            return None
        z = max(-CLIP, min(residual / variance**0.5, CLIP))
        for side, sign in enumerate((-1.0, 1.0)):
            if self.sums[model][side] <= 0.0:
                self.starts[model][side] = number
            self.sums[model][side] = max(0.0, self.sums[model][side] + CHANGE * sign * z - 0.5 * CHANGE**2)
        side = 0 if self.sums[model][0] >= self.sums[model][1] else 1
        return self.starts[model][side] if self.sums[model][side] > PROVED else None

    def reset(self) -> None:
        """Begin again: the answers have been renumbered, or the belief was made anew."""
        self.sums = [[0.0, 0.0] for _ in self.sums]

    def select(self, places: list[int]) -> None:
        """Keep the models at these places, in this order."""
        kept = [place for place in places if place < len(self.sums)]
        self.sums = [self.sums[place] for place in kept]
        self.starts = [self.starts[place] for place in kept]
        self.variances = [self.variances[place] for place in kept]
        self.counts = [self.counts[place] for place in kept]
