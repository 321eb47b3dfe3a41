// The proof panel: the verdict in words, the witness with its integers, and two checkers that agree.

import { CLASS_WORDS, el, empty, html, swatch } from "./player/svg.js";
import { checkCertificate } from "./checker.js";
import { shortInteger } from "./player/extras.js";

const TITLES = { separable: "Yes: separable", "quasi-separable": "Not strictly: quasi-separable", overlapping: "No: the classes overlap", undecided: "Undecided" };

export class Proof {
  constructor(node, onChange) {
    this.node = node;
    this.onChange = onChange;
    this.pair = 0;
    this.isDrawn = true;
  }

  load(answer, points) {
    this.answer = answer;
    this.points = points;
    if (this.pair >= answer.pairs.length) this.pair = 0;
    this.render();
  }

  // A word of the verdict beside the plane, where the panel may be out of sight.
  showBadge() {
    const badge = document.getElementById("badge"), kinds = this.answer ? this.answer.pairs.map((v) => v.kind) : [];
    badge.hidden = kinds.length === 0;
    const apart = kinds.every((kind) => kind === "separable");
    badge.title = "Proved: see how";
    badge.classList.toggle("no", !apart);
    const [yes, no] = kinds.length > 1 ? ["A line separates every pair", "Some pairs overlap"] : ["A line separates them", "No line separates them"];
    badge.textContent = apart ? yes : kinds.includes("undecided") ? "Undecided" : no;
  }

  clear(words) {
    this.answer = null;
    this.showBadge();
    empty(this.node).append(html("p", { class: "small" }, words));
    this.onChange();
  }

  get verdict() {
    return this.answer ? this.answer.pairs[this.pair] : null;
  }

  witness() {
    return this.verdict && this.isDrawn ? this.verdict.witness : null;
  }

  words() {
    return this.answer ? this.answer.pairs.map((v) => v.words).join(" ") : "";
  }

  render() {
    const { verdict, node } = this;
    empty(node);
    if (this.answer.pairs.length > 1) node.append(this.pairPicker());
    node.append(html("p", { class: `verdict ${verdict.kind}` }, TITLES[verdict.kind]), html("p", { class: "small" }, sentence(verdict)));
    if (verdict.witness) node.append(this.witnessTable(verdict));
    const checks = html("ul", { class: "checks" });
    node.append(checks);
    this.showBadge();
    this.check(verdict, checks);
    this.onChange();
  }

  pairPicker() {
    const group = html("fieldset", { class: "pairs" }, html("legend", {}, "Every pair of classes"));
    this.answer.pairs.forEach(({ classes, kind }, k) => {
      const input = html("input", { type: "radio", name: "pair", checked: k === this.pair });
      input.addEventListener("change", () => { this.pair = k; this.render(); this.node.querySelectorAll("input[name=pair]")[k].focus(); });
      const signs = classes.map((code) => swatch(code));
      const words = `${classes.map((code) => CLASS_WORDS[code]).join(" and ")}: ${kind}`;
      group.append(html("label", { title: words, class: kind }, input, html("span", {}, ...signs, html("span", { class: "unseen" }, words))));
    });
    return group;
  }

  witnessTable({ witness }) {
    const { classes } = this.points, box = html("input", { type: "checkbox", id: "draw-witness", checked: this.isDrawn });
    box.addEventListener("change", () => { this.isDrawn = box.checked; this.onChange(); });
    const sum = html("p", { class: "sum" });
    witness.rows.forEach((row, k) => {
      if (k) sum.append(" + ");
      sum.append(html("span", { class: "term", title: `${witness.multipliers[k]} times row ${row}` }, html("b", {}, shortInteger(witness.multipliers[k])), "\u2009\u00d7\u2009", html("i", {}, "z"), html("sub", {}, String(row)), swatch(classes[row])));
    });
    sum.append(" = 0");
    return html("div", { class: "witness-box" }, sum, html("p", { class: "small" }, "Here z is the row [1, x, y], negated for the first class. If a line had every z on its positive side, this sum would be positive."), html("div", { class: "control switch" }, box, html("label", { for: "draw-witness" }, "Draw the witness")));
  }

  async check(verdict, list) {
    const rows = verdict.rows.map((i) => this.points.points[i]), codes = verdict.rows.map((i) => (this.points.classes[i] === verdict.classes[1] ? 1 : 0));
    const here = await checkCertificate(verdict.certificate, { rows, codes, nFeatures: 2, nClasses: 2 });
    this.checked = here;
    list.append(checkLine(verdict.python, "Python\u2019s checker, in exact integers"), checkLine(here, "this page, in BigInt JavaScript"));
    list.dataset.agree = String(here.holds === verdict.python.holds);
  }
}

function sentence({ kind, rows, margin, words }) {
  if (kind === "separable") return `A line puts all ${rows.length} points strictly on their own side${margin ? `, the closest ${Number(margin.toPrecision(4))} away` : ""}.`;
  if (kind === "overlapping") return "Every line has a point on the wrong side, or has all points on it.";
  if (kind === "quasi-separable") return "A line has no point on the wrong side, but some points must lie on the line itself.";
  return words;
}

function checkLine({ holds, words }, who) {
  const sign = el("svg", { viewBox: "0 0 20 20", "aria-hidden": "true", class: holds ? "yes" : "no" }, el("path", { class: "stroke", d: holds ? "M4 10.500 8.500 15 16 5.500" : "M5 5l10 10M15 5 5 15" }));
  return html("li", { title: words }, sign, html("span", {}, `${holds ? "Proved" : "Refused"} by ${who}`));
}
