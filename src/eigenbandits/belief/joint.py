"""Line 9 of Algorithm 1: the joint maximum of (P′x)ᵀθ over plausible projections P′ and plausible models θ."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from eigenbandits.belief.plausible import JointPair, Optimum
from eigenbandits.inputs import Array

# A point counts as inside the sets if it violates no constraint by more than this, for an action and S of size 1.
_FEASIBLE = 1e-8
# SLSQP's stopping tolerance: far below the differences between actions.
_STOP = 1e-14
# Two starts whose values differ by less than this have the same optimum.
_ALIKE = 1e-8
# ε = 1 allows projections that are not a graph over span(V̂); this much below 1, the maximum differs by at most 5e-5.
_WIDEST = 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Maximize (P′x)ᵀθ over P′ in C_p and θ in C_m, for one action at a time.

    C_p contains the orthogonal projections of rank m with ‖P′ − P̂‖₂ ≤ ε. C_m is the paper's {θ : ‖θ − θ_t‖_A ≤ β} with
    ‖θ‖ ≤ S: A has rank m, so without S, which the paper's proof uses for θ̃ too, θ would be unbounded outside span(V̂).

    A maximum over P′ is one over y = P′x = a + b, with a in span(V̂) and b outside. The possible y are known exactly:
    yᵀ(x − y) = 0, ‖b‖ ≤ tan Θ ‖a‖ and ‖P̂(x − y)‖ ≤ tan Θ ‖(I − P̂)(x − y)‖, sin Θ = ε (docs/mathematics.md). The best
    θ puts what S leaves along b, so that only a, ‖b‖ and bᵀx are free: 2m + 2 numbers in all, by sequential quadratic
    programming (SLSQP) from a few starts. The problem is not convex: the solution is attained by a pair in both sets,
    and no start has given a better one.

    Parameters
    ----------
    center, whitening, radius
        φ̂, W with WᵀW = B⁻¹, and β.
    theta_bound
        S, or the length of the shortest φ in the ellipsoid if that is larger.
    error
        ε.
    rank
        m: how many of the coordinates lie along directions; one more is the intercept's, which no projection changes.
    outside_dim
        d − m.
    """

    center: Array
    whitening: Array
    radius: float
    theta_bound: float
    error: float
    rank: int
    outside_dim: int

    def bounds(self, coordinates: Array, outside: Array) -> Array:
        """Return (V̂ᵀx)ᵀφ̂ + β‖V̂ᵀx‖_{B⁻¹} + εS‖x‖ (K,), with which the regret proof bounds the maximum."""
        widths = np.linalg.norm(coordinates @ self.whitening.T, axis=1)
        inside = coordinates[:, : self.rank]
        lengths = np.hypot(np.linalg.norm(inside, axis=1), outside)
        shortest = float(np.linalg.norm(self._shortest()))
        reach = min(self.error, 1.0) * max(self.theta_bound, shortest) * lengths
        return np.asarray(coordinates @ self.center + self.radius * widths + reach)

    def solve(self, coordinates: Array, outside: float) -> Optimum:
        """Return the maximum for the action with coordinates V̂ᵀx (q,) and ‖(I − P̂)x‖ = `outside`."""
        size = math.hypot(float(np.linalg.norm(coordinates)), outside)
        if size == 0.0:
            return Optimum(0.0, np.zeros(self.rank), 0.0, 0.0, self.center.copy(), 0.0)
        problem = _Scaled(self, coordinates / size, outside / size, self._shortest() / self.theta_bound)
        best, value = problem.maximize()
        optimum = problem.read(best)
        return Optimum(
            value * size * self.theta_bound,
            optimum["inside"] * size,
            optimum["outside"] * size,
            optimum["along"] * size,
            optimum["parameter"] * self.theta_bound,
            optimum["rest"] * self.theta_bound,
        )

    def _shortest(self) -> Array:
        """Return the shortest φ in the ellipsoid: φ̂ + βWᵀu with (G² + μI)u = −Gφ̂ in the axes of G = βWᵀ."""
        left, lengths, _ = np.linalg.svd(self.radius * self.whitening.T)
        along = left.T @ self.center
        if not lengths.all():
            return self.center
        if float(np.linalg.norm(along / lengths)) <= 1.0:
            return np.zeros_like(self.center)
        # ‖u‖ falls with μ; it is above 1 at 0, and at most 1 at μ = ‖Gφ̂‖.
        low, high = 0.0, float(np.linalg.norm(lengths * along))
        while high - low > 1e-15 * high:
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            if float(np.linalg.norm(lengths * along / (lengths**2 + middle))) > 1.0:
                low = middle
            else:
                high = middle
        return np.asarray(left @ (along * high / (lengths**2 + high)))


class JointSearch:
    """The joint maxima of a decision set's actions, each computed on demand.

    Parameters
    ----------
    problem
        The problem to solve for each action.
    directions, coordinates
        V̂ (d, m), and V̂ᵀx (K, q), with the intercept's coordinate if there is one.
    actions
        The actions (K, d) as the subspace sees them.
    """

    def __init__(self, problem: JointProblem, directions: Array, coordinates: Array, actions: Array) -> None:
        self.problem = problem
        self.directions = directions
        self.coordinates = coordinates
        self.actions = actions
        rest = actions - coordinates[:, : problem.rank] @ directions.T
        self.outside: Array = np.linalg.norm(rest, axis=1)
        self._optima: dict[int, Optimum] = {}

    def bounds(self) -> Array:
        """Return upper bounds on the maxima."""
        return self.problem.bounds(self.coordinates, self.outside)

    def optimum(self, index: int) -> Optimum:
        """Return the maximum of one action."""
        if index not in self._optima:
            self._optima[index] = self.problem.solve(self.coordinates[index], float(self.outside[index]))
        return self._optima[index]

    def value(self, index: int) -> float:
        """Return the maximum's value."""
        return self.optimum(index).value

    def values(self, rows: NDArray[np.intp]) -> Array:
        """Return the values of several actions."""
        return np.array([self.value(int(row)) for row in rows])

    def pair(self, index: int) -> JointPair:
        """Return θ̃ and P̃ of one action, computed on demand."""
        return JointPair(self.directions, self.actions[index].copy(), self.optimum(index))


class _Scaled:
    """The problem for an action and S of size 1, in variables that stay of that size as ε goes to 0.

    The variables are (α, ρ, u, w), in the code `shift`, `length`, `step` and `rest`: a = V̂ᵀx + εα, ‖b‖ = ερ,
    φ = φ̂ + βWᵀu, and w is the part of θ along b. Of x, `inside` is V̂ᵀx and `outside` is ‖(I − P̂)x‖.
    """

    def __init__(self, joint: JointProblem, coordinates: Array, outside: float, shortest: Array) -> None:
        self.rank = joint.rank
        self.coordinates, self.inside, self.outside = coordinates, coordinates[: joint.rank], outside
        self.error = min(joint.error, _WIDEST) if joint.outside_dim else 0.0
        self.line = joint.outside_dim == 1
        self.center = joint.center / joint.theta_bound
        self.axes = joint.radius * joint.whitening.T / joint.theta_bound
        self.shortest = shortest
        # Slightly longer than the shortest φ, so that there is something to search if S is contradicted.
        self.reach = max(1.0, float(np.linalg.norm(shortest)) * (1.0 + 1e-6))

    def split(self, point: Array) -> tuple[Array, float, Array, float]:
        """Return α, ρ, u and w."""
        rank = self.rank
        return point[:rank], float(point[rank]), point[rank + 1 : -1], float(point[-1])

    def value(self, point: Array) -> float:
        """Return −(P′x)ᵀθ."""
        shift, length, step, rest = self.split(point)
        phi = self.center + self.axes @ step
        return -float(self.coordinates @ phi + self.error * (shift @ phi[: self.rank] + length * rest))

    def slope(self, point: Array) -> Array:
        """Return the gradient of `value`."""
        shift, length, step, rest = self.split(point)
        phi = self.center + self.axes @ step
        target = self.coordinates.copy()
        target[: self.rank] += self.error * shift
        gradient = np.empty_like(point)
        gradient[: self.rank] = -self.error * phi[: self.rank]
        gradient[self.rank] = -self.error * rest
        gradient[self.rank + 1 : -1] = -(self.axes.T @ target)
        gradient[-1] = -self.error * length
        return gradient

    def along(self, shift: Array, length: float) -> float:
        """Return bᵀ(I − P̂)x/ε, which yᵀ(x − y) = 0 determines."""
        return float((self.inside + self.error * shift) @ shift + self.error * length**2)

    def room(self, point: Array) -> Array:
        """Return the slack of each constraint, negative if it is violated."""
        shift, length, step, rest = self.split(point)
        phi, inside = self.center + self.axes @ step, self.inside + self.error * shift
        along, cosine_squared = self.along(shift, length), 1.0 - self.error**2
        # ‖(I − P̂)(x − y)‖² = q² − 2bᵀx + ‖b‖², q = ‖(I − P̂)x‖.
        missed = self.outside**2 - 2.0 * self.error * along + (self.error * length) ** 2
        inequalities = [
            float(inside @ inside) - cosine_squared * length**2,  # ‖b‖ ≤ tan Θ ‖a‖
            missed - cosine_squared * float(shift @ shift),  # ‖P̂(x − y)‖ ≤ tan Θ ‖(I − P̂)(x − y)‖
            1.0 - float(step @ step),  # φ is in the ellipsoid
            self.reach**2 - float(phi @ phi) - rest**2,  # ‖θ‖ ≤ S
        ]
        if not self.line:  # |bᵀx| ≤ ‖b‖ q
            inequalities += [length * self.outside - along, length * self.outside + along]
        return np.array(inequalities)

    def room_slope(self, point: Array) -> Array:
        """Return the Jacobian of `room`."""
        shift, length, step, rest = self.split(point)
        phi, inside = self.center + self.axes @ step, self.inside + self.error * shift
        error, cosine_squared = self.error, 1.0 - self.error**2
        # The gradient of `along` by the shift.
        turning = inside + error * shift
        jacobian = np.zeros((4 if self.line else 6, len(point)))
        # The columns of each variable; rows are in the order of `room`.
        shifts, steps = slice(0, self.rank), slice(self.rank + 1, -1)
        lengths, rests = jacobian[:, self.rank], jacobian[:, -1]
        jacobian[0, shifts] = 2.0 * error * inside
        jacobian[1, shifts] = -2.0 * error * turning - 2.0 * cosine_squared * shift
        jacobian[2, steps] = -2.0 * step
        jacobian[3, steps] = -2.0 * (self.axes.T @ phi)
        lengths[:2] = -2.0 * cosine_squared * length, -2.0 * error**2 * length
        rests[3] = -2.0 * rest
        if not self.line:
            jacobian[4, shifts], jacobian[5, shifts] = -turning, turning
            lengths[4:] = self.outside - 2.0 * error * length, self.outside + 2.0 * error * length
        return jacobian

    def on_line(self, point: Array) -> float:
        """Return how far b is from the only direction outside, if d − m = 1."""
        shift, length, _, _ = self.split(point)
        return self.along(shift, length) - length * self.outside

    def on_line_slope(self, point: Array) -> Array:
        """Return the gradient of `on_line`."""
        shift, length, _, _ = self.split(point)
        gradient = np.zeros_like(point)
        gradient[: self.rank] = self.inside + 2.0 * self.error * shift
        gradient[self.rank] = 2.0 * self.error * length - self.outside
        return gradient

    def starts(self) -> list[Array]:
        """Return points inside the sets: the most optimistic φ that S allows, with P̂ turned by Θ in one plane."""
        width = self.axes.T @ self.coordinates
        norm = float(np.linalg.norm(width))
        far = self.center + self.axes @ (width / norm) if norm > 0.0 else self.center
        phi = self.shortest + _share(self.shortest, far - self.shortest, self.reach) * (far - self.shortest)
        step = np.linalg.lstsq(self.axes, phi - self.center, rcond=None)[0]
        step /= max(1.0, float(np.linalg.norm(step)))
        rest = math.sqrt(max(self.reach**2 - float(phi @ phi), 0.0))
        sine, cosine = self.error, math.sqrt(1.0 - self.error**2)
        points = []
        for direction in (phi[: self.rank], self.inside, -self.inside, -phi[: self.rank]):
            size = float(np.linalg.norm(direction))
            # P′ = P̂ − vvᵀ + ggᵀ with g = cos Θ v + sin Θ w, w the unit vector along the part of x outside.
            turned = direction / size if size > 0.0 else np.eye(self.rank)[0]
            along = float(turned @ self.inside)
            shift, length = turned * (cosine * self.outside - sine * along), cosine * along + sine * self.outside
            # On a line the length has a sign, which the part of θ along b follows; elsewhere it is a norm.
            variables = (length, rest if length >= 0.0 else -rest) if self.line else (abs(length), rest)
            points.append(np.concatenate([shift, variables[:1], step, variables[1:]]))
        return points

    def maximize(self) -> tuple[Array, float]:
        """Return the best point found, and its value."""
        constraints: list[dict[str, Any]] = [{"type": "ineq", "fun": self.room, "jac": self.room_slope}]
        if self.line:
            constraints.append({"type": "eq", "fun": self.on_line, "jac": self.on_line_slope})
        starts = sorted(self.starts(), key=self.value)
        best, value = starts[0], self.value(starts[0])
        for start in starts:
            options = {"maxiter": 60, "ftol": _STOP}
            minimize: Any = optimize.minimize  # its stubs do not allow a list of constraints that grows
            point = minimize(
                self.value, start, jac=self.slope, method="SLSQP", constraints=constraints, options=options
            ).x
            inside = self.room(point).min() >= -_FEASIBLE and (not self.line or abs(self.on_line(point)) <= _FEASIBLE)
            reached = self.value(point)
            # In a plane, P̂ can be turned one way or the other, and neither leads to the other; otherwise, two starts
            # with the same optimum are enough.
            if self.rank > 1 and inside and abs(reached - value) <= _ALIKE and start is not starts[0]:
                return best, -value
            if inside and reached < value:
                best, value = point, reached
        return best, -value

    def read(self, point: Array) -> dict[str, Any]:
        """Return a point in the terms of `Optimum`."""
        shift, length, step, rest = self.split(point)
        if self.line:
            along = self.error * length
        else:
            along = self.error * self.along(shift, length) / self.outside if self.outside > 0.0 else 0.0
        return {
            "inside": self.inside + self.error * shift,
            "outside": self.error * abs(length),
            "along": along,
            "parameter": self.center + self.axes @ step,
            "rest": rest if length >= 0.0 else -rest,
        }


def _share(start: Array, step: Array, length: float) -> float:
    """Return the share of a step, at most all of it, that ends within a ball around the origin."""
    square, product = float(step @ step), float(start @ step)
    if square == 0.0:
        return 1.0
    root = math.sqrt(max(product**2 - square * (float(start @ start) - length**2), 0.0))
    return min(1.0, max(0.0, (root - product) / square))
