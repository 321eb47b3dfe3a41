// Tables as people paste them: commas, tabs or semicolons, quotes where needed, a header or none.

export function parsedTable(text) {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/).filter((line) => line.trim() && !line.startsWith("#"));
  if (lines.length === 0) return null;
  const outsideQuotes = lines[0].replace(/"(?:[^"]|"")*"/g, '""');
  const divider = ["\t", ";", ","].find((sign) => outsideQuotes.includes(sign)) ?? /\s+/;
  const rows = lines.map((line) => cellsOf(line, divider));
  const width = rows[0].length;
  const bad = rows.findIndex((row) => row.length !== width);
  if (bad >= 0) return { error: `Line ${bad + 1} has ${rows[bad].length} cells, the first line ${width}.` };
  const hasHeader = rows.length > 1 && rows[0].some((cell, j) => !isNumber(cell) && isNumber(rows[1][j]));
  const columns = hasHeader ? rows[0] : rows[0].map((_, j) => `column ${j + 1}`);
  const body = hasHeader ? rows.slice(1) : rows;
  const numeric = columns.map((_, j) => body.every((row) => isNumber(row[j])));
  return { columns, rows: body, numeric };
}

function cellsOf(text, divider) {
  if (divider instanceof RegExp) return text.trim().split(divider);
  const cells = [];
  let cell = "", quoted = false;
  for (let k = 0; k < text.length; k++) {
    const sign = text[k];
    if (quoted) {
      if (sign === '"' && text[k + 1] === '"') { cell += '"'; k++; }
      else if (sign === '"') quoted = false;
      else cell += sign;
    } else if (sign === '"' && cell.trim() === "") { quoted = true; cell = ""; }
    else if (sign === divider) { cells.push(cell.trim()); cell = ""; }
    else cell += sign;
  }
  cells.push(cell.trim());
  return cells;
}

const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell)) && Math.abs(Number(cell)) <= 1e9;

// A spreadsheet would run a name that begins like a formula: an apostrophe makes it a text.
const defused = (name) => (/^ *[=+\-@\t\r\n＝＋－＠]/.test(name) && !isNumber(name) ? `'${name}` : name);

export function writtenTable({ points, classes, names }) {
  const quoted = (name) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const header = [names[0] || "x", names[1] || "y", "class"].map(defused).map(quoted).join(",");
  return `${header}\n${points.map(([x, y], i) => `${x},${y},${classes[i]}`).join("\n")}\n`;
}
