"""A set proven to hold in all rounds simultaneously: two ridges predict, and the smaller upper bound decides."""

import copy
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, linalg, merging
from eigenbandits.belief.base import Belief, Finding
from eigenbandits.belief.certified.least_upper import LeastUpper
from eigenbandits.belief.certified.ridge import Ridge
from eigenbandits.belief.evidence import Evidence
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.theory import mixture

# The two ellipsoids, in the order in which their ridges and scores are stored.
STRUCTURED, AMBIENT = 0, 1
# λ_out is at most 2¹² λ, even if ε is 0: at that point the outside is practically cut, and more would only cost digits.
DOUBLINGS = 12


class MixtureSet(Belief):
    """θ* in the set {‖r − Xθ‖² ≤ ρ, ‖θ‖ ≤ S, ‖(I − P̂)θ‖ ≤ εS}, bounded by two ellipsoids (docs/certified.md).

    Two members predict every reward: one with the ridge λ_in P̂ + λ_out (I − P̂) of the latest subspace, one with λI.
    The mixture of their scores gives ρ, which holds in all rounds simultaneously with probability 1 − δ, whatever the
    frames and decision sets were, as long as they were fixed before the reward. On that one event, each ridge has an
    ellipsoid around its own estimate, and the value of an action is the smallest of its upper bounds. The one with λI
    assumes nothing but R and S; that of the subspace also assumes that θ* lies in the true subspace and that ε
    bounds the projection error. If its ellipsoid is empty, that assumption is refuted; if its member has predicted
    worse than the other, it is doubtful. In both cases the ellipsoid is left out, which can only widen the set.

    The ridges follow from R and S. A prior that spreads S² evenly over d directions calls for λ = dR²/S², one over the
    m directions of the subspace for λ_in = mR²/S². Outside, λ_out costs λ_out ε²S² in the squared radius and saves log
    det: with E the energy of the chosen actions outside, R² log det is at most R²E/λ_out, and the sum is smallest at
    λ_out = R√E/(εS). It is recomputed for each new frame from the actions chosen so far, but kept at or above λ.

    Parameters
    ----------
    noise
        R > 0: rewards are R-sub-Gaussian around their mean; ½ is safe for rewards in [0, 1].
    theta_bound
        S ≥ ‖θ*‖₂, of the lifted parameter if there is an intercept.
    delta
        δ: the probability with which θ* may ever leave the set.

    Examples
    --------
    >>> belief = MixtureSet(noise=0.5, theta_bound=1.0)
    >>> belief.start(2)
    >>> belief.follow(Frame(np.eye(2)[:, :1], error=0.1, version=1))
    >>> belief.learn(np.array([1.0, 0.0]), 1.0)
    >>> view = belief.view(np.eye(2))
    >>> bool(view.estimates()[0] > view.estimates()[1] == 0.0)
    True
    """

    offers: ClassVar[tuple[str, ...]] = ("estimates", "uppers", "lowers")
    _state_names: ClassVar[tuple[str, ...]] = (
        *("evidence", "structured", "ambient_ridge", "scores", "version", "error", "refutations", "doubts"),
        *("solved_action", "solved"),
    )

    def __init__(
        self,
        noise: float,
        theta_bound: float,
        delta: float = 0.01,
    ) -> None:
        self.noise = inputs.size(noise, "noise")
        self.theta_bound = inputs.size(theta_bound, "theta_bound")
        self.delta = inputs.probability(delta, "delta")
        self.evidence = Evidence()
        self.structured = Ridge()
        self.ambient_ridge = Ridge()
        self.scores: Array = np.zeros(2)
        self.version = 0
        self.error = 1.0
        # The numbers of rewards after which the subspace's ellipsoid was refuted, and was left out for any reason.
        self.refutations = 0
        self.doubts = 0
        self.solved_action: Array | None = None
        self.solved: Array | None = None
        # How many rewards the sums will hold after the one that is being learned, and the scores at that point.
        self._coming = (0, self.scores)

    @property
    def unit(self) -> float:
        """R²/S², the ridge of a prior that puts S² in one direction."""
        return (self.noise / self.theta_bound) ** 2

    @property
    def ridges(self) -> tuple[Ridge, Ridge]:
        """The ridge of the subspace and the ridge of the whole space."""
        return self.structured, self.ambient_ridge

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up both ridges, which are identical before the first frame."""
        self.evidence.start(dim)
        for ridge in self.ridges:
            ridge.start(dim, dim * self.unit)

    def follow(self, frame: Frame | None) -> None:
        """Turn the subspace's ridge to a new frame."""
        if frame is None:
            raise ValueError(
                "a certified belief needs a subspace with directions, such as PCA; the whole space has none."
            )
        self.error = min(frame.error, 1.0)
        if frame.version == self.version and self.structured.span is not None:
            return
        self.version = frame.version
        self.solved_action = self.solved = None
        span = frame.inside
        self.structured.turn(span, span.shape[1] * self.unit, self._outside(span), self.evidence)

    def _outside(self, span: Array) -> float:
        """Return λ_out = R√E/(εS) as a power-of-two multiple of λ, since each change requires a factorization."""
        least = self.ambient_ridge.outside
        gram = self.evidence.gram
        whole = float(np.trace(gram.flush()))
        energy = max(whole - float(np.vdot(span, gram.times_columns(span))), 0.0)
        numerator = self.noise * math.sqrt(energy)
        denominator = self.error * self.theta_bound * least
        if numerator >= denominator * 2.0**DOUBLINGS:
            return least * 2.0**DOUBLINGS
        return least * 2.0 ** max(round(math.log2(numerator / denominator)), 0) if numerator > denominator else least

    def note(self, finding: Finding | None) -> None:
        """Store Z⁻¹x, for both ridges, of the action likely to be rewarded next."""
        if finding is not None:
            self.solved_action, self.solved = finding.action, finding.solved

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Score both members on the reward, then let them learn it."""
        predictions = [
            ridge.predict(action, known) for ridge, known in zip(self.ridges, self._known(action), strict=True)
        ]
        scores = self.scores + [
            mixture.prediction_score(surprise=reward - prediction.mean, gain=prediction.gain, noise=self.noise)
            for prediction in predictions
        ]
        lost = [
            ridge.learn(prediction, action, reward) for ridge, prediction in zip(self.ridges, predictions, strict=True)
        ]
        # Last, since everything above can be recomputed from the sums (`recover`).
        self._coming = self.evidence.count + 1, scores
        self.evidence.add(action, reward)
        self.scores = scores
        for ridge, without in zip(self.ridges, lost, strict=True):
            ridge.upkeep(without, self.evidence)
        refuted = self.squares()[STRUCTURED] < 0.0
        self.refutations += refuted
        self.doubts += refuted or self.outvoted

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Learn rewards one at a time, since each is predicted from those before it; if interrupted, learn none."""
        before = copy.deepcopy(self.state())
        try:
            super().learn_many(actions, rewards, forecasts)
        except BaseException:
            self.restore(before)
            raise

    def _known(self, action: Array) -> tuple[Array | None, Array | None]:
        """Return Z⁻¹x for each ridge if choosing the action has already computed them."""
        known, solved = self.solved_action, self.solved
        self.solved_action = self.solved = None
        if known is not None and solved is not None and known.tobytes() == action.tobytes():
            return solved[STRUCTURED], solved[AMBIENT]
        return None, None

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Add up the sums and the scores; the set still holds in all rounds simultaneously (docs/certified.md).

        A member that predicts each reward from the past of its own replica predicts from the past, so the sum of its
        scores is a score. With λI, neither the order matters nor which replica learned what: the score is that of a
        single process, the residual plus R² log(det Z/det W).
        """
        scores = merging.total(replicas, "scores")
        self.evidence.merge([replica.inside(replica.part.evidence) for replica in replicas])
        self.refutations, self.doubts = (merging.count(replicas, name) for name in ("refutations", "doubts"))
        self.solved_action = self.solved = None
        for ridge in self.ridges:
            ridge.repair(self.evidence)
        whole = self.ambient_ridge
        log_det = linalg.inverse(whole.precision(self.evidence), whole.inside, self.evidence.moment)[2]
        learned = log_det - len(whole.center) * math.log(whole.outside)
        scores[AMBIENT] = whole.residual + self.noise**2 * max(learned, 0.0)
        self.scores = scores

    def recover(self) -> None:
        """Recompute everything that follows from the sums; a reward is scored only if the sums include it."""
        count, scores = self._coming
        if count == self.evidence.count:
            self.scores = scores
        self.solved_action = self.solved = None
        for ridge in self.ridges:
            ridge.repair(self.evidence)

    def level(self) -> float:
        """Return ρ, the bound on ‖r − Xθ*‖²."""
        return mixture.mixture_level(scores=self.scores.tolist(), noise=self.noise, delta=self.delta)

    def squares(self, error: float | None = None) -> tuple[float, float]:
        """Return the squared radius of each ellipsoid, below 0 if its assumption is refuted, for this ε or another."""
        level, error = self.level(), self.error if error is None else error
        squares = [
            mixture.squared_radius(
                level=level,
                residual=ridge.residual,
                penalty=mixture.penalty_bound(
                    theta_bound=self.theta_bound,
                    inside=ridge.inside,
                    outside=ridge.outside,
                    projection_error=error,
                ),
            )
            for ridge in self.ridges
        ]
        return squares[STRUCTURED], squares[AMBIENT]

    @property
    def outvoted(self) -> bool:
        """Whether the member of the whole space has predicted the rewards better than the member of the subspace.

        The ellipsoid of a wrong subspace becomes small before it becomes empty; without this check it would decide with
        a confidence that the rewards do not justify.
        """
        return bool(self.scores[STRUCTURED] > self.scores[AMBIENT])

    def radii(self) -> list[tuple[Ridge, float]]:
        """Return the ridges that decide, each with its radius; that of the subspace is left out if it is doubtful.

        A refuted ellipsoid of the whole space refutes R or S themselves, and then nothing is proven. To keep exploring,
        the radius is the one that this member would have alone: R² log(det Z/det W) instead of the mixture's.
        """
        squares = self.squares()
        ridge = self.ambient_ridge
        if squares[AMBIENT] >= 0.0:
            whole = (ridge, math.sqrt(squares[AMBIENT]))
            if self.outvoted or squares[STRUCTURED] < 0.0:
                return [whole]
            return [(self.structured, math.sqrt(squares[STRUCTURED])), whole]
        learned = max(float(self.scores[AMBIENT]) - ridge.residual, 0.0)
        known = ridge.outside * self.theta_bound**2 - 2.0 * self.noise**2 * math.log(self.delta / 2.0)
        return [(ridge, math.sqrt(learned + known))]

    def view(self, lifted: Array) -> LeastUpper:
        """Return a view of the set through a decision set."""
        return LeastUpper(self.radii(), lifted)

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the radii, and whether and how often the subspace was refuted or outvoted."""
        squares = self.squares()
        entries: dict[str, Any] = {
            "rewards_learned": self.evidence.count,
            "noise": self.noise,
            "radius_structured": math.sqrt(max(squares[STRUCTURED], 0.0)),
            "radius_ambient": math.sqrt(max(squares[AMBIENT], 0.0)),
            "structure_refuted": squares[STRUCTURED] < 0.0,
            "structure_outvoted": self.outvoted,
            "refutations": int(self.refutations),
            "doubts": int(self.doubts),
            "warnings": [],
        }
        if squares[AMBIENT] < 0.0:
            entries["warnings"].append(
                "The rewards refute the noise or the bound on θ* that were given: nothing is certified."
            )
        elif squares[STRUCTURED] < 0.0:
            entries["warnings"].append("The rewards refute the low-rank assumption: the whole space alone decides.")
        return entries
