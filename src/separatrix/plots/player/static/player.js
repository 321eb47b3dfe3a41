// A replay in a page of its own: what the lab exports for lecture notes. REPLAY is filled in there.

import { html } from "./svg.js";
import { Pane } from "./pane.js";
import { Transport } from "./transport.js";

const given = REPLAY;
const panes = given.panes.map(({ result, label }, number) => {
  const pane = new Pane(document.getElementById(`pane-${"ab"[number]}`), (step) => transport.go(step));
  pane.node.hidden = false;
  pane.setPoints({ ...given, selected: null });
  pane.state.witness = given.witness;
  pane.load(result, given.points, given.classes, label);
  return pane;
});
document.querySelector(".panes").classList.toggle("two", panes.length > 1);
const transport = new Transport(document.querySelector(".transport"), (step) => panes.forEach((pane) => pane.show(step)));
transport.load(Math.max(...panes.map((pane) => pane.length)), given.step);
document.getElementById("verdict").textContent = given.verdict;
document.getElementById("made").append(html("span", {}, `Made with Separatrix ${given.version}.`));
