// Charts as SVG: labeled axes with units, and a readout at the pointer.

const SPACE = "http://www.w3.org/2000/svg";
const HEIGHT = 176;
const EDGE = { left: 56, right: 8, top: 8, bottom: 34 };

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Round numbers within a range. */
export function ticks(low, high, wanted = 4) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((candidate) => candidate >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(i === 0 ? 0 : i * step);
  return found;
}

/** A number in few characters: 1,234, 12.3, 0.0042, 3e-7. */
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(1).replace(".0e", "e");
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

const STEPS = [60, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800];

/** Times at full minutes, hours or days of the reader's own clock. */
export function timeTicks(from, to, wanted) {
  const step = STEPS.find((candidate) => candidate >= (to - from) / wanted) ?? 604800;
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  const found = [];
  for (let t = Math.ceil((from - shift) / step) * step + shift; t <= to; t += step) found.push(t);
  const format = step >= 86400 ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit", hour12: false };
  return found.map((at) => ({ at, text: new Date(at * 1000).toLocaleString("en-GB", format) }));
}

function frame(figure, label) {
  const width = Math.max(220, figure.clientWidth || 400);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  return { svg, width, inner: { left: EDGE.left, right: width - EDGE.right, top: EDGE.top, bottom: HEIGHT - EDGE.bottom } };
}

function caption(figure, title, series) {
  const made = element("figcaption", {}, element("span", { class: "title" }, title));
  for (const one of series) {
    if (!one.label) continue;
    const key = element("span", { class: `key ${one.look}` });
    made.append(element("span", {}, key, one.label));
  }
  const readout = element("span", { class: "readout" });
  made.append(readout);
  figure.replaceChildren(made);
  return readout;
}

function vertical(svg, inner, marks, place, unit) {
  for (const mark of marks) {
    const y = place(mark.at);
    svg.append(shape("line", { class: "grid", x1: inner.left, x2: inner.right, y1: y, y2: y }));
    svg.append(shape("text", { x: inner.left - 6, y: y + 4, "text-anchor": "end" }, mark.text));
  }
  const middle = (inner.top + inner.bottom) / 2;
  svg.append(shape("text", { transform: `translate(10 ${middle}) rotate(-90)`, "text-anchor": "middle" }, unit));
}

function horizontal(svg, inner, marks, place, unit) {
  for (const mark of marks) {
    svg.append(shape("text", { x: place(mark.at), y: inner.bottom + 15, "text-anchor": "middle" }, mark.text));
  }
  const middle = (inner.left + inner.right) / 2;
  svg.append(shape("text", { x: middle, y: HEIGHT - 4, "text-anchor": "middle" }, unit));
}

/**
 * Lines over time.
 * series: [{label, look, points: [[unix seconds, value or null], …]}]; a null breaks the line.
 */
export function lines(figure, { title, unit, series, from, to, gap = Infinity, bounds = null, empty = "nothing yet" }) {
  const readout = caption(figure, title, series);
  const values = series.flatMap((one) => one.points.map((point) => point[1])).filter((value) => value !== null);
  const { svg, width, inner } = frame(figure, `${title}, ${unit}, over time`);
  let low = Math.min(0, ...values);
  let high = Math.max(...values, low);
  if (bounds && low >= bounds[0] && high <= bounds[1]) [low, high] = bounds;
  if (!(high > low)) high = low + 1;
  let marks = ticks(low, high);
  if (marks.at(-1) < high && marks.length > 1) {
    // The top of the axis is a round number too.
    high = marks.at(-1) + (marks[1] - marks[0]);
    marks = [...marks, high];
  }
  const x = (at) => inner.left + ((at - from) / (to - from)) * (inner.right - inner.left);
  const y = (value) => inner.bottom - ((value - low) / (high - low)) * (inner.bottom - inner.top);
  vertical(svg, inner, marks.map((at) => ({ at, text: short(at) })), y, unit);
  horizontal(svg, inner, timeTicks(from, to, Math.max(2, width / 90)), x, "time of day");
  for (const one of series) draw(svg, one, x, y, gap);
  if (!values.length) {
    const [cx, cy] = [(inner.left + inner.right) / 2, (inner.top + inner.bottom) / 2];
    svg.append(shape("text", { class: "empty", x: cx, y: cy, "text-anchor": "middle" }, empty));
  }
  figure.append(svg);
  const toTime = (px) => from + ((px - inner.left) / (inner.right - inner.left)) * (to - from);
  follow(svg, inner, readout, (at) => nearest(series, at, unit), toTime, x);
}

function draw(svg, one, x, y, gap) {
  let run = [];
  const flush = () => {
    if (run.length === 1) {
      const [at, value] = run[0];
      svg.append(shape("circle", { class: `dot ${one.look}`, cx: x(at), cy: y(value), r: 2 }));
    } else if (run.length) {
      const path = run.map(([at, value], i) => `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
      svg.append(shape("path", { class: `line ${one.look}`, d: path }));
    }
    run = [];
  };
  for (const point of one.points) {
    if (point[1] === null || (run.length && point[0] - run.at(-1)[0] > gap)) flush();
    if (point[1] !== null) run.push(point);
  }
  flush();
}

function nearest(series, at, unit) {
  let best = null;
  for (const point of series[0].points) {
    if (point[1] !== null && (best === null || Math.abs(point[0] - at) < Math.abs(best[0] - at))) best = point;
  }
  if (best === null) return null;
  const clock = new Date(best[0] * 1000).toLocaleTimeString("en-GB");
  const words = series.map((one) => {
    const found = one.points.find((point) => point[0] === best[0]);
    return `${one.label ? `${one.label} ` : ""}${short(found?.[1])}`;
  });
  return { at: best[0], text: `${clock}: ${words.join(", ")} ${unit}` };
}

function follow(svg, inner, readout, look, toData, toPixel) {
  const cursor = shape("line", { class: "cursor", y1: inner.top, y2: inner.bottom, visibility: "hidden" });
  svg.append(cursor);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const found = look(toData(px));
    if (found === null) return;
    readout.textContent = found.text;
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, toPixel(found.at));
    cursor.setAttribute("visibility", "visible");
  });
  svg.addEventListener("pointerleave", () => {
    readout.textContent = "";
    cursor.setAttribute("visibility", "hidden");
  });
}

/** The spectrum as bars on a logarithmic scale; the first `rank` directions are those in use. */
export function spectrum(figure, { values, rank }) {
  const readout = caption(figure, "Spectrum", []);
  if (!values?.length) {
    const { svg, width } = frame(figure, "No spectrum");
    const place = { class: "empty", x: width / 2, y: HEIGHT / 2 - EDGE.bottom / 2, "text-anchor": "middle" };
    svg.append(shape("text", place, "this policy has none"));
    figure.append(svg);
    return;
  }
  const shown = values.slice(0, Math.min(values.length, Math.max(30, 2 * (rank ?? 0))));
  const { svg, inner } = frame(figure, `Spectrum: ${values.length} eigenvalues, ${rank ?? "no"} directions in use`);
  const positive = shown.filter((value) => value > 0);
  const top = Math.ceil(Math.log10(Math.max(...positive, 1e-12)));
  // Eigenvalues that are zero up to rounding would stretch the scale until the others look alike.
  const floor = Math.max(Math.floor(Math.log10(Math.min(...positive, 10 ** top))), top - 6);
  const low = Math.min(floor, top - 1);
  const height = (value) => Math.max(0, (Math.log10(Math.max(value, 1e-300)) - low) / (top - low)) * (inner.bottom - inner.top);
  const y = (value) => inner.bottom - height(value);
  const wide = (inner.right - inner.left) / shown.length;
  const x = (number) => inner.left + (number - 0.5) * wide;
  const powers = [];
  const stride = Math.max(1, Math.round((top - low) / 4));
  for (let power = low; power <= top; power += stride) powers.push({ at: 10 ** power, text: short(10 ** power) });
  vertical(svg, inner, powers, y, "eigenvalue");
  shown.forEach((value, i) => {
    const look = i < (rank ?? 0) ? "first" : "quiet";
    const edge = { x: x(i + 1) - 0.36 * wide, width: 0.72 * wide, y: y(value), height: height(value) };
    svg.append(shape("rect", { class: `bar ${look}`, ...edge }));
  });
  const marks = [...new Set([1, ...ticks(1, shown.length, 5)])].filter((at) => Number.isInteger(at) && at >= 1);
  const more = values.length > shown.length ? `direction (first ${shown.length} of ${values.length})` : "direction";
  horizontal(svg, inner, marks.map((at) => ({ at, text: String(at) })), x, more);
  if (rank && rank < shown.length) {
    const edge = x(rank) + wide / 2;
    svg.append(shape("line", { class: "mark", x1: edge, x2: edge, y1: inner.top, y2: inner.bottom }));
    const side = edge > (inner.left + inner.right) / 2 ? ["end", -5] : ["start", 5];
    svg.append(shape("text", { x: edge + side[1], y: inner.top + 10, "text-anchor": side[0] }, `rank ${rank}`));
  }
  figure.append(svg);
  const look = (at) => {
    const number = Math.min(shown.length, Math.max(1, Math.round(at)));
    return { at: number, text: `direction ${number}: ${short(shown[number - 1])}` };
  };
  follow(svg, inner, readout, look, (px) => (px - inner.left) / wide + 0.5, x);
}
