// Small helpers for SVG, and the shapes of the six classes.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
export const MOST_CLASSES = 6;
export const CLASS_WORDS = ["circle", "square", "triangle", "diamond", "down triangle", "plus"];

export function el(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function html(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in node && typeof value === "boolean") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export function empty(node) {
  node.replaceChildren();
  return node;
}

const short = (value) => String(Math.round(value * 100) / 100);

// Shapes of equal area, about, so that no class looks larger than another.
export function shapePath(code, r) {
  const s = r * 0.9, t = r * 1.22, d = r * 1.22, a = r * 0.42, p = r * 1.12;
  return [
    `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
    `M${-s},${-s}h${2 * s}v${2 * s}h${-2 * s}z`,
    `M0,${-t}L${short(t * 0.98)},${short(t * 0.68)}H${short(-t * 0.98)}z`,
    `M0,${-d}L${d},0L0,${d}L${-d},0z`,
    `M0,${t}L${short(t * 0.98)},${short(-t * 0.68)}H${short(-t * 0.98)}z`,
    `M${-a},${-p}h${2 * a}v${p - a}h${p - a}v${2 * a}h${a - p}v${p - a}h${-2 * a}v${a - p}h${a - p}v${-2 * a}h${p - a}z`,
  ][code];
}

export function pathOf(points, closed = true) {
  if (points.length === 0) return "";
  const written = points.map(([x, y]) => `${short(x)},${short(y)}`);
  return `M${written.join("L")}${closed ? "z" : ""}`;
}

export function swatch(code) {
  return el("svg", { viewBox: "-8 -8 16 16", class: "swatch", role: "img", "aria-label": CLASS_WORDS[code] }, el("path", { d: shapePath(code, 5.6), class: `point c${code}` }));
}

// The colour of a class; of all others together, none of its own.
export const classMark = (code) => (code === null ? "others" : `c${code}`);

export function line(from, to, className) {
  return el("line", { x1: short(from[0]), y1: short(from[1]), x2: short(to[0]), y2: short(to[1]), class: className });
}

// A number for people: four digits, and a true minus sign.
export function figure(value, digits = 4) {
  if (value === null || value === undefined) return "none";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "\u2212");
}
