"""LIBLINEAR's and LIBSVM's predictions from their model files, slowly and obviously."""

import math


def _head(path, last):
    head, lines = {}, path.read_text().split("\n")
    for number, line in enumerate(lines):
        if line.strip() == last:
            return head, [each for each in lines[number + 1 :] if each.strip()]
        word, *values = line.split()
        head[word] = values
    raise AssertionError("no end of the head")


def liblinear_predictions(path, rows):
    head, lines = _head(path, "w")
    weights = [[float(value) for value in line.split()] for line in lines]
    labels, bias = [int(label) for label in head["label"]], float(head["bias"][0])
    told = []
    for row in rows:
        values = [*row, bias] if bias >= 0 else list(row)
        scores = [
            sum(w[k] * x for w, x in zip(weights, values, strict=True))
            for k in range(len(weights[0]))
        ]
        if len(scores) == 1:
            told.append(labels[0] if scores[0] > 0 else labels[1])
        else:
            told.append(labels[scores.index(max(scores))])
    return told


def _kernel(head, a, b):
    kind = head["kernel_type"][0]
    dot = sum(x * z for x, z in zip(a, b, strict=True))
    gamma, coef0 = float(head.get("gamma", [1])[0]), float(head.get("coef0", [0])[0])
    if kind == "linear":
        return dot
    if kind == "polynomial":
        return (gamma * dot + coef0) ** int(head["degree"][0])
    if kind == "rbf":
        return math.exp(-gamma * sum((x - z) ** 2 for x, z in zip(a, b, strict=True)))
    return math.tanh(gamma * dot + coef0)


def libsvm_coupled(r):
    """LIBSVM's multiclass_probability, line by line; r[i][j] is the share of i in the pair."""
    k = len(r)
    p = [1.0 / k] * k
    Q = [[-r[j][t] * r[t][j] for j in range(k)] for t in range(k)]
    for t in range(k):
        Q[t][t] = sum(r[j][t] ** 2 for j in range(k) if j != t)
    for _ in range(max(100, k)):
        Qp = [sum(Q[t][j] * p[j] for j in range(k)) for t in range(k)]
        pQp = sum(p[t] * Qp[t] for t in range(k))
        if max(abs(value - pQp) for value in Qp) < 0.005 / k:
            break
        for t in range(k):
            diff = (-Qp[t] + pQp) / Q[t][t]
            p[t] += diff
            pQp = (pQp + diff * (diff * Q[t][t] + 2 * Qp[t])) / (1 + diff) / (1 + diff)
            for j in range(k):
                Qp[j] = (Qp[j] + diff * Q[t][j]) / (1 + diff)
                p[j] /= 1 + diff
    return p


def libsvm_predictions(path, rows):
    head, lines = _head(path, "SV")
    labels = [int(label) for label in head["label"]]
    k, width = len(labels), len(rows[0])
    shares, vectors, own = [], [], []
    for code, count in enumerate(head["nr_sv"]):
        own += [code] * int(count)
    for line in lines:
        words = line.split()
        shares.append([float(value) for value in words[: k - 1]])
        vector = [0.0] * width
        for pair in words[k - 1 :]:
            index, value = pair.split(":")
            vector[int(index) - 1] = float(value)
        vectors.append(vector)
    told = []
    for row in rows:
        values = [_kernel(head, vector, row) for vector in vectors]
        votes, pair = [0] * k, 0
        for i in range(k):
            for j in range(i + 1, k):
                score = -float(head["rho"][pair])
                for value, share, code in zip(values, shares, own, strict=True):
                    score += value * share[j - 1] * (code == i) + value * share[i] * (code == j)
                votes[i if score > 0 else j] += 1
                pair += 1
        told.append(labels[votes.index(max(votes))])
    return told
