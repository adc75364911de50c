"""Retention: decisions that ended longer ago than the service keeps them are deleted, from the start of the log."""

from __future__ import annotations

from typing import NamedTuple

from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import ENDINGS
from eigenbandits.serve.writer.event_codec import HEAD, decode_rewards, list_place
from eigenbandits.serve.writer.hosted_policy import HostedPolicy


class Deletable(NamedTuple):
    """What can be deleted: decisions, and the events up to a position; and the time before which there is no more."""

    numbers: list[int]
    through: int
    next_at: float


def deletable(journal: Journal, hosted: HostedPolicy, older: int, before: float, keep: float, most: int) -> Deletable:
    """Return the next part of a log that can be deleted.

    A policy is rebuilt from a snapshot and the events after it, so nothing may be deleted that an event after the older
    of the last two snapshots needs. Decisions that ended in earlier events are not needed.

    Parameters
    ----------
    older
        The position of the older snapshot.
    before
        The time before which a decision must have ended.
    keep
        How many seconds a decision is kept after it has ended.
    most
        The approximate number of decisions to delete at a time.
    """
    numbers: list[int] = []
    through = hosted.head.dropped_through
    for event in journal.events(hosted.id, through, older):
        if event.kind not in ENDINGS:
            continue
        ended = decode_rewards(event.kind, event.content)[0]
        last = max((row.rewarded_at for row in journal.rewards_of(hosted.id, ended).values()), default=0.0)
        if last >= before:
            return Deletable(numbers, through, last + keep)
        if not _whole_lists(journal, hosted, ended, older):
            break
        numbers += ended
        through = event.position
        if len(numbers) >= most:
            return Deletable(numbers, through, 0.0)
    # As far as the snapshots allow; they will move on.
    return Deletable(numbers, through, 0.0)


def _whole_lists(journal: Journal, hosted: HostedPolicy, numbers: list[int], older: int) -> bool:
    """Return whether the lists that these decisions belong to have ended as a whole.

    The rows of a list are learned from the set stored with its first row.
    """
    first = set()
    for number, head in journal.heads_of(hosted.id, numbers, HEAD).items():
        offset, count = list_place(head)
        if offset or count:
            first.add(number - offset)
    if not first:
        return True
    heads = journal.heads_of(hosted.id, sorted(first), HEAD)
    rows = [number + i for number, head in heads.items() for i in range(list_place(head)[1])]
    waiting = set(journal.heads_of(hosted.id, rows, HEAD))
    for event in journal.events(hosted.id, hosted.head.dropped_through, older):
        if event.kind in ENDINGS:
            waiting -= set(decode_rewards(event.kind, event.content)[0])
    return not waiting
