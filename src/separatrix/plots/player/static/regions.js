// Where each class is decided: exact polygons for straight rules, traced cells for all others.

import { pathOf } from "./svg.js";
import { decisionOf, isStraight, scoresOf } from "./rule.js";

// Pixels of a cell: fine where classes meet in corners and scores are cheap, finest where bands may be thin.
const COARSE = 9, FINE = 4, FINEST = 3;

// The part of a polygon where a + b x + c y >= 0.
export function halfOf(polygon, [a, b, c]) {
  const kept = [];
  polygon.forEach((point, k) => {
    const next = polygon[(k + 1) % polygon.length];
    const here = a + b * point[0] + c * point[1], there = a + b * next[0] + c * next[1];
    if (here >= 0) kept.push(point);
    if ((here >= 0) !== (there >= 0)) {
      const share = here / (here - there);
      kept.push([point[0] + share * (next[0] - point[0]), point[1] + share * (next[1] - point[1])]);
    }
  });
  return kept;
}

// The segment of the line a + b x + c y = 0 within the window, or null.
export function lineWithin(view, weights) {
  if (weights[1] === 0 && weights[2] === 0) return null;
  const on = halfOf(view.corners(), weights).filter(
    ([x, y]) => Math.abs(weights[0] + weights[1] * x + weights[2] * y) <= 1e-9 * (Math.abs(weights[0]) + Math.abs(weights[1] * x) + Math.abs(weights[2] * y)),
  );
  return on.length >= 2 ? [view.place(on[0]), view.place(on[on.length - 1])] : null;
}

// One fill path a class, and the path of all boundaries.
export function regionsOf(rule, nClasses, view) {
  if (isStraight(rule) && rule.decide !== "votes" && rule.decide !== "losses") return straightRegions(rule, nClasses, view);
  return tracedRegions(rule, nClasses, view);
}

function straightRegions(rule, nClasses, view) {
  const fills = [], sides = [];
  if (rule.weights.every((w) => w.every((v) => v === 0))) return { fills, edges: "" }; // it decides nothing yet
  const weights = rule.decide === "sign" ? [rule.weights[0].map((v) => -v), rule.weights[0]] : rule.weights;
  for (let k = 0; k < nClasses; k++) {
    let polygon = view.corners();
    if (rule.decide === "sign") polygon = halfOf(polygon, weights[k]);
    else for (let l = 0; l < nClasses; l++) if (l !== k) polygon = halfOf(polygon, weights[k].map((v, j) => v - weights[l][j]));
    const path = pathOf(polygon.map((point) => view.place(point)));
    fills.push(path);
    if (rule.decide !== "sign") sides.push(path);
  }
  if (rule.decide === "sign") {
    const ends = lineWithin(view, rule.weights[0]);
    if (ends) sides.push(pathOf(ends, false));
  }
  return { fills, edges: sides.join("") };
}

function tracedRegions(rule, nClasses, view) {
  const bySign = rule.decide === "sign", scores = scoresOf(rule), decide = decisionOf(rule, nClasses);
  const cell = rule.decide === "losses" ? FINEST : isStraight(rule) ? FINE : COARSE;
  const columns = Math.ceil(view.width / cell), rows = Math.ceil(view.height / cell);
  const value = (px, py) => {
    const [x, y] = view.point([px, py]);
    return bySign ? scores(x, y)[0] : decide(x, y);
  };
  const grid = [];
  for (let j = 0; j <= rows; j++) {
    grid.push([]);
    for (let i = 0; i <= columns; i++) grid[j].push(value(i * cell, j * cell));
  }
  const classOf = bySign ? (v) => (v > 0 ? 1 : 0) : (v) => v;
  const between = bySign
    ? (a, b, va, vb) => along(a, b, va / (va - vb))
    : (a, b, va) => halved(a, b, va, value);
  return tracedCells(grid, cell, classOf, between, nClasses + (rule.decide === "losses" ? 1 : 0));
}

const along = (a, b, share) => [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];

function halved(a, b, classOfA, value) {
  let low = a, high = b;
  for (let k = 0; k < 8; k++) {
    const middle = along(low, high, 0.5);
    if (value(...middle) === classOfA) low = middle;
    else high = middle;
  }
  return along(low, high, 0.5);
}

function tracedCells(grid, cell, classOf, between, nClasses) {
  const rows = grid.length - 1, columns = grid[0].length - 1;
  const fills = Array.from({ length: nClasses }, () => []), edges = [];
  for (let j = 0; j < rows; j++) {
    let run = null;
    const endRun = () => {
      if (run) fills[run.k].push(`M${run.from},${j * cell}h${run.to - run.from}v${cell}h${run.from - run.to}z`);
      run = null;
    };
    for (let i = 0; i < columns; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const values = corners.map(([a, b]) => grid[b][a]), codes = values.map(classOf);
      if (codes.every((code) => code === codes[0])) {
        if (run && run.k === codes[0]) run.to = (i + 1) * cell;
        else { endRun(); run = { k: codes[0], from: i * cell, to: (i + 1) * cell }; }
        continue;
      }
      endRun();
      mixedCell(corners.map(([a, b]) => [a * cell, b * cell]), values, codes, between, fills, edges);
    }
    endRun();
  }
  return { fills: fills.map((parts) => parts.join("")), edges: edges.join("") };
}

// Between two crossings of a cell's rim lies one class; three or more crossings meet in the middle.
function mixedCell(corners, values, codes, between, fills, edges) {
  const crossings = [];
  for (let k = 0; k < 4; k++) {
    const next = (k + 1) % 4;
    if (codes[k] !== codes[next]) crossings.push({ after: k, at: between(corners[k], corners[next], values[k], values[next]) });
  }
  const middle = [0, 1].map((axis) => crossings.reduce((sum, c) => sum + c.at[axis], 0) / crossings.length);
  crossings.forEach((crossing, number) => {
    const next = crossings[(number + 1) % crossings.length], polygon = [crossing.at];
    for (let k = (crossing.after + 1) % 4; ; k = (k + 1) % 4) {
      polygon.push(corners[k]);
      if (k === next.after) break;
    }
    polygon.push(next.at);
    if (crossings.length > 2) polygon.push(middle);
    fills[codes[next.after]].push(pathOf(polygon));
    if (crossings.length > 2) edges.push(pathOf([crossing.at, middle], false));
  });
  if (crossings.length === 2) edges.push(pathOf([crossings[0].at, crossings[1].at], false));
}

// Where the one score of a curved rule has a given value.
export function levelPath(rule, view, level) {
  const scores = scoresOf(rule), columns = Math.ceil(view.width / COARSE), rows = Math.ceil(view.height / COARSE);
  const grid = [];
  for (let j = 0; j <= rows; j++) {
    grid.push([]);
    for (let i = 0; i <= columns; i++) grid[j].push(scores(...view.point([i * COARSE, j * COARSE]))[0] - level);
  }
  const between = (a, b, va, vb) => along(a, b, va / (va - vb));
  return tracedCells(grid, COARSE, (v) => (v > 0 ? 1 : 0), between, 2).edges;
}
