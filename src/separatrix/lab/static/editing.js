// Editing with pointer and keys: place, drag, brush, delete.

import { CLASS_WORDS, el, empty, figure, line } from "./player/svg.js";

const REACH = 12; // pixels
const BRUSH_SPREAD = 22, BRUSH_MILLISECONDS = 55;

export class Editing {
  constructor(pane, store, tools, say) {
    this.pane = pane;
    this.store = store;
    this.tools = tools;
    this.say = say;
    this.cross = null;
    const { svg } = pane;
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    svg.addEventListener("pointerup", () => this.release());
    svg.addEventListener("pointercancel", () => this.release());
    svg.addEventListener("contextmenu", (event) => event.preventDefault());
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("blur", () => this.setCross(null));
  }

  where(event) {
    const box = this.pane.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    const { store, pane } = this, at = this.where(event), row = store.nearest(at, pane.view, REACH);
    event.preventDefault();
    pane.svg.focus({ preventScroll: true });
    this.setCross(null);
    pane.svg.setPointerCapture(event.pointerId);
    const tool = this.tools.tool();
    if (event.button === 2 || tool === "erase") {
      this.doing = "erase";
      if (row !== null) this.erase(row);
    } else if (tool === "brush") {
      store.remember();
      this.doing = "brush";
      this.at = at;
      this.spray(at);
      this.spraying = setInterval(() => this.spray(this.at), 3 * BRUSH_MILLISECONDS);
    } else {
      store.remember();
      this.doing = "drag";
      if (row === null) {
        if (!store.add(pane.view.snap(pane.view.point(at)), this.tools.code())) return this.full();
        this.row = store.points.length - 1;
      } else this.row = row;
      store.selected = row === null ? null : row;
      store.changed(false);
    }
    return undefined;
  }

  move(event) {
    if (!this.doing) return;
    const { store, pane } = this, at = this.where(event);
    if (this.doing === "drag") {
      store.points[this.row] = pane.view.snap(pane.view.point(at));
      store.changed(false);
    } else if (this.doing === "brush") {
      this.at = at;
      if (performance.now() - this.sprayed > BRUSH_MILLISECONDS) this.spray(at);
    } else {
      const row = store.nearest(at, pane.view, REACH);
      if (row !== null) this.erase(row);
    }
  }

  release() {
    clearInterval(this.spraying);
    if (!this.doing) return;
    this.doing = null;
    this.store.changed(true);
  }

  spray(at) {
    const { store, pane } = this;
    this.sprayed = performance.now();
    for (let k = 0; k < 3; k++) {
      const angle = 2 * Math.PI * Math.random(), far = BRUSH_SPREAD * Math.sqrt(-2 * Math.log(1 - Math.random() * 0.95));
      const place = [at[0] + far * Math.cos(angle), at[1] + far * Math.sin(angle)];
      if (!store.add(pane.view.snap(pane.view.point(place)), this.tools.code())) return this.full();
    }
    store.changed(false);
    return undefined;
  }

  erase(row) {
    this.store.remember();
    this.store.remove(row);
    this.store.changed(true);
  }

  full() {
    this.say(`The lab takes at most ${this.store.mostPoints.toLocaleString("en")} points.`);
  }

  // ---- keys

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const { store } = this, known = { Enter: () => this.placeAtCross(), " ": () => this.placeAtCross(), Delete: () => this.deleteHere(), Backspace: () => this.deleteHere(), Escape: () => this.letGo() };
    if (event.key in moves) this.moveBy(moves[event.key], event.shiftKey ? 2 : 16);
    else if (event.key in known) known[event.key]();
    else if (event.key.toLowerCase() === "n" && store.points.length) this.choose(event.shiftKey ? -1 : 1);
    else if (event.key.toLowerCase() === "b") { this.ensureCross(); store.remember(); this.spray(this.cross); store.changed(true); this.say("A cloud was brushed."); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  ensureCross() {
    if (!this.cross) this.setCross([this.pane.view.width / 2, this.pane.view.height / 2]);
  }

  setCross(at) {
    this.cross = at;
    const layer = empty(this.pane.scene.layers.cursor);
    if (!at) return;
    const [x, y] = at;
    layer.append(line([x - 11, y], [x + 11, y], "cross"), line([x, y - 11], [x, y + 11], "cross"), el("circle", { cx: x, cy: y, r: 6, class: "cross" }));
  }

  moveBy([dx, dy], pixels) {
    const { store, pane } = this, { view } = pane;
    if (store.selected !== null) {
      const [x, y] = view.place(store.points[store.selected]);
      store.remember();
      store.points[store.selected] = view.snap(view.point([x + dx * pixels, y + dy * pixels]));
      store.changed(true);
      this.sayPoint(store.selected);
      return;
    }
    this.ensureCross();
    const [x, y] = this.cross;
    this.setCross([Math.min(view.width, Math.max(0, x + dx * pixels)), Math.min(view.height, Math.max(0, y + dy * pixels))]);
    const [a, b] = view.snap(view.point(this.cross));
    this.say(`Cross at ${figure(a)}, ${figure(b)}`);
  }

  placeAtCross() {
    this.ensureCross();
    const { store, pane } = this;
    store.selected = null;
    store.remember();
    if (!store.add(pane.view.snap(pane.view.point(this.cross)), this.tools.code())) return this.full();
    store.changed(true);
    this.sayPoint(store.points.length - 1);
    return undefined;
  }

  deleteHere() {
    const { store, pane } = this;
    const row = store.selected ?? (this.cross ? store.nearest(this.cross, pane.view, 4 * REACH) : null);
    if (row === null) return this.say("No point is near.");
    this.erase(row);
    return this.say(`Deleted. ${store.points.length} points are left.`);
  }

  choose(direction) {
    const { store } = this, count = store.points.length;
    const from = store.selected ?? (direction > 0 ? -1 : count);
    store.selected = (from + direction + count) % count;
    this.setCross(null);
    store.changed(false);
    this.sayPoint(store.selected);
  }

  letGo() {
    this.store.selected = null;
    this.setCross(null);
    this.store.changed(false);
  }

  sayPoint(row) {
    const [x, y] = this.store.points[row];
    this.say(`Point ${row}, ${CLASS_WORDS[this.store.classes[row]]}, at ${figure(x)}, ${figure(y)}`);
  }
}
