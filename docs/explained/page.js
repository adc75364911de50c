// The page: knobs, the round, four pictures and a table; all numbers come from the other scripts.
(function () {
  "use strict";
  const { DIM, ROUNDS, KNOBS, SHAPES, EigenUCB, PSLB, OFUL, problem, play, distance } = globalThis.eigenbandits;
  const { dot, norm, times, largest, upperAmbient, upperProjected } = globalThis.eigenbandits;
  const WORDS = {
    rank: ["Hidden directions", (value) => `${value} of ${DIM}`],
    perturbation: ["Perturbation", (value) => `${value} parts to 1`],
    arms: ["Vectors in a round", (value) => `${value}`],
    noise: ["Noise of a reward", (value) => `${value}`],
  };
  const POLICIES = [
    ["EigenUCB", "eigen", "nothing", "○"],
    ["PSLB", "pslb", "noise and rank", "□"],
    ["OFUL", "oful", "noise", "△"],
  ];
  // The shapes of EigenUCB's prior.
  const IN_WORDS = {
    0: "that ignores the spectrum",
    1: "that follows the spectrum",
    2: "that follows the square of the spectrum",
    4: "that follows the fourth power of the spectrum",
    8: "that is almost confined to the first direction",
    cut: "that is confined to the directions that stand out",
  };
  const settings = { rank: 2, perturbation: 3, arms: 10, noise: 0.5 };
  let seed = 1000;
  let t;
  let timer = null;
  let run = null;
  const find = (id) => document.getElementById(id);

  function start() {
    const world = problem(settings, seed);
    const steps = {
      EigenUCB: play(new EigenUCB(DIM), world.rounds),
      PSLB: play(new PSLB(DIM, settings.noise, settings.rank), world.rounds),
      OFUL: play(new OFUL(DIM, settings.noise), world.rounds),
    };
    const bounds = steps.PSLB.map((step) => step.error);
    const truth = steps.PSLB.map((step) => distance(world.inside, step.directions));
    run = { world, steps, bounds, truth, plane: world.basis.slice(0, 2) };
    // Of later rounds the pictures must fit as well.
    run.spread = 1.05 * Math.max(...world.rounds.flatMap((r) => r.actions.map((x) => norm(times(run.plane, x)))));
  }

  // Drawing
  const SVG = "http://www.w3.org/2000/svg";
  function element(kind, attributes, text) {
    const made = document.createElementNS(SVG, kind);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function canvas(id, label) {
    const svg = find(id);
    svg.replaceChildren();
    svg.setAttribute("aria-label", label);
    const box = svg.viewBox.baseVal;
    return { svg, width: box.width, height: box.height, add: (...a) => svg.appendChild(element(...a)) };
  }
  const path = (points, closed) => "M" + points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L") + (closed ? "Z" : "");

  function mark(to, kind, x, y, size) {
    const look = { class: `ring ${kind}` };
    if (kind === "eigen") to.add("circle", { ...look, cx: x, cy: y, r: size });
    else if (kind === "pslb") to.add("rect", { ...look, x: x - size, y: y - size, width: 2 * size, height: 2 * size });
    else to.add("path", { ...look, d: path([[x, y - 1.2 * size], [x + 1.1 * size, y + 0.8 * size], [x - 1.1 * size, y + 0.8 * size]], true) });
  }
  function cross(to, x, y, size, kind) {
    to.add("path", { class: kind, d: `M${x - size},${y - size}L${x + size},${y + size}M${x - size},${y + size}L${x + size},${y - size}` });
  }

  function drawCloud() {
    const now = run.world.rounds[t - 1];
    const to = canvas("cloud", `${now.actions.length} vectors in the plane of two hidden directions, with the choice of each policy marked`);
    const half = Math.min(to.width, to.height) / 2 - 14;
    const at = (p) => [to.width / 2 + (half * p[0]) / run.spread, to.height / 2 - (half * p[1]) / run.spread];
    to.add("path", { class: "axis", d: `M0,${to.height / 2}H${to.width}M${to.width / 2},0V${to.height}` });
    for (const round of run.world.rounds.slice(Math.max(0, t - 16), t - 1)) {
      for (const x of round.actions) {
        const [cx, cy] = at(times(run.plane, x));
        to.add("circle", { class: "past", cx, cy, r: 2 });
      }
    }
    for (const x of now.actions) {
      const [cx, cy] = at(times(run.plane, x));
      to.add("circle", { class: "offer", cx, cy, r: 4 });
    }
    for (const v of run.steps.PSLB[t - 1].directions) {
      const [x, y] = times(run.plane, v);
      // A direction has no sign; both ends.
      const reach = 0.92 * run.spread;
      const [a, b] = [at([x * reach, y * reach]), at([-x * reach, -y * reach])];
      to.add("path", { class: "arrow", d: path([a, b], false) });
      for (const [tip, sign] of [[a, 1], [b, -1]]) {
        const angle = Math.atan2(-sign * y, sign * x);
        const wing = (turn) => [tip[0] - 9 * Math.cos(angle + turn), tip[1] - 9 * Math.sin(angle + turn)];
        if (Math.hypot(x, y) > 0.15) to.add("path", { class: "truth", d: path([wing(0.45), tip, wing(-0.45)], false) });
      }
    }
    const best = largest(now.values);
    const [bx, by] = at(times(run.plane, now.actions[best]));
    cross(to, bx, by, 5, "truth");
    POLICIES.forEach(([policy, kind], i) => {
      const [x, y] = at(times(run.plane, now.actions[run.steps[policy][t - 1].index]));
      mark(to, kind, x, y, 8 + 3.5 * i);
    });
  }

  // The outline of a convex set in the plane, from the largest value of uᵀθ for every direction u.
  function outline(support) {
    const points = [];
    const count = 180;
    const turn = (i) => (2 * Math.PI * i) / count;
    for (let i = 0; i < count; i++) {
      const [a, b] = [turn(i), turn(i + 1)];
      const [h, k] = [support([Math.cos(a), Math.sin(a)]), support([Math.cos(b), Math.sin(b)])];
      const det = Math.sin(b - a);
      points.push([(h * Math.sin(b) - k * Math.sin(a)) / det, (k * Math.cos(a) - h * Math.cos(b)) / det]);
    }
    return points;
  }
  // What two convex outlines share (Sutherland and Hodgman).
  function overlap(one, other) {
    let found = one;
    for (let i = 0; i < other.length && found.length; i++) {
      const [p, q] = [other[i], other[(i + 1) % other.length]];
      const side = (r) => (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
      const kept = [];
      found.forEach((r, j) => {
        const s = found[(j + 1) % found.length];
        const [a, b] = [side(r), side(s)];
        if (a >= 0) kept.push(r);
        if (a * b < 0) kept.push([r[0] + (a / (a - b)) * (s[0] - r[0]), r[1] + (a / (a - b)) * (s[1] - r[1])]);
      });
      found = kept;
    }
    return found;
  }
  const lift = (u) => Array.from({ length: DIM }, (_, i) => u[0] * run.plane[0][i] + u[1] * run.plane[1][i]);

  function drawSets() {
    const step = run.steps.PSLB[t - 1];
    const whole = outline((u) => upperAmbient(step.ambient, lift(u)));
    const part = step.projected && outline((u) => upperProjected(step.projected, lift(u)));
    const to = canvas("sets", part ? "Two overlapping confidence sets around θ*" : "One confidence set; the subspace is not known yet");
    const theta = times(run.plane, run.world.theta);
    // Zoomed in as the smaller set shrinks.
    const reach = (points) => Math.max(...points.map(([x, y]) => Math.hypot(x - theta[0], y - theta[1])));
    const view = 1.15 * Math.max(0.4, Math.min(reach(whole), part ? 1.6 * reach(part) : Infinity));
    const half = Math.min(to.width, to.height) / 2 - 8;
    const at = ([x, y]) => [to.width / 2 + (half * (x - theta[0])) / view, to.height / 2 - (half * (y - theta[1])) / view];
    to.add("path", { class: "axis", d: `M0,${to.height / 2}H${to.width}M${to.width / 2},0V${to.height}` });
    if (part) {
      const both = overlap(part, whole);
      if (both.length) to.add("path", { class: "overlap", d: path(both.map(at), true) });
    }
    to.add("path", { class: "curve oful dashed", d: path(whole.map(at), true) });
    if (part) to.add("path", { class: "curve pslb", d: path(part.map(at), true) });
    cross(to, to.width / 2, to.height / 2, 6, "truth");
    to.add("text", { x: to.width / 2 + 10, y: to.height / 2 - 8 }, "θ*");
    to.add("text", { x: 8, y: to.height - 8 }, `width of the view: ${(2 * view).toFixed(1)}`);
  }

  function plot(id, label, curves, highest, ticks) {
    const to = canvas(id, label);
    const [left, right, top, bottom] = [42, 20, 10, 30];
    const x = (i) => left + ((to.width - left - right) * i) / ROUNDS;
    const y = (value) => to.height - bottom - ((to.height - top - bottom) * value) / highest;
    for (const tick of ticks) {
      to.add("path", { class: "axis", d: `M${left},${y(tick)}H${to.width - right}` });
      to.add("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, `${tick}`);
    }
    for (const i of [0, 50, 100, 150, 200]) to.add("text", { x: x(i), y: to.height - 10, "text-anchor": "middle" }, `${i}`);
    for (const [kind, values] of curves) {
      to.add("path", { class: `curve ${kind}`, d: path(values.slice(0, t).map((value, i) => [x(i + 1), y(value)]), false) });
    }
    to.add("path", { class: "axis", d: `M${x(t)},${top}V${to.height - bottom}` });
  }
  function drawError() {
    plot("error", `Bound on the projection error ${run.bounds[t - 1].toFixed(2)}, true error ${run.truth[t - 1].toFixed(2)}`,
      [["pslb", run.bounds], ["ink dotted", run.truth]], 1.05, [0, 0.25, 0.5, 0.75, 1]);
  }
  function drawRegret() {
    const last = POLICIES.map(([policy]) => run.steps[policy][ROUNDS - 1].regret);
    const highest = Math.max(...last) * 1.05;
    const size = 10 ** Math.floor(Math.log10(highest / 2));
    const step = size * [1, 2, 5, 10].find((m) => highest / (m * size) <= 6);
    const ticks = Array.from({ length: Math.floor(highest / step) + 1 }, (_, i) => +(i * step).toFixed(6));
    const text = POLICIES.map(([policy]) => `${policy} ${run.steps[policy][t - 1].regret.toFixed(1)}`).join(", ");
    plot("regret", `Regret after ${t} rounds: ${text}`,
      [["oful dashed", run.steps.OFUL.map((s) => s.regret)], ["pslb", run.steps.PSLB.map((s) => s.regret)], ["eigen", run.steps.EigenUCB.map((s) => s.regret)]], highest, ticks);
  }

  function tell() {
    const now = run.world.rounds[t - 1];
    const regret = (policy) => run.steps[policy][t - 1].regret;
    const known = run.bounds[t - 1];
    const subspace =
      known >= 0.999
        ? "The vectors have not shown enough yet: ε is 1, and PSLB chooses as OFUL would."
        : `${(t * settings.arms).toLocaleString("en-US")} vectors have shown the subspace up to ${run.truth[t - 1].toFixed(2)} (PSLB assumes at most ${known.toFixed(2)}).`;
    const order = POLICIES.map(([policy]) => policy).sort((a, b) => regret(a) - regret(b));
    const [least, most] = [regret(order[0]).toFixed(1), regret(order[2]).toFixed(1)];
    const lost =
      least === most ? `So far all three have lost ${least}.` : `So far ${order[0]} has lost least, ${least}; ${order[2]} has lost ${most}.`;
    const { noise, weights } = run.steps.EigenUCB[t - 1];
    const leading = largest(weights);
    const learned =
      t < 4
        ? ""
        : `EigenUCB puts the noise at ${noise.toFixed(2)} and has most trust (${Math.round(100 * weights[leading])} %) in a prior ${IN_WORDS[SHAPES[leading].name]}.`;
    find("story").textContent = `${subspace} ${learned} ${lost}`;
    const best = Math.max(...now.values);
    find("table").replaceChildren(
      ...POLICIES.map(([policy, , given, sign]) => {
        const row = document.createElement("tr");
        const index = run.steps[policy][t - 1].index;
        const value = now.values[index];
        const cells = [`${sign} ${policy}`, given, `no. ${index + 1}${value === best ? ", the best" : ""}`, value.toFixed(2), regret(policy).toFixed(1)];
        cells.forEach((text, i) => {
          const cell = document.createElement(i ? "td" : "th");
          if (!i) cell.scope = "row";
          cell.textContent = text;
          row.appendChild(cell);
        });
        return row;
      }),
    );
  }

  function show() {
    find("round").value = t;
    find("number").textContent = t;
    drawCloud();
    drawSets();
    drawError();
    drawRegret();
    tell();
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    find("play").textContent = "Play";
  }
  function forward() {
    t = Math.min(ROUNDS, t + 1);
    show();
    if (t === ROUNDS) stop();
  }

  for (const [knob, [label, shown]] of Object.entries(WORDS)) {
    const place = document.createElement("div");
    const text = document.createElement("label");
    const output = document.createElement("output");
    const input = document.createElement("input");
    Object.assign(input, { type: "range", id: knob, min: 0, max: KNOBS[knob].length - 1, value: KNOBS[knob].indexOf(settings[knob]) });
    const update = () => {
      output.textContent = shown(settings[knob]);
      input.setAttribute("aria-valuetext", shown(settings[knob]));
    };
    text.htmlFor = knob;
    text.append(`${label}: `, output);
    input.addEventListener("input", () => {
      settings[knob] = KNOBS[knob][+input.value];
      update();
      start();
      show();
    });
    update();
    place.append(text, input);
    find("knobs").appendChild(place);
  }
  find("who").replaceChildren(
    ...POLICIES.map(([policy, kind, , sign]) => {
      const made = document.createElement("span");
      made.className = `key mark ${kind}`;
      made.textContent = `${sign} ${policy}`;
      return made;
    }),
  );
  find("play").addEventListener("click", () => {
    if (timer !== null) return stop();
    if (t === ROUNDS) t = 0;
    find("play").textContent = "Pause";
    timer = setInterval(forward, 120);
  });
  find("step").addEventListener("click", () => {
    stop();
    forward();
  });
  find("again").addEventListener("click", () => {
    seed += 1;
    start();
    show();
  });
  find("round").addEventListener("input", (event) => {
    stop();
    t = +event.target.value;
    show();
  });
  // There is something to see on opening; ?round=1 opens the page at the beginning.
  t = Math.min(ROUNDS, Math.max(1, Number(new URLSearchParams(location.search).get("round")) || 60));
  start();
  show();
})();
