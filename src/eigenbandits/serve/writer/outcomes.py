"""Outcomes: the response to a repeated request id, and to a reward."""

from eigenbandits.serve.errors import Refusal, invalid, unknown
from eigenbandits.serve.storage import schema
from eigenbandits.serve.writer.commands import SentReward
from eigenbandits.serve.writer.decision_sets import DecisionSet, ListMember, Names
from eigenbandits.serve.writer.event_codec import decode_decision
from eigenbandits.serve.writer.hosted_policy import HostedPolicy


def repeats(
    hosted: HostedPolicy,
    pair: tuple[DecisionSet, str | None],
    known: list[schema.DecisionRow] | None,
    fresh: tuple[DecisionSet, str | None] | None,
) -> bool:
    """Return whether a decision set matches the decision, or the request in this batch, with the same request id."""
    decision_set, logged = pair[0], pair[0].options.logged
    names = () if hosted.catalogue is None else hosted.catalogue.names
    if known is not None:
        return repeats_decision(decision_set, None if logged is None else logged.index, known[0], names)
    if fresh is None or fresh[0] is decision_set:
        return True
    return logged == fresh[0].options.logged and decision_set.repeats(fresh[0], 0, names)


def repeats_decision(decision_set: DecisionSet, logged: int | None, known: schema.DecisionRow, names: Names) -> bool:
    """Return whether a decision set, with the choice that another system made, matches an earlier decision."""
    if logged != (known.index if known.chooser == schema.LOGGED else None):
        return False
    before, _ = decode_decision(known.content)
    return not isinstance(before, ListMember) and decision_set.repeats(before, known.index, names)


def wrong_dim(width: int, expected: int) -> Refusal:
    """Return the refusal for vectors whose length differs from the first ones'."""
    message = f"The actions have vectors of length {width}; expected vectors of length {expected}."
    return invalid(message, "actions", "wrong_dimension")


def different_request() -> Refusal:
    """Return the refusal for a request id that was used with a different body."""
    message = "This request id already has a decision, for a different body; choose a new id for a new request."
    return Refusal(409, "different_request", message, "request")


def unknown_decision(sent: SentReward, origin: tuple[int | None, int | None] | None) -> Refusal:
    """Return the refusal for a reward whose decision is not in the log, given what has its number there."""
    if origin is None:
        return unknown("decision", sent.id)
    message = (
        f"The decision {sent.id!r} is not in the log, which has another one with its number: the database was "
        "restored from a backup that is older than the decision. Its reward cannot be learned; drop it."
    )
    return Refusal(409, "other_epoch", message, "decision")


def different_reward() -> Refusal:
    """Return the refusal for a second, different reward."""
    message = "This decision already has a different reward; the first one stands."
    return Refusal(409, "different_reward", message, "reward")


def outcome(sent: SentReward, ended: schema.RewardRow | None, fresh: SentReward | None) -> str | Refusal:
    """Return the outcome of a reward, given how its decision ended before, or what this batch has learned for it."""
    before = fresh if ended is None else ended
    if before is None:
        return "learned"
    if (sent.reward, sent.cost) == (before.reward, before.cost):
        return "repeated"
    if ended is None or ended.kind == schema.GIVEN:
        return different_reward()
    message = "The time to live of this decision is over; send rewards sooner, or give the policy a longer one."
    return Refusal(409, "expired", message, "decision")
