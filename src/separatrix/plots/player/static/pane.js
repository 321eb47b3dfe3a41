// One method's picture: the plane, a caption, and the small charts below it.

import { empty, html } from "./svg.js";
import { Chapters } from "./chapters.js";
import { Charts } from "./charts.js";
import { Scene } from "./scene.js";
import { replayOf } from "./sequence.js";
import { stepWords } from "./telling.js";
import { View, boxAround } from "./view.js";

export class Pane {
  constructor(node, onGo) {
    this.node = node;
    this.svg = node.querySelector("svg.plane");
    this.scene = new Scene(this.svg);
    this.title = node.querySelector(".title");
    this.words = node.querySelector(".words");
    this.charts = new Charts(node.querySelector(".charts"), (own) => onGo(this.charted.begin + own));
    this.chapters = new Chapters(node.querySelector(".chapters"), onGo);
    this.charted = { part: null, begin: 0 };
    this.state = { points: [], classes: [], names: [], replay: null, step: 0, selected: null, witness: null, showWitness: true };
    this.box = null;
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  setPoints({ points, classes, names, selected, box }) {
    Object.assign(this.state, { points, classes, names, selected });
    this.box = box;
    if (this.state.witness && this.state.witness.rows.some((row) => row >= points.length)) this.state.witness = null;
    this.draw();
  }

  load(result, points, classes, label) {
    this.state.replay = replayOf(result, points, classes);
    this.state.step = Math.max(0, this.state.replay.length - 1);
    empty(this.title).append(html("b", {}, label));
    this.chapters.load(this.state.replay);
    this.charted.part = null;
  }

  clear(label, words) {
    this.state.replay = null;
    empty(this.title).append(html("b", {}, label));
    this.words.textContent = words;
    this.charts.clear("");
    this.chapters.clear();
    this.draw();
  }

  get length() {
    return this.state.replay ? this.state.replay.length : 0;
  }

  show(step) {
    const { replay } = this.state;
    if (!replay) return;
    this.state.step = Math.min(step, Math.max(0, replay.length - 1));
    this.words.textContent = replay.result.refused && replay.length === 0 ? "No answer; the outcome says why." : stepWords(replay, this.state.step);
    const at = replay.locate(this.state.step);
    if (at.part !== this.charted.part) this.charts.load(at.part);
    this.charted = at;
    this.chapters.show(at.number);
    this.charts.show(at.own);
    if (this.scene.view) this.scene.drawStep(this.state);
  }

  draw() {
    const { width, height } = this.svg.getBoundingClientRect();
    if (width === 0 || height === 0) return;
    this.view = new View(this.box ?? boxAround(this.state.points), width, height);
    this.scene.show(this.view, this.state);
  }
}
