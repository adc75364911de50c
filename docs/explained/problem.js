// The problems of the page: the paper's model, small enough to look at.
(function (root) {
  "use strict";
  const { dot, norm, times } = root.eigenbandits;

  const DIM = 20;
  const ROUNDS = 200;
  const KNOBS = {
    rank: [1, 2, 3, 4, 6],
    perturbation: [0.5, 1, 3, 9, 20, 40],
    arms: [2, 5, 10, 20, 40],
    noise: [0.05, 0.1, 0.25, 0.5, 1, 2],
  };

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

  // Play one policy on the rounds of a problem.
  function play(policy, rounds) {
    let regret = 0;
    return rounds.map((round) => {
      const step = policy.choose(round.actions);
      policy.learn(round.actions[step.index], round.values[step.index] + round.noise, step);
      regret += Math.max(...round.values) - round.values[step.index];
      return { ...step, regret };
    });
  }

  Object.assign(root.eigenbandits, { DIM, ROUNDS, KNOBS, problem, play });
})(globalThis);
