// OFUL: optimism over one confidence set in all dimensions (Abbasi-Yadkori, Pál and Szepesvári 2011).
(function (root) {
  "use strict";
  const { addOuter, dot, inverse, largest, quadratic, times, zeros } = root.eigenbandits;

  // λ, S ≥ ‖θ*‖ and δ, as the library has them by default.
  const RIDGE = 1;
  const THETA_BOUND = 1;
  const DELTA = 0.01;

  // What the rewards add up to: Σ = Σ x xᵀ and b = Σ r x over the chosen actions.
  class Rewards {
    constructor(dim) {
      this.gram = zeros(dim);
      this.score = new Array(dim).fill(0);
    }

    learn(action, reward) {
      addOuter(this.gram, action, action, 1);
      for (let i = 0; i < action.length; i++) this.score[i] += reward * action[i];
    }
  }

  // The set around the ridge estimate of a regression: its center, Z⁻¹ and R √(2 log(det^½ λ^(−n/2) / δ)) + S√λ.
  function ellipsoid(gram, score, noise) {
    const solved = inverse(gram.map((row, i) => row.map((x, j) => x + (i === j ? RIDGE : 0))));
    const logRatio = solved.logdet - gram.length * Math.log(RIDGE);
    const radius = noise * Math.sqrt(logRatio + 2 * Math.log(1 / DELTA)) + THETA_BOUND * Math.sqrt(RIDGE);
    return { center: times(solved.matrix, score), inverse: solved.matrix, radius };
  }

  // The largest value of xᵀθ over the set.
  const upperAmbient = (set, x) => dot(x, set.center) + set.radius * Math.sqrt(quadratic(set.inverse, x));

  class OFUL {
    constructor(dim, noise) {
      this.noise = noise;
      this.rewards = new Rewards(dim);
    }

    choose(actions) {
      const ambient = ellipsoid(this.rewards.gram, this.rewards.score, this.noise);
      const uppers = actions.map((x) => upperAmbient(ambient, x));
      return { index: largest(uppers), uppers, ambient };
    }

    learn(action, reward) {
      this.rewards.learn(action, reward);
    }
  }

  Object.assign(root.eigenbandits, { THETA_BOUND, Rewards, ellipsoid, upperAmbient, OFUL });
})(globalThis);
