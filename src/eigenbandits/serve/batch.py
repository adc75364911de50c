"""One batch of requests in flight: chosen and learned together, then written in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from eigenbandits.serve.errors import Refusal, StorageError, internal, invalid, unknown
from eigenbandits.serve.hosted import DECIDE, EXPIRE, LEARN, Hosted, pack_range, pack_rewards, parts
from eigenbandits.serve.jobs import Answer, Ask, Outcome, Report, deliver
from eigenbandits.serve.journal import BUCKET, Head, Journal
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.sets import AskedSet, Picked, encode
from eigenbandits.serve.storage.base import Row

GIVEN, DEFAULT, EXPIRED = "given", "default", "expired"


class PolicyFailure(Exception):  # noqa: N818 - names whose failure it is
    """A policy could not do what some jobs asked; what it did on the way is not in the log."""

    def __init__(self, jobs: Sequence[Ask | Report], refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.jobs = jobs
        self.refusal = refusal


class Batch:
    """Applies jobs to policies in memory, and gathers what has to be written and answered.

    Until it is committed the policies are ahead of the log: where that fails, those in `touched` must be loaded again.

    Parameters
    ----------
    policies
        All policies, by their id.
    journal
        For reading only: what the batches before this one write may not be in it yet.
    before
        The batches before this one that may not be committed yet.
    metrics, now
        Where things are counted, and the time.
    """

    def __init__(
        self, policies: dict[int, Hosted], journal: Journal, before: Sequence[Batch], metrics: Metrics, now: float
    ) -> None:
        self.policies = policies
        self.metrics = metrics
        self.now = now
        self.touched: list[Hosted] = []
        self.outcomes: list[Outcome] = []
        self.events: list[Row] = []
        self.decisions: list[Row] = []
        self.rewards: list[Row] = []
        self.history: list[Row] = []
        self.heads: dict[int, Head] = {}
        # What is counted only once the batch has been committed.
        self.after: list[Callable[[], None]] = []
        # What the next batch must know before the journal does: rewards and answers, by policy.
        self.settled: dict[tuple[int, int], tuple[float | None, str]] = {}
        self.answered: dict[tuple[int, str], Answer] = {}
        self._journal = journal
        self._before = before

    def apply(self, jobs: Sequence[Ask | Report]) -> None:
        """Let each policy choose for all that ask it, then learn from all that report to it."""
        for id_ in dict.fromkeys(job.policy for job in jobs):
            mine = [job for job in jobs if job.policy == id_]
            hosted = self.policies.get(id_)
            if hosted is None:
                self.outcomes += [(job, unknown("policy", "that it was sent to")) for job in mine]
                continue
            self.touched.append(hosted)
            asks = [job for job in mine if isinstance(job, Ask)]
            reports = [job for job in mine if isinstance(job, Report)]
            chosen = self._decide(hosted, asks) if asks else 0
            learned, total = self._report(hosted, reports) if reports else (0, 0.0)
            if chosen or learned:
                self._close(hosted, chosen, learned, total, 0)
        self._before = ()

    def settle(self, hosted: Hosted, overdue: list[int], through: int) -> None:
        """End decisions that have waited too long: with the default reward, or with none."""
        self.touched.append(hosted)
        reward = hosted.spec.default_reward
        head = hosted.head
        head.expired_through = through
        kind = EXPIRED if reward is None else DEFAULT
        self._add_rewards(hosted, dict.fromkeys(overdue, reward), kind)
        if reward is None and overdue:
            for number in overdue:
                hosted.forget(number)
            # The policy learns nothing from it; what the log says is that their sets are not needed any more.
            self._add_event(hosted, EXPIRE, pack_rewards(overdue, [0.0] * len(overdue)))
            head.expired += len(overdue)
        elif reward is not None and overdue:
            self._learn(hosted, overdue, [reward] * len(overdue), [])
            head.defaults += len(overdue)
        self.after.append(lambda: self.metrics.rewards.labels(hosted.name, kind).inc(len(overdue)))
        self._close(hosted, 0, 0, 0.0, 0 if reward is None else len(overdue))

    def _close(self, hosted: Hosted, chosen: int, learned: int, total: float, defaults: int) -> None:
        hosted.head.last_at = self.now
        self.heads[hosted.id] = replace(hosted.head)
        bucket = int(self.now) // BUCKET * BUCKET
        self.history.append((hosted.id, bucket, chosen, learned, total, defaults))
        hosted.since_snapshot += chosen + learned + defaults

    def _add_event(self, hosted: Hosted, kind: str, content: bytes) -> None:
        hosted.head.position += 1
        self.events.append((hosted.id, hosted.head.position, kind, content))

    def _add_rewards(self, hosted: Hosted, rewards: Mapping[int, float | None], kind: str) -> None:
        self.rewards += [(hosted.id, number, reward, kind, self.now) for number, reward in rewards.items()]
        self.settled |= {(hosted.id, number): (reward, kind) for number, reward in rewards.items()}

    # Choosing

    def _decide(self, hosted: Hosted, asks: list[Ask]) -> int:
        asks = self._fitting(hosted, asks)
        known = self._known(hosted, asks)
        # The place of each new set among those to choose from; a request id that comes twice has one place.
        places: dict[str, int] = {}
        sets: list[AskedSet] = []
        requests: list[str | None] = []
        plans: list[list[Answer | int]] = []
        for ask in asks:
            plan: list[Answer | int] = []
            for asked, request in zip(ask.sets, ask.requests, strict=True):
                if request is not None and request in known:
                    plan.append(known[request])
                elif request is not None and request in places:
                    plan.append(places[request])
                else:
                    if request is not None:
                        places[request] = len(sets)
                    plan.append(len(sets))
                    sets.append(asked)
                    requests.append(request)
            plans.append(plan)
        answers = self._choose(hosted, asks, sets, requests)
        for ask, plan in zip(asks, plans, strict=True):
            self.outcomes.append((ask, [answers[one] if isinstance(one, int) else one for one in plan]))
        return len(answers)

    def _fitting(self, hosted: Hosted, asks: list[Ask]) -> list[Ask]:
        """Refuse what has another length than the vectors that came first, which may be in this very batch."""
        if hosted.catalogue is not None:
            return asks
        dim, fitting = hosted.dim, []
        for ask in asks:
            widths = [asked.actions(None).shape[1] for asked in ask.sets]
            wanted = widths[0] if dim is None else dim
            if any(width != wanted for width in widths):
                message = f"The actions have vectors of length {widths[-1]}; expected vectors of length {wanted}."
                self.outcomes.append((ask, invalid(message, "actions", "wrong_dimension")))
            else:
                dim = wanted
                fitting.append(ask)
        return fitting

    def _known(self, hosted: Hosted, asks: list[Ask]) -> dict[str, Answer]:
        wanted = {request for ask in asks for request in ask.requests if request is not None}
        rows = self._journal.requests_of(hosted.id, sorted(wanted)) if wanted else []
        known = {row[0]: Answer(*row[1:]) for row in rows}
        for batch in self._before:
            known |= {one: batch.answered[hosted.id, one] for one in wanted if (hosted.id, one) in batch.answered}
        return known

    def _choose(
        self, hosted: Hosted, asks: list[Ask], sets: list[AskedSet], requests: list[str | None]
    ) -> list[Answer]:
        answers: list[Answer] = []
        catalogue, dim, names = hosted.catalogue, hosted.dim or 1, iter(requests)
        for part in parts(sets, catalogue, dim):
            begun = time.perf_counter()
            arrays = [asked.actions(catalogue) for asked in sets[part]]
            try:
                decisions = hosted.choose(arrays)
            except ValueError as error:
                raise PolicyFailure(asks, invalid(f"The policy refuses this: {error}", "actions")) from error
            except Exception as error:
                raise PolicyFailure(asks, internal()) from error
            self.metrics.choose_seconds.observe(time.perf_counter() - begun)
            first = hosted.head.number + 1
            for asked, decision, request in zip(sets[part], decisions, islice(names, len(decisions)), strict=True):
                hosted.head.number += 1
                number, index = hosted.head.number, decision.index
                item = asked.item(catalogue, index) if isinstance(asked, Picked) and catalogue is not None else None
                answer = Answer(number, index, item, decision.estimate, decision.upper, decision.propensity)
                answers.append(answer)
                content = encode(asked, decision.forecast)
                told = (item, decision.propensity, decision.estimate, decision.upper, self.now, content)
                self.decisions.append((hosted.id, number, request, index, asked.size(catalogue), *told))
                hosted.remember(number, decision)
                if request is not None:
                    self.answered[hosted.id, request] = answer
            self._add_event(hosted, DECIDE, pack_range(first, len(decisions)))
        self.after.append(lambda: self.metrics.decisions.labels(hosted.name).inc(len(answers)))
        return answers

    # Learning

    def _report(self, hosted: Hosted, reports: list[Report]) -> tuple[int, float]:
        numbers = {number for report in reports for number, _ in report.rewards}
        settled = self._settled(hosted, [number for number in sorted(numbers) if not hosted.is_open(number)])
        fresh: dict[int, float] = {}
        counts = {"learned": 0, "repeated": 0, "refused": 0}
        for report in reports:
            results: list[str | Refusal] = []
            for number, reward in report.rewards:
                result = self._judge(hosted, number, reward, settled, fresh)
                results.append(result)
                counts["refused" if isinstance(result, Refusal) else result] += 1
            self.outcomes.append((report, results))
        if fresh:
            self._learn(hosted, list(fresh), list(fresh.values()), reports)
            self._add_rewards(hosted, fresh, GIVEN)
            hosted.head.rewards += len(fresh)
        self.after.append(lambda: self.metrics.count_rewards(hosted, counts, fresh.values()))
        return len(fresh), sum(fresh.values())

    def _settled(self, hosted: Hosted, numbers: list[int]) -> dict[int, tuple[float | None, str]]:
        """Return reward and kind of those of some decisions that are settled."""
        known = [number for number in numbers if 1 <= number <= hosted.committed]
        found = self._journal.rewards_of(hosted.id, known) if known else {}
        for batch in self._before:
            found |= {one: batch.settled[hosted.id, one] for one in known if (hosted.id, one) in batch.settled}
        return found

    def _judge(
        self,
        hosted: Hosted,
        number: int,
        reward: float,
        settled: dict[int, tuple[float | None, str]],
        fresh: dict[int, float],
    ) -> str | Refusal:
        # Nobody has been told of a decision that is not committed.
        if not 1 <= number <= hosted.committed:
            return unknown("decision", f"{hosted.id}-{number}")
        before, kind = settled.get(number, (fresh.get(number), GIVEN))
        if before is None and kind == GIVEN:
            fresh[number] = reward
            return "learned"
        if before == reward:
            return "repeated"
        if kind == GIVEN:
            message = "This decision has a different reward already; the first one stands."
            return Refusal(409, "different_reward", message, "reward")
        message = "This decision was given up after its time to live; send rewards sooner, or give it a longer one."
        return Refusal(409, "expired", message, "decision")

    def _learn(self, hosted: Hosted, numbers: list[int], rewards: list[float], jobs: Sequence[Ask | Report]) -> None:
        begun = time.perf_counter()
        try:
            hosted.learn(hosted.settle(numbers, self._journal), rewards)
        except StorageError:
            raise
        except Exception as error:
            raise PolicyFailure(jobs, internal()) from error
        self._add_event(hosted, LEARN, pack_rewards(numbers, rewards))
        self.metrics.learn_seconds.observe(time.perf_counter() - begun)

    # Once it has been committed

    def finish(self) -> None:
        """Answer all who asked, and count."""
        for hosted in self.touched:
            if hosted.id in self.heads:
                hosted.committed = self.heads[hosted.id].number
        deliver(self.outcomes)
        for count in self.after:
            count()
        # Later batches may hold on to this one for what it has settled and answered; the rest is done with.
        for done in (self.events, self.decisions, self.rewards, self.history, self.outcomes, self.after):
            done.clear()


def write(batches: Sequence[Batch], journal: Journal) -> None:
    """Write batches together, each kind of row at once; the caller commits."""
    journal.add_events([row for batch in batches for row in batch.events])
    journal.add_decisions([row for batch in batches for row in batch.decisions])
    journal.add_rewards([row for batch in batches for row in batch.rewards])
    journal.add_history([row for batch in batches for row in batch.history])
    heads: dict[int, Head] = {}
    for batch in batches:
        heads |= batch.heads
    journal.move_heads(heads)
