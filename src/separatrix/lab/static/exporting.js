// Taking the screen away: pictures, animation, code, points, and a replay in one file.

import { GifWriter, commonColours, nearestColours } from "./gif.js";
import { canvasOf, pictureOf, written } from "./picture.js";
import { writtenTable } from "./csv.js";
import { html } from "./player/svg.js";

const HOLE = "/*THE-REPLAY*/null";
const GIF_FRAMES = 60, GIF_WIDTH = 720;

export function saved(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = html("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export async function exported(kind, lab) {
  const panes = lab.shownPanes();
  if (kind === "svg") saved("separatrix.svg", written(pictureOf(panes)), "image/svg+xml");
  else if (kind === "png") {
    const canvas = await canvasOf(pictureOf(panes), 2);
    saved("separatrix.png", await new Promise((done) => canvas.toBlob(done, "image/png")), "image/png");
  } else if (kind === "gif") saved("separatrix.gif", await animation(lab), "image/gif");
  else if (kind === "html") saved("separatrix.html", await replayPage(lab), "text/html");
  else if (kind === "csv") saved("separatrix.csv", writtenTable(lab.store), "text/csv");
}

// Dense at first, where most happens, with the first and the last step.
export function thinnedSteps(count, most) {
  if (count <= most) return Array.from({ length: count }, (_, k) => k);
  const places = Array.from({ length: most }, (_, k) => Math.round(count ** (k / (most - 1)) - 1));
  return [...new Set(places)];
}

async function animation(lab) {
  const { transport } = lab, before = transport.step, pictures = [];
  const steps = thinnedSteps(Math.max(1, transport.length), GIF_FRAMES);
  for (const step of steps) {
    transport.go(step);
    const picture = pictureOf(lab.shownPanes()), scale = Math.min(1, GIF_WIDTH / Number(picture.getAttribute("width")));
    const canvas = await canvasOf(picture, scale);
    pictures.push(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height));
  }
  transport.go(before);
  const palette = commonColours([pictures[0], pictures[Math.floor(pictures.length / 2)], pictures[pictures.length - 1]]);
  const writer = new GifWriter(pictures[0].width, pictures[0].height, palette), memory = new Map();
  pictures.forEach((picture, k) => writer.frame(nearestColours(picture, palette, memory), k === pictures.length - 1 ? 300 : 15));
  return writer.end();
}

async function replayPage(lab) {
  const page = await (await fetch("/api/player")).text(), { points, classes, names, box, classNames } = lab.store;
  const panes = lab.shownPanes().map((pane) => ({ result: { ...pane.state.replay.result, code: "" }, label: pane.title.textContent }));
  const replay = { version: lab.version, points, classes, names, class_names: classNames, box, panes, step: lab.transport.step, witness: lab.witness(), verdict: lab.verdictWords() };
  const safe = JSON.stringify(replay).replaceAll("<", "\\u003c");
  return page.replace(HOLE, () => safe);
}
