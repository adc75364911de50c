"""`History`: what a router has done, over time and by model, for its page and its reports."""

import math
from typing import Any, ClassVar

from eigenbandits.component import Component

# Requests are counted in at most so many periods; where there are more, neighbors are joined.
PERIODS = 120


class History(Component):
    """Counts by period and by model.

    Attributes
    ----------
    periods
        One for each `length` requests, with the counts of `empty_counts` and the requests of each model.
    models
        The counts of each model, and the request number at which it was added.
    length
        Requests in a period.
    requests
        All requests so far.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("periods", "models", "length", "requests", "seconds")

    def __init__(self) -> None:
        self.periods: list[dict[str, Any]] = []
        self.models: dict[str, dict[str, Any]] = {}
        self.length = 10
        self.requests = 0
        # Seconds spent on encoding prompts and on routing them.
        self.seconds = {"encoding": 0.0, "routing": 0.0}

    def add_model(self, name: str) -> None:
        """Add a model."""
        if name not in self.models:
            self.models[name] = {"added": self.requests, **empty_counts()}

    def routed(self, model: str, encoding: float, routing: float) -> int:
        """Count a request; return its number."""
        if self.requests % self.length == 0:
            if len(self.periods) == PERIODS:
                self.periods = [_joined(*self.periods[place : place + 2]) for place in range(0, len(self.periods), 2)]
                self.length *= 2
            self.periods.append({**empty_counts(), "shares": {}})
        period = self.periods[-1]
        period["requests"] += 1
        period["shares"][model] = period["shares"].get(model, 0) + 1
        self.models[model]["requests"] += 1
        self.requests += 1
        self.seconds["encoding"] += encoding
        self.seconds["routing"] += routing
        return self.requests - 1

    def answered(self, number: int, model: str, reward: float, cost: float, latency: float) -> None:
        """Count the feedback to a request."""
        for counts in self._counts(number, model):
            counts["answers"] += 1
            counts["quality"] += reward
            if not math.isnan(cost):
                counts["priced"] += 1
                counts["dollars"] += cost
            if not math.isnan(latency):
                counts["timed"] += 1
                counts["latency"] += latency

    def failed(self, number: int, model: str) -> None:
        """Count a request that its model did not answer."""
        for counts in self._counts(number, model):
            counts["failures"] += 1

    def _counts(self, number: int, model: str) -> list[dict[str, Any]]:
        place = number // self.length
        period = self.periods[place : place + 1]
        return [*period, *([self.models[model]] if model in self.models else [])]


def empty_counts() -> dict[str, Any]:
    """Return counts of requests, answers and failures, and sums of quality, dollars and seconds, all 0."""
    names = ("requests", "answers", "failures", "quality", "priced", "dollars", "timed", "latency")
    return dict.fromkeys(names, 0)


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    shares = dict(first["shares"])
    for name, count in second["shares"].items():
        shares[name] = shares.get(name, 0) + count
    sums = {name: first[name] + second[name] for name in empty_counts()}
    return {**sums, "shares": shares}
