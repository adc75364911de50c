"""Merging several replicas of a policy into the policy that a single process would have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eigenbandits import merging
from eigenbandits.component import Component
from eigenbandits.merging import Replica, Shift

if TYPE_CHECKING:
    from eigenbandits.policy import Policy


def merge(policy: Policy, others: Sequence[Policy], base: Policy | None = None) -> None:
    """Add to a policy what its replicas have learned; see `Policy.merge`.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> first, second = eb.OFUL(noise=0.1), eb.OFUL(noise=0.1)
    >>> first.learn([1.0, 0.0], 1.0)
    >>> second.learn([0.0, 1.0], 0.5)
    >>> first.merge([second])
    >>> first.diagnostics().rewards_learned, first.belief.center.tolist()
    (2, [0.5, 0.25])
    """
    _refuse_strangers(policy, others, base)
    for part in (policy.subspace, policy.belief, policy.rule):
        merging.refuse_unknown(part)
    before = copy_of(policy)
    seen = [other for other in others if other.dim is not None]
    if policy.dim is None and not seen:
        return
    try:
        if policy.dim is None:
            lay_out(policy, like=seen[0])
        _add_up(policy, [copy_of(policy), *seen], base)
    except BaseException:
        policy.restore(before.state())
        raise


def _add_up(policy: Policy, replicas: Sequence[Policy], base: Policy | None) -> None:
    """Make the policy the sum of its replicas, including itself, and let it follow the merged subspace."""
    weighted = [(replica, 1) for replica in replicas]
    if base is not None and base.dim is not None:
        weighted.append((base, 1 - len(replicas)))

    def parts(name: str) -> list[Replica[Any]]:
        return [
            Replica(getattr(replica, name), weight, _shift(policy, replica)) for replica, weight in weighted if weight
        ]

    policy.round = merging.count([Replica[Component](replica, weight) for replica, weight in weighted], "round")
    policy.subspace.merge(parts("subspace"))
    frame = policy.subspace.frame() if policy.subspace.ready else None
    policy.belief.merge(parts("belief"), frame)
    policy.rule.merge(parts("rule"))
    if policy.subspace.ready:
        policy.belief.follow(frame)


def _refuse_strangers(policy: Policy, others: Sequence[Policy], base: Policy | None) -> None:
    """Raise an error unless the policies are replicas of each other."""
    named = [(f"others[{place}]", other) for place, other in enumerate(others)]
    known = [policy]
    for name, other in [*named, *([] if base is None else [("base", base)])]:
        if type(other) is not type(policy):
            raise ValueError(f"{name} is a {type(other).__name__}; expected a replica of this {type(policy).__name__}.")
        if any(other is one for one in known):
            raise ValueError(f"{name} appears twice in this merge; expected each replica once.")
        difference = merging.differing(policy, other)
        if difference is not None:
            raise ValueError(f"{name} was made with {difference}; expected a replica made with the same arguments.")
        known.append(other)
        if {one.scoring.used for one in known} >= {True, False}:
            raise ValueError(f"{name} was given scores and others were not, or the reverse; expected all or none.")
        if not other.encoder.same_as(policy.encoder):
            raise ValueError(f"{name} expects vectors of another encoder; translate all replicas, or none of them.")
        dim = next((one.dim for one in known if one.dim is not None), None)
        if other.dim not in (None, dim):
            raise ValueError(f"{name} has seen vectors of length {other.dim}; the replicas before it, of length {dim}.")
    if base is not None and base.dim is not None:
        for name, other in [("this policy", policy), *named]:
            if other.dim is None or not _shift(base, other).same:
                raise ValueError(f"{name} did not start from base, since it is centered differently; leave base out.")


def _shift(policy: Policy, replica: Policy) -> Shift:
    """Return the map from a replica's lifted rows to the policy's."""
    shift = policy.centering.shift_from(replica.centering)
    score = policy.scoring.change_from(replica.scoring, policy.centering.by_set)
    return shift if score is None else replace(shift, score=score)


def copy_of(policy: Policy) -> Policy:
    """Return an independent copy of a policy that continues as the original would."""
    other = policy.clone()
    other.restore(policy.state())
    return other


def lay_out(policy: Policy, like: Policy) -> None:
    """Set up a fresh policy, with nothing seen or learned, whose centering is that of another policy."""
    policy.centering.restore(like.centering.state())
    assert like.dim is not None
    policy.subspace.start_like(like.subspace)
    policy.scoring.restore(like.scoring.state())
    policy.belief.start(policy.lifted_dim, policy.centering.intercept)
    if policy.scoring.used:
        policy.belief.take_scores(policy.scoring.size)
    policy.encoder.restore(like.encoder.state())
    policy.dim = like.dim
