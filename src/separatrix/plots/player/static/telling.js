// A step in words: for the caption, and for those who listen instead of looking.

import { CLASS_WORDS, figure } from "./svg.js";

export function stepWords(replay, step) {
  if (!replay || replay.length === 0) return "";
  if (replay.isAnswer(step)) {
    const { facts } = replay.result;
    if (replay.count === 0) return `Found in one go \u00b7 ${facts.errors} of ${facts.points} on the wrong side`;
    return "The answer that fit hands over: not the last weights, but the best or their average.";
  }
  const update = replay.at("update", step), parts = [];
  parts.push(step === 0 ? "Start" : `${iterationWord(replay)} ${update.toLocaleString("en")}`);
  const row = replay.rowAt(step), pair = replay.pairAt(step);
  if (step > 0 && row !== null) parts.push(`row ${row}, a ${CLASS_WORDS[replay.classes[row]]}`);
  if (pair) parts.push(`multipliers of rows ${pair[0]} and ${pair[1]}`);
  const errors = replay.at("errors", step);
  parts.push(`${errors} on the wrong side`);
  if (replay.at("gap", step) !== null) parts.push(`gap ${figure(Math.max(0, replay.at("gap", step)), 3)}`);
  else if (replay.at("margin", step) !== null) parts.push(`margin ${figure(replay.at("margin", step))}`);
  return parts.join(" \u00b7 ");
}

function iterationWord(replay) {
  if (replay.columns.pair) return "Pair step";
  return replay.columns.primal ? "Iteration" : "Update";
}

// Every digit that the weights have: what is shown here is the library's number and no other.
export function weightWords(replay, step) {
  const weights = replay && replay.length ? replay.weightsAt(step) : null;
  if (!weights) return [];
  return weights.map((w) => w.map(String));
}
