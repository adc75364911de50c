// Linear algebra for a few dozen dimensions, and two functions of statistics.
(function (root) {
  "use strict";

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
  const subtract = (a, b) => a.map((x, i) => x - b[i]);
  const largest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

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
  const quadratic = (matrix, vector) => Math.max(dot(vector, times(matrix, vector)), 0);

  // The part of a vector outside the span of orthonormal directions.
  function outside(directions, vector) {
    const rest = vector.slice();
    for (const v of directions) {
      const along = dot(v, vector);
      for (let i = 0; i < rest.length; i++) rest[i] -= along * v[i];
    }
    return rest;
  }

  // The solution of a small system of equations, by elimination with pivots.
  function solve(matrix, vector) {
    const n = vector.length;
    const a = matrix.map((row, i) => [...row, vector[i]]);
    for (let p = 0; p < n; p++) {
      let pivot = p;
      for (let i = p + 1; i < n; i++) if (Math.abs(a[i][p]) > Math.abs(a[pivot][p])) pivot = i;
      [a[p], a[pivot]] = [a[pivot], a[p]];
      for (let i = 0; i < n; i++) {
        if (i === p) continue;
        const factor = a[i][p] / a[p][p];
        for (let j = p; j <= n; j++) a[i][j] -= factor * a[p][j];
      }
    }
    return a.map((row, i) => row[n] / row[i]);
  }

  // The logarithm of the gamma function (Lanczos, with g = 7 and nine terms).
  const LANCZOS = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  function logGamma(x) {
    const sum = LANCZOS.reduce((total, term, i) => total + (i ? term / (x - 1 + i) : term), 0);
    const shifted = x + 6.5;
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(shifted) - shifted + Math.log(sum);
  }

  // The point below which a standard normal number lies with probability p ≥ ½: Newton's steps on Marsaglia's series.
  function normalQuantile(p) {
    let x = 0;
    for (let step = 0; step < 100; step++) {
      const density = Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
      let [sum, term] = [x, x];
      for (let k = 3; term > 1e-17 * sum; k += 2) sum += term *= (x * x) / k;
      const move = (p - 0.5 - density * sum) / density;
      x += Math.min(move, 1);
      if (Math.abs(move) < 1e-14) break;
    }
    return x;
  }

  root.eigenbandits = Object.assign(root.eigenbandits || {}, {
    ...{ dot, times, zeros, identity, addOuter, norm, subtract, largest, eigen, inverse, largestSingular, quadratic },
    ...{ outside, solve, logGamma, normalQuantile },
  });
})(globalThis);
