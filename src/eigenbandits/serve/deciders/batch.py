"""One batch of a decider: choices by the published belief, and rewards, written in one transaction."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from eigenbandits.serve.deciders.entries import Entries, Outcome, add
from eigenbandits.serve.deciders.published_policy import PublishedPolicy
from eigenbandits.serve.errors import PolicyError, Refusal, internal, invalid, unknown
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import Database, schema
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import Lane, LaneJournal
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.batch_rows import BatchRows
from eigenbandits.serve.writer.commands import Command, DecideCommand, PolicyCommand, RewardCommand, Task, resolve
from eigenbandits.serve.writer.decision_rows import decision_row
from eigenbandits.serve.writer.outcomes import different_request, wrong_dim


class DeciderBatch(Batch):
    """Chooses in memory; only the database knows the outcome of requests and rewards that others may have sent, too.

    Parameters
    ----------
    lane, database
        The lane of the connection that will write the batch, and the database.
    policies, journal, metrics, now, epoch
        As for `Batch`.
    """

    def __init__(
        self,
        lane: Lane,
        database: Database,
        policies: Mapping[int, PublishedPolicy],
        journal: Journal,
        metrics: Metrics,
        now: float,
        epoch: int,
    ) -> None:
        super().__init__(dict(policies), journal, (), metrics, now, epoch)
        self._lane = lane
        self._database = database
        self._published = policies
        # What the transaction determines, and what is answered then.
        self._decided: list[tuple[DecideCommand, list[schema.DecisionRow]]] = []
        # With the numbers of the rewards' arrivals.
        self._rewarded: list[tuple[RewardCommand, list[int]]] = []
        self._dims: dict[int, int] = {}
        self._scored: dict[int, bool] = {}
        # What is counted then: decisions by policy, and rewards by policy and outcome.
        self._decisions: Counter[int] = Counter()
        self._rewards: Counter[tuple[int, str]] = Counter()

    def apply(self, commands: Sequence[PolicyCommand]) -> None:
        """Choose for all decide commands, and number all rewards."""
        for command in commands:
            hosted = self._published.get(command.policy)
            if hosted is None:
                self.results.append((command, unknown("policy", "that it was sent to")))
            elif isinstance(command, DecideCommand):
                self._propose(hosted, command)
            else:
                self._rewarded.append((command, [self._lane.next() for _ in command.rewards]))

    def _propose(self, hosted: PublishedPolicy, command: DecideCommand) -> None:
        started = time.perf_counter()
        # Refused here if the length is known; two deciders may see the first vectors of a policy at the same time.
        dim = self._dims.get(hosted.id, hosted.dim)
        scored = self._scored.get(hosted.id, hosted.scored)
        rows = []
        for decision_set, request in zip(command.sets, command.requests, strict=True):
            actions = decision_set.actions(hosted.catalogue)
            if dim is not None and actions.shape[1] != dim:
                self.results.append((command, wrong_dim(actions.shape[1], dim)))
                return
            dim = actions.shape[1]
            if scored is not None and scored is (decision_set.options.scores is None):
                self.results.append((command, wrong_scores(scored)))
                return
            scored = decision_set.options.scores is not None
            number = self._lane.next()
            try:
                decision, chooser = hosted.propose(decision_set, actions, number)
            except ValueError as error:
                raise PolicyError([command], invalid(f"The policy refuses this: {error}", "actions")) from error
            except Exception as error:
                raise PolicyError([command], internal()) from error
            arguments = (decision_set, decision, number, request, self.now, self.epoch)
            rows.append(decision_row(hosted.id, hosted.catalogue, *arguments, chooser=chooser, belief=hosted.version))
        if hosted.dim is None and dim is not None:
            self._dims[hosted.id] = dim
        if hosted.scored is None and scored is not None:
            self._scored[hosted.id] = scored
        self._decided.append((command, rows))
        self.metrics.choose_seconds.observe(time.perf_counter() - started)

    # Writing

    @property
    def commands(self) -> list[Command]:
        """All commands, with a result or without."""
        commands: list[Command] = [command for command, _ in self.results]
        commands += [command for command, _ in self._decided]
        return commands + [command for command, _ in self._rewarded]

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that waits for the results."""
        loops = (command.future.get_loop() for command in self.commands if not isinstance(command, Task))
        return next(loops)

    def entries(self) -> Entries:
        """Return what the batch adds to the log."""
        decided = [(command.policy, list(map(schema.DECISIONS.values, rows))) for command, rows in self._decided]
        rewarded = []
        for command, arrivals in self._rewarded:
            later = self._published[command.policy].spec.learn_at == "time_to_live"
            sent = [(arrival, tuple(one)) for arrival, one in zip(arrivals, command.rewards, strict=True)]
            rewarded.append((command.policy, later, sent))
        return Entries(self._lane.lane, self.now, self._dims, self._scored, decided, rewarded)

    @staticmethod
    def write(batches: Sequence[BatchRows], journal: Journal) -> None:
        """Write batches together; the caller commits."""
        own = [batch for batch in batches if isinstance(batch, DeciderBatch)]
        outcomes = add(own[0]._database, LaneJournal(journal.connection), [batch.entries() for batch in own])
        for batch, found in zip(own, outcomes, strict=True):
            batch.conclude(found)

    def conclude(self, found: Outcome) -> None:
        """Determine the results of all commands from what came of the entries."""
        refused: dict[int, Refusal] = {}
        for policy, dim in found.dims.items():
            self._published[policy].fixed_dim = dim
            if dim != self._dims[policy]:
                refused[policy] = wrong_dim(self._dims[policy], dim)
        for policy, scored in found.scored.items():
            self._published[policy].fixed_scored = scored
            if scored != self._scored[policy]:
                refused[policy] = wrong_scores(scored)
        for (command, made), earlier in zip(self._decided, found.decided, strict=True):
            if command.policy in refused or earlier is None:
                self.results.append((command, refused.get(command.policy) or different_request()))
                continue
            for place, values in earlier.items():
                made[place] = schema.DECISIONS.read(values)
            self.results.append((command, made))
            self._decisions[command.policy] += len(made) - len(earlier)
        for (rewards, _), outcomes in zip(self._rewarded, found.rewarded, strict=True):
            self.results.append((rewards, [one if isinstance(one, str) else Refusal(*one) for one in outcomes]))
            self._rewards.update((rewards.policy, one if isinstance(one, str) else "refused") for one in outcomes)

    def acknowledge(self) -> None:
        """After the batch has been committed, resolve its commands and count."""
        resolve(self.results)
        for policy, count in self._decisions.items():
            self.metrics.decisions.labels(self._published[policy].name).inc(count)
        for (policy, outcome), count in self._rewards.items():
            self.metrics.count_rewards(self._published[policy].name, {outcome: count})
        for done in (self.results, self._decided, self._rewarded, self._decisions, self._rewards):
            done.clear()


def wrong_scores(scored: bool) -> Refusal:
    """Return the refusal for a request with scores if others have none, or the reverse."""
    verb = "has" if scored else "has no"
    return invalid(f"This policy {verb} scores since its first decision; expected the same here.", "scores")
