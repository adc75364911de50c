"""Lanes: rows written by several deciders at once, numbered so that a learner can follow them without missing any.

A lane belongs to one connection of one process, and a connection commits one transaction at a time. So whoever sees a
row of a lane sees all earlier rows of the lane, which no sequence shared by several connections can guarantee.
"""

from dataclasses import dataclass
from typing import Any

from eigenbandits.serve.storage.table import Table

# The number of bits of a number within its lane; the bits above are the lane's own number, where 0 stands for decisions
# made by a single-process service.
BITS = 40
# As many as fit into numbers of 18 digits, the limit for ids. Each start of a process opens a lane, and so does each
# reconnection.
MOST_LANES = 10**18 >> BITS
# The name of the meta row that counts the lanes; a database that has it is served by deciders and a learner.
LAST_LANE = "last_lane"
# The name of the meta row with the time at which the learner had last caught up.
CAUGHT_UP = "caught_up"


def first_of(lane: int) -> int:
    """Return the number before the first number of a lane."""
    return lane << BITS


def last_of(lane: int) -> int:
    """Return the last number of a lane."""
    return ((lane + 1) << BITS) - 1


@dataclass(slots=True)
class LaneRow:
    """A lane that may still be written to, and its owner."""

    lane: int
    owner: str
    opened_at: float


@dataclass(slots=True)
class TailRow:
    """The last number of a policy in a lane, written in the same transaction as the rows up to it."""

    policy: int
    lane: int
    last: int


@dataclass(slots=True)
class CursorRow:
    """How far the learner has followed a policy in a lane, and up to which of its decisions time has run out."""

    policy: int
    lane: int
    through: int
    expired: int


@dataclass(slots=True)
class BeliefRow:
    """The belief by which deciders choose for a policy: the policy's file, as of a position of its log."""

    policy: int
    version: int
    published_at: float
    content: bytes


LANES = Table("lanes", LaneRow, "lane")
TAILS = Table("tails", TailRow, "policy, lane")
CURSORS = Table("cursors", CursorRow, "policy, lane")
BELIEFS = Table("beliefs", BeliefRow, "policy, version")

OF_A_POLICY: tuple[Table[Any], ...] = (TAILS, CURSORS, BELIEFS)
TABLES: tuple[Table[Any], ...] = (LANES, *OF_A_POLICY)
INDEX = "CREATE INDEX IF NOT EXISTS arrivals ON rewards (policy, arrival) WHERE arrival IS NOT NULL"
