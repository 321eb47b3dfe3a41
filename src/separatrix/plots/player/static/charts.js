// Small charts that move with the step: errors, margins, objectives, mistakes, and the weight vector.

import { el, empty, figure, html, line, pathOf } from "./svg.js";

const WIDE = 240, TALL = 84;

// Which charts a run deserves, by what its frames hold.
export function chartsOf(replay) {
  const { columns, result } = replay, found = [];
  if (replay.count < 2) return found;
  if (columns.primal) found.push(objectiveChart(columns), gapChart(columns));
  else if (columns.gap) found.push(gapChart(columns));
  found.push({ title: "rows on the wrong side", series: [{ values: columns.errors, className: "accent", stepped: true }], low: 0, whole: true });
  if (columns.bound) found.push(marginChart(columns));
  const novikoff = result.facts && result.facts.novikoff;
  if (novikoff && novikoff.bound) found.push({ title: "Novikoff\u2019s bound", novikoff, updates: columns.update });
  if (replay.nClasses === 2 && columns.weights && columns.weights[0].length === 3) found.push({ title: "weight vector", path: columns.weights, replay });
  return found;
}

function objectiveChart({ primal, dual }) {
  const last = primal[primal.length - 1] ?? 1, high = Math.min(maximum(primal), 4 * Math.abs(last));
  return { title: "objective and bound", series: [{ values: dual, className: "bound" }, { values: primal, className: "blue" }], low: Math.min(0, ...known(dual).map((v) => Math.max(v, -0.25 * high))), high };
}

function gapChart({ gap }) {
  const tens = gap.map((value) => (value === null ? null : Math.log10(Math.min(1e3, Math.max(1e-14, value)))));
  return { title: "duality gap", series: [{ values: tens, className: "blue" }], shown: gap, tens: true };
}

function marginChart({ margin, bound }) {
  const bounds = known(bound), highest = bounds.length ? Math.min(maximum(bounds), 4 * bounds[bounds.length - 1]) : maximum(margin);
  const lowest = highest > 0 ? Math.max(minimum(margin), -highest) : minimum(margin);
  const series = [{ values: margin, className: "blue" }];
  if (bounds.length) series.unshift({ values: bound, className: "bound" });
  return { title: bounds.length ? "margin and bound" : "margin", series, low: lowest, high: highest, zero: true };
}

const known = (values) => values.filter((v) => v !== null);
const maximum = (values) => known(values).reduce((a, b) => Math.max(a, b), -Infinity);
const minimum = (values) => known(values).reduce((a, b) => Math.min(a, b), Infinity);

export class Charts {
  constructor(node, onScrub) {
    this.node = node;
    this.onScrub = onScrub;
  }

  load(replay) {
    this.replay = replay;
    this.moving = [];
    empty(this.node);
    for (const chart of chartsOf(replay)) this.node.append(this.build(chart));
    if (this.moving.length === 0) this.clear(replay.isTogether ? "The rule of all models together. Go back to watch each of them." : "There are no updates to chart.");
  }

  // The place stays, so that the plane above does not move under the pointer.
  clear(words) {
    this.moving = [];
    empty(this.node).append(html("p", { class: "small" }, words));
  }

  build(chart) {
    const svg = el("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, "aria-hidden": "true" });
    const value = html("b"), caption = html("figcaption", {}, html("span", {}, chart.title), value);
    if (chart.path) this.weightPath(svg, chart, value);
    else if (chart.novikoff) this.novikoffBar(svg, chart, value);
    else this.lineChart(svg, chart, value);
    return html("figure", { class: "chart" }, caption, svg);
  }

  lineChart(svg, chart, value) {
    const count = this.replay.count, high = chart.high ?? Math.max(...chart.series.map((s) => maximum(s.values)));
    const low = chart.low ?? Math.min(...chart.series.map((s) => minimum(s.values)));
    const room = 0.08 * (high - low || 1);
    const x = (t) => 4 + ((WIDE - 8) * t) / Math.max(1, count - 1);
    const y = (v) => 6 + (TALL - 16) * (1 - (Math.min(high + room, Math.max(low - room, v)) - low + room) / (high - low + 2 * room));
    svg.append(line([0, TALL - 4], [WIDE, TALL - 4], "axis"));
    if (chart.zero && low < 0 && high > 0) svg.append(line([0, y(0)], [WIDE, y(0)], "axis zero"));
    for (const { values, className, stepped } of chart.series) {
      const points = [];
      values.forEach((v, t) => {
        if (v === null) return;
        if (stepped && points.length) points.push([x(t), points[points.length - 1][1]]);
        points.push([x(t), y(v)]);
      });
      svg.append(el("path", { d: pathOf(points, false), class: `series ${className}${values.length > 150 ? " dense" : ""}` }));
    }
    const cursor = line([0, 0], [0, TALL - 4], "now"), dot = el("circle", { r: 3.2, class: "now dot" });
    svg.append(cursor, dot);
    const main = chart.series[chart.series.length - 1].values, shown = chart.shown ?? main;
    this.moving.push((t) => {
      const k = Math.min(t, count - 1);
      cursor.setAttribute("transform", `translate(${x(k).toFixed(2)} 0)`);
      dot.setAttribute("visibility", main[k] === null ? "hidden" : "visible");
      if (main[k] !== null) { dot.setAttribute("cx", x(k)); dot.setAttribute("cy", y(main[k])); }
      value.textContent = chart.whole ? String(shown[k]) : figure(shown[k] !== null && chart.tens ? Math.max(0, shown[k]) : shown[k], chart.tens ? 3 : 4);
    });
    this.scrubbable(svg, count);
  }

  novikoffBar(svg, { novikoff, updates }, value) {
    const bound = Math.floor(novikoff.bound), x = (n) => 4 + ((WIDE - 8) * Math.log1p(n)) / Math.log1p(bound);
    const bar = el("rect", { x: 4, y: 32, height: 10, class: "mistakes" });
    svg.append(el("rect", { x: 4, y: 32, width: WIDE - 8, height: 10, class: "possible" }), bar, line([x(bound), 26], [x(bound), 48], "limit"));
    svg.append(el("text", { x: WIDE - 4, y: 64, class: "tick", "text-anchor": "end" }, `at most ${bound.toLocaleString("en")}`));
    svg.append(el("text", { x: 4, y: 64, class: "tick scale" }, "log scale"));
    for (let n = 1; n < bound; n *= 10) svg.append(line([x(n), 42], [x(n), 48], "axis"));
    const made = el("text", { y: 22, class: "tick made" });
    svg.append(made);
    this.moving.push((t) => {
      const n = updates[Math.min(t, updates.length - 1)];
      bar.setAttribute("width", Math.max(1, x(n) - 4));
      made.setAttribute("x", Math.min(x(n), WIDE - 50));
      made.textContent = `${n} made`;
      value.textContent = `${n} of ${bound.toLocaleString("en")}`;
    });
  }

  // The path of (w1, w2), with the vector before and after the step.
  weightPath(svg, { path }, value) {
    const box = [0, 0, 0, 0]; // least and largest w1 and w2, the origin among them
    for (const [, a, b] of path) {
      box[0] = Math.min(box[0], a ?? 0); box[1] = Math.max(box[1], a ?? 0); box[2] = Math.min(box[2], b ?? 0); box[3] = Math.max(box[3], b ?? 0);
    }
    const scale = Math.min((WIDE - 24) / (box[1] - box[0] || 1e-300), (TALL - 16) / (box[3] - box[2] || 1e-300));
    const at = ([, a, b]) => [WIDE / 2 + (a - (box[0] + box[1]) / 2) * scale, TALL / 2 - (b - (box[2] + box[3]) / 2) * scale];
    const origin = at([0, 0, 0]);
    svg.append(line([0, origin[1]], [WIDE, origin[1]], "axis"), line([origin[0], 0], [origin[0], TALL], "axis"));
    const walked = el("path", { class: "series walked" }), old = line(origin, origin, "vector old"), now = line(origin, origin, "vector"), tip = el("circle", { r: 3.2, class: "now dot" });
    svg.append(walked, old, now, tip);
    this.moving.push((t) => {
      const k = Math.min(t, path.length - 1), whole = path.slice(Math.max(0, k - 400), k + 1).filter((w) => !w.includes(null));
      const target = (node, w) => { const [x, y] = at(w.map((v) => v ?? 0)); node.setAttribute("x2", x); node.setAttribute("y2", y); return [x, y]; };
      walked.setAttribute("d", pathOf(whole.map(at), false));
      target(old, path[Math.max(0, k - 1)]);
      const [x, y] = target(now, path[k]);
      tip.setAttribute("cx", x);
      tip.setAttribute("cy", y);
      value.textContent = `|w| ${figure(Math.hypot(path[k][1] ?? 0, path[k][2] ?? 0))}`;
    });
  }

  scrubbable(svg, count) {
    const move = (event) => {
      const box = svg.getBoundingClientRect();
      this.onScrub(Math.round(((event.clientX - box.left) / box.width) * (count - 1)));
    };
    svg.classList.add("scrubs");
    svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); move(event); });
    svg.addEventListener("pointermove", (event) => { if (event.buttons) move(event); });
  }

  show(step) {
    for (const move of this.moving ?? []) move(step);
  }
}
