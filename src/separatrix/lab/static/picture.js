// The planes on screen as one SVG that stands alone, and as pixels.

import { el, html } from "./player/svg.js";

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "paint-order", "visibility"];

function withStyles(original, copy) {
  const style = getComputedStyle(original);
  for (const name of KEPT) {
    const value = style.getPropertyValue(name);
    if (value && value !== "none" || name === "fill" || name === "stroke") copy.setAttribute(name, value);
  }
  copy.removeAttribute("class");
  [...original.children].forEach((child, k) => withStyles(child, copy.children[k]));
}

// Method and step above each plane, side by side.
export function pictureOf(panes) {
  const gap = 24, head = 34, widths = panes.map((pane) => pane.view.width);
  const width = widths.reduce((a, b) => a + b) + gap * (panes.length - 1), height = Math.max(...panes.map((pane) => pane.view.height)) + head;
  const root = getComputedStyle(document.body), whole = el("svg", { xmlns: "http://www.w3.org/2000/svg", width: width + 2 * gap, height: height + 2 * gap, viewBox: `${-gap} ${-gap} ${width + 2 * gap} ${height + 2 * gap}` });
  whole.append(el("rect", { x: -gap, y: -gap, width: width + 2 * gap, height: height + 2 * gap, fill: root.backgroundColor }));
  let x = 0;
  panes.forEach((pane, k) => {
    const copy = pane.svg.cloneNode(true), group = el("g", { transform: `translate(${x} ${head})` });
    withStyles(pane.svg, copy);
    for (const name of ["width", "height"]) copy.setAttribute(name, pane.view[name]);
    for (const name of ["tabindex", "role", "aria-label", "id"]) copy.removeAttribute(name);
    group.append(copy);
    const text = (y, size, weight, colour, words) => el("text", { x, y, "font-family": root.fontFamily, "font-size": size, "font-weight": weight, fill: colour }, words);
    const soft = getComputedStyle(pane.words).color;
    whole.append(text(4, 15, 650, root.color, pane.title.textContent), text(22, 12, 400, soft, pane.words.textContent), group);
    x += widths[k] + gap;
  });
  return whole;
}

export const written = (svg) => new XMLSerializer().serializeToString(svg);

export async function canvasOf(svg, scale) {
  const image = new Image(), width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(written(svg))}`;
  await image.decode();
  const canvas = html("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}
