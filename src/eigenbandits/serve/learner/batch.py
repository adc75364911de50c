"""One batch of the learner: what one policy learns from the lanes, and the events that record it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from eigenbandits.serve.errors import PolicyError, StorageError, internal
from eigenbandits.serve.storage import schema
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.lane_journal import Arrival, LaneJournal
from eigenbandits.serve.storage.lanes import BeliefRow, CursorRow
from eigenbandits.serve.writer.batch import Batch
from eigenbandits.serve.writer.batch_rows import BatchRows
from eigenbandits.serve.writer.event_codec import encode_numbers, encode_rewards
from eigenbandits.serve.writer.hosted_policy import HostedPolicy


@dataclass
class Page:
    """What is new for one policy: numbers of decisions, how decisions ended, and the cursors after both."""

    numbers: list[int]
    arrivals: list[Arrival]
    cursors: list[CursorRow]


class LearnerBatch(Batch):
    """A batch whose rows are events; decisions and rewards are already in the database."""

    cursors: list[CursorRow]
    beliefs: list[BeliefRow]

    def follow(self, hosted: HostedPolicy, page: Page) -> None:
        """Let a policy record decisions, then learn from rewards; the events fix the order."""
        self.touched.append(hosted)
        self.cursors, self.beliefs = [replace(row) for row in page.cursors], []
        given = [one for one in page.arrivals if one.reward is not None]
        started = time.perf_counter()
        try:
            if page.numbers:
                hosted.follow(page.numbers, self._journal)
                hosted.head.number += len(page.numbers)
                self._add_event(hosted, schema.FOLLOW, encode_numbers(page.numbers))
            if given:
                decisions = [hosted.decided(one.index, one.content) for one in given]
                rewards = [float(one.reward or 0.0) for one in given]
                hosted.learn(decisions, rewards)
                numbers = [one.number for one in given]
                self._add_event(hosted, schema.LEARN, encode_rewards(numbers, rewards))
                choosers = {one.number: one.chooser for one in given}
                self._count_by_chooser(hosted, dict(zip(numbers, rewards, strict=True)), choosers)
        except StorageError:
            raise
        except Exception as error:
            raise PolicyError((), internal()) from error
        self.metrics.learn_seconds.observe(time.perf_counter() - started)
        self._end(hosted, page)

    def _end(self, hosted: HostedPolicy, page: Page) -> None:
        expired = [one.number for one in page.arrivals if one.reward is None]
        if expired:
            self._add_event(hosted, schema.EXPIRE, encode_rewards(expired, [0.0] * len(expired)))
        rewards = [float(one.reward or 0.0) for one in page.arrivals if one.kind == schema.GIVEN]
        defaults = sum(one.kind == schema.DEFAULT for one in page.arrivals)
        head = hosted.head
        head.rewards += len(rewards)
        head.defaults += defaults
        head.expired += len(expired)
        self._move_head(hosted, len(page.numbers), len(rewards), sum(rewards), defaults)
        counts = {schema.DEFAULT: defaults, schema.EXPIRED: len(expired), "learned": len(rewards)}

        def count() -> None:
            self.metrics.decisions.labels(hosted.name).inc(len(page.numbers))
            self.metrics.count_rewards(hosted.name, counts)
            hosted.recent.extend(rewards)

        self._counts.append(count)

    def publish(self, hosted: HostedPolicy, content: bytes) -> None:
        """Publish a belief that has followed the subspace, as of the event that records the publication."""
        self.touched.append(hosted)
        self.cursors = []
        self._add_event(hosted, schema.PUBLISH, b"")
        self.heads[hosted.id] = replace(hosted.head)
        self.beliefs = [BeliefRow(hosted.id, hosted.head.position, self.now, content)]

    @staticmethod
    def write(batches: Sequence[BatchRows], journal: Journal) -> None:
        """Write batches together, with their cursors and beliefs; the caller commits."""
        Batch.write(batches, journal)
        lanes = LaneJournal(journal.connection)
        for batch in batches:
            if isinstance(batch, LearnerBatch):
                lanes.move_cursors(batch.cursors)
                for belief in batch.beliefs:
                    lanes.publish(belief)
