// Where several machines follow one another: a button for each, and one for all of them together.

import { empty, html, swatch } from "./svg.js";
import { sidesWords } from "./telling.js";

export class Chapters {
  constructor(node, onGo) {
    this.node = node;
    this.onGo = onGo;
  }

  load(replay) {
    empty(this.node);
    this.node.hidden = replay.parts.length < 2;
    this.buttons = this.node.hidden ? [] : replay.parts.map((part, number) => {
      const words = part.isTogether ? "All together" : sidesWords(part);
      const marks = part.isTogether ? ["All together"] : part.sides.slice().reverse().map(side);
      const button = html("button", { type: "button", title: words, "aria-label": words }, ...marks);
      button.addEventListener("click", () => this.onGo(part.isTogether ? replay.length - 1 : replay.begins[number]));
      return button;
    });
    this.node.append(...this.buttons);
  }

  clear() {
    this.buttons = [];
    this.node.hidden = true;
  }

  show(number) {
    this.buttons.forEach((button, k) => button.setAttribute("aria-current", String(k === number)));
  }
}

function side(code) {
  const mark = code === null ? html("span", {}, "rest") : swatch(code);
  mark.removeAttribute("role");
  mark.removeAttribute("aria-label");
  return mark;
}
