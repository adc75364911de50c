"""The ellipsoid C_m around the ridge estimate in the estimated subspace (Theorem 3 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from eigenbandits import linalg, merging
from eigenbandits.belief.base import Finding, Models, RidgeBelief, Rows, View, walk
from eigenbandits.belief.evidence import Evidence, largest_norm
from eigenbandits.belief.joint import JointProblem, JointSearch
from eigenbandits.inputs import Array
from eigenbandits.linalg import kernels
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.theory import radius as radii
from eigenbandits.translation import RowMap

RADII = ("sharp", "general", "worst-case")


class Projected(RidgeBelief):
    """‖φ − φ̂‖_B ≤ β for φ = V̂ᵀθ, with B = V̂ᵀΣV̂ + λI and φ̂ = B⁻¹V̂ᵀb.

    Parameters
    ----------
    noise, theta_bound, ridge, delta, action_bound
        R, S, λ, δ and L, as for `Ambient`.
    radius
        "general": the paper's radius (eq. ellips1Supple), with S ε ‖B^{-1/2} V̂ᵀΣ‖₂ for the projection error;
        "sharp": the same with Σ(I − P̂) instead of Σ, which is all that the proof needs (docs/mathematics.md);
        "worst-case": the paper's closed form (eq. ellips2); or a number: a free multiplier.
    anytime
        Spend δ over the rounds, 6δ/(π²t²): the projection changes with t, so that a bound for each fixed t is not yet
        one for all (docs/mathematics.md).
    slim
        Keep Σ only as far as the subspace reads it: O(dm) memory. When the subspace turns, this part is turned with
        it; any part of past actions that was outside the subspace but that the new one would read is lost.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("evidence", "rounds", "version", "frame_error", "basis", "directions", "offset"),
        *("gram", "moment", "cross", "cross_gram"),
    )

    offers: ClassVar[tuple[str, ...]] = (*RidgeBelief.offers, "joint")

    def __init__(
        self,
        noise: float,
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        radius: str | float = "sharp",
        action_bound: float | None = None,
        anytime: bool = False,
        slim: bool = False,
    ) -> None:
        super().__init__(noise, theta_bound, ridge, delta, radius, RADII, action_bound)
        self.anytime = bool(anytime)
        self.slim = bool(slim)
        if self.slim and radius in ("general", "worst-case"):
            raise ValueError(f"radius is {radius!r}; without Σ in memory expected 'sharp' or a number.")
        self.evidence = Evidence(self.slim)
        self.owns_evidence = True
        # In the coordinates z = Fᵀx of the current frame, with y the remainder (for "general", all of x): FᵀΣF, Fᵀb,
        # Σ z yᵀ, and Σ z yᵀ times its own transpose. Each reward updates them in O(dq).
        # The number of frames followed so far: the t over which `anytime` spends δ.
        self.rounds = 0
        self.version = -1
        self.frame_error = 0.0
        self.basis: Array | None = None
        self.directions: Array | None = None
        self.offset: Array | None = None
        self.gram: Array = np.zeros((0, 0))
        self.moment: Array = np.zeros(0)
        self.cross: Array = np.zeros((0, 0))
        self.cross_gram: Array = np.zeros((0, 0))
        self._ellipse: Ellipse | None = None
        self._frame: Frame | None = None

    def share(self, evidence: Evidence) -> None:
        """Read the sums that another belief keeps."""
        self.evidence = evidence
        self.owns_evidence = False

    def state(self) -> dict[str, Any]:
        """Return the state, without sums that belong to another belief."""
        state = super().state()
        if not self.owns_evidence:
            del state["evidence"]
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        super().restore({"evidence": self.evidence.state()} | state)
        self._ellipse = self._frame = None

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up the sums."""
        if self.owns_evidence:
            self.evidence.start(dim)

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Add one reward."""
        self._ellipse = None
        if self.basis is not None:
            kernels.projected_step(
                action,
                reward,
                self.basis,
                self.directions,
                self.offset,
                self.frame_error > 0.0,
                self.gram,
                self.moment,
                self.cross,
                self.cross_gram,
            )
        # Last, since everything above can be read again from the sums (`recover`).
        if self.owns_evidence:
            self.evidence.add(action, reward)

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Add many rewards by one rank-k update."""
        self._ellipse = None
        if self.basis is not None:
            z = actions @ self.basis
            self.gram += z.T @ z
            self.moment += rewards @ z
            if self.frame_error > 0.0:
                self.cross += z.T @ self._remainders(actions, z)
                self.cross_gram = self.cross @ self.cross.T
        if self.owns_evidence:
            self.evidence.add_many(actions, rewards)

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Add up Σ and b; without Σ, add up the parts of it that the replicas keep, as read by the merged frame."""
        self.rounds = merging.count(replicas, "rounds")
        if self.owns_evidence:
            self.evidence.merge([replica.inside(replica.part.evidence) for replica in replicas])
        if self.slim and frame is not None:
            merging.refuse_base(replicas, "a Gram matrix kept in few dimensions")
            self._merge_held(replicas, frame)
        self.recover()

    def _merge_held(self, replicas: Sequence[Replica[Any]], frame: Frame) -> None:
        """Add up the parts of Σ that the replicas keep, as read by one frame."""
        product = np.zeros(frame.basis.shape)
        for replica in replicas:
            part = replica.part
            if part.basis is not None:
                basis = np.ascontiguousarray(replica.shift.rows(part.basis.T).T)
                product += held_times(basis, part.gram, part.cross, frame.basis)
        self._take(frame, product)

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Map Σ and b; without Σ, there is nothing to map."""
        if self.slim:
            raise ValueError(
                "a Gram matrix kept in few dimensions cannot be translated; make a new policy and let it learn from "
                "the log, embedded again, with learn_many()."
            )
        if self.owns_evidence:
            self.evidence.translate(change)
        self.recover()

    def recover(self) -> None:
        """Read the sums again at the next choice; without Σ, there is nothing to read them from."""
        self._ellipse = None
        if not self.slim:
            self.basis, self.version = None, -1

    def _remainders(self, actions: Array, z: Array) -> Array:
        """Return the remainders that the coordinates z leave out, as `linalg.kernels.remainder` does for one action."""
        if self.directions is None:
            return actions
        dim, rank = self.directions.shape
        rest = actions[:, :dim] - z[:, :rank] @ self.directions.T
        return rest if self.offset is None else np.asarray(rest - self.offset)

    def ellipse(self, frame: Frame) -> Ellipse:
        """Return the ellipsoid's center and shape in the frame's coordinates."""
        if frame.version != self.version:
            self._read(frame)
        if self._ellipse is None:
            cross_gram = self.cross_gram if self.frame_error > 0.0 else linalg.NOTHING
            self._ellipse = Ellipse(*kernels.fit(self.gram, self.moment, self.ridge, cross_gram))
        return self._ellipse

    def follow(self, frame: Frame | None) -> None:
        """Read the sums in the coordinates of a frame if it is new."""
        if frame is None:
            raise ValueError(
                "a projected belief needs a subspace with directions, such as PCA; the whole space has none."
            )
        self._frame = frame
        self.rounds += 1
        self._read(frame)

    def _read(self, frame: Frame) -> None:
        if self.basis is not None and self.version == frame.version:
            return
        if not self.slim and frame.basis.shape[1] > self.evidence.gram.fill:
            # Cheaper before the product than as part of it.
            self.evidence.gram.flush()
        self._take(frame, self._gram_times(frame.basis))

    def _take(self, frame: Frame, product: Array) -> None:
        """Set the sums in the coordinates of a frame, given ΣF."""
        self.basis, self.version, self.frame_error = frame.basis, frame.version, frame.error
        self.gram = self.basis.T @ product
        self.gram = np.ascontiguousarray(0.5 * (self.gram + self.gram.T))
        self.moment = self.basis.T @ self.evidence.moment
        self._ellipse = None
        if frame.error > 0.0:
            self.directions, self.offset = (frame.directions, frame.offset) if self.radius == "sharp" else (None, None)
            # An array of its own in C order, never a view: rewards are added to it in place.
            self.cross = np.array(frame.leak(product) if self.radius == "sharp" else product.T, order="C")
            self.cross_gram = self.cross @ self.cross.T

    def _gram_times(self, columns: Array) -> Array:
        """Return ΣC; without Σ, from the part of it that the last frame read."""
        if not self.slim:
            return self.evidence.gram.times_columns(columns)
        if self.basis is None:
            return np.zeros(columns.shape)
        return held_times(self.basis, self.gram, self.cross, columns)

    def coupling(self, frame: Frame, radius: str) -> float:
        """Return ‖B^{-1/2} V̂ᵀΣ‖₂, or for "sharp" ‖B^{-1/2} V̂ᵀΣ(I − P̂)‖₂."""
        # First, since it reads the sums in the coordinates of this frame.
        ellipse = self.ellipse(frame)
        if radius == self.radius and self.frame_error > 0.0:
            return ellipse.coupling
        product = self._gram_times(frame.basis)
        cross = frame.leak(product) if radius == "sharp" else product.T
        return kernels.fit(self.gram, self.moment, self.ridge, cross @ cross.T)[-1]

    def beta(self, frame: Frame, round_: int, radius: str | float | None = None, offered: float = 0.0) -> float:
        """Return the radius β, by default of the kind given, or of any other; `offered` as for `Ambient`."""
        kind = self.radius if radius is None else radius
        if not isinstance(kind, str):
            return float(kind)
        delta = radii.spend(self.delta, round_) if self.anytime else self.delta
        if kind == "worst-case":
            return radii.beta_worst_case(
                noise=self.noise,
                rounds=self.evidence.count + 1,
                delta=delta,
                theta_bound=self.theta_bound,
                ridge=self.ridge,
                action_bound=max(self.evidence.largest_norm, offered)
                if self.action_bound is None
                else self.action_bound,
                rank=frame.size,
                projection_error=frame.error,
            )
        ellipse, ridge = self.ellipse(frame), self.ridge
        return radii.beta(
            noise=self.noise,
            log_det_ratio=ellipse.log_det - len(ellipse.center) * math.log(ridge),
            delta=delta,
            theta_bound=self.theta_bound,
            ridge=ridge,
            projection_error=frame.error,
            coupling=ellipse.coupling if kind == self.radius else self.coupling(frame, kind),
        )

    def view(self, lifted: Array) -> ProjectedView:
        """Return a view of the ellipsoid through a decision set."""
        frame = self._frame
        assert frame is not None, "call follow() first"
        offered = largest_norm(lifted) if self.radius == "worst-case" and self.action_bound is None else 0.0
        coordinates, slack = frame.coordinates(lifted)
        slack *= min(frame.error, 1.0) * self.theta_bound
        beta = self.beta(frame, self.rounds, offered=offered)
        return ProjectedView(
            self.ellipse(frame), frame, beta, coordinates, slack, lifted, self.theta_bound, self.noise, offered
        )

    def note(self, finding: Finding | None) -> None:
        """Store the largest norm offered."""
        if finding is not None:
            self.evidence.largest_norm = max(self.evidence.largest_norm, finding.largest_norm)

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the radius, the noise and the number of rewards learned."""
        learned = self.evidence.count
        entries: dict[str, Any] = {"rewards_learned": learned, "radius_projected": None, "noise": self.noise}
        # A frame that no choice has used yet is left alone: diagnostics must not affect when ΣF is read again.
        if frame is not None and self.basis is not None and frame.version == self.version:
            entries["radius_projected"] = self.beta(frame, max(self.rounds, 1))
        return entries


def held_times(basis: Array, gram: Array, cross: Array, columns: Array) -> Array:
    """Return (F G Fᵀ + F N + NᵀFᵀ) C: the part of Σ that a frame read times C, with N what the frame leaked."""
    turned = basis.T @ columns
    product = basis @ (gram @ turned)
    if cross.size:
        dim = cross.shape[1]
        product += basis @ (cross @ columns[:dim])
        product[:dim] += cross.T @ turned
    return np.asarray(product)


class Ellipse(NamedTuple):
    """B, W with WᵀW = B⁻¹, log det B, φ̂ and the coupling: immutable, so that views may keep it."""

    shape: Array
    whitening: Array
    log_det: float
    center: Array
    coupling: float


class ProjectedView(View):
    """C_m as seen through one decision set, with the slack ε S ‖(I − P̂)x‖ for what the subspace may miss."""

    def __init__(
        self,
        ellipse: Ellipse,
        frame: Frame,
        beta: float,
        coordinates: Array,
        slack: Array,
        lifted: Array,
        theta_bound: float,
        noise: float,
        offered: float = 0.0,
    ) -> None:
        self.ellipse = ellipse
        self.frame = frame
        self.beta = beta
        self.coordinates = coordinates
        self.slack = slack
        self.lifted = lifted
        self._theta_bound = theta_bound
        self._noise = noise
        self._offered = offered
        self._uppers: Array | None = None
        self._estimates: Array | None = None
        self._joint: JointSearch | None = None

    def part(self, rows: slice | Rows) -> ProjectedView:
        """Return the view of a subset of the actions."""
        part = ProjectedView(
            self.ellipse,
            self.frame,
            self.beta,
            self.coordinates[rows],
            self.slack[rows],
            self.lifted[rows],
            self._theta_bound,
            self._noise,
            self._offered,
        )
        part._uppers = None if self._uppers is None else self._uppers[rows]
        return part

    def finding(self, index: int) -> Finding | None:
        """Return the largest norm offered, if the radius depends on it."""
        return Finding(largest_norm=self._offered) if self._offered else None

    def estimates(self) -> Array:
        """Return (V̂ᵀx)ᵀφ̂."""
        if self._estimates is None:
            self._estimates = self.coordinates @ self.ellipse.center
        return self._estimates

    def uppers(self) -> Array:
        """Return (V̂ᵀx)ᵀφ̂ + β‖V̂ᵀx‖_{B⁻¹} + εS‖(I − P̂)x‖."""
        if self._uppers is None:
            _, whitening, _, center, _ = self.ellipse
            self._uppers, self._estimates = kernels.projected_bounds(
                self.coordinates, whitening, center, self.beta, self.slack
            )
        return self._uppers

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return a function that computes V̂(φ̂ + βB⁻¹z/‖z‖_{B⁻¹})."""
        ellipse, frame, beta, z = self.ellipse, self.frame, self.beta, self.coordinates[index].copy()

        def model() -> Array:
            white = ellipse.whitening @ z
            width = float(np.linalg.norm(white))
            step = white @ ellipse.whitening * (beta / width) if width > 0.0 else 0.0
            return frame.lower(ellipse.center + step)

        return model

    def joint(self) -> JointSearch:
        """Return the joint maxima over projections and models."""
        if self._joint is None:
            _, whitening, _, center, _ = self.ellipse
            frame = self.frame
            dim, rank = frame.directions.shape
            problem = JointProblem(
                center, whitening, self.beta, self._theta_bound, min(frame.error, 1.0), rank, dim - rank
            )
            vectors = frame.centered(self.lifted).astype(np.float64, copy=False)
            self._joint = JointSearch(problem, frame.directions, self.coordinates, vectors)
        return self._joint

    def best_joint(self) -> tuple[int, float]:
        """Return the action with the highest joint maximum."""
        joint = self.joint()
        return walk(joint.bounds(), joint.value, joint.values)

    def optimist_joint(self, index: int) -> Callable[[], Array]:
        """Return θ̃, and P̃ through its `projection` method."""
        return self.joint().pair(index)

    def believer(self) -> Callable[[], Array]:
        """Return a function that computes V̂φ̂."""
        ellipse, frame = self.ellipse, self.frame
        return lambda: frame.lower(ellipse.center)

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from N(φ̂, scale² B⁻¹); without a scale, the noise R."""
        scale = self._noise if scale is None else scale
        normal = rng.standard_normal((count, len(self.ellipse.center)))
        return self.models(self.ellipse.center + scale * normal @ self.ellipse.whitening)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models spread uniformly over the boundary of the ellipsoid, each with the slack added."""
        normal = rng.standard_normal((count, len(self.ellipse.center)))
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.finfo(float).tiny)
        return self.models(self.ellipse.center + self.beta * normal @ self.ellipse.whitening, slack=True)

    def models(self, parameters: Array, slack: bool = False) -> Models:
        """Return models given by their parameters (n, q) in the frame's coordinates."""
        values = parameters @ self.coordinates.T
        frame = self.frame
        return Models(values + self.slack if slack else values, lambda index: frame.lower(parameters[index]))
