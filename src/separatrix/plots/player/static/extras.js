// What single methods add to the picture: slack, Kozinec's hull, and the witness of a proof.

import { classMark, el, line, pathOf } from "./svg.js";

// From each point that falls short to the margin line of its class.
export function drawSlack(layer, view, w, points, signs) {
  const square = w[1] ** 2 + w[2] ** 2;
  if (!hasStreet(view, w)) return;
  points.forEach(([x, y], i) => {
    const short = 1 - signs[i] * (w[0] + w[1] * x + w[2] * y);
    if (signs[i] === 0 || short <= 1e-6) return;
    const move = (signs[i] * short) / square;
    layer.append(line(view.place([x, y]), view.place([x + move * w[1], y + move * w[2]]), points.length > 100 ? "slack many" : "slack"));
  });
}

// Whether w is more than zero for the eye: where the street is far wider than the window, it has no edges to show.
export function hasStreet(view, w) {
  return Math.hypot(w[1], w[2]) * 2 * Math.hypot(view.x1 - view.x0, view.y1 - view.y0) > 1;
}

export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => {
    const kept = [];
    for (const p of list) {
      while (kept.length > 1 && turn(kept[kept.length - 2], kept[kept.length - 1], p) <= 0) kept.pop();
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);

// Kozinec's w is a point of one hull less a point of the other; the segment joins the two points.
export function drawHull(layer, view, replay, step) {
  const shares = replay.hullSharesAt(step), ends = [];
  for (const code of [0, 1]) {
    const rows = replay.codes.flatMap((c, i) => (c === code ? [i] : []));
    const hull = convexHull(rows.map((i) => replay.points[i])).map((p) => view.place(p));
    layer.append(el("path", { d: pathOf(hull), class: `hull ${classMark(replay.present[code])}` }));
    const mass = rows.reduce((sum, i) => sum + shares[i], 0);
    if (mass > 0) ends.push(view.place([0, 1].map((axis) => rows.reduce((sum, i) => sum + shares[i] * replay.points[i][axis], 0) / mass)));
  }
  if (ends.length === 2) layer.append(line(...ends, "nearest"));
  for (const [cx, cy] of ends) layer.append(el("circle", { cx, cy, r: 4, class: "nearest dot" }));
}

// Segments that cross, or a point in a triangle: the two classes' hulls share a point.
export function drawWitness({ witness: layer, labels }, view, witness, points, classes) {
  const first = classes[witness.rows[0]], groups = [[], []];
  witness.rows.forEach((row, k) => groups[classes[row] === first ? 0 : 1].push({ row, m: witness.multipliers[k] }));
  for (const group of groups) {
    const places = group.map(({ row }) => view.place(points[row]));
    layer.append(el("path", { d: pathOf(convexHull(places)), class: "witness" }));
  }
  const total = groups[0].reduce((sum, { m }) => sum + Number(m), 0);
  if (Number.isFinite(total) && total > 0) {
    const meet = [0, 1].map((axis) => groups[0].reduce((sum, { row, m }) => sum + (Number(m) / total) * points[row][axis], 0));
    const [cx, cy] = view.place(meet);
    layer.append(el("circle", { cx, cy, r: 4.5, class: "witness meet" }));
  }
  witness.rows.forEach((row, k) => {
    const [x, y] = view.place(points[row]);
    const right = x > view.width - 90, label = `\u00d7\u2009${shortInteger(witness.multipliers[k])}`;
    layer.append(el("circle", { cx: x, cy: y, r: 10, class: "witness rim" }));
    labels.append(el("text", { x: x + (right ? -13 : 13), y: y - 8, "text-anchor": right ? "end" : "start", class: "multiplier" }, label));
  });
}

export function shortInteger(text) {
  return text.length <= 7 ? text : `${text[0]}.${text.slice(1, 3)}e${text.length - 1}`;
}
