// A replay as the server sent it, one frame at a time. The numbers are the library's, bit for bit.

export class Replay {
  // Of one machine among several, `sides` are its two classes, null standing for all others.
  constructor(result, points, classes, sides = null) {
    this.result = result;
    this.points = points;
    this.classes = classes;
    this.sides = sides;
    this.present = sides ?? [...new Set(classes)].sort((a, b) => a - b);
    this.codes = classes.map((c) => (sides && sides[0] === null && c !== sides[1] ? 0 : this.present.indexOf(c)));
    this.signs = this.codes.map((code) => (code < 0 ? 0 : code === 1 ? 1 : -1));
    this.columns = result.replay ? result.replay.columns : {};
    this.count = this.columns.update ? this.columns.update.length : 0;
    this.hasAnswer = Boolean(result.rule) && (this.count === 0 || this.answerDiffers());
    this.length = this.count + (this.hasAnswer ? 1 : 0);
    this.multipliers = [];
  }

  // A run of one machine is its own only part.
  get parts() {
    return [this];
  }

  locate(step) {
    return { part: this, own: step, begin: 0, number: 0 };
  }

  // What `fit` hands over may not be the last update: the pocket's weights, or the average.
  answerDiffers() {
    const { rule } = this.result;
    if (!this.columns.weights || !rule.weights) return false;
    const last = this.columns.weights[this.count - 1], answer = rule.weights.flat();
    return answer.some((value, k) => value !== last[k]);
  }

  isAnswer(t) {
    return this.hasAnswer && t === this.count;
  }

  get nClasses() {
    return this.present.length;
  }

  at(name, t) {
    const column = this.columns[name];
    return column && t >= 0 && t < this.count ? column[t] : null;
  }

  // The weights on screen at a step: one list [b, w_1, ...] for each machine.
  weightsAt(t) {
    if (this.isAnswer(t)) return this.result.rule.weights || null;
    const flat = this.at("weights", t);
    if (!flat || flat.some((value) => value === null)) return null;
    if (this.nClasses === 2) return [flat];
    const length = flat.length / this.nClasses;
    return this.present.map((_, k) => flat.slice(k * length, (k + 1) * length));
  }

  // How the machine of this step decides.
  ruleAt(t) {
    const { rule } = this.result;
    if (this.isAnswer(t)) return rule;
    if (this.columns.bias) {
      const alpha = rule ? this.multipliersAt(t) : null;
      if (!alpha) return null;
      const shares = [alpha.map((a, i) => a * this.signs[i])];
      return { decide: "sign", kernel: { ...rule.kernel, rows: this.points, shares, biases: [this.at("bias", t) ?? 0] } };
    }
    const weights = this.weightsAt(t);
    if (!weights) return null;
    return { decide: this.nClasses === 2 ? "sign" : "argmax", weights, features: rule ? rule.features : null };
  }

  rowAt(t) {
    const row = this.at("row", t);
    return row === null || row < 0 ? null : row;
  }

  pairAt(t) {
    const pair = this.at("pair", t);
    return pair && pair[0] >= 0 ? pair : null;
  }

  multipliersAt(t) {
    if (this.columns.alpha) return this.at("alpha", Math.min(t, this.count - 1));
    if (this.columns.pair) return this.pairMultipliers(Math.min(t, this.count - 1));
    return null;
  }

  // A pair step changes two multipliers, so all of them are known from the steps before.
  pairMultipliers(t) {
    while (this.multipliers.length <= t) {
      const k = this.multipliers.length;
      const alpha = k === 0 ? new Array(this.points.length).fill(0) : this.multipliers[k - 1].slice();
      const pair = this.pairAt(k);
      if (pair) pair.forEach((row, side) => { alpha[row] = this.columns.after[k][side]; });
      this.multipliers.push(alpha);
    }
    return this.multipliers[t];
  }

  // Kozinec's w is a mean of signed rows; each step moves a share of it onto the row used.
  hullSharesAt(t) {
    this.hullShares ??= [];
    const last = Math.min(t, this.count - 1);
    while (this.hullShares.length <= last) {
      const k = this.hullShares.length, row = this.rowAt(k) ?? 0;
      const shares = k === 0 ? new Array(this.points.length).fill(0) : this.hullShares[k - 1].slice();
      const step = k === 0 ? 1 : this.stepOnto(row, k);
      for (let i = 0; i < shares.length; i++) shares[i] *= 1 - step;
      shares[row] += step;
      this.hullShares.push(shares);
    }
    return this.hullShares[last];
  }

  stepOnto(row, k) {
    const before = this.at("weights", k - 1), now = this.at("weights", k);
    const [x, y] = this.points[row], z = [1, x, y].map((v) => v * this.signs[row]);
    const toward = z.map((v, j) => v - before[j]), square = toward.reduce((s, v) => s + v * v, 0);
    if (square === 0) return 0;
    return Math.min(1, Math.max(0, toward.reduce((s, v, j) => s + v * (now[j] - before[j]), 0) / square));
  }
}
