"""The rows of the database: the log of each policy, the policies, their catalogues, and the keys."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from eigenbandits.serve.served_decision import ServedDecision
from eigenbandits.serve.storage.table import Table

# The version of the tables; a database of a later one is refused.
VERSION = 1
# Kinds of events: a policy chose in some decision sets, learned from some rewards, or gave up some decisions.
DECIDE, LEARN, EXPIRE = "decide", "learn", "expire"
# Kinds of rewards: sent by a caller, the default after the time to live, or none after it.
GIVEN, DEFAULT, EXPIRED = "given", "default", "expired"


@dataclass(frozen=True, kw_only=True)
class DecisionRow(ServedDecision):
    """A decision in the log.

    Attributes
    ----------
    request
        The caller's own id of the request.
    size
        How many actions there were.
    decided_at
        When it was made.
    content
        The decision set and what else learning needs; see `writer.event_codec`.
    """

    decision: str = field(init=False)
    policy: int
    request: str | None
    size: int
    decided_at: float
    content: bytes

    def __post_init__(self) -> None:
        """Make the id, which is not stored."""
        object.__setattr__(self, "decision", f"{self.policy}-{self.round}")

    def answer(self) -> dict[str, Any]:
        """Return the fields that callers see."""
        values = self.__dict__
        return {name: values[name] for name in _ANSWERED}


_ANSWERED = tuple(one.name for one in fields(ServedDecision))


@dataclass(slots=True)
class EventRow:
    """What a policy did with one batch: the events of a policy, in order, lead to its state."""

    policy: int
    position: int
    kind: str
    content: bytes


@dataclass(slots=True)
class RewardRow:
    """How a decision ended; the key keeps a reward from counting twice, whatever happens above it."""

    policy: int
    number: int
    reward: float | None
    kind: str
    rewarded_at: float


@dataclass(slots=True)
class HistoryRow:
    """What happened in some seconds, from `start` on."""

    policy: int
    start: int
    decisions: int
    rewards: int
    reward_sum: float
    defaults: int


@dataclass
class Head:
    """How far a policy's log has got; it moves in the same transaction as the rows that it counts."""

    position: int = 0
    number: int = 0
    rewards: int = 0
    defaults: int = 0
    expired: int = 0
    expired_through: int = 0
    pruned_through: int = 0
    last_at: float = 0.0

    @property
    def pending(self) -> int:
        """How many decisions wait for their reward."""
        return self.number - self.rewards - self.defaults - self.expired


@dataclass(kw_only=True)
class PolicyRow(Head):
    """A policy, with the head of its log."""

    id: int
    name: str
    spec: str
    created_at: float


@dataclass(slots=True)
class SnapshotRow:
    """The state of a policy at a position of its log."""

    policy: int
    position: int
    content: bytes


@dataclass(slots=True)
class CatalogueRow:
    """A catalogue, without its items."""

    id: int
    name: str
    dim: int
    center: str
    mean: bytes
    digest: str
    version: int
    created_at: float


@dataclass(slots=True)
class ItemRow:
    """An item of a catalogue, from the version in which it was added to that in which it was removed."""

    catalogue: int
    slot: int
    item: str
    added: int
    removed: int | None
    vector: bytes


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key, as its hash; `scopes` are separated by spaces."""

    id: str
    name: str
    scopes: str
    digest: bytes
    created_at: float
    revoked_at: float | None = None


@dataclass(slots=True)
class MetaRow:
    """A fact about the database itself."""

    name: str
    value: str


# The columns that version 1 began with stay in front, where new databases and old ones have them.
_DECISIONS = "policy number request chosen size item propensity estimate upper decided_at content"
META = Table("meta", MetaRow, "name")
KEYS = Table("keys", KeyRow, "id")
CATALOGUES = Table("catalogues", CatalogueRow, "id", unique="name")
ITEMS = Table("items", ItemRow, "catalogue, slot")
POLICIES = Table("policies", PolicyRow, "id", unique="name", first="id name spec created_at")
EVENTS = Table("events", EventRow, "policy, position")
DECISIONS = Table(
    "decisions", DecisionRow, "policy, number", names={"index": "chosen", "round": "number"}, first=_DECISIONS
)
REWARDS = Table("rewards", RewardRow, "policy, number")
HISTORY = Table("history", HistoryRow, "policy, start")
SNAPSHOTS = Table("snapshots", SnapshotRow, "policy, position")

TABLES: tuple[Table[Any], ...] = (
    *(META, KEYS, CATALOGUES, ITEMS, POLICIES),
    *(EVENTS, DECISIONS, REWARDS, HISTORY, SNAPSHOTS),
)
# Those whose rows belong to a policy.
OF_A_POLICY = (EVENTS, DECISIONS, REWARDS, HISTORY, SNAPSHOTS)
INDEX = "CREATE UNIQUE INDEX IF NOT EXISTS requests ON decisions (policy, request) WHERE request IS NOT NULL"
