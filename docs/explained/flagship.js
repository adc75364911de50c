// EigenUCB: optimism under a prior that follows the spectrum of all vectors and is learned from the rewards.
//
// What the library does in up to 512 dimensions, without scores and without forgetting; docs/flagship.md explains it.
(function (root) {
  "use strict";
  const { Moment, addOuter, dot, largest, norm, normalQuantile, quadratic, rankFound, subtract } = root.eigenbandits;
  const { fitPrior, Forecasts, times, zeros } = root.eigenbandits;

  // How much vectors and rewards grow in number between two fits, and when a fit comes early; see belief/spectral.
  const GROWTH = 0.5;
  const SURPRISING = 6;
  const SOONEST = 0.05;
  // A member of the prior below this weight is left out of the posterior.
  const LEAST_WEIGHT = 1e-3;

  // What the best of K equally uncertain actions lies above its estimate, in standard deviations (Chen and Tyler 1999).
  const expectedMaximum = (count) => normalQuantile(0.5264 ** (1 / count));

  // The mean of the first vectors where it is more than chance, else zero, and the root mean square of their norms.
  function firstLook(vectors) {
    const [count, dim] = [vectors.length, vectors[0].length];
    const mean = Array.from({ length: dim }, (_, i) => vectors.reduce((sum, x) => sum + x[i], 0) / count);
    const sumOfSquares = (rows) => rows.reduce((sum, x) => sum + dot(x, x), 0);
    const spread = count > 1 ? Math.sqrt(sumOfSquares(vectors.map((x) => subtract(x, mean))) / (count - 1)) : 0;
    const large = norm(mean) > (2 * spread) / Math.sqrt(count);
    return { reference: large ? mean : mean.map(() => 0), size: Math.sqrt(sumOfSquares(vectors) / count) || 1 };
  }

  // The largest reward is taken to be a limit if it has occurred more than once, and likewise the smallest.
  class Censoring {
    constructor() {
      [this.lowest, this.highest, this.below, this.above] = [Infinity, -Infinity, false, false];
    }

    get differ() {
      return this.lowest < this.highest;
    }

    // The reward, or what was expected where the reward is at a limit and that lies beyond it.
    uncensored(reward, expected) {
      const above = reward === this.highest && this.above && expected > reward;
      const below = reward === this.lowest && this.below && expected < reward;
      return (above || below) && this.differ ? expected : reward;
    }

    // Record a reward; whether it is the first that differs from the others.
    note(reward) {
      const first = this.lowest === this.highest && reward !== this.highest;
      if (reward >= this.highest) [this.highest, this.above] = [reward, reward === this.highest];
      if (reward <= this.lowest) [this.lowest, this.below] = [reward, reward === this.lowest];
      return first;
    }
  }

  class EigenUCB {
    constructor(dim) {
      this.dim = dim;
      this.moment = new Moment(dim);
      // Of vectors less the reference, with the intercept's coordinate as their last: Σ, b, Σr² and their number.
      this.gram = zeros(dim + 1);
      this.score = new Array(dim + 1).fill(0);
      [this.squares, this.count] = [0, 0];
      this.forecasts = new Forecasts();
      this.censoring = new Censoring();
      this.weights = [];
      // Rewards are summed less the first of them.
      this.origin = null;
      [this.spectrum, this.seen, this.version, this.fittedVersion] = [null, 0, 0, -1];
      [this.due, this.fitted, this.surprise, this.leastGrowth] = [0, 0, 0, SOONEST];
    }

    choose(actions) {
      if (this.spectrum === null) {
        const { reference, size } = firstLook(actions);
        [this.reference, this.intercept] = [reference, size];
      }
      const rows = actions.map((x) => subtract(x, this.reference));
      this.moment.add(rows);
      if (this.moment.count >= (1 + GROWTH) * this.seen) {
        this.spectrum = this.moment.spectrum(true);
        this.seen = this.moment.count;
        this.version += 1;
      }
      // Vectors and rewards mostly grow together, so one new spectrum can wait for the rewards, but not two.
      if (this.fittedVersion < 0 || this.version > this.fittedVersion + 1 || this.count >= this.due) this.fit();
      const lifted = rows.map((x) => [...x, this.intercept]);
      const deviations = Math.max(1, expectedMaximum(actions.length));
      const estimates = times(lifted, this.center);
      const squares = lifted.map((x) => quadratic(this.inverse, x));
      const upper = (k, width) => estimates[k] + width * this.noise * Math.sqrt(squares[k]);
      const favorite = largest(lifted.map((_, k) => upper(k, deviations)));
      // An action that has been neglected for this favorite gets more optimism; see theory.marginal.neglect.
      const known = Math.min(1 / squares[favorite], this.count);
      const neglect = (k) => Math.sqrt(2 * Math.log(Math.max(known * squares[k], 1)));
      const uppers = lifted.map((_, k) => upper(k, Math.max(deviations, neglect(k))));
      const index = largest(uppers);
      // What each member says of the set, until the reward is known: its highest value, and how far below the choice is.
      const said = this.members.map((member) => {
        const values = times(lifted, member);
        const best = Math.max(...values);
        return { best, below: values[index] - best };
      });
      const { noise, weights, rank } = this;
      return { index, uppers, lifted: lifted[index], estimate: estimates[index], said, noise, weights, rank };
    }

    learn(_, reward, decision) {
      const x = decision.lifted;
      const value = this.censoring.uncensored(reward, decision.estimate);
      if (this.count < this.due) this.update(x, value);
      if (this.origin === null) this.origin = value;
      const raised = value - this.origin;
      addOuter(this.gram, x, x, 1);
      x.forEach((entry, i) => (this.score[i] += raised * entry));
      this.squares += raised * raised;
      this.count += 1;
      this.forecasts.add(decision.said, decision.estimate, value, this.origin);
      // Equal rewards have no unit, and the noise was a guess until now.
      if (this.censoring.note(reward)) this.due = 0;
    }

    // The posterior after one more reward, by the Sherman–Morrison formula, and a fit where rewards surprise (a CUSUM).
    update(x, reward) {
      const solved = times(this.inverse, x);
      const gain = dot(x, solved);
      const off = reward - dot(x, this.center);
      addOuter(this.inverse, solved, solved, -1 / (1 + gain));
      this.center = this.center.map((entry, i) => entry + (off / (1 + gain)) * solved[i]);
      if (this.surprise <= SURPRISING && this.censoring.differ) {
        const ratio = (0.25 * off * off) / (this.noise ** 2 * (1 + Math.max(gain, 0))) - 0.5 * Math.log(2);
        this.surprise = Math.max(this.surprise + ratio, 0);
      }
      const count = this.count + 1;
      if (this.surprise > SURPRISING && count >= (1 + this.leastGrowth) * this.fitted) this.due = Math.min(this.due, count);
    }

    // What the intercept, whose prior is flat, leaves of the rewards to the directions.
    withoutIntercept() {
      const d = this.dim;
      const cross = this.gram[d].slice(0, d);
      const inner = this.count ? this.gram[d][d] : this.intercept ** 2;
      const [slopes, level] = [cross.map((x) => x / inner), this.score[d] / inner];
      const residual = this.squares - level * this.score[d];
      return {
        gram: this.gram.slice(0, d).map((row, i) => row.slice(0, d).map((x, j) => x - cross[i] * slopes[j])),
        score: this.score.slice(0, d).map((x, i) => x - level * cross[i]),
        squares: residual > 1e-14 * this.squares ? residual : 0,
        freedom: Math.max(this.count - 1, 0),
        ...{ slopes, level, variance: 1 / inner },
      };
    }

    // Learn the prior from the rewards, and join the members' posteriors: the normal law with their mean and covariance.
    fit() {
      const d = this.dim;
      const known = this.withoutIntercept();
      const { values, vectors } = this.spectrum;
      this.rank = rankFound(values, this.seen);
      const members = fitPrior(known, values, vectors, this.rank, this.forecasts);
      const before = this.weights;
      this.weights = members.map((member) => member.weight);
      const level = known.level + (this.origin || 0) / this.intercept;
      this.members = members.map(({ mean }) => [...mean, level - dot(mean, known.slopes)]);
      const active = members.map((_, k) => k).filter((k) => this.weights[k] >= LEAST_WEIGHT);
      const total = active.reduce((sum, k) => sum + this.weights[k], 0);
      const mixed = (entry) => active.reduce((sum, k) => sum + (this.weights[k] / total) * entry(k), 0);
      this.center = this.members[0].map((_, i) => mixed((k) => this.members[k][i]));
      const variance = mixed((k) => members[k].variance);
      const covariance = zeros(d);
      for (const k of active) {
        const share = this.weights[k] / total / variance;
        const away = subtract(this.members[k].slice(0, d), this.center.slice(0, d));
        addOuter(covariance, away, away, share);
        members[k].covariance.forEach((row, i) => row.forEach((x, j) => (covariance[i][j] += share * x)));
      }
      // With the intercept's covariance, in units of the noise's variance.
      const slopes = times(covariance, known.slopes);
      const last = dot(slopes, known.slopes) + known.variance;
      this.inverse = [...covariance.map((row, i) => [...row, -slopes[i]]), [...slopes.map((x) => -x), last]];
      this.noise = Math.sqrt(variance);
      this.due = this.count + Math.max(1, Math.ceil(GROWTH * this.count));
      // If surprises go on after a fit that left most of the weight where it was, the next one waits for twice the growth.
      const inVain = this.surprise > SURPRISING && before.reduce((sum, x, k) => sum + Math.min(x, this.weights[k]), 0) >= 0.5;
      this.leastGrowth = inVain ? Math.min(2 * this.leastGrowth, GROWTH) : SOONEST;
      [this.fitted, this.surprise, this.fittedVersion] = [this.count, 0, this.version];
    }
  }

  Object.assign(root.eigenbandits, { EigenUCB });
})(globalThis);
