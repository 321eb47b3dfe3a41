// Panes, clock and keys for one replay, built into an element.

import { el, html, swatch } from "./svg.js";
import { Pane } from "./pane.js";
import { Transport } from "./transport.js";

const QUIET = 500; // while the clock runs or a slider moves, only the last word is worth saying

export function playInto(root, given) {
  const panes = html("div", { class: given.panes.length > 1 ? "panes two" : "panes" });
  const clock = html("div", { class: "transport", role: "group", "aria-label": "Replay" });
  const said = html("div", { class: "unseen", role: "status" });
  if (given.class_names) root.append(legendNode(given));
  root.append(panes, clock, said);
  const shown = given.panes.map(({ result, label }) => {
    const node = paneNode(given.description ?? "Points and boundary");
    panes.append(node);
    const pane = new Pane(node, (step) => transport.go(step));
    pane.setPoints({ ...given, selected: null });
    pane.state.witness = given.witness ?? null;
    pane.load(result, given.points, given.classes, label);
    return pane;
  });
  let saying = 0, isBegun = false;
  const transport = new Transport(clock, (step) => {
    for (const pane of shown) pane.show(step);
    clearTimeout(saying);
    if (isBegun && transport.timer === null) saying = setTimeout(() => { said.textContent = shown.map((pane) => pane.words.textContent).join(". "); }, QUIET);
  });
  const length = Math.max(...shown.map((pane) => pane.length));
  transport.load(length, given.step ?? length - 1);
  isBegun = true;
  root.addEventListener("keydown", (event) => playKey(event, transport));
  return transport;
}

function legendNode({ class_names: names, classes }) {
  const present = [...new Set(classes)].sort((a, b) => a - b);
  return html("p", { class: "legend" }, ...present.map((code) => html("span", {}, swatch(code), html("bdi", {}, names[code]))));
}

function paneNode(description) {
  const caption = html("figcaption", {}, html("span", { class: "title" }), " ", html("span", { class: "words" }));
  const chapters = html("div", { class: "chapters", role: "group", "aria-label": "Models", hidden: true });
  const plane = html("div", { class: "held" }, el("svg", { class: "plane", role: "img", "aria-label": description }));
  return html("figure", { class: "pane" }, caption, chapters, plane, html("div", { class: "charts" }));
}

// The lab's keys, for whoever is within the replay: no key is taken from the page around it.
export function playKey(event, transport) {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || (target.matches && target.matches("select"))) return;
  const keys = { p: () => transport.toggle(), ",": () => transport.go(transport.step - 1), ".": () => transport.go(transport.step + 1) };
  const action = keys[event.key.toLowerCase()];
  if (!action) return;
  action();
  event.preventDefault();
}
