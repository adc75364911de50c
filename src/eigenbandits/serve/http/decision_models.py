"""Wire models of the frequent requests: deciding, importing decisions, and sending rewards."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, RootModel, StrictBool, StrictInt

from eigenbandits.serve.http.models import Body, Dim, ErrorInfo, Finite, Ids, Matrix, Number, Vector
from eigenbandits.serve.served_decision import ServedDecision

Cost = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0.0, le=1e12)]
Costs = Annotated[list[Cost | None], Field(description="The cost of each action or item; null if unknown.")]


class Offered(Body):
    """What a decision is made from: `actions` without a catalogue, `query` and `items` with one."""

    actions: Matrix | None = None
    dim: Dim | None = None
    query: Vector | None = None
    items: Ids | None = None
    scores: Annotated[list[Number] | None, Field(description="A ranker's score of each action or item.")] = None
    costs: Costs | None = None


class Decide(Offered):
    """One decision: `actions` for a policy without a catalogue, `query` and `items` for one with a catalogue."""

    allowed: Annotated[list[StrictInt] | Ids | None, Field(description="The only rows or items to choose from.")] = None
    exclude: Annotated[list[StrictInt] | list[str] | None, Field(description="Rows or items to leave out.")] = None
    count: Annotated[StrictInt | None, Field(ge=1, le=1000, description="Choose a list of this length.")] = None
    request: Annotated[str | None, Field(min_length=1, max_length=64)] = None


class DecideBatch(Body):
    """Many decisions."""

    requests: Annotated[list[Decide], Field(min_length=1)]


class DecidedBatch(BaseModel):
    """Many decisions, in the order of the requests; or the decisions of a list, in order."""

    decisions: list[ServedDecision]


class Decided(RootModel[ServedDecision | DecidedBatch]):
    """A decision, or the decisions of a list: show what was chosen, and send each reward with its id."""


class Import(Offered):
    """A decision made by another system: what was offered, what was chosen, and what it earned."""

    index: Annotated[StrictInt | None, Field(ge=0, description="The row that was chosen.")] = None
    item: Annotated[str | None, Field(min_length=1, description="The item that was chosen, instead of index.")] = None
    reward: Annotated[Finite | None, Field(description="What it earned; null if it is sent later.")] = None
    cost: Cost | None = None
    propensity: Annotated[float | None, Field(strict=True, gt=0, le=1)] = None
    request: Annotated[str, Field(min_length=1, max_length=64)]


class ImportBatch(Body):
    """Decisions made by another system, in order."""

    decisions: Annotated[list[Import], Field(min_length=1)]


class Reward(Body):
    """The reward of a decision."""

    decision: Annotated[str, Field(min_length=1, max_length=200)]
    reward: Finite
    part: Annotated[str | None, Field(min_length=1, max_length=64)] = None
    correct: StrictBool = False
    cost: Annotated[Cost | None, Field(description="The cost that was paid, for a policy with a budget.")] = None


class RewardBatch(Body):
    """Many rewards, each independent of the others."""

    rewards: Annotated[list[Reward], Field(min_length=1)]


class Rewarded(BaseModel):
    """The outcome of a reward."""

    decision: str
    status: Literal["learned", "recorded", "corrected", "repeated"]


class RewardResult(BaseModel):
    """The outcome of one of many rewards."""

    decision: str
    status: Literal["learned", "recorded", "corrected", "repeated", "refused"]
    error: ErrorInfo | None = None


class ImportResult(RewardResult):
    """The outcome of an imported decision; "pending" if it came without a reward."""

    status: Literal["pending", "learned", "recorded", "repeated", "refused"]  # type: ignore[assignment]


class ImportedBatch(BaseModel):
    """The outcomes of imported decisions, in order."""

    results: list[ImportResult]


class RewardedBatch(BaseModel):
    """The outcomes of many rewards, in order."""

    results: list[RewardResult]
