// The dialog that opens a table: a file or pasted text, two columns and a class.

import { empty, html } from "./player/svg.js";
import { parsedTable } from "./csv.js";

const MOST_CLASSES_OPEN = 6;

export class Opening {
  constructor(store, onOpen) {
    this.store = store;
    this.onOpen = onOpen;
    const find = (id) => document.getElementById(id);
    Object.assign(this, { dialog: find("data-dialog"), text: find("data-text"), file: find("data-file"), x: find("data-x"), y: find("data-y"), label: find("data-class"), words: find("data-words"), open: find("data-open") });
    this.text.addEventListener("input", () => this.read(this.text.value));
    this.file.addEventListener("change", async () => {
      const [file] = this.file.files;
      if (!file) return;
      if (file.size > 20e6) { this.words.textContent = "That file is larger than 20 MB."; return; }
      this.text.value = "";
      this.read(await file.text());
    });
    find("data-cancel").addEventListener("click", () => this.dialog.close());
    this.open.addEventListener("click", () => this.take());
  }

  show() {
    this.read(this.text.value);
    this.dialog.showModal();
  }

  // A table that the command line named.
  offer({ columns, rows, labels, source }) {
    const table = { columns: [...columns, "class"], rows: rows.map((row, i) => [...row.map(String), labels[i]]), numeric: [...columns.map(() => true), false] };
    this.choose(table);
    this.words.textContent = `${source}: ${rows.length.toLocaleString("en")} rows. Choose two columns.`;
    this.dialog.showModal();
  }

  read(text) {
    this.table = null;
    this.open.disabled = true;
    for (const select of [this.x, this.y, this.label]) empty(select);
    this.words.textContent = "";
    if (!text.trim()) return;
    const table = parsedTable(text);
    if (!table || table.error) { this.words.textContent = table ? table.error : "There are no lines."; return; }
    this.choose(table);
  }

  choose(table) {
    const numbers = table.columns.flatMap((_, j) => (table.numeric[j] ? [j] : []));
    if (numbers.length < 2) { this.words.textContent = "Two columns of numbers are needed."; return; }
    this.table = table;
    const label = likelyLabel(table, numbers), free = numbers.filter((j) => j !== label);
    const [across, up] = free.length >= 2 ? free : numbers;
    const fill = (select, columns, chosen) => {
      empty(select);
      for (const j of columns) select.append(html("option", { value: String(j), selected: j === chosen }, table.columns[j]));
    };
    fill(this.x, numbers, across);
    fill(this.y, numbers, up);
    fill(this.label, table.columns.map((_, j) => j), label);
    this.words.textContent = `${table.rows.length.toLocaleString("en")} rows, ${table.columns.length} columns.`;
    this.open.disabled = false;
  }

  take() {
    const [x, y, label] = [this.x, this.y, this.label].map((select) => Number(select.value));
    const { rows, columns } = this.table, names = [...new Set(rows.map((row) => row[label]))].sort(inOrder);
    if (names.length < 2) { this.words.textContent = `The column ${columns[label]} has one value only: choose another for the class.`; return; }
    const kept = names.slice(0, MOST_CLASSES_OPEN), used = rows.filter((row) => kept.includes(row[label]));
    const points = used.map((row) => [Number(row[x]), Number(row[y])]), most = this.store.mostPoints;
    this.store.load({ points, classes: used.map((row) => kept.indexOf(row[label])), names: [columns[x], columns[y]], classNames: kept });
    this.dialog.close();
    const dropped = [];
    if (names.length > kept.length) dropped.push(`only the first ${kept.length} of ${names.length} classes are shown`);
    if (points.length > most) dropped.push(`only the first ${most.toLocaleString("en")} rows are shown`);
    this.onOpen(dropped.length ? `Opened; ${dropped.join(", and ")}.` : `Opened ${points.length.toLocaleString("en")} points.`);
  }
}

const inOrder = (a, b) => (Number(a) - Number(b) || (a < b ? -1 : a > b ? 1 : 0));

// The class is the last column of words, or of few different numbers.
function likelyLabel({ columns, rows, numeric }, numbers) {
  const words = columns.flatMap((_, j) => (numeric[j] ? [] : [j]));
  if (words.length) return words[words.length - 1];
  const few = numbers.filter((j) => new Set(rows.map((row) => row[j])).size <= MOST_CLASSES_OPEN);
  return few.length ? few[few.length - 1] : columns.length - 1;
}
