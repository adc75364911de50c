// The page at /: polls the service and shows its state. All text is inserted as text, never as HTML.

import { element, lines, short, spectrum } from "./chart.js";

const PAUSE = 5000;
const LONGEST = 15000; // milliseconds that a response may take
const STORE = "eigenbandits-key";
const OPEN_AT_FIRST = 4;
const POINTS = 90;
const find = (id) => document.getElementById(id);
const latencies = new Map(); // by policy, and "" for the service: [[unix seconds, {decide, reward}], …]
const cards = new Map();
let timer = null;

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path) {
  const key = sessionStorage.getItem(STORE);
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const answer = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(LONGEST) });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, body.error?.message ?? `The service responded with status ${answer.status}.`);
  return body;
}

function clock(seconds) {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return "0 s";
  const words = parts.slice(first, first + 2).map(([size, unit], i) => {
    const count = i === 0 ? Math.floor(seconds / size) : Math.floor((seconds % parts[first][0]) / size);
    return `${count} ${unit}`;
  });
  return words.join(" ");
}

function list(target, pairs) {
  target.replaceChildren(...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function milliseconds(found) {
  return found?.count ? `${short(found.p50_ms)} · ${short(found.p99_ms)} ms` : "–";
}

function remember(name, latency, now) {
  const kept = latencies.get(name) ?? [];
  kept.push([now, latency]);
  latencies.set(name, kept.filter(([at]) => at >= now - 604800).slice(-2000));
}

function latencyChart(figure, name, title, from, to) {
  // Recorded by this page since it was opened: the axis begins there.
  const kept = (latencies.get(name) ?? []).filter(([at]) => at >= from);
  const first = kept[0]?.[0] ?? to;
  const line = (kind, mark, look) => ({
    label: `${kind} ${mark.slice(0, 3)}`,
    look,
    points: kept.map(([at, found]) => [at, found[kind]?.count ? found[kind][mark] : null]),
  });
  lines(figure, {
    title,
    unit: "ms",
    from: first,
    to: Math.max(to, first + 120),
    gap: 4 * (PAUSE / 1000),
    empty: "no requests in the last minute",
    series: [
      line("decide", "p99_ms", "first"),
      line("decide", "p50_ms", "first dashed"),
      line("reward", "p99_ms", "second"),
      line("reward", "p50_ms", "second dashed"),
    ],
  });
}

function showService(status, from, to) {
  find("service").hidden = false;
  const latency = status.latency ?? {};
  list(find("facts"), [
    ["uptime", clock(status.uptime_seconds)],
    ["policies", short(status.policies)],
    ["pending decisions", short(status.pending)],
    ["decide, p50 · p99", milliseconds(latency.decide)],
    ["reward, p50 · p99", milliseconds(latency.reward)],
    ["mean decisions per batch", short(status.batch?.decide_mean ?? null)],
    ["version", String(status.version)],
  ]);
  warn(find("warnings"), status.warnings);
  latencyChart(find("latency"), "", "Latency of the service", from, to);
}

function warn(target, sentences) {
  target.replaceChildren(...(sentences ?? []).map((text) => element("p", { class: "warning" }, text)));
}

/** Merge buckets so that at most POINTS remain, whatever the range; and average the rewards of all. */
function joined(history, from, to) {
  const size = Math.max(history.bucket_seconds, Math.ceil((to - from) / POINTS / history.bucket_seconds) * history.bucket_seconds);
  const found = new Map();
  for (const bucket of history.buckets) {
    const start = Math.floor(bucket.start / size) * size;
    const sum = found.get(start) ?? { decisions: 0, rewards: 0, reward_sum: 0, defaults: 0, default_sum: 0 };
    for (const name of Object.keys(sum)) sum[name] += bucket[name] ?? 0;
    found.set(start, sum);
  }
  const all = [...found.entries()].sort((a, b) => a[0] - b[0]);
  // Over all decisions that have ended: those with the default reward earned something too.
  const [sum, count] = all.reduce(([s, n], [, one]) => [s + one.reward_sum + one.default_sum, n + one.rewards + one.defaults], [0, 0]);
  // A bucket partly outside the range, or hardly begun, would look like a dip; it is shown only if it is the only one.
  const whole = all.filter(([start]) => start >= from && to - start >= history.bucket_seconds / 2);
  return { size, buckets: whole.length ? whole : all.slice(-1), mean: count ? sum / count : null };
}

function showHistory(card, history, from, to) {
  const { size, buckets, mean: average } = joined(history, from, to);
  const middle = (start) => Math.max(from, Math.min(start + size / 2, to));
  // The last bucket is incomplete, and the clocks of service and browser may differ.
  const seconds = (start) => Math.max(1, Math.min(size, to - start));
  const gap = 2.5 * size;
  const ended = (sum) => sum.rewards + sum.defaults;
  const mean = buckets.map(([start, sum]) => [middle(start), ended(sum) ? (sum.reward_sum + sum.default_sum) / ended(sum) : null]);
  const range = { from, to, gap };
  const earned = [{ label: "", look: "first", points: mean }];
  lines(card.reward, { ...range, title: "Reward", unit: "mean per decision", bounds: [0, 1], empty: "no rewards in this period", series: earned });
  const rate = (label, name, look) => ({ label, look, points: buckets.map(([start, sum]) => [middle(start), sum[name] / seconds(start)]) });
  const series = [rate("decisions", "decisions", "first"), rate("rewards", "rewards", "second dashed")];
  lines(card.traffic, { ...range, title: "Traffic", unit: "per second", empty: "no traffic in this period", series });
  card.mean.textContent = average === null ? "–" : short(average);
}

/** Say what the policy's choices rest on: a strong start and the rest of the sentences. */
function basis(found) {
  if (found.prior) {
    const sizes = found.widths ? ` Signal ${short(found.widths.signal)}, noise ${short(found.widths.noise)}, learned from ${short(found.rewards_learned)} rewards.` : "";
    return ["The prior", ` of this policy is learned: its ${found.prior}.${sizes}`];
  }
  const share = found.share_bound_by_projected;
  const many = (count) => `${short(count)} ${count === 1 ? "round" : "rounds"}`;
  if (share !== undefined) {
    const warm = found.rounds_in_warmup;
    const before = warm ? ` The first ${many(warm)} used the whole space alone, as the subspace was not known well enough.` : "";
    const against = found.rounds_contradicted ? ` In ${many(found.rounds_contradicted)} the two confidence sets were disjoint: the low-rank assumption fails here.` : "";
    if (share === null) return ["The whole space", ` decides so far.${before}${against}`];
    const name = share >= 0.5 ? "The subspace" : "The whole space";
    const since = warm ? "has since decided" : "has decided";
    return [name, ` decides most: its confidence set ${since} ${Math.round(100 * (share >= 0.5 ? share : 1 - share))} % of the choices.${before}${against}`];
  }
  if (found.radius_projected !== undefined) return ["The subspace", " decides alone."];
  if (found.radius_ambient !== undefined) return ["The whole space", " decides alone."];
  return ["No confidence set", ": this policy has none."];
}

function showDiagnostics(card, found) {
  const rank = found.rank ?? null;
  card.rank.textContent = rank === null ? "–" : `${short(rank)} of ${short(found.dim)}`;
  const [name, rest] = basis(found);
  card.basis.replaceChildren(element("strong", {}, name), rest);
  warn(card.warnings, found.warnings);
  spectrum(card.spectrum, { values: found.spectrum, rank });
}

function makeCard(policy, open) {
  const card = { box: element("details", { class: "policy", "data-policy": policy.name }), numbers: {} };
  card.made = element("span", { class: "made" });
  card.box.append(element("summary", {}, element("h2", {}, policy.name), card.made));
  card.box.open = open;
  const numbers = element("dl", { class: "numbers" });
  const number = (label) => {
    const value = element("dd", {}, "–");
    numbers.append(element("div", {}, element("dt", {}, label), value));
    return value;
  };
  card.mean = number("mean reward in this period");
  for (const name of ["decisions", "rewards", "pending", "defaults", "expired"]) card.numbers[name] = number(name);
  card.rank = number("rank");
  card.lift = number("lift over the baseline, valid at all times (95 %)");
  card.lift.parentElement.hidden = true;
  for (const kind of ["decide", "reward"]) card[kind] = number(`${kind}, p50 · p99`);
  for (const name of ["reward", "traffic", "spectrum", "latency"]) card[`${name}Figure`] = element("figure", { class: "chart" });
  const charts = element("div", { class: "charts" }, card.rewardFigure, card.trafficFigure, card.spectrumFigure, card.latencyFigure);
  card.basis = element("p", { class: "basis" });
  card.warnings = element("div");
  card.box.append(numbers, card.basis, card.warnings, charts);
  card.box.addEventListener("toggle", () => card.box.open && refresh());
  return card;
}

function showPolicy(card, policy) {
  const parameters = Object.entries(policy.parameters ?? {}).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const place = policy.catalogue ? `, items of ${policy.catalogue}` : "";
  card.made.textContent = `${policy.algorithm}(${parameters.join(", ")})${place}`;
  for (const [name, target] of Object.entries(card.numbers)) target.textContent = short(policy[name]);
}

async function showDetails(card, policy, from, to) {
  const path = `v1/policies/${encodeURIComponent(policy.name)}`;
  const [history, found] = await Promise.all([ask(`${path}/history?seconds=${Math.round(to - from)}`), ask(`${path}/diagnostics`)]);
  const lift = policy.holdout ? await ask(`${path}/lift`) : null;
  card.lift.parentElement.hidden = !lift;
  if (lift) card.lift.textContent = lift.low === null ? "–" : `${short(lift.lift)} (${short(lift.low)} to ${short(lift.high)})`;
  const panels = { reward: card.rewardFigure, traffic: card.trafficFigure, mean: card.mean };
  showHistory(panels, history, from, to);
  showDiagnostics({ ...card, spectrum: card.spectrumFigure }, found.diagnostics);
  for (const kind of ["decide", "reward"]) {
    card[kind].textContent = milliseconds(policy.latency?.[kind]);
    card[kind].parentElement.hidden = !policy.latency;
  }
  card.latencyFigure.hidden = !policy.latency;
  if (policy.latency) latencyChart(card.latencyFigure, policy.name, "Latency", from, to);
}

function showCards(policies) {
  find("none").hidden = policies.length > 0;
  for (const [name, card] of cards) {
    if (policies.some((policy) => policy.name === name)) continue;
    card.box.remove();
    cards.delete(name);
    latencies.delete(name);
  }
  policies.forEach((policy, i) => {
    if (!cards.has(policy.name)) {
      const card = makeCard(policy, i < OPEN_AT_FIRST);
      cards.set(policy.name, card);
      find("policies").append(card.box);
    }
    showPolicy(cards.get(policy.name), policy);
  });
}

function askForKey(message) {
  find("ask").hidden = false;
  for (const id of ["service", "none"]) find(id).hidden = true;
  for (const card of cards.values()) card.box.remove();
  cards.clear();
  find("wrong").textContent = sessionStorage.getItem(STORE) ? message : "";
  find("state").textContent = "Key required";
  find("state").className = "";
  sessionStorage.removeItem(STORE);
  find("forget").hidden = true;
  find("key").focus();
}

function away(error) {
  find("state").textContent = error instanceof Refused ? error.message : "The service does not answer; this page is out of date.";
  find("state").className = "away";
  document.querySelector("main").classList.add("stale");
}

async function show() {
  const to = Date.now() / 1000;
  const from = to - Number(find("range").value);
  const [status, { policies }] = await Promise.all([ask("v1/status"), ask("v1/policies")]);
  find("ask").hidden = true;
  find("forget").hidden = !sessionStorage.getItem(STORE);
  document.querySelector("main").classList.remove("stale");
  const reasons = (status.reasons ?? []).join("; ");
  find("state").textContent = status.ready ? `ready, updated at ${new Date().toLocaleTimeString("en-GB")}` : `not ready: ${reasons}`;
  find("state").className = status.ready ? "ready" : "away";
  remember("", status.latency ?? {}, to);
  for (const policy of policies) if (policy.latency) remember(policy.name, policy.latency, to);
  showService(status, from, to);
  showCards(policies);
  const open = policies.filter((policy) => cards.get(policy.name).box.open);
  await Promise.all(open.map((policy) => showDetails(cards.get(policy.name), policy, from, to)));
  document.body.dataset.shown = String(to);
}

async function refresh() {
  clearTimeout(timer);
  let waiting = PAUSE;
  try {
    await show();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) {
      askForKey(error.message);
      waiting = null;
    } else if (!(error instanceof Refused && error.status === 404)) {
      // 404: a policy was deleted between two requests; the next refresh notices.
      away(error);
    }
  }
  clearTimeout(timer);
  // A page in the background does not poll.
  if (waiting !== null && document.visibilityState === "visible") timer = setTimeout(refresh, waiting);
}

find("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(STORE, find("key").value.trim());
  find("key").value = "";
  refresh();
});
find("forget").addEventListener("click", () => {
  sessionStorage.removeItem(STORE);
  refresh();
});
find("range").addEventListener("change", refresh);
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());
let resized = null;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(refresh, 150);
});
refresh();
