"""What a researcher would write in plain NumPy: the references that the libraries are measured against."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from eigenbandits.subspace.error import estimated_error
from eigenbandits.theory import radius as radii

Array = NDArray[np.float64]
DELTA, RIDGE, THETA_BOUND = 0.01, 1.0, 1.0


class _Oful:
    """OFUL with the log-determinant radius; how the inverse is kept is left to the classes below."""

    def __init__(self, dim: int, noise: float) -> None:
        self.noise = noise
        self.theta = np.zeros(dim)
        self.moment = np.zeros(dim)
        self.log_det_ratio = 0.0

    def omega(self) -> float:
        """Return the confidence radius."""
        return radii.omega_logdet(
            noise=self.noise, log_det_ratio=self.log_det_ratio, delta=DELTA, theta_bound=THETA_BOUND, ridge=RIDGE
        )


class OfulShermanMorrison(_Oful):
    """The inverse by the Sherman–Morrison formula, with NumPy's own operators."""

    def __init__(self, dim: int, noise: float) -> None:
        super().__init__(dim, noise)
        self.inverse: Any = np.eye(dim) / RIDGE

    def uppers(self, actions: Array) -> Array:
        """Return the optimistic value of each action."""
        widths = np.sqrt(np.einsum("ij,ij->i", actions @ self.inverse, actions))
        return np.asarray(actions @ self.theta + self.omega() * widths)

    def choose(self, actions: Array) -> int:
        """Return the most optimistic action."""
        return int(np.argmax(self.uppers(actions)))

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        solved = self.inverse @ action
        gain = 1.0 + action @ solved
        self.inverse -= np.outer(solved, solved) / gain
        self.moment += reward * action
        self.theta = self.inverse @ self.moment
        self.log_det_ratio += float(np.log(gain))


class OfulBlas(_Oful):
    """The same with the symmetric BLAS routines of SciPy: half of the matrix, in place, no temporary of size d²."""

    def __init__(self, dim: int, noise: float) -> None:
        super().__init__(dim, noise)
        self.inverse: Any = np.asfortranarray(np.eye(dim) / RIDGE)

    def choose(self, actions: Array) -> int:
        """Return the most optimistic action."""
        solved = blas.dsymm(1.0, self.inverse, actions.T, lower=1)
        widths = np.sqrt(np.einsum("ij,ji->i", actions, solved))
        return int(np.argmax(actions @ self.theta + self.omega() * widths))

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        solved = blas.dsymv(1.0, self.inverse, action, lower=1)
        gain = 1.0 + float(action @ solved)
        self.inverse = blas.dsyr(-1.0 / gain, solved, lower=1, a=self.inverse, overwrite_a=1)
        self.theta += solved * ((reward - float(action @ self.theta)) / gain)
        self.log_det_ratio += float(np.log(gain))


class OfulBlasFull(_Oful):
    """The same in place on the whole matrix: more to write, but the fastest matrix product."""

    def __init__(self, dim: int, noise: float) -> None:
        super().__init__(dim, noise)
        self.inverse: Any = np.asfortranarray(np.eye(dim) / RIDGE)

    def choose(self, actions: Array) -> int:
        """Return the most optimistic action."""
        widths = np.sqrt(np.einsum("ij,ij->i", actions @ self.inverse, actions))
        return int(np.argmax(actions @ self.theta + self.omega() * widths))

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        solved = self.inverse @ action
        gain = 1.0 + float(action @ solved)
        self.inverse = blas.dger(-1.0 / gain, solved, solved, a=self.inverse, overwrite_a=1)
        self.theta += solved * ((reward - float(action @ self.theta)) / gain)
        self.log_det_ratio += float(np.log(gain))


class OfulInverse(OfulShermanMorrison):
    """The inverse and the determinant computed again in every round."""

    def __init__(self, dim: int, noise: float) -> None:
        super().__init__(dim, noise)
        self.matrix = np.eye(dim) * RIDGE

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        self.matrix += np.outer(action, action)
        self.moment += reward * action
        self.inverse = np.linalg.inv(self.matrix)
        self.theta = self.inverse @ self.moment
        self.log_det_ratio = float(np.linalg.slogdet(self.matrix)[1]) - len(self.theta) * float(np.log(RIDGE))


class PslbEigh:
    """PSLB as one would first write it: `eigh` of the second moment in every round, m known, both sets in full.

    The formulas are those of `eigenbandits.PSLB(rank=m)`: the sharp radius, the projection error estimated from the
    spectrum, the slack for what lies outside of the subspace, and the lower of the two optimistic values.
    """

    def __init__(self, dim: int, noise: float, rank: int) -> None:
        self.rank = rank
        self.noise = noise
        self.ambient = OfulShermanMorrison(dim, noise)
        self.second_moment = np.zeros((dim, dim))
        self.gram = np.zeros((dim, dim))
        self.seen = 0

    def choose(self, actions: Array) -> int:
        """Return the most optimistic action over both sets."""
        self.second_moment += actions.T @ actions
        self.seen += len(actions)
        values, vectors = np.linalg.eigh(self.second_moment / self.seen)
        error = estimated_error(np.maximum(values[::-1], 0.0), self.rank, self.seen)
        uppers = self.ambient.uppers(actions)
        if error < 1.0:
            uppers = np.minimum(uppers, self._projected(actions, vectors[:, ::-1][:, : self.rank], error))
        return int(np.argmax(uppers))

    def _projected(self, actions: Array, basis: Array, error: float) -> Array:
        cross = basis.T @ self.gram
        shape = cross @ basis + RIDGE * np.eye(self.rank)
        inverse = np.linalg.inv(shape)
        leak = cross - (cross @ basis) @ basis.T
        beta = radii.beta(
            noise=self.noise,
            log_det_ratio=float(np.linalg.slogdet(shape)[1]) - self.rank * float(np.log(RIDGE)),
            delta=DELTA,
            theta_bound=THETA_BOUND,
            ridge=RIDGE,
            projection_error=error,
            coupling=float(np.linalg.norm(np.linalg.cholesky(inverse).T @ leak, 2)),
        )
        inside = actions @ basis
        outside = np.sqrt(np.maximum((actions**2).sum(axis=1) - (inside**2).sum(axis=1), 0.0))
        widths = np.sqrt(np.einsum("ij,jk,ik->i", inside, inverse, inside))
        center = inverse @ (basis.T @ self.ambient.moment)
        return np.asarray(inside @ center + beta * widths + error * THETA_BOUND * outside)

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        self.gram += np.outer(action, action)
        self.ambient.learn(action, reward)
