"""The bodies of requests and answers, as FastAPI checks and documents them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from eigenbandits.serve.specs import DEFAULT

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$", description="Small letters, digits, - and _.")]
Finite = Annotated[float, Field(allow_inf_nan=False, ge=-1e12, le=1e12)]
Value = StrictBool | StrictInt | Finite | str | None
Vector = Annotated[
    list[float] | str, Field(description="Numbers, or base64 of little-endian float32, which is much quicker.")
]
Matrix = Annotated[
    list[list[float]] | str,
    Field(description="Vectors of equal length, or base64 of little-endian float32, one vector after the other."),
]
Ids = Annotated[list[str], Field(min_length=1)]
Dim = Annotated[StrictInt, Field(ge=1, le=1_000_000)]


class Body(BaseModel):
    """Base of what callers send: a field that is not known is a mistake, not a wish to be ignored."""

    model_config = ConfigDict(extra="forbid")


class NewPolicy(Body):
    """A policy to be created."""

    name: Name
    algorithm: Annotated[str, Field(examples=["EigenUCB"])] = DEFAULT
    parameters: Annotated[dict[str, Value | dict[str, Finite]], Field(examples=[{"seed": 0}])] = {}
    catalogue: Name | None = None
    time_to_live: Annotated[float | None, Field(gt=0, le=1e10, allow_inf_nan=False)] = None
    default_reward: Finite | None = None
    observe_after: Annotated[StrictInt | None, Field(ge=0, le=10**15)] = None
    observe_every: Annotated[StrictInt | None, Field(ge=1, le=10**9)] = None
    keep_sets: StrictBool = True


class Latency(BaseModel):
    """Time to answer over the last minute."""

    count: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None


class PolicyInfo(BaseModel):
    """A policy and how far it has got."""

    name: str
    algorithm: str
    parameters: dict[str, Any]
    catalogue: str | None
    time_to_live: float | None
    default_reward: float | None
    observe_after: int
    observe_every: int
    keep_sets: bool
    created_at: float
    dim: int | None
    decisions: int
    rewards: int
    defaults: int
    expired: int
    pending: int
    latency: dict[str, Latency]


class Policies(BaseModel):
    """All policies."""

    policies: list[PolicyInfo]


class Diagnostics(BaseModel):
    """What a policy knows about itself."""

    policy: str
    diagnostics: dict[str, Any]


class Bucket(BaseModel):
    """What happened in some seconds."""

    start: float
    decisions: int
    rewards: int
    reward_sum: float
    defaults: int


class History(BaseModel):
    """What happened over time, oldest first; seconds in which nothing happened are left out."""

    bucket_seconds: int
    buckets: list[Bucket]


class Decide(Body):
    """One decision: `actions` for a policy without a catalogue, `query` and `items` for one with a catalogue."""

    actions: Matrix | None = None
    dim: Dim | None = None
    query: Vector | None = None
    items: Ids | None = None
    request: Annotated[str | None, Field(min_length=1, max_length=64)] = None


class DecideBatch(Body):
    """Many decisions, all or none."""

    requests: Annotated[list[Decide], Field(min_length=1)]


class Decided(BaseModel):
    """A decision: show what it chose, and send its reward with its id."""

    decision: str
    index: int
    item: str | None
    round: int
    estimate: float
    upper: float
    propensity: float | None


class DecidedBatch(BaseModel):
    """Many decisions, in the order of the requests."""

    decisions: list[Decided]


class Reward(Body):
    """The reward of a decision."""

    decision: Annotated[str, Field(min_length=1, max_length=200)]
    reward: Finite


class RewardBatch(Body):
    """Many rewards, each for itself."""

    rewards: Annotated[list[Reward], Field(min_length=1)]


class Rewarded(BaseModel):
    """What became of a reward."""

    decision: str
    status: Literal["learned", "repeated"]


class ErrorInfo(BaseModel):
    """What was wrong: a code for programs, a sentence for people."""

    code: str
    message: str
    field: str | None = None


class Error(BaseModel):
    """The body of every answer with a status of 400 or more."""

    error: ErrorInfo


class RewardResult(BaseModel):
    """What became of one of many rewards."""

    decision: str
    status: Literal["learned", "repeated", "refused"]
    error: ErrorInfo | None = None


class RewardedBatch(BaseModel):
    """What became of many rewards, in their order."""

    results: list[RewardResult]


class Items(Body):
    """Items of a catalogue."""

    ids: Ids
    vectors: Matrix
    dim: Dim | None = None


class NewCatalogue(Items):
    """A catalogue to be created, with its first items."""

    center: Literal["both", "items", "none"] = "both"
    mean: Vector | None = None


class ItemIds(Body):
    """Some items, by their ids."""

    ids: Ids


class CatalogueInfo(BaseModel):
    """A catalogue."""

    name: str
    dim: int
    items: int
    version: int
    center: str
    created_at: float


class Catalogues(BaseModel):
    """All catalogues."""

    catalogues: list[CatalogueInfo]


class ItemPage(BaseModel):
    """Some of the items of a catalogue, in the order of their ids."""

    ids: list[str]


class Changed(BaseModel):
    """A catalogue after a change of its items."""

    items: int
    version: int


class NewKey(Body):
    """A key to be created."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Literal["decide", "reward", "admin"]], Field(min_length=1)]


class KeyInfo(BaseModel):
    """What is known of a key; the key itself is not."""

    id: str
    name: str
    scopes: list[str]
    created_at: float
    revoked_at: float | None = None


class MadeKey(KeyInfo):
    """A new key, shown this once."""

    key: str


class Keys(BaseModel):
    """All keys."""

    keys: list[KeyInfo]


class Status(BaseModel):
    """The service itself."""

    version: str
    uptime_seconds: float
    ready: bool
    reasons: list[str]
    warnings: list[str]
    policies: int
    pending: int
    latency: dict[str, Latency]
    batch: dict[str, float | None]


class Ready(BaseModel):
    """Whether the service decides and learns, and why not."""

    ready: bool
    reasons: list[str]


class Health(BaseModel):
    """That the service answers."""

    status: str
