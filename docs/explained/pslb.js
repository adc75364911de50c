// PSLB, the paper's algorithm, with the library's sharp radius: the lower of two optimistic values counts.
(function (root) {
  "use strict";
  const { THETA_BOUND, Moment, Rewards, dot, eigen, ellipsoid, estimatedError, largest, largestSingular } = root.eigenbandits;
  const { norm, outside, quadratic, times, upperAmbient } = root.eigenbandits;

  // The set in the span of the directions (m rows), given a bound ε on the projection error: φ̂, B⁻¹ and β.
  function projectedSet(rewards, noise, directions, error) {
    const pulled = directions.map((v) => times(rewards.gram, v));
    const gram = pulled.map((row) => times(directions, row));
    const set = ellipsoid(gram, times(directions, rewards.score), noise);
    // ‖B^(−½)V̂ᵀΣ(I − P̂)‖: what leaks out of the subspace.
    const leaks = pulled.map((row) => outside(directions, row));
    const roots = eigen(set.inverse);
    const half = roots.vectors.map((v, i) => v.map((x) => x * Math.sqrt(roots.values[i])));
    const mixed = half.map((row) => leaks[0].map((_, i) => row.reduce((sum, x, j) => sum + x * leaks[j][i], 0)));
    const radius = set.radius + error * THETA_BOUND * largestSingular(mixed);
    return { ...set, radius, directions, error };
  }

  // The largest value of xᵀθ over the set, what lies outside the subspace included.
  function upperProjected(set, x) {
    const inside = times(set.directions, x);
    const slack = set.error * THETA_BOUND * norm(outside(set.directions, x));
    return dot(inside, set.center) + set.radius * Math.sqrt(quadratic(set.inverse, inside)) + slack;
  }

  class PSLB {
    constructor(dim, noise, rank) {
      this.noise = noise;
      this.rank = rank;
      this.rewards = new Rewards(dim);
      this.moment = new Moment(dim);
    }

    choose(actions) {
      this.moment.add(actions);
      const { values, vectors } = this.moment.spectrum(false);
      const directions = vectors.slice(0, this.rank);
      const error = estimatedError(values, this.rank, this.moment.count);
      const ambient = ellipsoid(this.rewards.gram, this.rewards.score, this.noise);
      let uppers = actions.map((x) => upperAmbient(ambient, x));
      let projected = null;
      // A bound of 1 says nothing about where θ* is.
      if (error < 1) {
        projected = projectedSet(this.rewards, this.noise, directions, error);
        uppers = actions.map((x, k) => Math.min(upperProjected(projected, x), uppers[k]));
      }
      return { index: largest(uppers), uppers, ambient, projected, directions, error };
    }

    learn(action, reward) {
      this.rewards.learn(action, reward);
    }
  }

  Object.assign(root.eigenbandits, { upperProjected, PSLB });
})(globalThis);
