// EigenUCB's prior: six shapes that follow the spectrum, weighed by two readings of the rewards; see docs/flagship.md.
(function (root) {
  "use strict";
  const { addOuter, dot, eigen, logGamma, solve, times, zeros } = root.eigenbandits;

  // Variances follow the spectrum to a power; "cut" gives the same to every direction that stands out from the noise.
  const SHAPES = [
    ...[0, 1, 2, 4, 8].map((power) => ({ name: `${power}`, power, cut: false })),
    { name: "cut", power: 16, cut: true },
  ];
  const LEAST_SHARE = 1e-6;
  const LEAST_VARIANCE = 2 ** -52;
  // The prior on the noise is worth twice as many rewards.
  const WEIGHT = 2;
  // Ratios of signal to noise, in half decades, with a log-normal prior of 1.5 decades around 1.
  const LOG_RATIOS = Array.from({ length: 17 }, (_, i) => Math.log(10) * (i / 2 - 4));
  const RATIOS = LOG_RATIOS.map(Math.exp);
  const LOG_PRIOR = LOG_RATIOS.map((_, i) => -0.5 * ((i / 2 - 4) / 1.5) ** 2);
  const PRIOR_TOTAL = logSum(LOG_PRIOR);

  function logSum(logs) {
    const highest = Math.max(...logs);
    return highest + Math.log(logs.reduce((sum, x) => sum + Math.exp(x - highest), 0));
  }

  // Square roots of a shape's variances H along the eigenvectors, scaled so that tr(HC) = 1.
  function spread(values, shape, rank) {
    const reference = values[shape.cut ? rank - 1 : 0];
    if (reference <= 0) return values.map(() => 1);
    const share = (x) => Math.min(Math.max(x / reference, LEAST_SHARE), 1);
    const variances = values.map((x) => Math.max(share(x) ** shape.power, LEAST_VARIANCE));
    const total = dot(variances, values);
    return variances.map((x) => Math.sqrt(x / total));
  }

  // The logarithm of how likely a residual sum of squares is, its constant left out; σ² ~ IG(w, w·unit).
  const residualLikelihood = (residual, count, unit) => -(WEIGHT + 0.5 * count) * Math.log1p((0.5 * residual) / (WEIGHT * unit));
  const leftOut = (count, unit) =>
    logGamma(WEIGHT + 0.5 * count) - logGamma(WEIGHT) - 0.5 * count * Math.log(2 * Math.PI * WEIGHT * unit);

  // The excess kurtosis of n errors: n Σe⁴/(Σe²)² − 3, but at least 0.
  const excessKurtosis = ([count, squares, fourths]) =>
    squares > 0 ? Math.max((count * (fourths / squares)) / squares - 3, 0) : 0;

  // The slope of numbers at even steps: from both neighbors, at an end from the only one.
  const slope = (ys, i, step) => {
    const [low, high] = [Math.max(i - 1, 0), Math.min(i + 1, ys.length - 1)];
    return (ys[high] - ys[low]) / ((high - low) * step);
  };

  // One shape: its likelihood as values over all ratios, the ratio that follows, and the posterior at it.
  function member(shape, known, gram, score, values, vectors, rank, unit, kurtosis) {
    const roots = spread(values, shape, rank);
    // A = H^½ΣH^½ by its eigenvectors, so that every ratio ρ costs one pass.
    const own = eigen(gram.map((row, i) => row.map((x, j) => x * roots[i] * roots[j])));
    const lengths = own.values.map((x) => Math.max(x, 0));
    const parts = times(own.vectors, score.map((x, i) => x * roots[i]));
    const left = (ratio) =>
      Math.max(known.squares - ratio * parts.reduce((sum, x, i) => sum + (x * x) / (1 + ratio * lengths[i]), 0), 0);
    const logdets = RATIOS.map((ratio) => lengths.reduce((sum, x) => sum + Math.log(1 + ratio * x), 0));
    const nothing = residualLikelihood(known.squares, known.freedom, unit);
    const gains = RATIOS.map((ratio, i) => residualLikelihood(left(ratio), known.freedom, unit) - 0.5 * logdets[i] - nothing);
    const likelihood = nothing + logSum(gains.map((gain, i) => gain + LOG_PRIOR[i] - PRIOR_TOTAL));
    // With heavy tails a gain of so many degrees of freedom says less about the ratio than the normal law has it.
    const logs = gains.map((gain, i) => {
      const tails = (0.5 * kurtosis * slope(logdets, i, LOG_RATIOS[1] - LOG_RATIOS[0])) / Math.max(known.freedom, 1);
      return gain / (1 + tails) + LOG_PRIOR[i];
    });
    const total = logSum(logs);
    const ratio = Math.exp(logs.reduce((sum, x, i) => sum + Math.exp(x - total) * LOG_RATIOS[i], 0));
    const variance = (WEIGHT * unit + 0.5 * left(ratio)) / (WEIGHT + 0.5 * known.freedom);
    // ρH^½(I + ρA)⁻¹H^½ in the coordinates of the actions, as Σ p pᵀ.
    const pulled = own.vectors.map((v, i) => {
      const size = Math.sqrt(ratio / (1 + ratio * lengths[i]));
      const inBasis = v.map((x, j) => size * x * roots[j]);
      return vectors[0].map((_, k) => inBasis.reduce((sum, x, j) => sum + x * vectors[j][k], 0));
    });
    const covariance = zeros(values.length);
    const mean = new Array(values.length).fill(0);
    pulled.forEach((p) => addOuter(covariance, p, p, variance));
    pulled.forEach((p) => {
      const along = dot(p, known.score);
      p.forEach((x, k) => (mean[k] += along * x));
    });
    return { likelihood, ratio, variance, mean, covariance };
  }

  // The sums of (M, a, g, r) and of their products for each member: M its highest value in a set, a the value of the
  // action played less M, g = −1 where it would have played another, and r the reward.
  class Forecasts {
    constructor() {
      this.count = 0;
      this.totals = SHAPES.map(() => [0, 0, 0, 0]);
      this.sums = SHAPES.map(() => zeros(4));
      // n, Σe² and Σe⁴ of the policy's own forecasts.
      this.errors = [0, 0, 0];
    }

    add(said, estimate, reward, origin) {
      // Where all members say the same of all actions, nothing was forecast.
      if (said.every(({ best, below }) => best === said[0].best && below === 0)) return;
      said.forEach(({ best, below }, k) => {
        const row = [best - origin, below, below < 0 ? -1 : 0, reward - origin];
        row.forEach((x, i) => (this.totals[k][i] += x));
        addOuter(this.sums[k], row, row, 1);
      });
      this.count += 1;
      const square = (reward - estimate) ** 2;
      this.errors = this.errors.map((sum, i) => sum + square ** i);
    }

    // The same about their means.
    moments(k) {
      return this.sums[k].map((row, i) => row.map((x, j) => x - (this.totals[k][i] * this.totals[k][j]) / (this.count || 1)));
    }
  }

  // What is left of the rewards once a member's forecasts have explained what they can: r = c + αM + βa + γg, with
  // slopes of at least 0 and a prior of one reward's weight around (1, 1, 0).
  function regretResidual(moments, count) {
    const squares = Math.max(moments[3][3], 0);
    const cross = [0, 1, 2].map((i) => moments[i][3]);
    const own = [0, 1, 2].map((i) => Math.max(moments[i][i], 0));
    const sizes = own.map((x) => (x > 1e-18 * squares && x > 0 ? Math.sqrt(x) : 0));
    const left = (slopes) => {
      const explained = slopes.reduce((sum, s, i) => sum + s * slopes.reduce((t, u, j) => t + u * moments[i][j], 0), 0);
      return squares - 2 * dot(slopes, cross) + explained;
    };
    // The best slopes of at least 0 are those of one of the eight supports, without a bound.
    let least = squares;
    for (let support = 1; support < 8; support++) {
      const used = [0, 1, 2].filter((i) => support & (1 << i) && sizes[i] > 0);
      const scaled = used.map((i) => used.map((j) => moments[i][j] / (sizes[i] * sizes[j]) + (i === j ? 1e-9 : 0)));
      const slopes = [0, 0, 0];
      solve(scaled, used.map((i) => cross[i] / sizes[i])).forEach((x, k) => (slopes[used[k]] = x / sizes[used[k]]));
      if (slopes.every((x) => x >= 0)) least = Math.min(least, left(slopes));
    }
    least = Math.max(least, 0);
    return (Math.max(left([1, 1, 0]), least) + count * least) / (1 + count);
  }

  // The likelihood of the reading as regrets, for as many rewards as the reading as values has seen.
  function asRegrets(forecasts, k, freedom, leader, unit) {
    const count = forecasts.count;
    if (!count || !freedom) return leader;
    let likelihood = residualLikelihood(regretResidual(forecasts.moments(k), count), count, unit) - 2 * Math.log1p(count);
    likelihood += leftOut(count, unit);
    if (count > freedom) likelihood *= freedom / count;
    else likelihood += (1 - count / freedom) * (leader + leftOut(freedom, unit));
    return likelihood - leftOut(freedom, unit);
  }

  // All members, each with its weight; `known` are the rewards without what the intercept explains.
  function fitPrior(known, values, vectors, rank, forecasts) {
    const unit = known.squares > 0 ? known.squares / (known.freedom || 1) : 1;
    const columns = vectors.map((v) => times(known.gram, v));
    const gram = columns.map((column) => times(vectors, column));
    const score = times(vectors, known.score);
    const kurtosis = excessKurtosis(forecasts.errors);
    const members = SHAPES.map((shape) => member(shape, known, gram, score, values, vectors, rank, unit, kurtosis));
    const leader = Math.max(...members.map(({ likelihood }) => likelihood));
    const logs = members.map(({ likelihood }, k) => logSum([likelihood, asRegrets(forecasts, k, known.freedom, leader, unit)]));
    const total = logSum(logs);
    return members.map((one, k) => ({ ...one, weight: Math.exp(logs[k] - total) }));
  }

  Object.assign(root.eigenbandits, { SHAPES, Forecasts, fitPrior });
})(globalThis);
