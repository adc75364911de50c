// What the vectors show by themselves: directions, how many of them stand out, and how far they may be off.
(function (root) {
  "use strict";
  const { addOuter, eigen, largestSingular, outside, zeros } = root.eigenbandits;

  // How far above its typical size the error of a subspace may be; see the library's subspace/error.py.
  const SAFETY = 1.25;

  // The second moment of all vectors seen, around their mean or not.
  class Moment {
    constructor(dim) {
      this.sums = zeros(dim);
      this.total = new Array(dim).fill(0);
      this.count = 0;
    }

    add(vectors) {
      for (const x of vectors) {
        addOuter(this.sums, x, x, 1);
        for (let i = 0; i < x.length; i++) this.total[i] += x[i];
      }
      this.count += vectors.length;
    }

    // Eigenvalues in descending order, and eigenvectors.
    spectrum(aroundMean) {
      const mean = this.total.map((x) => (aroundMean ? x / this.count : 0));
      const { values, vectors } = eigen(this.sums.map((row, i) => row.map((x, j) => x / this.count - mean[i] * mean[j])));
      return { values: values.map((x) => Math.max(x, 0)), vectors };
    }
  }

  // How many eigenvalues stand above the edge of what noise alone would show (Marchenko and Pastur 1967).
  function rankFound(values, count) {
    if (values[0] <= 0) return 1;
    const ratio = values.length / count;
    const shown = values.slice(0, Math.min(values.length, count));
    const half = shown.length / 2;
    const median = shown.length % 2 ? shown[half - 0.5] : 0.5 * (shown[half - 1] + shown[half]);
    const variance = median / (1 - Math.min(ratio, 1 / ratio) / 3) / Math.max(1, ratio);
    const edge = variance * (1 + Math.sqrt(ratio)) ** 2 * (1 + 4 * count ** (-2 / 3));
    return Math.max(values.filter((x) => x > edge).length, 1);
  }

  // The estimate of ‖P̂ − P‖₂ from the spectrum of independent vectors, at most 1; see docs/mathematics.md.
  function estimatedError(values, rank, count) {
    const [top, rest] = [values.slice(0, rank), values.slice(rank)];
    if (!rest.length) return 0;
    if (count <= rank || top[rank - 1] <= rest[0]) return 1;
    const variance = (high, low) => ((high / (high - low)) * (low / (high - low))) / count;
    const sum = (terms) => terms.reduce((total, x) => total + x, 0);
    const rows = top.map((high) => sum(rest.map((low) => variance(high, low))));
    const columns = rest.map((low) => sum(top.map((high) => variance(high, low))));
    return Math.min(1, SAFETY * (Math.sqrt(Math.max(...rows)) + Math.sqrt(Math.max(...columns))));
  }

  // ‖P̂ − P‖₂: the sine of the largest angle between two subspaces.
  const distance = (truth, found) => largestSingular(found.map((v) => outside(truth, v)));

  Object.assign(root.eigenbandits, { Moment, rankFound, estimatedError, distance });
})(globalThis);
