// A step in words: for the caption, and for those who listen instead of looking.

import { CLASS_WORDS, figure } from "./svg.js";

// What a machine among several sets apart.
export function sidesWords(part) {
  const { sides } = part;
  return `${className(part, sides[1])} against ${sides[0] === null ? "the rest" : className(part, sides[0])}`;
}

// By its name where the data have names, and else by its shape.
const className = ({ result }, code) => (result.class_names ? result.class_names[code] : CLASS_WORDS[code]);

export function stepWords(run, at) {
  if (!run || run.length === 0) return "";
  const { part: replay, own: step } = run.locate(at), parts = [];
  if (replay.sides) parts.push(capital(sidesWords(replay)));
  if (replay.isAnswer(step)) {
    const { facts } = replay.result;
    if (replay.sides) return `${parts[0]}: ${replay.count === 0 ? "not shown, the run is too long" : "its result"}`;
    if (replay.count === 0) return `${replay.isTogether ? "All models together" : "Found in one go"} \u00b7 ${facts.errors} of ${facts.points} on the wrong side`;
    return "The result of the fit: the best weights or their average, not the last ones.";
  }
  const update = replay.at("update", step);
  parts.push(step === 0 ? "Start" : `${iterationWord(replay)} ${update.toLocaleString("en")}`);
  const row = replay.rowAt(step), pair = replay.pairAt(step);
  if (step > 0 && row !== null) parts.push(`row ${row}, ${replay.result.class_names ? "" : "a "}${className(replay, replay.classes[row])}`);
  if (pair) parts.push(`multipliers of rows ${pair[0]} and ${pair[1]}`);
  const errors = replay.at("errors", step);
  parts.push(`${errors} on the wrong side`);
  if (replay.at("gap", step) !== null) parts.push(`gap ${figure(Math.max(0, replay.at("gap", step)), 3)}`);
  else if (replay.at("margin", step) !== null) parts.push(`margin ${figure(replay.at("margin", step))}`);
  return parts.join(" \u00b7 ");
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

function iterationWord(replay) {
  if (replay.columns.pair) return "Pair step";
  return replay.columns.primal ? "Iteration" : "Update";
}

// Every digit that the weights have: what is shown here is the library's number and no other.
export function weightWords(run, at) {
  if (!run || !run.length) return [];
  const { part, own } = run.locate(at), weights = part.weightsAt(own);
  if (!weights) return [];
  return weights.map((w) => w.map(String));
}
