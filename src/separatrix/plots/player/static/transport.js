// Play, step, scrub and speed: one clock for everything on the page.

import { html } from "./svg.js";

const SPEEDS = [["0.5", "half speed"], ["1", "speed 1"], ["3", "speed 3"], ["10", "speed 10"], ["40", "speed 40"]];
const STEPS_PER_SECOND = 4;
const ICONS = {
  first: "M5 4h2v12H5zM16 4v12l-8-6z", back: "M14 4v12l-8-6z", play: "M6 4l10 6-10 6z", pause: "M5 4h3.5v12H5zM11.5 4H15v12h-3.5z",
  forward: "M6 4v12l8-6z", last: "M13 4h2v12h-2zM4 4v12l8-6z",
};

export class Transport {
  constructor(node, onStep) {
    this.onStep = onStep;
    this.length = 0;
    this.step = 0;
    this.timer = null;
    const button = (name, label, action) => {
      const made = html("button", { type: "button", class: "icon", "aria-label": label, title: label });
      made.innerHTML = `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
      made.addEventListener("click", action);
      return made;
    };
    this.first = button("first", "To the start", () => this.go(0));
    this.back = button("back", "One step back", () => this.go(this.step - 1));
    this.playing = button("play", "Play", () => this.toggle());
    this.forward = button("forward", "One step on", () => this.go(this.step + 1));
    this.last = button("last", "To the end", () => this.go(this.length - 1));
    this.slider = html("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Step" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.place = html("output", { class: "place" });
    this.speed = html("select", { "aria-label": "Speed", class: "speed" });
    for (const [value, label] of SPEEDS) this.speed.append(html("option", { value, ...(value === "1" ? { selected: "" } : {}) }, label));
    node.append(html("div", { class: "keys" }, this.first, this.back, this.playing, this.forward, this.last), this.slider, this.place, this.speed);
  }

  load(length, step) {
    this.length = length;
    this.slider.max = String(Math.max(0, length - 1));
    for (const control of [this.first, this.back, this.playing, this.forward, this.last, this.slider, this.speed]) control.disabled = length < 2;
    if (length < 2) this.pause();
    this.go(step, true);
  }

  go(step, byClock = false) {
    if (!byClock) this.pause();
    this.step = Math.min(Math.max(0, step), Math.max(0, this.length - 1));
    this.slider.value = String(this.step);
    this.place.textContent = this.length > 1 ? `${this.step} / ${this.length - 1}` : "";
    this.slider.setAttribute("aria-valuetext", `step ${this.step} of ${Math.max(0, this.length - 1)}`);
    this.onStep(this.step);
  }

  toggle() {
    if (this.timer !== null) return this.pause();
    if (this.length < 2) return undefined;
    if (this.step >= this.length - 1) this.go(0, true);
    this.setIcon("pause", "Pause");
    let begun = performance.now(), from = this.step;
    const tick = (now) => {
      const speed = Number(this.speed.value) * STEPS_PER_SECOND;
      if (speed !== this.lastSpeed) { this.lastSpeed = speed; begun = now; from = this.step; }
      const target = Math.min(this.length - 1, from + Math.floor(((now - begun) / 1000) * speed));
      if (target !== this.step) this.go(target, true);
      if (this.step >= this.length - 1) this.pause();
      else this.timer = requestAnimationFrame(tick);
    };
    this.lastSpeed = Number(this.speed.value) * STEPS_PER_SECOND;
    this.timer = requestAnimationFrame(tick);
    return undefined;
  }

  pause() {
    if (this.timer !== null) cancelAnimationFrame(this.timer);
    this.timer = null;
    this.setIcon("play", "Play");
  }

  setIcon(name, label) {
    this.playing.querySelector("path").setAttribute("d", ICONS[name]);
    this.playing.setAttribute("aria-label", label);
    this.playing.title = label;
  }
}
