"""The stream rule without a step size, slowly: every feature bets a share of its wealth.

One row at a time, one copy of it at a time. The bias is a feature that is 1 in every row.
"""

import math

LEAST_WEALTH = 1e-3
MOST_COPIES = 100


def slope(loss, m):
    if loss == "hinge":
        return -1.0 if m < 1.0 else 0.0
    if loss == "squared_hinge":
        return -2.0 * (1.0 - m) if m < 1.0 else 0.0
    if loss == "logistic":
        return -1.0 / (1.0 + math.exp(m)) if m < 700.0 else 0.0
    return 0.0 if m > 0.0 else -1.0


class Feature:
    def __init__(self):
        self.pull = self.squares = self.largest = self.reach = self.count = 0.0
        self.wealth = 1.0
        self.total = 0.0  # of weights times time

    @property
    def weight(self):
        root = math.sqrt(self.squares + self.reach**2)
        if not root > 1e-140:
            return 0.0
        agreement = max(-1.0, min(1.0, self.pull / root))
        return agreement * self.wealth / (2.0 * root)

    @property
    def scale(self):
        """The least power of two that is not below the largest value."""
        power = 1.0
        while power < self.largest:
            power *= 2.0
        while power / 2.0 >= self.largest > 0.0:
            power /= 2.0
        return power


class Stream:
    def __init__(self, n_features, loss="hinge", C=math.inf, intercept=True, scaled=True):
        self.loss, self.C, self.intercept, self.scaled = loss, C, intercept, scaled
        self.bias = Feature()
        self.features = [Feature() for _ in range(n_features)]
        self.steepest = 2.0 if loss == "squared_hinge" else 1.0
        self.time = 0.0
        self.nearest_kink = math.inf

    def held(self, x):
        """The features that a row holds, with its values."""
        pairs = [(f, float(v)) for f, v in zip(self.features, x, strict=True) if v != 0.0]
        return [(self.bias, 1.0)] * self.intercept + pairs

    def learn(self, x, sign, weight=1.0, again=False):
        """Learn a row; return what was thought of it before."""
        copies = min(math.ceil(weight), MOST_COPIES)
        first, *_ = [self.learn_once(x, sign, weight / copies, again) for _ in range(copies)]
        return first

    def learn_once(self, x, sign, unit, again):
        row = self.held(x)
        for feature, value in row:
            feature.reach = max(feature.reach, abs(value) * self.steepest)
            feature.largest = max(feature.largest, abs(value))
        score = sum(feature.weight * value for feature, value in row)
        kink = 0.0 if self.loss == "perceptron" else 1.0
        if score != 0.0:
            self.nearest_kink = min(self.nearest_kink, abs(sign * score - kink))
        pull = slope(self.loss, sign * score) * unit
        if -pull > self.steepest:
            pull, self.steepest = -self.steepest, -pull
        before, self.time = self.time, self.time + unit
        for feature in [self.bias, *self.features]:
            feature.total += 0.5 * (self.time**2 - before**2) * feature.weight
        for feature, value in row:
            gradient = pull * sign * value
            if feature is not self.bias and math.isfinite(self.C):
                feature.count += 0.0 if again else unit
                scale = feature.scale if self.scaled else 1.0
                gradient += unit * scale**2 * feature.weight / (self.C * feature.count)
                gradient = max(-feature.reach, min(feature.reach, gradient))
            won = -gradient * feature.weight
            feature.pull -= gradient
            feature.squares += gradient**2
            feature.wealth = max(feature.wealth + won, LEAST_WEALTH)
        return score

    @property
    def weights(self):
        return [f.weight for f in [self.bias, *self.features]]

    @property
    def mean(self):
        return [f.total / (0.5 * self.time**2) for f in [self.bias, *self.features]]
