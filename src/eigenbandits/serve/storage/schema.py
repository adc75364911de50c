"""The rows of the database: policies with their logs, catalogues, and keys."""

import re
import secrets
from dataclasses import dataclass, field, fields
from typing import Any

from eigenbandits.serve.served_decision import ServedDecision
from eigenbandits.serve.storage import lanes
from eigenbandits.serve.storage.table import Table

# The version of the tables: an older database is upgraded when it is opened, one of a later version is refused. Version
# 2 added the epoch to decision ids, version 3 costs; earlier versions would not understand these.
VERSION = 3
# Kinds of events: a policy chose from decision sets, learned from rewards, gave up on decisions, recorded decisions
# made by deciders, was published to them, started from another policy's state, learned from rewards and costs, or was
# merged with its replicas.
DECIDE, LEARN, EXPIRE, FOLLOW, PUBLISH, CLONE = "decide", "learn", "expire", "follow", "publish", "clone"
PAY, MERGE = "pay", "merge"
# The kinds of events in which decisions end.
ENDINGS = (LEARN, EXPIRE, PAY)
# Kinds of rewards: sent by a caller, the default after the time to live, or none after it.
GIVEN, DEFAULT, EXPIRED = "given", "default", "expired"
# Who chose: a policy with a holdout, its baseline, or another system. The columns are called "arm".
POLICY, BASELINE, LOGGED = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class DecisionRow(ServedDecision):
    """A decision in the log.

    Attributes
    ----------
    request
        The caller's own request id.
    size
        The number of actions.
    decided_at
        When it was made.
    content
        The decision set and everything else that learning needs; see `writer.event_codec`.
    epoch
        Which run of the service made it: a random number, new whenever a service opens the database. After a backup is
        restored, numbers are reused; the epoch distinguishes a lost decision from the one that now has its number.
        None in rows of version 1.
    chooser
        1 if the baseline chose, see `PolicySpec.holdout`; 2 if another system did; otherwise 0 if there is a holdout.
    belief
        The version of the belief by which a decider chose; None if the latest state was used.
    """

    decision: str = field(init=False)
    policy: int
    request: str | None
    size: int
    decided_at: float
    content: bytes
    epoch: int | None = None
    chooser: int | None = None
    belief: int | None = None

    def __post_init__(self) -> None:
        """Build the id, which is not stored."""
        object.__setattr__(self, "decision", decision_id(self.policy, self.epoch, self.round))

    def answer(self) -> dict[str, Any]:
        """Return the fields that callers see."""
        values = self.__dict__
        return {name: values[name] for name in _ANSWERED}


def decision_id(policy: int, epoch: int | None, number: int) -> str:
    """Return the id of a decision.

    Examples
    --------
    >>> decision_id(3, 255, 17), decision_id(3, None, 17)
    ('3-ff-17', '3-17')
    """
    return f"{policy}-{number}" if epoch is None else f"{policy}-{epoch:x}-{number}"


def read_decision_id(text: str) -> tuple[int, int | None, int] | None:
    """Return the policy, epoch and number in an id; None if the text is not an id.

    Examples
    --------
    >>> read_decision_id("3-ff-17"), read_decision_id("3-17"), read_decision_id("mine")
    ((3, 255, 17), (3, None, 17), None)
    """
    match = _ID.fullmatch(text)
    if match is None:
        return None
    epoch = match["epoch"]
    return int(match["policy"]), None if epoch is None else int(epoch, 16), int(match["number"])


def new_epoch() -> int:
    """Return an epoch that, for all practical purposes, no other run of any service has."""
    return secrets.randbits(47)


# ASCII digits only: int() accepts others, too.
_ID = re.compile(r"(?P<policy>[0-9]{1,18})-(?:(?P<epoch>[0-9a-f]{1,12})-)?(?P<number>[0-9]{1,18})")
_ANSWERED = tuple(one.name for one in fields(ServedDecision))


@dataclass(slots=True)
class EventRow:
    """What a policy did with one batch: a policy's events, in order, lead to its state."""

    policy: int
    position: int
    kind: str
    content: bytes


@dataclass(slots=True)
class RewardRow:
    """How a decision ended; the key keeps a reward from being counted twice, whatever the layers above do.

    `arrival` is its number in the lane in which it was written, if there are lanes; `cost` is what was paid, if known.
    """

    policy: int
    number: int
    reward: float | None
    kind: str
    rewarded_at: float
    arrival: int | None = None
    cost: float | None = None


@dataclass(slots=True)
class PartRow:
    """A part of a reward, or a whole reward named "", that waits for the end of its decision's time to live."""

    policy: int
    number: int
    part: str
    reward: float
    rewarded_at: float


@dataclass(slots=True)
class HistoryRow:
    """What happened in a period of several seconds that begins at `start`."""

    policy: int
    start: int
    decisions: int
    rewards: int
    reward_sum: float
    defaults: int
    default_sum: float = 0.0


@dataclass(slots=True)
class ChooserRow:
    """The rewards of the decisions of one chooser: count, sum, sum of squares."""

    policy: int
    chooser: int
    count: int
    total: float
    squares: float


@dataclass
class Head:
    """The head of a policy's log, which moves in the same transaction as the rows that it counts."""

    position: int = 0
    number: int = 0
    rewards: int = 0
    defaults: int = 0
    expired: int = 0
    expired_through: int = 0
    pruned_through: int = 0
    last_at: float = 0.0
    # The events up to this position were deleted, with the decisions that ended in them; the service keeps neither.
    dropped_through: int = 0

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
    """An item of a catalogue, from the version in which it was added to the version in which it was removed."""

    catalogue: int
    slot: int
    item: str
    added: int
    removed: int | None
    vector: bytes


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key, stored as its hash; `scopes` are separated by spaces, and so are `policies`, the only ones it may use."""

    id: str
    name: str
    scopes: str
    digest: bytes
    created_at: float
    revoked_at: float | None = None
    policies: str | None = None


@dataclass(slots=True)
class MetaRow:
    """A fact about the database itself."""

    name: str
    value: str


# The columns of version 1 stay first, as they are in both new and old databases.
_DECISIONS = "policy number request chosen size item propensity estimate upper decided_at content"
META = Table("meta", MetaRow, "name")
KEYS = Table("keys", KeyRow, "id")
CATALOGUES = Table("catalogues", CatalogueRow, "id", unique="name")
ITEMS = Table("items", ItemRow, "catalogue, slot")
POLICIES = Table("policies", PolicyRow, "id", unique="name", first="id name spec created_at")
EVENTS = Table("events", EventRow, "policy, position")
DECISIONS = Table(
    "decisions",
    DecisionRow,
    "policy, number",
    names={"index": "chosen", "round": "number", "chooser": "arm"},
    first=_DECISIONS,
)
REWARDS = Table("rewards", RewardRow, "policy, number")
PARTS = Table("parts", PartRow, "policy, number, part")
HISTORY = Table("history", HistoryRow, "policy, start")
CHOOSERS = Table("arms", ChooserRow, "policy, arm", names={"chooser": "arm"})
SNAPSHOTS = Table("snapshots", SnapshotRow, "policy, position")

TABLES: tuple[Table[Any], ...] = (
    *(META, KEYS, CATALOGUES, ITEMS, POLICIES),
    *(EVENTS, DECISIONS, REWARDS, PARTS, HISTORY, CHOOSERS, SNAPSHOTS),
    *lanes.TABLES,
)
# The tables whose rows belong to a policy.
OF_A_POLICY: tuple[Table[Any], ...] = (
    *(EVENTS, DECISIONS, REWARDS, PARTS, HISTORY, CHOOSERS, SNAPSHOTS),
    *lanes.OF_A_POLICY,
)
INDEX = "CREATE UNIQUE INDEX IF NOT EXISTS requests ON decisions (policy, request) WHERE request IS NOT NULL"
