"""What a decider's batch adds to the log, and what came of it: plain values, which a socket can carry."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.base import Database
from eigenbandits.serve.storage.lane_journal import LaneJournal
from eigenbandits.serve.storage.table import Row
from eigenbandits.serve.writer.commands import SentReward
from eigenbandits.serve.writer.decision_sets import CatalogueSet
from eigenbandits.serve.writer.event_codec import decode_decision, decode_set
from eigenbandits.serve.writer.outcomes import different_reward, outcome, repeats_decision, unknown_decision
from eigenbandits.serve.writer.policy_spec import PolicySpec

# The places of these values in a row of the decisions.
_POLICY, _NUMBER, _REQUEST = map(schema.DECISIONS.columns.index, ("policy", "number", "request"))
# The outcome of a reward: a word, or the arguments of a refusal.
RewardOutcome = str | tuple[int, str, str, str | None]


class Entries(NamedTuple):
    """What a batch adds.

    Attributes
    ----------
    lane, now
        The lane of its numbers, and when it was made.
    dims, scored
        By policy, the length of the vectors and whether there are scores, if nobody has fixed these yet.
    decided
        For each command, its policy and the values of its decisions' rows.
    rewarded
        For each command, its policy, whether rewards are learned at the end of the time to live, and for each reward
        the number of its arrival and the fields of `SentReward`.
    """

    lane: int
    now: float
    dims: dict[int, int]
    scored: dict[int, bool]
    decided: list[tuple[int, list[Row]]]
    rewarded: list[tuple[int, bool, list[tuple[int, Row]]]]


class Outcome(NamedTuple):
    """What came of it.

    Attributes
    ----------
    dims, scored
        What has been fixed, by this or another decider.
    decided
        For each command, the earlier decisions that are the answers to its request ids, by place; None if a request id
        was used for another request, so that nothing of the command was added.
    rewarded
        For each command, the outcome of each reward.
    """

    dims: dict[int, int]
    scored: dict[int, bool]
    decided: list[dict[int, Row] | None]
    rewarded: list[list[RewardOutcome]]


@dataclass(frozen=True, slots=True)
class _Reward:
    row: schema.RewardRow
    sent: SentReward


def add(database: Database, journal: LaneJournal, all_entries: Sequence[Entries]) -> list[Outcome]:
    """Add the entries of several batches in the open transaction; return what came of each."""
    tails: dict[tuple[int, int], int] = {}
    outcomes: list[Outcome] = []
    decided: list[tuple[int, list[Row]]] = []
    for entries in all_entries:
        dims = {policy: journal.fix_dim(policy, dim) for policy, dim in entries.dims.items()}
        scored = {policy: journal.fix_scored(policy, value) for policy, value in entries.scored.items()}
        refused = {id_ for id_ in dims if dims[id_] != entries.dims[id_]}
        refused |= {id_ for id_ in scored if scored[id_] != entries.scored[id_]}
        outcomes.append(Outcome(dims, scored, [], []))
        for policy, rows in entries.decided:
            made = [] if policy in refused else rows
            decided.append((policy, made))
            _move(tails, policy, entries.lane, [row[_NUMBER] for row in made])
        for policy, _, pairs in entries.rewarded:
            _move(tails, policy, entries.lane, [arrival for arrival, _ in pairs])
    answers = _add_decisions(journal, decided)
    rewards = _add_rewards(database, journal, all_entries)
    for entries, result in zip(all_entries, outcomes, strict=True):
        result.decided.extend(next(answers) for _ in entries.decided)
        result.rewarded.extend(next(rewards) for _ in entries.rewarded)
    journal.move_tails(tails)
    return outcomes


def _move(tails: dict[tuple[int, int], int], policy: int, lane: int, numbers: Sequence[int]) -> None:
    if numbers:
        tails[policy, lane] = max(tails.get((policy, lane), 0), *numbers)


def _add_decisions(journal: LaneJournal, decided: Sequence[tuple[int, list[Row]]]) -> Iterator[dict[int, Row] | None]:
    """Insert decisions; if a request id already has a decision, from any decider, that one is the answer."""
    rows = [row for _, made in decided for row in made]
    # In the same order everywhere, so that two deciders with the same requests never wait for each other.
    journal.add_decisions(sorted(rows, key=lambda row: (row[_POLICY], row[_REQUEST] or "")))
    earlier: dict[tuple[int, str | None], schema.DecisionRow] = {}
    for policy in {row[_POLICY] for row in rows}:
        own = {row[_NUMBER]: row[_REQUEST] for row in rows if row[_POLICY] == policy and row[_REQUEST] is not None}
        numbers = journal.numbers_for(policy, sorted(set(own.values())))
        elsewhere = {numbers[request] for number, request in own.items() if numbers[request] != number}
        for known in journal.decisions_of(policy, sorted(elsewhere)).values():
            earlier[policy, known.request] = known
    for policy, made in decided:
        found = {
            place: earlier[policy, row[_REQUEST]]
            for place, row in enumerate(made)
            if (policy, row[_REQUEST]) in earlier
        }
        found = {place: row for place, row in found.items() if row.round != made[place][_NUMBER]}
        if all(_repeats(journal, schema.DECISIONS.read(made[place]), row) for place, row in found.items()):
            yield {place: schema.DECISIONS.values(row) for place, row in found.items()}
        else:
            # All or none: new decisions of this command have not been seen by anyone.
            journal.drop_decisions(policy, [row[_NUMBER] for row in made])
            yield None


def _repeats(journal: LaneJournal, made: schema.DecisionRow, known: schema.DecisionRow) -> bool:
    """Return whether the decision found for a request id is for the same decision set."""
    decision_set, names = decode_set(made.content)[0], dict[int, str]()
    before, _ = decode_decision(known.content)
    if isinstance(decision_set, CatalogueSet) and isinstance(before, CatalogueSet):
        slots = {int(slot) for one in (decision_set, before) if one.slots is not None for slot in one.slots}
        (spec,) = [PolicySpec.from_text(row.spec) for row in journal.policies() if row.id == made.policy]
        names = journal.item_names(str(spec.catalogue), sorted(slots))
    logged = made.index if made.chooser == schema.LOGGED else None
    return repeats_decision(decision_set, logged, known, names)


def _add_rewards(
    database: Database, journal: LaneJournal, all_entries: Sequence[Entries]
) -> Iterator[list[RewardOutcome]]:
    """Insert rewards of existing decisions; the key determines which of several rewards of one decision counts."""
    commands: list[tuple[int, list[_Reward]]] = []
    at_end: set[int] = set()
    for entries in all_entries:
        for policy, later, pairs in entries.rewarded:
            sent = [(arrival, SentReward(*values)) for arrival, values in pairs]
            rewards = [
                _Reward(schema.RewardRow(policy, one.number, one.reward, schema.GIVEN, entries.now, arrival), one)
                for arrival, one in sent
            ]
            commands.append((policy, rewards))
            if later:
                at_end.add(policy)
    # Rewards that were recorded for the end of the time to live, by arrival.
    recorded: dict[int | None, RewardOutcome] = {}
    ended: dict[tuple[int, int], schema.RewardRow] = {}
    origins: dict[tuple[int, int], tuple[int | None, int | None]] = {}
    for policy in sorted({policy for policy, _ in commands}):
        own = [one for id_, rewards in commands if id_ == policy for one in rewards]
        numbers = sorted({one.row.number for one in own})
        known = journal.origins_of(policy, numbers)
        valid = [one for one in own if one.row.number in known and known[one.row.number][0] == one.sent.epoch]
        if policy in at_end:
            recorded |= _record(database, journal, policy, valid)
        else:
            journal.add_rewards(sorted((one.row for one in valid), key=lambda row: row.number))
        ended |= {(policy, number): row for number, row in journal.rewards_of(policy, numbers).items()}
        origins |= {(policy, number): origin for number, origin in known.items()}
    for policy, rewards in commands:
        yield [
            recorded.get(one.row.arrival)
            or _outcome(one, origins.get((policy, one.row.number)), ended.get((policy, one.row.number)))
            for one in rewards
        ]


def _outcome(
    reward: _Reward, origin: tuple[int | None, int | None] | None, ended: schema.RewardRow | None
) -> RewardOutcome:
    """Return the outcome of a reward, given the epoch of its decision and how it has ended."""
    if origin is None or origin[0] != reward.sent.epoch or ended is None:
        return _arguments(unknown_decision(reward.sent, origin))
    return "learned" if ended.arrival == reward.row.arrival else _arguments(outcome(reward.sent, ended, None))


def _arguments(found: str | Refusal) -> RewardOutcome:
    return (found.status, found.code, found.message, found.field) if isinstance(found, Refusal) else found


def _record(
    database: Database, journal: LaneJournal, policy: int, rewards: Sequence[_Reward]
) -> dict[int | None, RewardOutcome]:
    """Record rewards that will be learned when the time to live is over; those that are too late are left out."""
    # No other process may record a part, and the learner may not end any of these decisions, until this is committed.
    database.lock_rewards(journal.connection, policy)
    numbers = sorted({one.row.number for one in rewards})
    ended, parts = journal.rewards_of(policy, numbers), journal.parts_of(policy, numbers)
    outcomes: dict[int | None, RewardOutcome] = {}
    fresh: dict[tuple[int, str], schema.PartRow] = {}
    for one in rewards:
        row, sent = one.row, one.sent
        if row.number in ended:
            continue
        before = parts.get(row.number, {}).get(sent.part)
        if before is not None and (before.reward == sent.reward or not sent.correct):
            same = before.reward == sent.reward
            outcomes[row.arrival] = "repeated" if same else _arguments(different_reward())
            continue
        part = schema.PartRow(policy, row.number, sent.part, sent.reward, row.rewarded_at)
        parts.setdefault(row.number, {})[sent.part] = fresh[row.number, sent.part] = part
        outcomes[row.arrival] = "recorded" if before is None else "corrected"
    journal.put_parts(list(fresh.values()))
    return outcomes
