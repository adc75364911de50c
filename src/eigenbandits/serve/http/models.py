"""Wire models: the validated and documented bodies of requests and responses."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from eigenbandits.serve.http.vectors import SLUG
from eigenbandits.serve.storage.schema import KeyRow
from eigenbandits.serve.writer.policy_spec import DEFAULT

Name = Annotated[str, Field(pattern=f"^{SLUG}$", description="Lowercase letters, digits, - and _.")]
# Strict: neither true nor "1" is a number.
Number = Annotated[float, Field(strict=True)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e12, le=1e12)]
Value = StrictBool | StrictInt | Finite | str | None
Arguments = dict[str, Value | list[Finite]]
Vector = Annotated[
    list[Number] | str, Field(description="Numbers, or base64 of little-endian float32, which is much faster.")
]
Matrix = Annotated[
    list[list[Number]] | str,
    Field(description="Vectors of equal length, or base64 of little-endian float32, one vector after the other."),
]
Ids = Annotated[list[str], Field(min_length=1)]
TimeToLive = Annotated[float | None, Field(strict=True, gt=0, le=1e10, allow_inf_nan=False)]
Dim = Annotated[StrictInt, Field(ge=1, le=1_000_000)]


class Body(BaseModel):
    """Base of request bodies: an unknown field is an error, not ignored."""

    model_config = ConfigDict(extra="forbid")


class NewPolicy(Body):
    """A policy to create."""

    name: Name
    algorithm: Annotated[str, Field(examples=["EigenUCB"])] = DEFAULT
    parameters: Annotated[dict[str, Value | dict[str, Finite]], Field(examples=[{"seed": 0}])] = {}
    catalogue: Name | None = None
    dim: Dim | None = None
    time_to_live: TimeToLive = None
    default_reward: Finite | None = None
    learn_at: Literal["reward", "time_to_live"] = "reward"
    least_reward: Finite | None = None
    largest_reward: Finite | None = None
    holdout: Annotated[float, Field(strict=True, ge=0.0, le=0.9)] = 0.0
    baseline: Literal["first", "random", "scores"] = "first"
    observe_after: Annotated[StrictInt | None, Field(ge=0, le=10**15)] = None
    observe_every: Annotated[StrictInt | None, Field(ge=1, le=10**9)] = None
    keep_sets: StrictBool = True
    clone_of: Annotated[Name | None, Field(description="A policy whose state and settings this one starts from.")] = (
        None
    )
    budget: Annotated[Arguments | None, Field(examples=[{"budget": 0.5}], description="Arguments of Budgeted.")] = None
    guard: Annotated[
        Arguments | None,
        Field(examples=[{"noise": 0.5, "theta_bound": 1.0}], description="Arguments of Guarded."),
    ] = None


class PolicyChanges(Body):
    """Settings of a policy to change; fields that are not sent stay as they are, and null removes a setting."""

    time_to_live: TimeToLive = None
    default_reward: Finite | None = None
    least_reward: Finite | None = None
    largest_reward: Finite | None = None


class NewTranslation(Body):
    """A policy to create from another one, for the vectors of another encoder."""

    name: Name
    catalogue: Annotated[Name | None, Field(description="The same items with the new vectors.")] = None
    old_queries: Annotated[Matrix | None, Field(description="Sample queries as embedded by the old encoder.")] = None
    new_queries: Annotated[Matrix | None, Field(description="The same queries as embedded by the new encoder.")] = None
    old_actions: Annotated[
        Matrix | None, Field(description="Without a catalogue: sample actions as embedded by the old encoder.")
    ] = None
    new_actions: Annotated[Matrix | None, Field(description="The same actions as embedded by the new encoder.")] = None
    new_dim: Annotated[Dim | None, Field(description="The length of the new actions, if they are base64.")] = None


class Merge(Body):
    """What replicas of a policy have learned."""

    replicas: Annotated[list[str], Field(min_length=1, description="The replicas' snapshots, each in base64.")]
    base: Annotated[str | None, Field(description="The snapshot that all of them started from, in base64.")] = None
    request: Annotated[str, Field(min_length=1, max_length=64)]


class Merged(BaseModel):
    """The outcome of a merge."""

    status: Literal["merged", "repeated"]


class Latency(BaseModel):
    """Response times over the last minute."""

    count: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None


class PolicyInfo(BaseModel):
    """A policy and its counts."""

    name: str
    algorithm: str
    parameters: dict[str, Any]
    catalogue: str | None
    time_to_live: float | None
    default_reward: float | None
    learn_at: str
    least_reward: float | None
    largest_reward: float | None
    holdout: float
    baseline: str
    observe_after: int
    observe_every: int
    keep_sets: bool
    clone_of: str | None
    budget: dict[str, Any] | None
    guard: dict[str, Any] | None
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


class TranslationInfo(BaseModel):
    """How well a belief was translated; see `Translation`."""

    old_dim: int
    new_dim: int
    pairs: int
    method: str
    residual: float
    loss: float
    guarded: bool
    summary: list[str]


class Translated(BaseModel):
    """A policy for another encoder's vectors; there is no translation if the policy already existed."""

    policy: PolicyInfo
    translation: TranslationInfo | None


class HistoryQuery(BaseModel):
    """How far back a history goes."""

    seconds: Annotated[float, Field(ge=1, le=1e9, allow_inf_nan=False)] = 3600.0


class ExportQuery(BaseModel):
    """What an export contains."""

    columns: Literal["log", "all", "compact"] = "log"
    rewarded: bool = True
    after: Annotated[int, Field(ge=0, le=10**15)] = 0
    through: Annotated[int, Field(ge=0, le=10**15)] = 10**15
    since: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)] = 0.0
    until: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)] = 1e15


class ItemsQuery(BaseModel):
    """Which items are listed."""

    after: str = ""
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000


class Diagnostics(BaseModel):
    """The diagnostics of a policy."""

    policy: str
    diagnostics: dict[str, Any]


class ChooserInfo(BaseModel):
    """The rewards of the decisions of the policy or of its baseline."""

    count: int
    mean: float | None


class Lift(BaseModel):
    """How much more the policy earns than the baseline of its holdout, with an interval that is valid at all times."""

    policy: ChooserInfo
    baseline: ChooserInfo
    lift: float | None
    low: float | None
    high: float | None
    level: float


class Bucket(BaseModel):
    """Decisions and rewards in a period of several seconds."""

    start: float
    decisions: int
    rewards: int
    reward_sum: float
    defaults: int
    default_sum: float


class History(BaseModel):
    """Decisions and rewards over time, oldest first; empty buckets are omitted."""

    bucket_seconds: int
    buckets: list[Bucket]


class ErrorInfo(BaseModel):
    """What was wrong: a code for programs, a sentence for people."""

    code: str
    message: str
    field: str | None = None


class Error(BaseModel):
    """The body of every response with a status of 400 or more."""

    error: ErrorInfo


class Items(Body):
    """Items of a catalogue."""

    ids: Ids
    vectors: Matrix
    dim: Dim | None = None


class NewCatalogue(Items):
    """A catalogue to create, with its first items."""

    center: Literal["both", "items", "none"] = "both"
    mean: Vector | None = None


class ItemIds(Body):
    """Items, by their ids."""

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
    """A page of a catalogue's items, ordered by id."""

    ids: list[str]


class Changed(BaseModel):
    """A catalogue after a change to its items."""

    items: int
    version: int


class NewKey(Body):
    """A key to create."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Literal["decide", "reward", "admin"]], Field(min_length=1)]
    policies: Annotated[
        list[Name] | None, Field(min_length=1, description="The only policies that the key may access; null for all.")
    ] = None


class KeyInfo(BaseModel):
    """A key, without its secret."""

    id: str
    name: str
    scopes: list[str]
    created_at: float
    revoked_at: float | None = None
    policies: list[str] | None = None

    @classmethod
    def of(cls, row: KeyRow, **more: Any) -> Self:
        """Return a key's public description."""
        split = {"scopes": row.scopes.split(), "policies": None if row.policies is None else row.policies.split()}
        known: dict[str, Any] = {name: getattr(row, name) for name in ("id", "name", "created_at", "revoked_at")}
        return cls(**known | split | more)


class CreatedKey(KeyInfo):
    """A new key, shown only once."""

    key: str


class Keys(BaseModel):
    """All keys."""

    keys: list[KeyInfo]


class Status(BaseModel):
    """The status of the service."""

    version: str
    uptime_seconds: float
    ready: bool
    reasons: list[str]
    belief_age: float | None = None
    warnings: list[str]
    policies: int
    pending: int
    latency: dict[str, Latency]
    batch: dict[str, float | None]


class Empty(BaseModel):
    """Nothing."""


class Ready(BaseModel):
    """Whether the service can decide and learn, and if not, why; for a decider, also the age of its beliefs."""

    ready: bool
    reasons: list[str]
    belief_age: Annotated[
        float | None, Field(description="Seconds since the learner had followed everything; grows while it is down.")
    ] = None


class Health(BaseModel):
    """Whether the process is alive."""

    status: str
