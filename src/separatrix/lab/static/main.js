// The lab: joins the drawn points, the methods, the replay and the proof.

import { CLASS_WORDS, MOST_CLASSES, html, swatch } from "./player/svg.js";
import { Editing } from "./editing.js";
import { MethodForm } from "./forms.js";
import { Opening } from "./opening.js";
import { Outcome } from "./outcome.js";
import { Pane } from "./player/pane.js";
import { Proof } from "./proof.js";
import { Latest, ask } from "./server.js";
import { Store } from "./store.js";
import { Transport } from "./player/transport.js";
import { exported, saved } from "./exporting.js";
import { packed, unpacked } from "./share.js";

const find = (id) => document.getElementById(id);

class Lab {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.version = catalogue.version;
    this.store = new Store(catalogue.most_points);
    this.transport = new Transport(document.querySelector(".transport"), (step) => this.showStep(step));
    this.panes = ["a", "b"].map((name) => new Pane(find(`pane-${name}`), (step) => this.transport.go(step)));
    this.outcome = new Outcome(document.querySelector("#outcome .body"));
    this.proof = new Proof(document.querySelector("#proof .body"), () => this.showWitness());
    this.questions = [new Latest("/api/run"), new Latest("/api/run")];
    this.proving = new Latest("/api/prove");
    this.forms = ["a", "b"].map((name, k) => new MethodForm(document.querySelector(`#method-${name} form`), catalogue, { method: ["perceptron", "hard_margin"][k] }, () => this.ask(k)));
    this.isComparing = false;
    this.code = 0;
    this.editing = this.panes.map((pane) => new Editing(pane, this.store, { tool: () => document.querySelector("input[name=tool]:checked").value, code: () => this.code }, (words) => this.say(words)));
    this.opening = new Opening(this.store, (words) => this.tell(words));
    this.store.onChange((isFinal) => this.pointsChanged(isFinal));
    this.buildTools();
  }

  shownPanes() {
    return this.isComparing ? this.panes : this.panes.slice(0, 1);
  }

  // ---- tools

  buildTools() {
    const group = document.querySelector(".classes");
    for (let code = 0; code < MOST_CLASSES; code++) {
      const input = html("input", { type: "radio", name: "class", value: String(code), checked: code === 0, "aria-label": `${CLASS_WORDS[code]}, class ${code}` });
      input.addEventListener("change", () => { this.code = code; });
      group.append(html("label", { title: `Class ${code}: ${CLASS_WORDS[code]} (key ${code + 1})` }, input, swatch(code)));
      group.lastElementChild.lastElementChild.removeAttribute("role");
      group.lastElementChild.lastElementChild.setAttribute("aria-hidden", "true");
    }
    const presets = find("preset");
    const groups = { Situations: [], Lectures: [] };
    for (const { name, label } of this.catalogue.presets) groups[label.startsWith("Lecture") ? "Lectures" : "Situations"].push(html("option", { value: name }, label));
    for (const [label, options] of Object.entries(groups)) presets.append(html("optgroup", { label }, ...options));
    presets.addEventListener("change", () => { if (presets.value) this.loadPreset(presets.value); presets.value = ""; });
    find("undo").addEventListener("click", () => this.store.undo());
    find("redo").addEventListener("click", () => this.store.redo());
    find("clear").addEventListener("click", () => this.clear());
    find("data").addEventListener("click", () => this.opening.show());
    find("compare").addEventListener("click", () => this.setComparing(!this.isComparing));
    find("share").addEventListener("click", () => this.share());
    find("badge").addEventListener("click", (event) => { event.preventDefault(); find("proof").scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" }); });
    find("help").addEventListener("click", () => find("help-dialog").showModal());
    this.buildExport();
    this.buildCode();
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => { if (location.hash.slice(1) !== this.written) this.restore(); });
  }

  buildExport() {
    const button = find("export"), menu = find("export-menu"), items = [...menu.querySelectorAll("button")];
    const open = (is) => { menu.hidden = !is; button.setAttribute("aria-expanded", String(is)); if (is) items[0].focus(); };
    button.addEventListener("click", () => open(menu.hidden));
    document.addEventListener("pointerdown", (event) => { if (!menu.hidden && !menu.parentElement.contains(event.target)) open(false); });
    menu.addEventListener("keydown", (event) => {
      const at = items.indexOf(document.activeElement), moves = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in moves) { items[(at + moves[event.key] + items.length) % items.length].focus(); event.preventDefault(); }
      else if (event.key === "Escape") { open(false); button.focus(); event.stopPropagation(); }
      else if (event.key === "Tab") open(false);
    });
    for (const item of items) item.addEventListener("click", async () => {
      open(false);
      button.focus();
      if (item.dataset.export === "py") return this.showCode();
      if (item.dataset.export !== "csv" && !this.shownPanes().every((pane) => pane.state.replay)) return this.tell("There is nothing to export yet.");
      if (item.dataset.export === "gif") this.tell("Drawing the animation\u2026");
      await exported(item.dataset.export, this);
      return this.tell("Saved.");
    });
  }

  buildCode() {
    find("code-copy").addEventListener("click", () => this.copied(find("code-text").value, "Copied."));
    find("code-save").addEventListener("click", () => saved("separatrix_lab.py", find("code-text").value, "text/x-python"));
  }

  showCode() {
    const codes = this.shownPanes().map((pane) => pane.state.replay?.result.code ?? "");
    find("code-text").value = codes.join("\n\n") || "# Place points of two classes first.\n";
    find("code-dialog").showModal();
  }

  key(event) {
    if (document.querySelector("dialog[open]")) return;
    const { target } = event, isTyping = target.matches("input[type=number], textarea, select");
    if ((event.ctrlKey || event.metaKey) && !isTyping) {
      const back = event.key.toLowerCase() === "z" && !event.shiftKey, on = event.key.toLowerCase() === "y" || (event.key.toLowerCase() === "z" && event.shiftKey);
      if (back) this.store.undo();
      else if (on) this.store.redo();
      else return;
      event.preventDefault();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const plain = { p: () => this.transport.toggle(), ",": () => this.transport.go(this.transport.step - 1), ".": () => this.transport.go(this.transport.step + 1), "[": () => this.leap(-1), "]": () => this.leap(1), "?": () => find("help-dialog").showModal() };
    if (/^[1-6]$/.test(event.key)) this.chooseClass(Number(event.key) - 1);
    else if (event.key.toLowerCase() in plain) plain[event.key.toLowerCase()]();
    else return;
    event.preventDefault();
  }

  chooseClass(code) {
    document.querySelectorAll("input[name=class]")[code].checked = true;
    this.code = code;
    this.say(`Class ${code}: ${CLASS_WORDS[code]}`);
  }

  // An empty plane has no lift: the one of a preset goes with its points.
  clear() {
    if (!this.store.points.length) return;
    this.quiet = true;
    for (const form of this.forms) form.set({ ...form.choice, lift: { name: "none" } });
    this.quiet = false;
    this.store.load({ points: [], classes: [] });
  }

  loadPreset(name) {
    const preset = this.catalogue.presets.find((p) => p.name === name);
    this.quiet = true;
    if (preset.method) this.forms[0].set({ method: preset.method, parameters: preset.parameters, lift: preset.lift });
    else this.forms[0].set({ ...this.forms[0].choice, lift: { name: "none" } });
    this.quiet = false;
    this.pendingStep = 0; // ready to play
    this.store.load(preset, this.store.points.length > 0);
    this.say(`${preset.label}: ${preset.points.length} points.`);
  }

  // ---- what was drawn

  pointsChanged(isFinal) {
    const { store } = this;
    for (const pane of this.panes) {
      pane.setPoints(store);
      pane.node.querySelector(".hint").hidden = store.points.length > 0;
    }
    find("undo").disabled = store.past.length === 0;
    find("redo").disabled = store.future.length === 0;
    const present = [...new Set(store.classes)].sort((a, b) => a - b);
    for (const form of this.forms) form.setClasses(present);
    this.shownPanes().forEach((_, k) => this.ask(k, false));
    this.prove();
    if (isFinal) this.remember();
  }

  get question() {
    return { points: this.store.points, classes: this.store.classes };
  }

  hasTwoClasses() {
    return new Set(this.store.classes).size >= 2;
  }

  ask(k, remembered = true) {
    if (this.quiet) return;
    const form = this.forms[k], pane = this.panes[k], label = this.labelOf(k);
    if (remembered) this.remember();
    if (!this.hasTwoClasses()) {
      this.questions[k].forget();
      pane.clear(label, "Place points of at least two classes.");
      this.outcome.message("Place points of at least two classes.");
      this.transport.load(0, 0);
      return;
    }
    const { points, classes } = this.question, sent = { points: points.map((p) => [...p]), classes: [...classes] };
    const message = { ...sent, ...form.choice, lift: form.method.lifts ? form.choice.lift : { name: "none" } };
    this.questions[k].ask(message, (answer) => this.answered(k, answer, sent, label));
  }

  labelOf(k) {
    return `${this.isComparing ? `${"AB"[k]}: ` : ""}${this.forms[k].title}`;
  }

  answered(k, answer, { points, classes }, label) {
    const pane = this.panes[k];
    if (!answer.ok) {
      pane.clear(label, "");
      this.outcome.message(answer.refused ?? `A fault of ours: ${answer.fault}`);
      this.transport.load(0, 0);
      return;
    }
    const wasAtEnd = this.transport.step >= this.transport.length - 1, before = this.transport.step;
    pane.load({ ...answer.ok, class_names: this.store.classNames }, points, classes, label);
    const length = Math.max(...this.shownPanes().map((p) => p.length), 0);
    this.outcome.load(this.shownPanes().flatMap((p, j) => (p.state.replay ? [{ label: this.labelOf(j), result: p.state.replay.result, replay: p.state.replay }] : [])), this.lectureExample(points, classes));
    const step = this.pendingStep ?? (wasAtEnd || this.transport.timer === null ? length - 1 : before);
    if (this.questions.every((question) => !question.isBusy && !question.waiting)) this.pendingStep = null;
    this.transport.load(length, step);
    document.body.dataset.answers = String(Number(document.body.dataset.answers ?? 0) + 1);
    this.sayLater(this.summary(answer.ok, label));
  }

  // What the lecture says of these points, if they are those of one of its examples.
  lectureExample(points, classes) {
    const isSame = (preset) => preset.points.length === points.length && preset.points.every(([x, y], i) => x === points[i][0] && y === points[i][1] && preset.classes[i] === classes[i]);
    return this.catalogue.presets.find((preset) => preset.lecture && isSame(preset))?.lecture ?? null;
  }

  summary(result, label) {
    if (result.refused) return `${label}: ${result.refused.split("\n")[0]}`;
    const { facts } = result;
    return `${label}: ${facts.errors} of ${facts.points} points on the wrong side. ${facts.cause}`;
  }

  prove() {
    if (!this.hasTwoClasses()) {
      this.proving.forget();
      this.proof.clear("A proof needs points of at least two classes.");
      return;
    }
    const sent = { points: this.store.points.map((p) => [...p]), classes: [...this.store.classes] };
    this.proving.ask(sent, (answer) => {
      if (answer.ok) this.proof.load(answer.ok, sent);
      else this.proof.clear(answer.refused ?? `A fault of ours: ${answer.fault}`);
    });
  }

  // ---- what is shown

  showStep(step) {
    for (const pane of this.shownPanes()) pane.show(step);
    this.outcome.show(step);
    if (this.transport.timer === null) this.sayLater(this.shownPanes().map((pane) => pane.words.textContent).join(". "));
    this.rememberLater();
  }

  // To the machine before or after the one that is shown, where several follow one another.
  leap(by) {
    const { replay } = this.panes[0].state;
    if (!replay || replay.parts.length < 2) return;
    const { number } = replay.locate(this.panes[0].state.step), next = Math.min(Math.max(0, number + by), replay.parts.length - 1);
    this.transport.go(replay.begins[next]);
  }

  showWitness() {
    const witness = this.witness();
    for (const pane of this.panes) {
      pane.state.witness = witness && witness.rows.every((row) => row < pane.state.points.length) ? witness : null;
      if (pane.scene.view) pane.scene.drawStep(pane.state);
    }
  }

  witness() {
    return this.proof.witness();
  }

  verdictWords() {
    return this.proof.words();
  }

  setComparing(is) {
    this.isComparing = is;
    find("compare").setAttribute("aria-pressed", String(is));
    find("pane-b").hidden = find("method-b").hidden = !is;
    find("method-a-title").textContent = is ? "Method A" : "Method";
    document.querySelector(".panes").classList.toggle("two", is);
    this.transport.pause();
    for (const pane of this.panes) pane.draw();
    this.shownPanes().forEach((_, k) => this.ask(k, false));
    this.remember();
  }

  say(words) {
    find("said").textContent = words;
  }

  // While a slider moves, only the last word is worth saying.
  sayLater(words) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.say(words), 500);
  }

  tell(words) {
    const toast = find("toast");
    toast.textContent = words;
    toast.hidden = false;
    clearTimeout(this.toasting);
    this.toasting = setTimeout(() => { toast.hidden = true; }, 2600);
  }

  // ---- the address

  get state() {
    const { points, classes, names } = this.store, choices = this.forms.slice(0, this.isComparing ? 2 : 1).map((form) => form.choice);
    const isEnd = this.transport.step >= this.transport.length - 1;
    return { points, classes, names, choices, ...(isEnd ? {} : { step: this.transport.step }) };
  }

  rememberLater() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => this.remember(), 300);
  }

  async remember() {
    if (this.store.points.length > 2000) { // no address is that long
      this.written = "";
      history.replaceState(null, "", location.pathname);
      return;
    }
    const number = (this.writes = (this.writes ?? 0) + 1), text = await packed(this.state);
    if (number !== this.writes) return;
    this.written = text;
    history.replaceState(null, "", `#${text}`);
  }

  async restore() {
    const state = location.hash.length > 1 ? await unpacked(location.hash.slice(1)) : null;
    if (!state) return false;
    this.quiet = true;
    state.choices.forEach((choice, k) => this.forms[k].set(choice && typeof choice === "object" ? choice : {}));
    this.isComparing = state.choices.length === 2;
    this.quiet = false;
    this.pendingStep = state.step;
    if (this.isComparing) this.setComparing(true);
    this.store.load(state, this.store.points.length > 0);
    return true;
  }

  async share() {
    await this.remember();
    await this.copied(location.href, "The address is copied: it holds the points and the method.");
  }

  async copied(text, words) {
    try {
      await navigator.clipboard.writeText(text);
      this.tell(words);
    } catch {
      this.tell("The browser did not let us copy. The address bar holds it all.");
    }
  }
}

const catalogue = await ask("/api/start");
if (catalogue.refused) document.querySelector("main").replaceChildren(html("p", { class: "refusal" }, catalogue.refused));
else {
  const lab = new Lab(catalogue);
  window.lab = lab; // for the console, and for the tests
  if (!(await lab.restore())) lab.loadPreset("separable");
  if (catalogue.table) lab.opening.offer(catalogue.table);
}
