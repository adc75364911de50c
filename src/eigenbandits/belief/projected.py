"""The ellipsoid C_m around the ridge estimate in the estimated subspace (Theorem 3 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, linalg
from eigenbandits.belief import radius as radii
from eigenbandits.belief.base import Belief, Models, View
from eigenbandits.belief.evidence import Evidence
from eigenbandits.subspace.base import Frame

Array = NDArray[np.float64]
RADII = ("sharp", "general", "worst-case")


class Projected(Belief):
    """‖φ − φ̂‖_B ≤ β for φ = V̂ᵀθ, with B = V̂ᵀΣV̂ + λI and φ̂ = B⁻¹V̂ᵀb.

    Parameters
    ----------
    noise, theta_bound, ridge, delta, action_bound
        R, S, λ, δ and L, as for `Ambient`.
    radius
        "general": the paper's radius (eq. ellips1Supple), with S ε ‖B^{-1/2} V̂ᵀΣ‖₂ for the projection error;
        "sharp": the same with Σ(I − P̂) in the place of Σ, which is all that the proof needs (DESIGN 4.1);
        "worst-case": the paper's closed form (eq. ellips2); or a number: a free multiplier.
    anytime
        Spend δ over the rounds, 6δ/(π²t²): the projection changes with t, so that a bound for each fixed t is not
        yet one for all (DESIGN 4.6).
    """

    _state_names: ClassVar[tuple[str, ...]] = ("evidence", "version", "reading", "gram_reading")

    def __init__(
        self,
        noise: float,
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        radius: str | float = "sharp",
        action_bound: float | None = None,
        anytime: bool = False,
    ) -> None:
        self.noise = inputs.number(noise, "noise", least=0.0)
        self.theta_bound = inputs.number(theta_bound, "theta_bound", above=0.0)
        self.ridge = inputs.number(ridge, "ridge", above=0.0)
        self.delta = inputs.probability(delta, "delta")
        if isinstance(radius, str):
            inputs.one_of(radius, "radius", RADII)
        else:
            inputs.number(radius, "radius", least=0.0)
        self.radius = radius
        self.action_bound = None if action_bound is None else inputs.number(action_bound, "action_bound", above=0.0)
        self.anytime = bool(anytime)
        self.evidence = Evidence()
        self.owns_evidence = True
        self.version = -1
        self.reading: Array | None = None
        self.gram_reading: Array = np.zeros((0, 0))
        self._ellipse: Ellipse | None = None

    def share(self, evidence: Evidence) -> None:
        """Read the sums that another belief keeps."""
        self.evidence = evidence
        self.owns_evidence = False

    def start(self, dim: int) -> None:
        """Lay out the sums."""
        if self.owns_evidence:
            self.evidence.start(dim)

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        if self.owns_evidence:
            self.evidence.add(action, reward)
        self._ellipse = None
        if self.reading is not None:
            # While the frame stands still, ΣF follows by rank one; a new frame reads Σ afresh.
            self.gram_reading += np.multiply.outer(action, action @ self.reading)

    def learn_many(self, actions: Array, rewards: Array) -> None:
        """Add many rewards by one rank-k update."""
        if self.owns_evidence:
            self.evidence.add_many(actions, rewards)
        self._ellipse = None
        if self.reading is not None:
            self.gram_reading += actions.T @ (actions @ self.reading)

    def ellipse(self, frame: Frame) -> Ellipse:
        """Return the ellipsoid's centre and shape in the frame's coordinates."""
        if self.reading is None or self.version != frame.version:
            self.reading, self.version, self._ellipse = frame.reading, frame.version, None
            self.gram_reading = linalg.times_columns(self.evidence.gram, self.reading)
        if self._ellipse is None:
            shape = self.reading.T @ self.gram_reading
            shape[np.diag_indices_from(shape)] += self.ridge
            values, vectors = np.linalg.eigh(shape)
            # B ⪰ λI: an eigenvalue below λ is rounding.
            self._ellipse = Ellipse(np.maximum(values, self.ridge), vectors, self.reading.T @ self.evidence.moment)
        return self._ellipse

    def coupling(self, frame: Frame, radius: str) -> float:
        """Return ‖B^{-1/2} V̂ᵀΣ‖₂, or for "sharp" ‖B^{-1/2} V̂ᵀΣ(I − P̂)‖₂."""
        ellipse = self.ellipse(frame)
        cross = frame.leak(self.gram_reading) if radius == "sharp" else self.gram_reading.T
        scaled = ellipse.whitening.T @ cross
        return float(np.sqrt(max(float(np.linalg.eigvalsh(scaled @ scaled.T)[-1]), 0.0)))

    def beta(self, frame: Frame, round_: int, radius: str | float | None = None) -> float:
        """Return the radius β; by default the one chosen, or any other of the three."""
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
                action_bound=self.evidence.largest_norm if self.action_bound is None else self.action_bound,
                rank=frame.size,
                projection_error=frame.error,
            )
        return radii.beta(
            noise=self.noise,
            log_det_ratio=self.ellipse(frame).log_det - frame.size * float(np.log(self.ridge)),
            delta=delta,
            theta_bound=self.theta_bound,
            ridge=self.ridge,
            projection_error=frame.error,
            coupling=self.coupling(frame, kind) if frame.error > 0.0 else 0.0,
        )

    def view(self, lifted: Array, dim: int, frame: Frame | None, round_: int) -> ProjectedView:
        """Look at the ellipsoid through a decision set."""
        if frame is None:
            raise ValueError(
                "a projected belief needs a subspace with directions, such as PCA; the whole space has none."
            )
        if self.radius == "worst-case" and self.action_bound is None:
            self.evidence.note_norms(lifted)
        return ProjectedView(self.ellipse(frame), frame, self.beta(frame, round_), self.theta_bound, lifted)

    def restore(self, state: dict[str, Any]) -> None:
        """Take back a saved state."""
        super().restore(state)
        self._ellipse = None

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the radius and how much has been learned."""
        found: dict[str, Any] = {"rewards_learned": self.evidence.count, "radius_projected": None}
        # A frame that no choice has used yet is left alone: looking must not change when ΣF is read afresh.
        if frame is not None and self.reading is not None and frame.version == self.version:
            found["radius_projected"] = self.beta(frame, self.evidence.count + 1)
        return found


class Ellipse:
    """B by its eigenvectors, and φ̂: small, and never changed once made, so that views may keep it."""

    def __init__(self, values: Array, vectors: Array, moment: Array) -> None:
        self.whitening = vectors / np.sqrt(values)  # W with WWᵀ = B⁻¹
        self.center = self.whitening @ (self.whitening.T @ moment)
        self.log_det = float(np.log(values).sum())
        self.values = values
        self.vectors = vectors

    def shape(self) -> Array:
        """Return B."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)


class ProjectedView(View):
    """C_m through one decision set, with the slack ε S ‖(I − P̂)x‖ for what the subspace may miss (DESIGN 4.2)."""

    def __init__(self, ellipse: Ellipse, frame: Frame, beta: float, theta_bound: float, lifted: Array) -> None:
        self.ellipse = ellipse
        self.frame = frame
        self.beta = beta
        self.coordinates, outside = frame.coordinates(lifted)
        self.slack = min(frame.error, 1.0) * theta_bound * outside
        self._uppers: Array | None = None

    def estimates(self) -> Array:
        """Return (V̂ᵀx)ᵀφ̂."""
        return np.asarray(self.coordinates @ self.ellipse.center)

    def uppers(self) -> Array:
        """Return (V̂ᵀx)ᵀφ̂ + β‖V̂ᵀx‖_{B⁻¹} + εS‖(I − P̂)x‖."""
        if self._uppers is None:
            white = self.coordinates @ self.ellipse.whitening
            widths = np.sqrt(np.einsum("ij,ij->i", white, white))
            self._uppers = self.estimates() + self.beta * widths + self.slack
        return self._uppers

    def optimist(self, index: int) -> Callable[[], Array]:
        """Give V̂(φ̂ + βB⁻¹z/‖z‖_{B⁻¹})."""
        ellipse, frame, beta, z = self.ellipse, self.frame, self.beta, self.coordinates[index].copy()

        def model() -> Array:
            white = ellipse.whitening.T @ z
            width = float(np.linalg.norm(white))
            step = ellipse.whitening @ white * (beta / width) if width > 0.0 else 0.0
            return frame.lower(ellipse.center + step)

        return model

    def believer(self) -> Callable[[], Array]:
        """Give V̂φ̂."""
        ellipse, frame = self.ellipse, self.frame
        return lambda: frame.lower(ellipse.center)

    def posterior(self, count: int, scale: float, rng: np.random.Generator) -> Models:
        """Return draws from N(φ̂, scale² B⁻¹)."""
        normal = rng.standard_normal((count, len(self.ellipse.center)))
        return self.models(self.ellipse.center + scale * normal @ self.ellipse.whitening.T)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models spread evenly over the boundary of the ellipsoid, each with the slack on top."""
        normal = rng.standard_normal((count, len(self.ellipse.center)))
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.finfo(float).tiny)
        return self.models(self.ellipse.center + self.beta * normal @ self.ellipse.whitening.T, slack=True)

    def models(self, parameters: Array, slack: bool = False) -> Models:
        """Return models given by their parameters (n, q) in the frame's coordinates."""
        values = parameters @ self.coordinates.T
        frame = self.frame
        return Models(values + self.slack if slack else values, lambda index: frame.lower(parameters[index]))
