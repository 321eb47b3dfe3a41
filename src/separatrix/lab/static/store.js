// The drawn points, and every state they were in: undo and redo.

import { STANDARD_BOX, boxAround } from "./player/view.js";

const MOST_STATES = 200;

export class Store {
  constructor(mostPoints) {
    this.mostPoints = mostPoints;
    this.points = [];
    this.classes = [];
    this.names = ["", ""];
    this.classNames = null;
    this.box = STANDARD_BOX;
    this.selected = null;
    this.past = [];
    this.future = [];
    this.listeners = [];
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  changed(isFinal = true) {
    for (const listener of this.listeners) listener(isFinal);
  }

  // Remember the state before a change; a drag is one change however many moves it has.
  remember() {
    this.past.push(this.snapshot());
    if (this.past.length > MOST_STATES) this.past.shift();
    this.future = [];
  }

  snapshot() {
    const { points, classes, names, classNames, box } = this;
    return { points: points.map((p) => [...p]), classes: [...classes], names: [...names], classNames, box };
  }

  restore(state) {
    Object.assign(this, state);
    this.selected = null;
    this.changed();
  }

  undo() {
    if (this.past.length === 0) return false;
    this.future.push(this.snapshot());
    this.restore(this.past.pop());
    return true;
  }

  redo() {
    if (this.future.length === 0) return false;
    this.past.push(this.snapshot());
    this.restore(this.future.pop());
    return true;
  }

  add(point, code) {
    if (this.points.length >= this.mostPoints) return false;
    this.points.push(point);
    this.classes.push(code);
    return true;
  }

  remove(row) {
    this.points.splice(row, 1);
    this.classes.splice(row, 1);
    this.selected = null;
  }

  load({ points, classes, names = ["", ""], classNames = null }, remembered = true) {
    if (remembered) this.remember();
    this.restore({ points: points.slice(0, this.mostPoints).map((p) => [...p]), classes: classes.slice(0, this.mostPoints), names, classNames, box: boxAround(points) });
  }

  nearest([px, py], view, reach) {
    let best = null, least = reach;
    this.points.forEach((point, row) => {
      const [x, y] = view.place(point), distance = Math.hypot(x - px, y - py);
      if (distance <= least) { least = distance; best = row; }
    });
    return best;
  }
}
