"""Slow twins of the algorithms: the whole history, dense matrices, the formulas as they are written, no shortcuts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import eigenbandits as eb
from eigenbandits import theory
from eigenbandits.subspace.effective import Effective
from eigenbandits.subspace.pca import is_sampled

Vector = np.ndarray
Matrix = np.ndarray


def inverse_root(matrix: Matrix) -> Matrix:
    """Return A^{-1/2}."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(values)) @ vectors.T


def log_det(matrix: Matrix) -> float:
    sign, value = np.linalg.slogdet(matrix)
    assert sign > 0
    return float(value)


def norm_in(matrix: Matrix, vector: Vector) -> float:
    """Return ‖x‖_{A⁻¹}."""
    return math.sqrt(float(vector @ np.linalg.inv(matrix) @ vector))


def least_larger_form(shape1: Matrix, center1: Vector, shape2: Matrix, center2: Vector) -> float:
    """Return min over φ of max(q₁, q₂), by the largest over a fine grid of τ of the least (1 − τ)q₁ + τq₂."""
    tau = (1 / (1 + np.exp(-np.linspace(-30.0, 30.0, 1201))))[:, None]
    mixed = (1 - tau)[..., None] * shape1 + tau[..., None] * shape2
    points = np.linalg.solve(mixed, ((1 - tau) * (shape1 @ center1) + tau * (shape2 @ center2))[..., None])[..., 0]
    first, second = points - center1, points - center2
    forms = (1 - tau[:, 0]) * np.sum(first @ shape1 * first, axis=1) + tau[:, 0] * np.sum(
        second @ shape2 * second, axis=1
    )
    return float(forms.max())


@dataclass
class PlainLinear:
    """Ridge regression on all that was learned: OFUL's estimate, widths and radii.

    `center` says what is taken off an action before it is used; for "mean" and "set" an intercept κ of the root mean
    square norm of the first decision set is added as a last coordinate.
    """

    noise: float
    theta_bound: float = 1.0
    ridge: float = 1.0
    delta: float = 0.01
    center: str = "none"
    sets: list[Matrix] = field(default_factory=list)
    learned: list[tuple[Matrix, Vector, float]] = field(default_factory=list)

    @property
    def by_set(self) -> bool:
        return self.center in ("set", "differences")

    @property
    def has_intercept(self) -> bool:
        return self.center in ("mean", "set")

    def lift(self, actions: Matrix, own_set: Matrix) -> Matrix:
        if self.center == "none":
            return actions
        if self.center == "differences":
            return actions - own_set.mean(axis=0)
        kappa = math.sqrt(np.mean(np.sum(self.sets[0] ** 2, axis=1)))
        taken_off = self.sets[0].mean(axis=0) if self.center == "mean" else own_set.mean(axis=0)
        return np.column_stack([actions - taken_off, np.full(len(actions), kappa)])

    def learn(self, own_set: Matrix, action: Vector, reward: float) -> None:
        self.learned.append((own_set, action, reward))

    def history(self) -> tuple[Matrix, Vector]:
        """Return the lifted actions learned from (n, D) and their rewards (n,)."""
        size = self.sets[0].shape[1] + self.has_intercept
        rows = [self.lift(action[None], own_set)[0] for own_set, action, _ in self.learned]
        return np.array(rows).reshape(-1, size), np.array([reward for _, _, reward in self.learned])

    def ambient(self, actions: Matrix) -> tuple[Vector, Vector, float, Matrix, Vector]:
        """Return estimates, widths ‖x‖_{Z⁻¹}, the log-determinant ratio, Z and θ̂."""
        past, rewards = self.history()
        Z = past.T @ past + self.ridge * np.eye(past.shape[1])
        theta = np.linalg.inv(Z) @ past.T @ rewards
        lifted = self.lift(actions, actions)
        widths = np.array([norm_in(Z, x) for x in lifted])
        ratio = log_det(Z) - len(Z) * math.log(self.ridge)
        return lifted @ theta, widths, ratio, Z, theta

    def omega(self, ratio: float) -> float:
        """Return R √(2 log(det(Z)^½ λ^{-d/2} / δ)) + S √λ."""
        return self.noise * math.sqrt(2 * (ratio / 2 - math.log(self.delta))) + self.theta_bound * math.sqrt(self.ridge)


@dataclass
class Look:
    """What a twin says of one decision set."""

    estimates: Vector
    uppers: Vector
    projected: Vector
    ambient: Vector
    beta: float
    omega: float
    error: float
    rank: int
    spectrum: Vector
    acts_on_ambient: bool


def phi(structure: eb.Structure, arms: float, dim: int, delta: float) -> float:
    """Return φ_δ, as eq. projmain writes it."""
    g_x, g_psi = structure.lambda_plus / structure.lambda_minus, structure.sigma2 / structure.lambda_minus
    difficulty = 2 * g_psi + 4 * math.sqrt(g_x * g_psi)
    return 2 * difficulty * math.sqrt(max(structure.d_x, structure.d_psi) / arms * math.log(2 * dim / delta))


@dataclass
class PlainPSLB(PlainLinear):
    """PSLB with the eigenvectors found in every round, for the options of `eb.PSLB` of the same names."""

    rank: int = 2
    radius: str = "sharp"
    projection_error: str | float = "estimated"
    structure: eb.Structure | None = None
    intersect: bool = True
    anytime: bool = False
    effective: Effective = field(default_factory=Effective)
    asked: list[Matrix] = field(default_factory=list)
    frame: tuple[Matrix, Vector] | None = None

    def second_moment(self) -> tuple[Matrix, Vector]:
        """Return the second moment of all vectors seen, centred as asked, and the mean that was taken off."""
        vectors = np.concatenate(self.sets)
        zero = np.zeros(vectors.shape[1])
        if self.by_set:
            vectors = np.concatenate([actions - actions.mean(axis=0) for actions in self.sets])
            return vectors.T @ vectors / len(vectors), zero
        mean = vectors.mean(axis=0) if self.center == "mean" else zero
        return (vectors - mean).T @ (vectors - mean) / len(vectors), mean

    def error(self, spectrum: Vector) -> float:
        count, dim, m = sum(map(len, self.sets)), len(spectrum), self.rank
        if self.projection_error in ("theorem", "theorem-main"):
            assert self.structure is not None
            delta = 6 * self.delta / (math.pi * len(self.sets)) ** 2 if self.anytime else self.delta
            if self.projection_error == "theorem-main":
                t, arms = len(self.sets), count / len(self.sets)
                warm = t < theory.n_delta(self.structure, dim=dim, rank=m, delta=delta) / arms
                return 1.0 if warm else phi(self.structure, arms, dim, delta) / math.sqrt(t)
            return theory.projection_error(self.structure, vectors_seen=count, dim=dim, rank=m, delta=delta)
        if self.projection_error != "estimated":
            return float(self.projection_error)
        if count <= m or spectrum[m - 1] <= spectrum[m]:
            return 1.0
        variance = np.array(
            [[spectrum[j] * spectrum[k] / (spectrum[j] - spectrum[k]) ** 2 for k in range(m, dim)] for j in range(m)]
        )
        rows, columns = variance.sum(axis=1).max(), variance.sum(axis=0).max()
        inflation, largest = self.effective.doubt(count, len(self.sets), self.center != "none")
        if count / inflation <= m or largest >= spectrum[m - 1]:
            return 1.0
        size = (math.sqrt(rows) + math.sqrt(columns)) * math.sqrt(inflation / count)
        return min(1.0, 1.25 * size / (1.0 - largest / spectrum[m - 1]))

    def compare(self, actions: Matrix) -> None:
        """Show the set to what counts vectors (which has tests of its own), in units of 1 whatever their size."""
        if len(self.sets) == 1:
            self.effective.start(actions)
        vectors = actions - actions.mean(axis=0) if self.by_set else actions
        V, mean = (None, None) if self.frame is None else self.frame
        if self.center == "mean":
            # A large mean is taken off from the first set on.
            reference = self.sets[0].mean(axis=0)
            vectors, mean = vectors - reference, None if mean is None else mean - reference
        count = sum(map(len, self.sets))
        if is_sampled(len(self.sets)):
            self.effective.add_set(vectors, count, V, mean)
        self.effective.add_batch(vectors, V, mean)

    def read(self, actions: Matrix, own_set: Matrix, V: Matrix, mean: Vector) -> tuple[Matrix, Matrix]:
        """Return the coordinates (n, q) of actions and what these leave out (n, d)."""
        centred = actions - (own_set.mean(axis=0) if self.by_set else mean)
        inside = centred @ V
        outside = centred - inside @ V.T
        if self.has_intercept:
            kappa = math.sqrt(np.mean(np.sum(self.sets[0] ** 2, axis=1)))
            inside = np.column_stack([inside, np.full(len(inside), kappa)])
        return inside, outside

    def look(self, actions: Matrix) -> Look:
        """Take in a decision set and return the values of its actions."""
        self.sets.append(actions)
        self.compare(actions)
        moment, mean = self.second_moment()
        values, vectors = np.linalg.eigh(moment)
        spectrum, V = np.maximum(values[::-1], 0.0), vectors[:, ::-1][:, : self.rank]
        self.frame = V, mean
        self.effective.follow(spectrum, self.rank)
        error = self.error(spectrum)

        q = self.rank + self.has_intercept
        past = [self.read(action[None], own_set, V, mean) for own_set, action, _ in self.learned]
        lifted, rewards = self.history()
        z_past = np.array([z[0] for z, _ in past]).reshape(-1, q)
        out_past = np.array([out[0] for _, out in past]).reshape(-1, actions.shape[1])
        B = z_past.T @ z_past + self.ridge * np.eye(q)
        phi = np.linalg.inv(B) @ z_past.T @ rewards
        leaving = out_past if self.radius == "sharp" else lifted
        coupling = float(np.linalg.norm(inverse_root(B) @ z_past.T @ leaving, 2)) if len(past) else 0.0
        delta = 6 * self.delta / (math.pi * len(self.sets)) ** 2 if self.anytime else self.delta
        noise_term = self.noise * math.sqrt(log_det(B) - q * math.log(self.ridge) - 2 * math.log(delta))
        if self.radius == "worst-case":
            # L is that of the sets that the projected set was asked about: not while its error is vacuous.
            if not (self.intersect and error >= 1.0):
                self.asked.append(actions)
            asked = self.asked or [actions]
            bound = max(float(np.linalg.norm(self.lift(one, one), axis=1).max()) for one in asked)
            t = len(self.learned) + 1
            growth = math.log(1 + t * bound**2 / (q * self.ridge))
            gamma = bound**2 / (self.ridge * math.log(1 + bound**2 / self.ridge))
            noise_term = self.noise * math.sqrt(2 * math.log(1 / delta) + q * growth)
            coupling = bound * math.sqrt(gamma * q * t * growth)
        beta = noise_term + error * self.theta_bound * coupling + self.theta_bound * math.sqrt(self.ridge)

        z, outside = self.read(actions, actions, V, mean)
        estimates = z @ phi
        slack = min(error, 1.0) * self.theta_bound * np.linalg.norm(outside, axis=1)
        projected = estimates + beta * np.array([norm_in(B, row) for row in z]) + slack

        ambient_estimates, widths, ratio, Z, theta = self.ambient(actions)
        omega = self.omega(ratio)
        ambient = ambient_estimates + omega * widths
        alone = self.intersect and error >= 1.0
        if self.intersect and not alone:
            shadow = self.shadow(V, mean)
            M = np.linalg.inv(shadow.T @ np.linalg.inv(Z) @ shadow)
            alone = least_larger_form(B / beta**2, phi, M / omega**2, shadow.T @ theta) > 1.0
        if not self.intersect:
            uppers = projected
        elif alone:
            uppers, estimates = ambient, ambient_estimates
        else:
            uppers = np.minimum(projected, ambient)
        return Look(estimates, uppers, projected, ambient, beta, omega, error, self.rank, spectrum, alone)

    def shadow(self, V: Matrix, mean: Vector) -> Matrix:
        """Return A with φ = Aᵀϑ: with x̃ = (x − ref, κ) and z = (Vᵀ(x − μ), κ), the same reward asks for (Vᵀθ, c')."""
        if not self.has_intercept:
            return V
        kappa = math.sqrt(np.mean(np.sum(self.sets[0] ** 2, axis=1)))
        matrix = np.zeros((len(V) + 1, V.shape[1] + 1))
        matrix[:-1, :-1] = V
        matrix[-1, -1] = 1.0
        if self.center == "mean":
            # (x − ref)ᵀθ + κc = (x − μ)ᵀθ + κ(c + (μ − ref)ᵀθ/κ).
            matrix[:-1, -1] = (mean - self.sets[0].mean(axis=0)) / kappa
        return matrix


def spectral_uppers(belief: Any, lifted: Matrix) -> Vector:
    """Return the optimistic values of a spectral posterior by dense matrices, one action after the other."""
    count, sigma = belief.evidence.weight, belief.noise
    standard = belief.omega_of(len(lifted)) / (belief.width * sigma)
    estimates = lifted @ belief.center
    squares = [float(x @ belief.inverse.full() @ x) for x in lifted]
    favorite = max(range(len(lifted)), key=lambda row: estimates[row] + standard * sigma * math.sqrt(squares[row]))
    uppers = []
    for estimate, square in zip(estimates, squares, strict=True):
        rewards = 0.0 if not count else square * (min(1.0 / squares[favorite], count) if squares[favorite] else count)
        deviations = max(standard, math.sqrt(2.0 * math.log(rewards)) if rewards > 1.0 else 0.0)
        uppers.append(estimate + belief.width * sigma * deviations * math.sqrt(square))
    return np.array(uppers)
