// What the router has done, drawn anew every few seconds from /v1/status.

const PAUSE = 3000;
const NEW = 0.2; // a model is new while it was added in the last fifth of the requests
const EDGE = { left: 52, right: 12, top: 10, bottom: 32 };
const SVG = "http://www.w3.org/2000/svg";
const find = (id) => document.getElementById(id);
let key = sessionStorage.getItem("eigenbandits-router-key") ?? "";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [one, value] of Object.entries(attributes)) made.setAttribute(one, value);
  made.append(...children);
  return made;
}

function shape(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [one, value] of Object.entries(attributes)) made.setAttribute(one, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function money(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "$0";
  const digits = Math.max(2, 2 - Math.floor(Math.log10(Math.abs(value))));
  return digits > 6 ? `$${value.toExponential(1)}` : `$${value.toFixed(digits)}`;
}

const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
const share = (value) => `${(100 * value).toFixed(value > 0 && value < 0.095 ? 1 : 0)} %`;
const count = (value) => value.toLocaleString("en-US");

function time(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  return seconds < 0.001 ? `${(1e6 * seconds).toFixed(0)} µs` : seconds < 1 ? `${(1e3 * seconds).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;
}

function ticks(low, high, wanted = 4) {
  const rough = (high - low) / wanted || 1;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * size).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + 1e-9 * step; at += step) found.push(at);
  return found;
}

// Axes in a figure: returns the drawing and the functions from data to pixels.
function axes(figure, title, { x, y, log = false, xText, yText, legend = [] }) {
  figure.replaceChildren(element("figcaption", {}, title));
  if (legend.length) {
    const list = element("ul", { class: "legend" });
    for (const [name, color] of legend) list.append(element("li", {}, element("i", { class: `b${color}` }), name));
    figure.append(list);
  }
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  figure.append(svg);
  const { width, height } = svg.getBoundingClientRect();
  const scale = log ? Math.log10 : (value) => value;
  const [from, to] = x.map(scale);
  const px = (value) => EDGE.left + ((scale(value) - from) / (to - from || 1)) * (width - EDGE.left - EDGE.right);
  const py = (value) => height - EDGE.bottom - ((value - y[0]) / (y[1] - y[0] || 1)) * (height - EDGE.top - EDGE.bottom);
  for (const at of ticks(...y)) {
    shape(svg, "line", { class: "rule", x1: EDGE.left, x2: width - EDGE.right, y1: py(at), y2: py(at) });
    shape(svg, "text", { x: EDGE.left - 6, y: py(at) + 4, "text-anchor": "end" }, yText(at));
  }
  let marks = ticks(...x, width < 360 ? 3 : 5);
  if (log) {
    marks = [];
    for (let power = Math.ceil(from - 1e-9); power <= to + 1e-9; power += 1) marks.push(10 ** power);
  }
  for (const at of marks) shape(svg, "text", { x: px(at), y: height - EDGE.bottom + 18, "text-anchor": "middle" }, xText(at));
  return { svg, px, py, width, height };
}

function path(points) {
  return points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

function range(values, pad = 0.08) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = pad * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

function overTime(status, field) {
  return status.periods
    .map((period, place) => [(place + 0.5) * status.period, period[field]])
    .filter(([, value]) => value !== null);
}

function empty(figure, title) {
  figure.replaceChildren(element("figcaption", {}, title), element("p", { class: "note" }, "Nothing yet."));
}

function drawQuality(status) {
  const title = "Quality of the answers";
  const points = overTime(status, "quality");
  if (!points.length) return empty(find("quality"), title);
  const made = axes(find("quality"), title, {
    x: [0, status.requests], y: range(points.map(([, value]) => value)), xText: count, yText: (value) => value.toFixed(2),
  });
  shape(made.svg, "path", { class: "line", d: path(points.map(([x, y]) => [made.px(x), made.py(y)])) });
}

function drawSpend(status) {
  const title = status.budget ? "Spent per request, and the budget (dashed)" : "Spent per request";
  // The mean so far, since one dear answer may cost many budgets.
  let spent = 0;
  let priced = 0;
  const points = [];
  status.periods.forEach((period, place) => {
    if (period.dollars === null) return;
    spent += period.dollars * period.answers;
    priced += period.answers;
    points.push([(place + 0.5) * status.period, spent / priced]);
  });
  if (!points.length) return empty(find("spend"), title);
  const top = Math.max(status.budget ?? 0, ...points.slice(Math.min(3, points.length - 1)).map(([, value]) => value));
  const made = axes(find("spend"), title, { x: [0, status.requests], y: [0, 1.2 * top], xText: count, yText: money });
  const inside = points.map(([x, y]) => [made.px(x), made.py(Math.min(y, 1.2 * top))]);
  shape(made.svg, "path", { class: "line", d: path(inside) });
  if (status.budget) {
    const y = made.py(status.budget);
    shape(made.svg, "line", { class: "limit", x1: EDGE.left, x2: made.width - EDGE.right, y1: y, y2: y });
  }
}

function drawShares(status, colors) {
  const title = "Share of each model";
  if (!status.periods.length) return empty(find("shares"), title);
  const legend = status.models.map((model) => [model.name, colors.get(model.name)]);
  const made = axes(find("shares"), title, {
    x: [0, status.requests], y: [0, 1], xText: count, yText: (value) => `${Math.round(100 * value)} %`, legend,
  });
  const sums = status.periods.map(() => 0);
  for (const model of status.models) {
    const lower = [...sums];
    status.periods.forEach((period, place) => {
      sums[place] += (period.shares[model.name] ?? 0) / (period.requests || 1);
    });
    const at = (place) => Math.min((place + 0.5) * status.period, status.requests);
    const last = sums.length - 1;
    const edge = (values) => [
      [made.px(0), made.py(values[0])],
      ...values.map((value, place) => [made.px(at(place)), made.py(value)]),
      [made.px(status.requests), made.py(values[last])],
    ];
    shape(made.svg, "path", { class: `f${colors.get(model.name)}`, d: `${path([...edge(sums), ...edge(lower).reverse()])}Z` });
    if (model.added > 0) {
      const x = made.px(model.added);
      shape(made.svg, "line", { class: "limit", x1: x, x2: x, y1: made.py(0), y2: made.py(1) });
    }
  }
}

// The models that no mix of two others beats at the same cost: the upper hull from left to right.
function hull(points) {
  const found = [];
  for (const point of [...points].sort((a, b) => a[0] - b[0])) {
    while (found.length > 1) {
      const [[x1, y1], [x2, y2]] = found.slice(-2);
      if ((y2 - y1) * (point[0] - x1) > (point[1] - y1) * (x2 - x1)) break;
      found.pop();
    }
    found.push(point);
  }
  const best = Math.max(...found.map(([, y]) => y));
  return found.slice(0, found.findIndex(([, y]) => y === best) + 1);
}

function drawFrontier(status, colors) {
  const title = "Quality against cost: single models, mixes of two (dotted), and the router (star)";
  const known = status.models.filter((model) => model.quality !== null && model.dollars > 0);
  if (!known.length || !status.total.dollars) return empty(find("frontier"), title);
  const costs = [...known.map((model) => model.dollars), status.total.dollars];
  const made = axes(find("frontier"), title, {
    x: [Math.min(...costs) / 2, Math.max(...costs) * 2], log: true,
    y: range([...known.map((model) => model.quality), status.total.quality], 0.15),
    xText: money, yText: (value) => value.toFixed(2),
  });
  const corners = hull(known.map((model) => [model.dollars, model.quality]));
  const mixes = [];
  for (let place = 1; place < corners.length; place += 1) {
    for (let part = 0; part <= 20; part += 1) {
      const mix = (which) => corners[place - 1][which] + (part / 20) ** 2 * (corners[place][which] - corners[place - 1][which]);
      mixes.push([made.px(mix(0)), made.py(mix(1))]);
    }
  }
  if (mixes.length) shape(made.svg, "path", { class: "hull", d: path(mixes) });
  const taken = [];
  for (const model of known) {
    const [x, y] = [made.px(model.dollars), made.py(model.quality)];
    shape(made.svg, "circle", { class: `f${colors.get(model.name)}`, cx: x, cy: y, r: 6 });
    const left = x > 0.55 * made.width;
    const name = model.name.split("/").at(-1);
    const text = shape(made.svg, "text", { class: "name", x: x + (left ? -8 : 8), y: 0, "text-anchor": left ? "end" : "start" }, name);
    // The first line below the point that no other name has.
    const { x: from, width } = text.getBBox();
    let line = y + 18;
    while (taken.some((one) => Math.abs(one.y - line) < 14 && from < one.to && one.from < from + width)) line += 15;
    text.setAttribute("y", line);
    taken.push({ from, to: from + width, y: line });
  }
  const [x, y] = [made.px(status.total.dollars), made.py(status.total.quality)];
  const star = [...Array(10).keys()].map((place) => {
    const [angle, size] = [(Math.PI * place) / 5 - Math.PI / 2, place % 2 ? 4 : 10];
    return [x + size * Math.cos(angle), y + size * Math.sin(angle)];
  });
  shape(made.svg, "path", { class: "star", d: `${path(star)}Z` });
}

function showFacts(status) {
  const facts = [
    ["requests", count(status.requests)],
    ["quality", score(status.total.quality)],
    ["spent per request", money(status.total.dollars)],
    ["budget", status.budget ? money(status.budget) : "none"],
    ["a dollar buys", status.budget ? `${status.price.toPrecision(2)} quality` : "–"],
    ["failures", count(status.total.failures)],
    ["changes found", count(status.changes)],
    ["encoding", time(status.encoding)],
    ["routing", time(status.routing)],
  ];
  find("facts").replaceChildren(
    ...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

function showModels(status, colors) {
  const head = element("tr", {}, ...["model", "requests", "share", "quality", "cost", "latency", "failures", "price in / out"]
    .map((name) => element("th", {}, name)));
  const rows = status.models.map((model) => {
    const name = element("td", {}, element("i", { class: `dot b${colors.get(model.name)}` }), model.name);
    const marks = [
      [!model.present, "withdrawn", ""],
      [model.rests, "not answering", "down"],
      [model.present && model.added > (1 - NEW) * status.requests && model.added > 0, "new", "new"],
    ];
    for (const [shown, text, kind] of marks) if (shown) name.append(element("span", { class: `mark ${kind}` }, text));
    const price = model.price ? `$${model.price[0]} / $${model.price[1]}` : "–";
    const cells = [count(model.requests), share(model.requests / (status.requests || 1)), score(model.quality),
      money(model.dollars), time(model.latency), count(model.failures), price];
    return element("tr", {}, name, ...cells.map((text) => element("td", {}, text)));
  });
  find("models").replaceChildren(head, ...rows);
}

let latest = null;

function draw(status) {
  latest = status;
  const colors = new Map(status.models.map((model, place) => [model.name, place % 8]));
  showFacts(status);
  drawQuality(status);
  drawSpend(status);
  drawShares(status, colors);
  drawFrontier(status, colors);
  showModels(status, colors);
}

async function show() {
  try {
    const response = await fetch("v1/status", { headers: key ? { authorization: `Bearer ${key}` } : {} });
    find("ask").hidden = response.status !== 401;
    if (!response.ok) throw new Error(response.status === 401 ? "a key is required" : `status ${response.status}`);
    draw(await response.json());
    find("state").textContent = `running, ${new Date().toLocaleTimeString("en-US")}`;
  } catch (error) {
    find("state").textContent = `not reachable: ${error.message}`;
  }
}

find("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  key = find("key").value;
  sessionStorage.setItem("eigenbandits-router-key", key);
  show();
});
window.addEventListener("resize", () => latest && draw(latest));
await show();
setInterval(show, PAUSE);
