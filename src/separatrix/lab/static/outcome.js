// The outcome panel: how the run ended, its figures, its proof, and the weights to the last digit.

import { empty, html } from "./player/svg.js";
import { weightWords } from "./player/telling.js";

const ENDINGS = {
  separated: "Separated", optimal: "Optimal", epsilon: "Margin known to within epsilon", settled: "Settled", budget: "Stopped at the budget", origin: "The hull reaches the origin",
  "not separable": "Not separable", stationary: "A stationary point", diverged: "Diverged", infinite: "Infinite weights", unproved: "Unproved", averaged: "Averaged", patience: "Out of patience", overflow: "Overflow",
};

export class Outcome {
  constructor(node) {
    this.node = node;
    this.weights = [];
  }

  // Each entry: { label, result, replay }; lecture: { where, figures, note } of the lecture's example, or null.
  load(entries, lecture = null) {
    empty(this.node);
    this.weights = entries.map(({ label, result, replay }) => {
      if (entries.length > 1) this.node.append(html("h3", {}, label));
      if (result.refused) {
        this.node.append(html("p", { class: "refusal" }, firstSentence(result.refused)));
        return null;
      }
      const shown = this.describe(result, replay);
      if (lecture && entries.length === 1) this.compare(lecture, shown, replay);
      return this.weightBox(replay);
    });
  }

  message(words) {
    empty(this.node).append(html("p", { class: "small" }, words));
    this.weights = [];
  }

  describe(result, replay) {
    const { facts } = result, list = html("dl", { class: "figures" });
    const shown = new Map(), add = (term, value) => {
      shown.set(term, value);
      list.append(html("div", {}, html("dt", {}, term), html("dd", {}, value)));
    };
    const ending = facts.status ? ENDINGS[facts.status] ?? facts.status : "Done";
    this.node.append(html("p", { class: "ending" }, ending, html("span", {}, facts.cause ? `${facts.cause}.` : "")));
    add("training errors", `${facts.errors} of ${facts.points}`);
    if (replay.parts.length > 1) add("machines", String(replay.parts.length - 1));
    if (replay.count > 1 && facts.updates !== null) add(`${replay.columns.primal ? "iterations" : "updates"}${replay.parts.length > 1 ? ", at most" : ""}`, facts.updates.toLocaleString("en"));
    for (const [term, value] of facts.figures) add(term, value);
    if (facts.novikoff) add("Novikoff\u2019s bound", facts.novikoff.bound ? `${Math.floor(facts.novikoff.bound).toLocaleString("en")} mistakes` : "none: no margin");
    this.figures = list;
    this.node.append(list);
    if (facts.proof) this.node.append(html("p", { class: "small proof-words" }, facts.proof));
    if (facts.remedy) this.node.append(html("p", { class: "small" }, `What to do: ${facts.remedy}.`));
    const cut = replay.parts.filter((part) => part.result.replay && part.result.replay.is_cut).length;
    if (cut && replay.parts.length > 1) this.node.append(html("p", { class: "small" }, `Only the first steps of ${cut} models are shown.`));
    else if (cut) this.node.append(html("p", { class: "small" }, `Only the first ${replay.count.toLocaleString("en")} steps are shown.`));
    return shown;
  }

  // The lecture's numbers beside those of this run.
  compare({ where, figures, note }, shown, replay) {
    const last = replay.columns.weights?.at(-1), rows = [];
    if (last && last.length === 3) shown.set("weights", last.map((v) => String(Number(v.toFixed(2)) + 0)).join(", ").replaceAll("-", "\u2212"));
    for (const [term, value] of figures) {
      rows.push(html("tr", {}, html("th", { scope: "row" }, term), html("td", {}, value.replaceAll("-", "\u2212")), html("td", {}, shown.get(term) ?? "\u2013")));
    }
    const box = html("div", { class: "lecture" }, html("h3", {}, where));
    if (rows.length) box.append(html("table", {}, html("thead", {}, html("tr", {}, html("td", {}), html("th", { scope: "col" }, "lecture"), html("th", { scope: "col" }, "here"))), html("tbody", {}, ...rows)));
    if (note) box.append(html("p", { class: "small" }, note));
    this.figures.before(box);
  }

  weightBox(replay) {
    if (!replay.columns.weights && !(replay.result.rule && replay.result.rule.weights)) return null;
    const body = html("div", { class: "weights" }), box = html("details", { class: "digits", open: replay.nClasses === 2 && (replay.result.rule?.weights?.[0].length ?? 3) === 3 }, html("summary", {}, "Weights at this step, every digit"), body);
    this.node.append(box);
    return { replay, body };
  }

  show(step) {
    for (const entry of this.weights) {
      if (!entry) continue;
      const { replay, body } = entry, lists = weightWords(replay, Math.min(step, replay.length - 1));
      empty(body);
      const isPlane = lists.length && lists[0].length === 3;
      lists.forEach((list) => {
        const row = html("p", { class: "weight-row", "data-weights": list.join(" ") });
        list.slice(0, 8).forEach((digits, j) => row.append(html("span", {}, html("i", {}, isPlane ? ["b", "w\u2081", "w\u2082"][j] : j ? `w${j}` : "b"), digits.replace("-", "\u2212"))));
        if (list.length > 8) row.append(html("span", {}, `and ${list.length - 8} more`));
        body.append(row);
      });
    }
  }
}

const firstSentence = (text) => text.split("\n")[0];
