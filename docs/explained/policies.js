// The mathematics of the page: the same problems and policies as the Python library, in plain JavaScript.
//
// tests/docs/test_explained.py runs this file under node and compares it with the library, round by round. OFUL and PSLB
// are computed here. What needs more of the library than fits on a page, PSLB's estimate of the projection error and
// EigenUCB's choices, is recorded from it by scripts/explained.py (recorded.js).
(function (root) {
  "use strict";

  const DIM = 20;
  const ROUNDS = 200;
  const KNOBS = {
    rank: [1, 2, 3],
    perturbation: [1, 3, 9, 20],
    arms: [5, 10, 20],
    noise: [0.1, 0.5, 1],
  };
  const SEEDS = [1000, 1001, 1002];
  const RIDGE = 1;
  const THETA_BOUND = 1;
  const DELTA = 0.01;

  // Random numbers: mulberry32, which takes 32-bit integers alone, and Box and Muller's pairs of normal numbers.
  function generator(seed) {
    let state = seed >>> 0;
    let spare = null;
    function uniform() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    }
    function normal() {
      if (spare !== null) {
        const kept = spare;
        spare = null;
        return kept;
      }
      const length = Math.sqrt(-2 * Math.log(1 - uniform()));
      const angle = 2 * Math.PI * uniform();
      spare = length * Math.sin(angle);
      return length * Math.cos(angle);
    }
    return { uniform, normal };
  }

  // Vectors are arrays of numbers, matrices arrays of rows.
  function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  }
  const times = (matrix, vector) => matrix.map((row) => dot(row, vector));
  const zeros = (n) => Array.from({ length: n }, () => new Array(n).fill(0));
  function identity(n, size) {
    const made = zeros(n);
    for (let i = 0; i < n; i++) made[i][i] = size;
    return made;
  }
  function addOuter(matrix, a, b, size) {
    for (let i = 0; i < a.length; i++) for (let j = 0; j < b.length; j++) matrix[i][j] += size * a[i] * b[j];
  }
  const norm = (vector) => Math.sqrt(dot(vector, vector));

  // Eigenvalues in descending order with their eigenvectors, of a symmetric matrix, by Jacobi's rotations.
  function eigen(matrix) {
    const n = matrix.length;
    const a = matrix.map((row) => row.slice());
    const vectors = identity(n, 1);
    for (let sweep = 0; sweep < 60; sweep++) {
      let off = 0;
      let all = 0;
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) {
          all += a[i][j] * a[i][j];
          if (i !== j) off += a[i][j] * a[i][j];
        }
      }
      if (off <= 1e-30 * all || all === 0) break;
      for (let p = 0; p < n - 1; p++) {
        for (let q = p + 1; q < n; q++) {
          if (a[p][q] === 0) continue;
          const half = (a[q][q] - a[p][p]) / (2 * a[p][q]);
          const t = (half >= 0 ? 1 : -1) / (Math.abs(half) + Math.sqrt(half * half + 1));
          const c = 1 / Math.sqrt(t * t + 1);
          const s = t * c;
          for (let k = 0; k < n; k++) {
            const kp = a[k][p];
            const kq = a[k][q];
            a[k][p] = c * kp - s * kq;
            a[k][q] = s * kp + c * kq;
          }
          for (let k = 0; k < n; k++) {
            const pk = a[p][k];
            const qk = a[q][k];
            a[p][k] = c * pk - s * qk;
            a[q][k] = s * pk + c * qk;
            const vp = vectors[k][p];
            const vq = vectors[k][q];
            vectors[k][p] = c * vp - s * vq;
            vectors[k][q] = s * vp + c * vq;
          }
        }
      }
    }
    const order = a.map((_, i) => i).sort((i, j) => a[j][j] - a[i][i]);
    return { values: order.map((i) => a[i][i]), vectors: order.map((i) => vectors.map((row) => row[i])) };
  }

  // The inverse of a positive definite matrix and the logarithm of its determinant, by Gauss and Jordan.
  function inverse(matrix) {
    const n = matrix.length;
    const a = matrix.map((row, i) => [...row, ...identity(n, 1)[i]]);
    let logdet = 0;
    for (let p = 0; p < n; p++) {
      const pivot = a[p][p];
      logdet += Math.log(pivot);
      for (let j = 0; j < 2 * n; j++) a[p][j] /= pivot;
      for (let i = 0; i < n; i++) {
        if (i === p) continue;
        const factor = a[i][p];
        if (factor !== 0) for (let j = 0; j < 2 * n; j++) a[i][j] -= factor * a[p][j];
      }
    }
    return { matrix: a.map((row) => row.slice(n)), logdet };
  }

  const largestSingular = (rows) => Math.sqrt(Math.max(eigen(rows.map((a) => rows.map((b) => dot(a, b)))).values[0], 0));

  // An orthonormal basis of random directions (Gram and Schmidt), one vector after the other.
  function orthonormal(random, count) {
    const basis = [];
    while (basis.length < count) {
      const vector = Array.from({ length: DIM }, () => random.normal());
      for (const known of basis) {
        const along = dot(known, vector);
        for (let i = 0; i < DIM; i++) vector[i] -= along * known[i];
      }
      const length = norm(vector);
      basis.push(vector.map((x) => x / length));
    }
    return basis;
  }

  // One problem: a hidden subspace, a hidden θ* of length 1 in it, and the rounds. All vectors together have energy 1.
  function problem(settings, seed) {
    const random = generator(seed);
    const basis = orthonormal(random, Math.max(settings.rank, 2));
    const inside = basis.slice(0, settings.rank);
    const drawn = inside.map(() => random.normal());
    const length = norm(drawn);
    const theta = new Array(DIM).fill(0);
    inside.forEach((v, j) => v.forEach((x, i) => (theta[i] += (drawn[j] / length) * x)));
    const signal = Math.sqrt(1 / ((1 + settings.perturbation) * settings.rank));
    const around = Math.sqrt(settings.perturbation / ((1 + settings.perturbation) * DIM));
    const rounds = [];
    for (let t = 0; t < ROUNDS; t++) {
      const actions = [];
      for (let k = 0; k < settings.arms; k++) {
        const action = new Array(DIM).fill(0);
        for (const v of inside) {
          const along = signal * random.normal();
          for (let i = 0; i < DIM; i++) action[i] += along * v[i];
        }
        for (let i = 0; i < DIM; i++) action[i] += around * random.normal();
        actions.push(action);
      }
      rounds.push({ actions, values: times(actions, theta), noise: settings.noise * random.normal() });
    }
    return { basis, inside, theta, rounds };
  }

  // What both policies keep of the rewards: Σ = Σ x xᵀ and b = Σ r x over the chosen actions.
  class Rewards {
    constructor(noise) {
      this.noise = noise;
      this.gram = zeros(DIM);
      this.score = new Array(DIM).fill(0);
    }

    learn(action, reward) {
      addOuter(this.gram, action, action, 1);
      for (let i = 0; i < DIM; i++) this.score[i] += reward * action[i];
    }

    // R √(2 log(det^½ λ^(−n/2) / δ)), of a matrix with this log-determinant over λ^n.
    noiseRadius(logRatio) {
      return this.noise * Math.sqrt(logRatio + 2 * Math.log(1 / DELTA));
    }

    // OFUL's set: center θ̂, Z⁻¹ and Ω.
    ambient() {
      const solved = inverse(this.gram.map((row, i) => row.map((x, j) => x + (i === j ? RIDGE : 0))));
      const radius = this.noiseRadius(solved.logdet - DIM * Math.log(RIDGE)) + THETA_BOUND * Math.sqrt(RIDGE);
      return { center: times(solved.matrix, this.score), inverse: solved.matrix, radius };
    }

    // PSLB's set in the span of the directions (m rows), for a bound ε on the projection error: center φ̂, B⁻¹ and β.
    projected(directions, error) {
      const pulled = directions.map((v) => times(this.gram, v));
      const size = directions.map((v, i) => directions.map((w, j) => dot(pulled[i], w) + (i === j ? RIDGE : 0)));
      const solved = inverse(size);
      // V̂ᵀΣ(I − P̂): what leaks out of the subspace.
      const leaks = pulled.map((row) => outside(directions, row));
      const root = eigen(solved.matrix);
      const half = root.values.map((value, i) => root.vectors[i].map((x) => x * Math.sqrt(value)));
      const mixed = half.map((row) => leaks[0].map((_, i) => row.reduce((sum, x, j) => sum + x * leaks[j][i], 0)));
      const coupling = largestSingular(mixed);
      const radius =
        this.noiseRadius(solved.logdet - directions.length * Math.log(RIDGE)) +
        error * THETA_BOUND * coupling +
        THETA_BOUND * Math.sqrt(RIDGE);
      const center = times(solved.matrix, times(directions, this.score));
      return { center, inverse: solved.matrix, radius, directions, error };
    }
  }

  // The part of a vector outside the span of orthonormal directions.
  function outside(directions, vector) {
    const rest = vector.slice();
    for (const v of directions) {
      const along = dot(v, vector);
      for (let i = 0; i < DIM; i++) rest[i] -= along * v[i];
    }
    return rest;
  }

  const quadratic = (matrix, vector) => Math.max(dot(vector, times(matrix, vector)), 0);

  // The largest value of xᵀθ over each set.
  const upperAmbient = (set, x) => dot(x, set.center) + set.radius * Math.sqrt(quadratic(set.inverse, x));
  function upperProjected(set, x) {
    const coordinates = times(set.directions, x);
    return (
      dot(coordinates, set.center) +
      set.radius * Math.sqrt(quadratic(set.inverse, coordinates)) +
      set.error * THETA_BOUND * norm(outside(set.directions, x))
    );
  }

  function largest(values) {
    let best = 0;
    for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
    return best;
  }

  class OFUL {
    constructor(noise) {
      this.rewards = new Rewards(noise);
    }

    choose(actions) {
      const ambient = this.rewards.ambient();
      const uppers = actions.map((x) => upperAmbient(ambient, x));
      return { index: largest(uppers), uppers, ambient };
    }

    learn(action, reward) {
      this.rewards.learn(action, reward);
    }
  }

  // The paper's algorithm with the library's sharp radius: the lower of two optimistic values counts.
  class PSLB {
    constructor(noise, rank) {
      this.rewards = new Rewards(noise);
      this.rank = rank;
      this.moment = zeros(DIM);
    }

    // `error` is the bound ε on the projection error in this round.
    choose(actions, error) {
      for (const x of actions) addOuter(this.moment, x, x, 1);
      const ambient = this.rewards.ambient();
      const directions = eigen(this.moment).vectors.slice(0, this.rank);
      const uppersAmbient = actions.map((x) => upperAmbient(ambient, x));
      let uppers = uppersAmbient;
      let projected = null;
      // A bound of 1 says nothing about where θ* is.
      if (error < 1) {
        projected = this.rewards.projected(directions, error);
        uppers = actions.map((x, k) => Math.min(upperProjected(projected, x), uppersAmbient[k]));
      }
      return { index: largest(uppers), uppers, ambient, projected, directions };
    }

    learn(action, reward) {
      this.rewards.learn(action, reward);
    }
  }

  // ‖P̂ − P‖₂: the sine of the largest angle between two subspaces.
  const distance = (truth, found) => largestSingular(found.map((v) => outside(truth, v)));

  // Play one policy; `recorded` are choices of the library, where it is not computed here.
  function play(made, rounds, settings, errors, recorded) {
    const policy = made === "OFUL" ? new OFUL(settings.noise) : made === "PSLB" ? new PSLB(settings.noise, settings.rank) : null;
    const steps = [];
    let regret = 0;
    rounds.forEach((round, t) => {
      const step = policy === null ? {} : policy.choose(round.actions, errors ? errors[t] : 1);
      if (recorded) step.index = recorded[t];
      const action = round.actions[step.index];
      if (policy !== null) policy.learn(action, round.values[step.index] + round.noise);
      regret += Math.max(...round.values) - round.values[step.index];
      step.regret = regret;
      steps.push(step);
    });
    return steps;
  }

  // Recordings: a choice is one digit to base 36, an error two digits to base 64 on a logarithmic scale from e⁻⁵ to 1.
  const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  const readChoices = (text) => Array.from(text, (digit) => parseInt(digit, 36));
  function readErrors(text) {
    const found = [];
    for (let i = 0; i < text.length; i += 2) {
      const code = 64 * DIGITS.indexOf(text[i]) + DIGITS.indexOf(text[i + 1]);
      found.push(Math.exp((5 * code) / 4095 - 5));
    }
    return found;
  }
  const name = (settings, seed) =>
    [settings.rank, settings.perturbation, settings.arms, settings.noise, seed].join("/");

  const made = {
    ...{ DIM, ROUNDS, KNOBS, SEEDS, DELTA, generator, problem, play, name, readChoices, readErrors },
    ...{ OFUL, PSLB, dot, times, norm, outside, quadratic, distance, eigen, upperAmbient, upperProjected, largest },
  };
  if (typeof module !== "undefined" && module.exports) module.exports = made;
  else root.eigenbandits = made;
})(typeof self !== "undefined" ? self : this);
