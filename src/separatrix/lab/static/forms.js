// The form of a method: its parameters as controls, and the lift before it.

import { empty, figure, html } from "./svg.js";

let controlCount = 0;

export class MethodForm {
  constructor(form, catalogue, choice, onChange) {
    this.form = form;
    this.methods = catalogue.methods;
    this.lifts = catalogue.lifts;
    this.onChange = onChange;
    this.nClasses = 2;
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

  setClasses(count) {
    const before = this.nClasses;
    this.nClasses = count;
    if (before > 2 !== count > 2) this.render();
  }

  render() {
    const { rest, method, choice } = this, focused = document.activeElement?.dataset?.key;
    this.picker.value = method.name;
    empty(rest).append(html("p", { class: "small sentence" }, method.sentence));
    if (this.nClasses > 2) rest.append(this.manyControl());
    for (const parameter of method.parameters) this.appendControl(parameter, choice.parameters, "p");
    if (method.lifts) this.appendLift();
    if (focused) rest.querySelector(`[data-key="${focused}"]`)?.focus();
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

  appendControl(parameter, values, place) {
    if (parameter.when && !parameter.when[1].includes(values[parameter.when[0]])) return;
    this.rest.append(this.control(parameter, values, place));
  }

  control(parameter, values, place, after) {
    const id = `control-${++controlCount}`, key = `${place}-${parameter.name}`;
    const changed = (value, redraw) => {
      values[parameter.name] = value;
      if (after) after();
      else if (redraw) this.render();
      this.onChange("parameters");
    };
    const build = { choice: choiceInput, switch: switchInput, whole: wholeInput, log: logInput }[parameter.kind];
    return build(parameter, values[parameter.name], { id, "data-key": key }, changed);
  }
}

// An address may hold anything: what a control cannot show is left at its default.
function given(values, p) {
  const value = values ? values[p.name] : undefined;
  if (value === null) return p.absent ? null : p.default;
  const fits = { choice: () => p.choices.some(([name]) => name === value), switch: () => typeof value === "boolean" }[p.kind];
  const isRight = fits ? fits() : typeof value === "number" && value >= p.low && value <= p.high;
  return isRight ? value : p.default;
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

function wholeInput({ label, low, high }, value, marks, changed) {
  const input = html("input", { ...marks, type: "number", min: low, max: high, step: 1, value });
  input.addEventListener("input", () => {
    const number = Number(input.value), right = input.value !== "" && Number.isInteger(number) && number >= low && number <= high;
    input.setAttribute("aria-invalid", String(!right));
    if (right) changed(number, false);
  });
  return html("div", { class: "control" }, html("label", { for: marks.id }, label), input);
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
  if (absent) {
    const box = html("input", { type: "checkbox", id: `${marks.id}-absent`, "data-key": `${marks["data-key"]}-absent`, checked: value === null });
    box.addEventListener("change", () => {
      slider.disabled = box.checked;
      const number = box.checked ? null : now();
      write(number);
      changed(number, false);
    });
    node.append(html("div", { class: "absent switch" }, box, html("label", { for: `${marks.id}-absent` }, absent)));
  }
  return node;
}
