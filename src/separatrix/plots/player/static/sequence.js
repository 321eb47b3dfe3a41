// Several machines, one after another, and at the end all of them together: one run to look at.

import { Replay } from "./frames.js";

export function replayOf(result, points, classes) {
  const isSequence = Boolean(result.replay && result.replay.parts && result.rule);
  return isSequence ? new Sequence(result, points, classes) : new Replay(result, points, classes);
}

export class Sequence {
  constructor(result, points, classes) {
    this.result = result;
    this.points = points;
    this.classes = classes;
    this.parts = result.replay.parts.map((part, k) => {
      const own = { method: result.method, hard: result.hard, class_names: result.class_names, replay: part, rule: machineRule(result.rule, k), support: part.support };
      return new Replay(own, points, classes, part.sides);
    });
    const together = new Replay({ ...result, replay: null }, points, classes);
    together.isTogether = true;
    Object.assign(this, { present: together.present, codes: together.codes, nClasses: together.nClasses });
    this.parts.push(together);
    this.begins = [];
    this.length = 0;
    for (const part of this.parts) {
      this.begins.push(this.length);
      this.length += part.length;
    }
  }

  // Which machine a step of the whole run belongs to, and which of its own steps it is.
  locate(step) {
    let number = this.parts.length - 1;
    while (number > 0 && this.begins[number] > step) number -= 1;
    return { part: this.parts[number], own: step - this.begins[number], begin: this.begins[number], number };
  }

  get count() {
    return this.parts.reduce((sum, part) => sum + part.count, 0);
  }

  get columns() {
    return this.parts[0].columns;
  }

  isAnswer(step) {
    return step === this.length - 1;
  }
}

// One machine of a rule that decides by several.
function machineRule(rule, k) {
  const { features } = rule;
  if (rule.kernels) return { decide: "sign", kernel: rule.kernels[k] };
  if (rule.kernel) return { decide: "sign", kernel: { ...rule.kernel, shares: [rule.kernel.shares[k]], biases: [rule.kernel.biases[k]] } };
  return { decide: "sign", weights: [rule.weights[k]], features };
}
