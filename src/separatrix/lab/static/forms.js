// The form of a method: its parameters as controls, and the lift before it.

import { CLASS_WORDS, MOST_CLASSES, empty, figure, html, swatch } from "./player/svg.js";

let controlCount = 0;

export class MethodForm {
  constructor(form, catalogue, choice, onChange) {
    this.form = form;
    this.methods = catalogue.methods;
    this.lifts = catalogue.lifts;
    this.onChange = onChange;
    this.present = [0, 1];
    this.isOpen = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    this.picker = this.methodPicker();
    this.rest = html("div", { class: "rest" });
    form.append(this.picker, this.rest);
    this.set(choice);
  }

  get method() {
    return this.methods.find((m) => m.name === this.choice.method);
  }

  set(choice) {
    const method = this.methods.find((m) => m.name === choice.method) ?? this.methods[0];
    const parameters = Object.fromEntries(method.parameters.map((p) => [p.name, given(choice.parameters, p)]));
    const lift = this.lifts.find((l) => l.name === choice.lift?.name) ?? this.lifts[0];
    this.choice = {
      method: method.name, parameters,
      many: method.many.includes(choice.many) ? choice.many : method.many[0],
      lift: { name: lift.name, parameters: Object.fromEntries(lift.parameters.map((p) => [p.name, given(choice.lift?.parameters, p)])) },
    };
    this.render();
  }

  // Method and the number that matters most, for captions.
  get title() {
    const { parameters, lift } = this.choice, parts = [this.method.label];
    if (parameters.C !== undefined) parts.push(`C = ${figure(parameters.C, 3)}`);
    if (parameters.epsilon) parts.push(`\u03b5 = ${figure(parameters.epsilon, 3)}`);
    if (parameters.kernel) parts.push(parameters.kernel);
    if (this.method.lifts && lift.name !== "none") parts.push(`${lift.name} lift`);
    return parts.join(", ");
  }

  setClasses(present) {
    const before = this.present;
    this.present = present;
    const showsLosses = this.method.parameters.some((p) => p.kind === "losses" && this.choice.parameters[p.name]);
    if (before.length > 2 !== present.length > 2 || (showsLosses && String(before) !== String(present))) this.render();
  }

  render() {
    const { rest, method, choice } = this, focused = document.activeElement?.dataset?.key;
    this.picker.value = method.name;
    empty(rest).append(html("p", { class: "small sentence" }, method.sentence));
    if (this.present.length > 2) rest.append(this.manyControl());
    for (const parameter of method.parameters) if (!parameter.more) this.appendControl(parameter, choice.parameters, "p");
    if (method.lifts) this.appendLift();
    this.appendMore();
    if (focused) this.form.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  // It stays while all else is redrawn, so that typing a method's name is not cut short.
  methodPicker() {
    const picker = html("select", { "data-key": "method", "aria-label": "Method" });
    for (const family of ["Updates", "Margins", "Kernels", "In one go"]) {
      const group = html("optgroup", { label: family });
      for (const m of this.methods) if (m.family === family) group.append(html("option", { value: m.name }, m.label));
      picker.append(group);
    }
    picker.addEventListener("change", () => { this.set({ method: picker.value, lift: this.choice.lift, many: this.choice.many }); this.onChange("method"); });
    return picker;
  }

  manyControl() {
    const words = { direct: "all at once", ovr: "each against the rest", ovo: "every pair, by votes" };
    const parameter = { name: "many", label: "Many classes", kind: "choice", choices: this.method.many.map((m) => [m, words[m]]) };
    return this.control(parameter, this.choice, "m");
  }

  appendLift() {
    const { choice } = this, lift = this.lifts.find((l) => l.name === choice.lift.name);
    const picker = { name: "name", label: "Lift", kind: "choice", choices: this.lifts.map((l) => [l.name, l.label]) };
    this.rest.append(this.control(picker, choice.lift, "l", () => this.set({ ...choice, lift: { name: choice.lift.name } })));
    for (const parameter of lift.parameters) this.appendControl(parameter, choice.lift.parameters, "l");
  }

  // What is seldom touched, folded away; how many of them are not as they were is said.
  appendMore() {
    const { method, choice } = this, seldom = method.parameters.filter((p) => p.more);
    if (seldom.length === 0) return;
    const changed = seldom.filter((p) => choice.parameters[p.name] !== p.default).length;
    const box = html("details", { class: "more", open: this.isOpen }, html("summary", { "data-key": "more" }, changed ? `More settings (${changed} changed)` : "More settings"));
    box.addEventListener("toggle", () => { this.isOpen = box.open; });
    const inside = html("div", { class: "rest" });
    for (const parameter of seldom) this.appendControl(parameter, choice.parameters, "p", inside);
    box.append(inside);
    this.rest.append(box);
  }

  appendControl(parameter, values, place, where = this.rest) {
    if (parameter.when && !parameter.when[1].includes(values[parameter.when[0]])) return;
    where.append(this.control(parameter, values, place));
  }

  control(parameter, values, place, after) {
    const id = `control-${++controlCount}`, key = `${place}-${parameter.name}`;
    const changed = (value, redraw) => {
      values[parameter.name] = value;
      if (after) after();
      else if (redraw) this.render();
      this.onChange("parameters");
    };
    const build = { choice: choiceInput, switch: switchInput, whole: wholeInput, log: logInput, losses: lossesInput }[parameter.kind];
    return build(parameter, values[parameter.name], { id, "data-key": key }, changed, this.present);
  }
}

// An address may hold anything: what a control cannot show is left at its default.
function given(values, p) {
  const value = values ? values[p.name] : undefined;
  if (value === null) return p.absent ? null : p.default;
  const isWithin = (v) => typeof v === "number" && v >= p.low && v <= p.high;
  const fits = {
    choice: () => p.choices.some(([name]) => name === value), switch: () => typeof value === "boolean",
    losses: () => Array.isArray(value) && value.length === MOST_CLASSES && value.every((row) => Array.isArray(row) && row.length === MOST_CLASSES && row.every(isWithin)),
  }[p.kind] ?? (() => isWithin(value));
  return fits() ? value : p.default;
}

function choiceInput({ label, choices }, value, marks, changed) {
  const select = html("select", marks);
  for (const [name, words] of choices) select.append(html("option", { value: name, selected: name === value }, words));
  select.addEventListener("change", () => changed(select.value, true));
  return html("div", { class: "control" }, html("label", { for: marks.id }, label), select);
}

function switchInput({ label }, value, marks, changed) {
  const box = html("input", { ...marks, type: "checkbox", checked: value });
  box.addEventListener("change", () => changed(box.checked, false));
  return html("div", { class: "control switch" }, box, html("label", { for: marks.id }, label));
}

function wholeInput({ label, low, high, absent }, value, marks, changed) {
  const input = html("input", { ...marks, type: "number", min: low, max: high, step: 1, value: value ?? "", disabled: value === null });
  const now = () => {
    const number = Number(input.value), right = input.value !== "" && Number.isInteger(number) && number >= low && number <= high;
    input.setAttribute("aria-invalid", String(!right));
    return right ? number : undefined;
  };
  input.addEventListener("input", () => { const number = now(); if (number !== undefined) changed(number, false); });
  const node = html("div", { class: "control" }, html("label", { for: marks.id }, label), input);
  if (absent) node.append(absentBox(absent, value === null, marks, (isAbsent) => {
    input.disabled = isAbsent;
    if (!isAbsent && input.value === "") input.value = String(Math.max(low, 10));
    changed(isAbsent ? null : now() ?? null, false);
  }));
  return node;
}

// A slider over powers of ten; with a box that leaves the number to the library.
function logInput({ label, low, high, absent }, value, marks, changed) {
  const slider = html("input", { ...marks, type: "range", min: Math.log10(low), max: Math.log10(high), step: 0.05, disabled: value === null });
  const shown = html("output", { for: marks.id });
  const write = (number) => { shown.textContent = number === null ? "" : figure(number, 3); slider.setAttribute("aria-valuetext", number === null ? absent : figure(number, 3)); };
  slider.value = String(Math.log10(value ?? Math.sqrt(low * high)));
  write(value);
  const now = () => Number((10 ** Number(slider.value)).toPrecision(3));
  slider.addEventListener("input", () => { write(now()); changed(now(), false); });
  const node = html("div", { class: "control log" }, html("label", { for: marks.id }, label), shown, slider);
  if (absent) node.append(absentBox(absent, value === null, marks, (isAbsent) => {
    slider.disabled = isAbsent;
    const number = isAbsent ? null : now();
    write(number);
    changed(number, false);
  }));
  return node;
}

function absentBox(words, isAbsent, marks, onChange) {
  const id = `${marks.id}-absent`, box = html("input", { type: "checkbox", id, "data-key": `${marks["data-key"]}-absent`, checked: isAbsent });
  box.addEventListener("change", () => onChange(box.checked));
  return html("div", { class: "absent switch" }, box, html("label", { for: id }, words));
}

// What a decision (row) loses if the class (column) is another; of the classes that are drawn.
function lossesInput({ label, low, high, absent }, value, marks, changed, present) {
  const node = html("div", { class: "control losses" }, html("span", { id: marks.id }, label));
  node.append(absentBox(absent, value === null, marks, (isAbsent) => changed(isAbsent ? null : plainLosses(), true)));
  if (value === null || present.length < 2) return node;
  const head = html("tr", {}, html("td", {}), ...present.map((code) => html("th", { scope: "col" }, swatch(code))));
  const table = html("table", { "aria-labelledby": marks.id }, html("caption", {}, "columns: true class; rows: predicted class"), html("thead", {}, head), html("tbody"));
  for (const decided of present) {
    const row = html("tr", {}, html("th", { scope: "row" }, swatch(decided)));
    for (const code of present) {
      const words = `Cost of predicting ${CLASS_WORDS[decided]} where ${CLASS_WORDS[code]} is true`;
      const input = html("input", { type: "number", min: low, max: high, step: "any", value: value[decided][code], "aria-label": words, "data-key": `${marks["data-key"]}-${decided}-${code}` });
      input.addEventListener("input", () => {
        const number = Number(input.value), right = input.value !== "" && number >= low && number <= high;
        input.setAttribute("aria-invalid", String(!right));
        if (!right) return;
        value[decided][code] = number;
        changed(value, false);
      });
      row.append(html("td", {}, input));
    }
    table.lastElementChild.append(row);
  }
  node.append(table);
  return node;
}

const plainLosses = () => Array.from({ length: MOST_CLASSES }, (_, i) => Array.from({ length: MOST_CLASSES }, (__, j) => (i === j ? 0 : 1)));
