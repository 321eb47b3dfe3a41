// Deciding as the library does: scores that are linear in lifted coordinates or in kernel values.

export function featuresOf(features) {
  if (!features) return (x, y) => [x, y];
  const { kind } = features;
  if (kind === "polynomial") return (x, y) => features.powers.map(([p, q]) => x ** p * y ** q);
  if (kind === "radial") {
    const factor = -0.5 / features.width ** 2;
    return (x, y) => features.centres.map(([a, b]) => Math.exp(factor * ((x - a) ** 2 + (y - b) ** 2)));
  }
  if (kind === "sigmoid") {
    return (x, y) => features.centres.map(([a, b]) => Math.tanh(features.slope * (x * a + y * b) + features.offset));
  }
  if (kind === "fourier") {
    const scale = Math.sqrt(2 / features.offsets.length);
    return (x, y) => features.directions.map(([a, b], k) => scale * Math.cos(a * x + b * y + features.offsets[k]));
  }
  const near = (x, y) => features.centres.map(([a, b]) => Math.exp(-features.gamma * ((x - a) ** 2 + (y - b) ** 2)));
  return (x, y) => {
    const values = near(x, y);
    return features.columns.map((column) => column.reduce((sum, c, k) => sum + c * values[k], 0));
  };
}

export function kernelFunction({ name, gamma, degree, coef0 }) {
  if (name === "rbf") return (a, b, x, y) => Math.exp(-gamma * ((x - a) ** 2 + (y - b) ** 2));
  if (name === "poly") return (a, b, x, y) => (gamma * (a * x + b * y) + coef0) ** degree;
  if (name === "sigmoid") return (a, b, x, y) => Math.tanh(gamma * (a * x + b * y) + coef0);
  return (a, b, x, y) => a * x + b * y;
}

function kernelScores(kernel) {
  const value = kernelFunction(kernel), { rows, shares, biases } = kernel;
  return (x, y) => {
    const scores = biases.slice();
    for (let i = 0; i < rows.length; i++) {
      const k = value(rows[i][0], rows[i][1], x, y);
      for (let m = 0; m < scores.length; m++) scores[m] += shares[m][i] * k;
    }
    return scores;
  };
}

// One score a machine.
export function scoresOf(rule) {
  if (rule.kernel) return kernelScores(rule.kernel);
  if (rule.kernels) {
    const each = rule.kernels.map(kernelScores);
    return (x, y) => each.map((scores) => scores(x, y)[0]);
  }
  const lift = featuresOf(rule.features);
  return (x, y) => {
    const values = lift(x, y);
    return rule.weights.map((w) => values.reduce((sum, v, j) => sum + w[1 + j] * v, w[0]));
  };
}

// The number of the class among those present, in order.
export function decisionOf(rule, nClasses) {
  const scores = scoresOf(rule);
  if (rule.decide === "sign") return (x, y) => (scores(x, y)[0] > 0 ? 1 : 0);
  if (rule.decide === "argmax") return (x, y) => largest(scores(x, y));
  if (rule.decide === "losses") return (x, y) => leastLoss(scores(x, y), rule.losses, rule.reject);
  return (x, y) => largest(tallied(scores(x, y), rule.pairs, nClasses));
}

// The decision of least expected loss, by the classes' probabilities; the number after the last class is none.
function leastLoss(logs, losses, reject) {
  const top = Math.max(...logs), shares = logs.map((v) => Math.exp(v - top)), total = shares.reduce((a, b) => a + b);
  const expected = losses.map((row) => row.reduce((sum, loss, k) => sum + loss * shares[k], 0) / total);
  const best = largest(expected.map((loss) => -loss));
  return reject !== null && expected[best] > reject ? logs.length : best;
}

function largest(values) {
  let best = 0;
  for (let k = 1; k < values.length; k++) if (values[k] > values[best]) best = k;
  return best;
}

// Votes, and among equal votes the larger sum of margins, brought below a third.
export function tallied(margins, pairs, nClasses) {
  const votes = new Array(nClasses).fill(0), sums = new Array(nClasses).fill(0);
  pairs.forEach(([low, high], k) => {
    votes[margins[k] > 0 ? high : low] += 1;
    sums[high] += margins[k];
    sums[low] -= margins[k];
  });
  return votes.map((v, k) => v + sums[k] / (3 * (Math.abs(sums[k]) + 1)));
}

export const isStraight = (rule) => Boolean(rule.weights) && !rule.features;
