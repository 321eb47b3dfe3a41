// One step of a run, drawn: regions, boundary, weight vector, the row in use, and what the method adds.

import { classMark, el, empty, line, pathOf, shapePath } from "./svg.js";
import { roundTicks } from "./view.js";
import { isStraight } from "./rule.js";
import { levelPath, lineWithin, regionsOf } from "./regions.js";
import { drawHull, drawSlack, drawWitness, hasStreet } from "./extras.js";

const LAYERS = ["regions", "axes", "hull", "past", "street", "edges", "slack", "witness", "points", "marks", "arrows", "labels", "cursor"];
const STREET_METHODS = new Set(["hard_margin", "soft_margin", "kernel_svm", "linear_program"]);
let sceneCount = 0;

export class Scene {
  constructor(svg) {
    this.svg = svg;
    this.clip = `clip-${++sceneCount}`;
    this.frame = el("rect", { width: 0, height: 0, rx: 4 });
    svg.append(el("defs", {}, el("clipPath", { id: this.clip }, this.frame)));
    this.layers = {};
    const inside = el("g", { "clip-path": `url(#${this.clip})` });
    for (const name of LAYERS) {
      this.layers[name] = el("g", { class: `layer-${name}` });
      inside.append(this.layers[name]);
    }
    svg.append(inside);
  }

  // Sizes are pixels, so that strokes and shapes are as large on a phone as on a projector.
  show(view, state) {
    this.view = view;
    this.svg.setAttribute("viewBox", `0 0 ${view.width} ${view.height}`);
    this.frame.setAttribute("width", view.width);
    this.frame.setAttribute("height", view.height);
    this.drawAxes(state.names);
    this.drawPoints(state);
    this.drawStep(state);
  }

  drawAxes(names) {
    const { view } = this, layer = empty(this.layers.axes);
    const across = view.width > 500 ? 8 : 5;
    for (const x of roundTicks(view.x0, view.x1, across)) {
      const [px] = view.place([x, 0]);
      layer.append(line([px, 0], [px, view.height], x === 0 ? "grid zero" : "grid"));
      if (px > 16 && px < view.width - 16) layer.append(el("text", { x: px, y: view.height - 6, class: "tick", "text-anchor": "middle" }, words(x)));
    }
    for (const y of roundTicks(view.y0, view.y1, 6)) {
      const [, py] = view.place([0, y]);
      layer.append(line([0, py], [view.width, py], y === 0 ? "grid zero" : "grid"));
      if (py > 14 && py < view.height - 24) layer.append(el("text", { x: 6, y: py + 4, class: "tick" }, words(y)));
    }
    if (names && names[0]) layer.append(el("text", { x: view.width - 8, y: view.height - 20, class: "tick name", "text-anchor": "end" }, `${names[0]} \u2192`));
    if (names && names[1]) layer.append(el("text", { x: 8, y: 14, class: "tick name" }, `\u2191 ${names[1]}`));
  }

  drawPoints({ points, classes, selected }) {
    const layer = empty(this.layers.points), count = points.length;
    const r = (this.view.width < 420 ? 4.8 : this.view.width > 1000 ? 6.8 : 5.8) * (count > 400 ? 0.6 : count > 150 ? 0.8 : 1);
    this.radius = r;
    points.forEach((point, i) => {
      const [x, y] = this.view.place(point);
      layer.append(el("path", { d: shapePath(classes[i], r), transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`, class: `point c${classes[i]}${selected === i ? " selected" : ""}`, "data-row": i }));
    });
  }

  drawStep(state) {
    for (const name of ["regions", "past", "street", "edges", "slack", "marks", "arrows", "hull", "witness", "labels"]) empty(this.layers[name]);
    const { part: replay, own: step } = state.replay ? state.replay.locate(state.step) : { part: null, own: 0 };
    this.setAside(replay && replay.sides ? replay.codes : null);
    if (state.witness && state.showWitness) drawWitness(this.layers, this.view, state.witness, state.points, state.classes);
    const isUsing = replay && (replay.sides || (!replay.isAnswer(step) && step < replay.length - 1));
    for (const name of ["witness", "labels"]) this.layers[name].setAttribute("class", `layer-${name}${isUsing ? " behind" : ""}`);
    if (!replay || replay.length === 0) return;
    const rule = replay.ruleAt(step);
    if (rule) this.drawRule(rule, replay);
    if (replay.count > 0) this.drawRun(replay, step, rule);
    this.drawSupport(replay, step);
    if (rule && rule.decide === "sign" && STREET_METHODS.has(replay.result.method)) this.drawStreet(rule, 1);
    if (rule && isStraight(rule) && rule.decide === "sign" && wantsSlack(replay.result)) {
      drawSlack(this.layers.slack, this.view, rule.weights[0], replay.points, replay.signs);
    }
  }

  // Rows that a machine among several does not look at.
  setAside(codes) {
    [...this.layers.points.children].forEach((node, i) => node.classList.toggle("aside", Boolean(codes && codes[i] < 0)));
  }

  drawRule(rule, replay) {
    const { fills, edges } = regionsOf(rule, replay.nClasses, this.view);
    const mark = (k) => (k < replay.nClasses ? classMark(replay.present[k]) : "rejected");
    fills.forEach((d, k) => this.layers.regions.append(el("path", { d, class: `region ${mark(k)}` })));
    this.layers.edges.append(el("path", { d: edges, class: "boundary" }));
  }

  drawRun(replay, step, rule) {
    const before = step > 0 && !replay.isAnswer(step) ? replay.ruleAt(step - 1) : null;
    if (before && before.decide === "sign" && isStraight(before)) {
      const ends = lineWithin(this.view, before.weights[0]);
      if (ends) this.layers.past.append(line(...ends, "boundary old"));
    }
    if (rule && rule.decide === "sign" && isStraight(rule)) {
      if (before && isStraight(before)) this.drawArrow(before.weights[0], rule.weights[0], "arrow old");
      this.drawArrow(rule.weights[0], before ? before.weights[0] : rule.weights[0], "arrow");
      if (!STREET_METHODS.has(replay.result.method)) this.drawClosest(rule.weights[0], replay);
      if (replay.result.method === "kozinec") drawHull(this.layers.hull, this.view, replay, step);
    }
    const row = replay.isAnswer(step) ? null : replay.rowAt(step);
    if (row !== null) this.ring(replay.points[row], "ring used", 6);
    const pair = replay.isAnswer(step) ? null : replay.pairAt(step);
    if (pair) {
      const [a, b] = pair.map((i) => this.view.place(replay.points[i]));
      this.layers.marks.append(line(a, b, "pair"));
      pair.forEach((i) => this.ring(replay.points[i], "ring used", 6));
    }
  }

  ring(point, className, room) {
    const [cx, cy] = this.view.place(point);
    this.layers.marks.append(el("circle", { cx, cy, r: this.radius + room, class: className }));
  }

  // The weight vector stands on the boundary; the two of a step share one scale.
  drawArrow(w, other, className) {
    const { view } = this, ends = lineWithin(view, w);
    if (!ends || !view.isEqual) return;
    const length = Math.hypot(w[1], w[2]), longest = Math.max(length, Math.hypot(other[1], other[2]));
    const foot = [(ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2];
    const size = 0.13 * Math.min(view.width, view.height) * (length / longest);
    const unit = [w[1] / length, -w[2] / length], tip = [foot[0] + size * unit[0], foot[1] + size * unit[1]];
    const back = [tip[0] - 9 * unit[0], tip[1] - 9 * unit[1]], side = [-unit[1] * 4.5, unit[0] * 4.5];
    const head = [tip, [back[0] + side[0], back[1] + side[1]], [back[0] - side[0], back[1] - side[1]]];
    this.layers.arrows.append(line(foot, back, className), el("path", { d: pathOf(head), class: `${className} head` }));
  }

  // Once every point is on its side: the free street, as wide as the closest point allows.
  drawClosest(w, { points, signs }) {
    const closest = Math.min(...points.map(([x, y], i) => (signs[i] ? signs[i] * (w[0] + w[1] * x + w[2] * y) : Infinity)));
    if (closest > 0) for (const side of [-1, 1]) {
      const ends = lineWithin(this.view, [w[0] + side * closest, w[1], w[2]]);
      if (ends) this.layers.street.append(line(...ends, "street"));
    }
  }

  drawStreet(rule, level) {
    if (isStraight(rule) && !hasStreet(this.view, rule.weights[0])) return;
    for (const side of [-level, level]) {
      if (isStraight(rule)) {
        const [b, ...w] = rule.weights[0], ends = lineWithin(this.view, [b - side, ...w]);
        if (ends) this.layers.street.append(line(...ends, "street"));
      } else this.layers.street.append(el("path", { d: levelPath(rule, this.view, side), class: "street" }));
    }
  }

  drawSupport(replay, step) {
    const { result } = replay;
    if (!STREET_METHODS.has(result.method)) return;
    let rows = result.support || [];
    if (step < replay.count - 1) {
      const alpha = replay.multipliersAt(step), most = alpha ? Math.max(...alpha) : 0;
      rows = alpha ? alpha.flatMap((a, i) => (a > 1e-4 * most ? [i] : [])) : [];
    }
    const isMany = rows.length > 60;
    for (const row of rows) this.ring(replay.points[row], isMany ? "ring support many" : "ring support", isMany ? 2 : 3.5);
  }
}

const words = (value) => String(value).replace("-", "\u2212");
const wantsSlack = (result) => result.method === "soft_margin" || (result.method === "linear_program" && Boolean(result.rule));
