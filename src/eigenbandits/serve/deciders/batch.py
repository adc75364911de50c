"""One batch of a decider: choices by the published belief, and rewards, written in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from eigenbandits.serve.deciders.published_policy import PublishedPolicy
from eigenbandits.serve.errors import PolicyError, Refusal, internal, invalid, unknown
from eigenbandits.serve.metrics import Metrics
from eigenbandits.serve.storage import Database, schema
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import Lane, LaneJournal
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.batch_rows import BatchRows
from eigenbandits.serve.writer.commands import DecideCommand, PolicyCommand, RewardCommand, SentReward, resolve
from eigenbandits.serve.writer.decision_rows import decision_row
from eigenbandits.serve.writer.decision_sets import DecisionSet
from eigenbandits.serve.writer.hosted_policy import HostedPolicy
from eigenbandits.serve.writer.outcomes import different_request, different_reward, outcome, repeats, unknown_decision


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
        self._rewarded: list[tuple[RewardCommand, list[schema.RewardRow]]] = []
        self._dims: dict[int, int] = {}
        self._scored: dict[int, bool] = {}
        self._after: list[Callable[[], object]] = []

    def apply(self, commands: Sequence[PolicyCommand]) -> None:
        """Choose for all decide commands, and number all rewards."""
        for command in commands:
            hosted = self._published.get(command.policy)
            if hosted is None:
                self.results.append((command, unknown("policy", "that it was sent to")))
            elif isinstance(command, DecideCommand):
                self._propose(hosted, command)
            else:
                rows = [
                    schema.RewardRow(hosted.id, sent.number, sent.reward, schema.GIVEN, self.now, self._lane.next())
                    for sent in command.rewards
                ]
                self._rewarded.append((command, rows))

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
                decision, arm = hosted.propose(decision_set, actions, number)
            except ValueError as error:
                raise PolicyError([command], invalid(f"The policy refuses this: {error}", "actions")) from error
            except Exception as error:
                raise PolicyError([command], internal()) from error
            arguments = (decision_set, decision, number, request, self.now, self.epoch)
            rows.append(decision_row(hosted.id, hosted.catalogue, *arguments, arm=arm, belief=hosted.version))
        if hosted.dim is None and dim is not None:
            self._dims[hosted.id] = dim
        if hosted.scored is None and scored is not None:
            self._scored[hosted.id] = scored
        self._decided.append((command, rows))
        self.metrics.choose_seconds.observe(time.perf_counter() - started)

    # Writing

    @staticmethod
    def write(batches: Sequence[BatchRows], journal: Journal) -> None:
        """Write batches together; the caller commits."""
        decider_batches = [batch for batch in batches if isinstance(batch, DeciderBatch)]
        lanes = LaneJournal(journal.connection)
        tails: dict[tuple[int, int], int] = {}
        for batch in decider_batches:
            batch._agree(lanes)
            last = [(row.policy, row.round) for _, rows in batch._decided for row in rows]
            last += [(row.policy, row.arrival or 0) for _, rows in batch._rewarded for row in rows]
            for policy, number in last:
                place = policy, batch._lane.lane
                tails[place] = max(number, tails.get(place, 0))
        _write_decisions(decider_batches, lanes)
        _write_rewards(decider_batches, lanes)
        lanes.move_tails(tails)

    def _agree(self, journal: LaneJournal) -> None:
        """Agree with the other deciders on the vector length of new policies, and on whether they have scores."""
        for policy, dim in self._dims.items():
            fixed = journal.fix_dim(policy, dim)
            self._published[policy].fixed_dim = fixed
            if fixed != dim:
                self._refuse_all(policy, wrong_dim(dim, fixed))
        for policy, scored in self._scored.items():
            agreed = journal.fix_scored(policy, scored)
            self._published[policy].fixed_scored = agreed
            if agreed != scored:
                self._refuse_all(policy, wrong_scores(agreed))

    def _refuse_all(self, policy: int, refusal: Refusal) -> None:
        self.results += [(command, refusal) for command, _ in self._decided if command.policy == policy]
        self._decided = [one for one in self._decided if one[0].policy != policy]

    def acknowledge(self) -> None:
        """After the batch has been committed, resolve its commands and count."""
        resolve(self.results)
        for count in self._after:
            count()
        for done in (self.results, self._decided, self._rewarded, self._after):
            done.clear()


def _write_decisions(batches: Sequence[DeciderBatch], journal: LaneJournal) -> None:
    """Insert decisions; if a request id already has a decision, from any decider, that one is the answer."""
    rows = [row for batch in batches for _, made in batch._decided for row in made]
    # In the same order everywhere, so that two deciders with the same requests never wait for each other.
    journal.add_decisions(sorted(rows, key=lambda row: (row.policy, row.request or "")))
    others: dict[tuple[int, str | None], schema.DecisionRow] = {}
    for policy in {row.policy for row in rows}:
        own_rows = [row for row in rows if row.policy == policy and row.request is not None]
        numbers = journal.numbers_for(policy, sorted({str(row.request) for row in own_rows}))
        elsewhere = {numbers[str(row.request)] for row in own_rows if numbers[str(row.request)] != row.round}
        for known in journal.decisions_of(policy, sorted(elsewhere)).values():
            others[policy, known.request] = known
    for batch in batches:
        for command, made in batch._decided:
            answers = [row if row.request is None else others.get((row.policy, row.request), row) for row in made]
            if not all(map(partial(_repeats, batch.policies[command.policy]), command.sets, made, answers)):
                # All or none: new decisions of this command have not been seen by anyone.
                journal.drop_decisions(command.policy, [row.round for row in made])
                batch.results.append((command, different_request()))
                continue
            batch.results.append((command, answers))
            fresh = sum(row is answer for row, answer in zip(made, answers, strict=True))
            name = batch.policies[command.policy].name
            batch._after.append(partial(batch.metrics.decisions.labels(name).inc, fresh))


def _repeats(
    hosted: HostedPolicy, decision_set: DecisionSet, made: schema.DecisionRow, answer: schema.DecisionRow
) -> bool:
    """Return whether the decision found for a request id is for the same decision set."""
    return made is answer or repeats(hosted, (decision_set, None), [answer], None)


def _write_rewards(batches: Sequence[DeciderBatch], journal: LaneJournal) -> None:
    """Insert rewards of existing decisions; the key determines which of several rewards of one decision counts."""
    pairs = [
        pair
        for batch in batches
        for command, rows in batch._rewarded
        for pair in zip(rows, command.rewards, strict=True)
    ]
    if not pairs:
        return
    ended: dict[tuple[int, int], schema.RewardRow] = {}
    origins: dict[tuple[int, int], tuple[int | None, int | None]] = {}
    # Rewards that were recorded for the end of the time to live, by arrival.
    recorded: dict[int | None, str | Refusal] = {}
    for policy in sorted({row.policy for row, _ in pairs}):
        own_pairs = [(row, one) for row, one in pairs if row.policy == policy]
        numbers = sorted({row.number for row, _ in own_pairs})
        known = journal.origins_of(policy, numbers)
        valid = [(row, one) for row, one in own_pairs if row.number in known and known[row.number][0] == one.epoch]
        if batches[0].policies[policy].spec.learn_at == "time_to_live":
            recorded |= _record(batches[0]._database, journal, policy, valid)
        else:
            journal.add_rewards(sorted((row for row, _ in valid), key=lambda row: row.number))
        ended |= {(policy, number): row for number, row in journal.rewards_of(policy, numbers).items()}
        origins |= {(policy, number): origin for number, origin in known.items()}
    for batch in batches:
        for command, rows in batch._rewarded:
            outcomes: list[str | Refusal] = [
                recorded.get(row.arrival)
                or _outcome(row, one, origins.get((row.policy, row.number)), ended.get((row.policy, row.number)))
                for row, one in zip(rows, command.rewards, strict=True)
            ]
            batch.results.append((command, outcomes))
            counts = {"learned": 0, "recorded": 0, "corrected": 0, "repeated": 0, "refused": 0}
            for one in outcomes:
                counts["refused" if isinstance(one, Refusal) else one] += 1
            name = batch.policies[command.policy].name
            batch._after.append(partial(batch.metrics.count_rewards, name, counts))


def _outcome(
    row: schema.RewardRow,
    sent: SentReward,
    origin: tuple[int | None, int | None] | None,
    ended: schema.RewardRow | None,
) -> str | Refusal:
    """Return the outcome of a reward, given the epoch of its decision and how it has ended."""
    if origin is None or origin[0] != sent.epoch or ended is None:
        return unknown_decision(sent, origin)
    return "learned" if ended.arrival == row.arrival else outcome(sent, ended, None)


def _record(
    database: Database, journal: LaneJournal, policy: int, rewards: Sequence[tuple[schema.RewardRow, SentReward]]
) -> dict[int | None, str | Refusal]:
    """Record rewards that will be learned when the time to live is over; those that are too late are left out."""
    # No other process may record a part, and the learner may not end any of these decisions, until this is committed.
    database.lock_rewards(journal.connection, policy)
    numbers = sorted({row.number for row, _ in rewards})
    ended, parts = journal.rewards_of(policy, numbers), journal.parts_of(policy, numbers)
    outcomes: dict[int | None, str | Refusal] = {}
    fresh: dict[tuple[int, str], schema.PartRow] = {}
    for row, sent in rewards:
        if row.number in ended:
            continue
        before = parts.get(row.number, {}).get(sent.part)
        if before is not None and (before.reward == sent.reward or not sent.correct):
            outcomes[row.arrival] = "repeated" if before.reward == sent.reward else different_reward()
            continue
        part = schema.PartRow(policy, row.number, sent.part, sent.reward, row.rewarded_at)
        parts.setdefault(row.number, {})[sent.part] = fresh[row.number, sent.part] = part
        outcomes[row.arrival] = "recorded" if before is None else "corrected"
    journal.put_parts(list(fresh.values()))
    return outcomes


def wrong_scores(scored: bool) -> Refusal:
    """Return the refusal for a request with scores if others have none, or the reverse."""
    verb = "has" if scored else "has no"
    return invalid(f"This policy {verb} scores since its first decision; expected the same here.", "scores")


def wrong_dim(width: int, expected: int) -> Refusal:
    """Return the refusal for vectors whose length differs from the first ones'."""
    message = f"The actions have vectors of length {width}; expected vectors of length {expected}."
    return invalid(message, "actions", "wrong_dimension")
