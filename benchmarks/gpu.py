"""A linear probe on embeddings: multinomial logistic regression on a GPU, to a certified gap.

    python -m benchmarks.gpu [--rows 1280000] [--columns 768] [--classes 1000] [--device cuda]
                             [--parts fit peers sweep folds]

Rows are drawn on the device: a mean a class, and a covariance whose eigenvalues fall over five
orders of magnitude in directions that are no axes. Timed is `fit`, from tensors on the device to a
proved relative gap of 1e-4 (both bounds in float64, rounding included); the fingerprint of the
data, which is made when a certificate is written, is timed apart. The peers are torch's own L-BFGS
(float32, its strong-Wolfe search) and scikit-learn's array-API LogisticRegression (lbfgs), stopped
by our measure: half the squared length of the gradient, which is the gap once biases are balanced.
"""

import argparse
import os
import sys
import time
import warnings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn wants it before SciPy is imported

import numpy as np
import torch

import separatrix as sx

ORDERS = 5.0
REPEATS = 20


def clusters(n, d, K, device, apart=0.17, seed=0):
    """Return rows around one mean a class, with the spectrum of embeddings, and class numbers."""
    draw = torch.Generator(device=device).manual_seed(seed)
    kind = {"device": device, "generator": draw}
    spectrum = 10.0 ** (-ORDERS * torch.arange(d, device=device) / (d - 1))
    roots = (spectrum / spectrum.sum()).sqrt()
    turn, _ = torch.linalg.qr(torch.randn(d, d, **kind))
    means = apart * torch.randn(K, d, **kind) * roots
    y = torch.randint(K, (n,), **kind)
    X = torch.empty(n, d, device=device)
    for at in range(0, n, 1 << 17):
        part = slice(at, min(n, at + (1 << 17)))
        X[part] = (torch.randn(part.stop - at, d, **kind) * roots + means[y[part]]) @ turn
    return X, y


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(work, device):
    wait(device)
    begun = time.perf_counter()
    found = work()
    wait(device)
    return time.perf_counter() - begun, found


def rates(device, d, K):
    """Measure products a second as the steps make them, and bytes copied a second."""
    n = 1 << 17 if device.type == "cuda" else 1 << 12
    found = {}
    for name, kind, precision in (
        ("float32", torch.float32, "highest"),
        ("TF32", torch.float32, "high"),
        ("float64", torch.float64, "highest"),
    ):
        torch.set_float32_matmul_precision(precision)
        rows = torch.randn(n, d, device=device, dtype=kind)
        weights = torch.randn(d, K, device=device, dtype=kind)
        timed(lambda rows=rows, weights=weights: rows @ weights, device)
        seconds, _ = timed(
            lambda rows=rows, weights=weights: [rows @ weights for _ in range(REPEATS)][-1], device
        )
        found[name] = REPEATS * 2.0 * n * d * K / seconds / 1e12
    torch.set_float32_matmul_precision("highest")
    long = torch.randn((1 << 28) if device.type == "cuda" else (1 << 22), device=device)
    copy = torch.empty_like(long)
    timed(lambda: copy.copy_(long), device)
    seconds, _ = timed(lambda: [copy.copy_(long) for _ in range(10)], device)
    found["copied"] = 10 * 2.0 * 4.0 * long.numel() / seconds / 1e9
    return found


def machine(C, device, **more):
    where = "cpu" if device.type == "cpu" else str(device)  # a tensor is met where it is
    return sx.LogisticRegression(C, multi_class="multinomial", device=where, **more)


def fit(X, y, options):
    print("\n| C | seconds | proved gap | Newton steps | passes | peak GiB | training accuracy |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for C in options.C:
        timed(lambda C=C: machine(C, X.device, max_passes=3).fit(X, y), X.device)
        if X.is_cuda:
            torch.cuda.reset_peak_memory_stats()
        runs = [timed(lambda C=C: machine(C, X.device).fit(X, y), X.device) for _ in range(3)]
        seconds, one = sorted(runs, key=lambda run: run[0])[1]
        peak = torch.cuda.max_memory_allocated() / 2**30 if X.is_cuda else float("nan")
        right = float(np.mean(one.predict(X[:100_000]) == y[:100_000].cpu().numpy()))
        print(
            f"| {C:g} | {seconds:.2f} | {one.gap_:.1e} | {one.n_iter_} | {one.n_passes_:.1f} | "
            f"{peak:.1f} | {100 * right:.1f} % |",
            flush=True,
        )
    named, _ = timed(lambda: one.certificate_.data_sha256, X.device)
    print(f"\nFingerprint of the data, made when it is needed: {named:.1f} s")


def steps(X, y, options, rate):
    """Time the hot steps by themselves, as fractions of what the device was measured to do."""
    from separatrix.certificates.softmax_gap import SoftmaxGap
    from separatrix.problem.device_rows import DeviceRows
    from separatrix.problem.many_classes import SoftmaxProblem
    from separatrix.solvers.many_classes import multinomial

    n, d = X.shape
    K, codes = options.classes, y.cpu().numpy()
    problem = SoftmaxProblem(DeviceRows(X, X.device, given=X), codes, K, np.ones(n))
    state = multinomial.start(problem, tol=1e-4)
    reader, flops = state.reader, 4.0 * n * d * K / 1e12
    sample = np.sort(np.random.default_rng(0).choice(n, n // 10, replace=False))
    told = {"sides": codes, "costs": problem.costs, "weights": state.weights}
    print("\n| step | seconds | Tflop | of the matrix rate |")
    print("|---|---:|---:|---:|")
    for name, work, share, kind in (
        ("value and gradient", lambda: reader.gradient(state.W, state.shifted), 1.0, "float32"),
        ("curvature, all rows", lambda: reader.curved(state.W, state.shifted), 1.0, "TF32"),
        ("curvature, a tenth", lambda: reader.curved(state.W, state.shifted), 0.1, "TF32"),
        ("proof", lambda: SoftmaxGap.proved(X=problem.X, tol=1.0, **told), 1.0, "float64"),
    ):
        reader.sample(sample if share < 1.0 else None)
        timed(work, X.device)
        seconds = min(timed(work, X.device)[0] for _ in range(3))
        done = share * flops
        print(
            f"| {name} | {seconds:.4f} | {done:.2f} | {100 * done / seconds / rate[kind]:.0f} % |"
        )


def peers(X, y, options):
    print("\n| C | peer | seconds | gap then | passes |")
    print("|---:|---|---:|---:|---:|")
    for C in options.C:
        if C < 0.1:
            continue
        for name, peer in (("torch L-BFGS", torch_lbfgs), ("scikit-learn, array API", scikit)):
            try:
                seconds, gap, passes = peer(X, y, options.classes, C, options.patience)
                print(f"| {C:g} | {name} | {seconds:.1f} | {gap:.1e} | {passes} |", flush=True)
            except Exception as error:  # a peer that cannot is said, not hidden
                print(f"| {C:g} | {name} | {type(error).__name__}: {str(error)[:80]} | | |")


def measure(X, y, W, b, C):
    """Return the objective and half the squared gradient in W, in float64."""
    loss, slope = 0.0, W.double()
    for at in range(0, len(y), 1 << 16):
        rows, own = X[at : at + (1 << 16)].double(), y[at : at + (1 << 16)]
        scores = rows @ W.double() + b.double()
        loss += float(torch.nn.functional.cross_entropy(scores, own, reduction="sum"))
        p = torch.softmax(scores, dim=1)
        p[torch.arange(len(own), device=own.device), own] -= 1.0
        slope = slope + C * (rows.T @ p)
    value = 0.5 * float((W.double() ** 2).sum()) + C * loss
    return value, 0.5 * float((slope**2).sum())


def torch_lbfgs(X, y, K, C, patience):
    n, d = X.shape
    W = torch.zeros(d, K, device=X.device, requires_grad=True)
    b = torch.zeros(K, device=X.device, requires_grad=True)
    search = torch.optim.LBFGS(
        [W, b], max_iter=20, history_size=10, line_search_fn="strong_wolfe",
        tolerance_grad=0.0, tolerance_change=0.0, max_eval=10**6,
    )  # fmt: skip
    passes = 0

    def value():
        nonlocal passes
        passes += 1
        search.zero_grad()
        loss = torch.nn.functional.cross_entropy(X @ W + b, y, reduction="sum") * C / n
        total = loss + 0.5 / n * (W**2).sum()
        total.backward()
        return total

    spent, gap = 0.0, np.inf
    while spent < patience and gap > 1e-4:
        seconds, _ = timed(lambda: search.step(value), X.device)
        spent += seconds
        with torch.no_grad():
            objective, away = measure(X, y, W, b, C)
        gap = away / objective
    return spent, gap, passes


def scikit(X, y, K, C, patience):
    import sklearn
    from sklearn.linear_model import LogisticRegression

    sklearn.set_config(array_api_dispatch=True)
    warnings.simplefilter("ignore")
    try:
        for rounds in (25, 50, 100, 200, 400):
            peer = LogisticRegression(C=C, solver="lbfgs", tol=1e-12, max_iter=rounds)
            seconds, _ = timed(lambda peer=peer: peer.fit(X, y), X.device)
            W = torch.as_tensor(peer.coef_, device=X.device).T
            b = torch.as_tensor(peer.intercept_, device=X.device)
            objective, away = measure(X, y, W, b, C)
            if away / objective <= 1e-4 or 2.0 * seconds > patience:
                break
    finally:
        sklearn.set_config(array_api_dispatch=False)
    return seconds, away / objective, f"max_iter={rounds}"


def sweep(X, y, options):
    Cs = np.logspace(-3.0, 1.0, 20)
    one = machine(Cs[0], X.device, warm_start=True)
    gaps = []

    def walk():
        for C in Cs:
            gaps.append(one.set_params(C=C).fit(X, y).gap_)

    seconds, _ = timed(walk, X.device)
    print(f"\n20 values of C from {Cs[0]:g} to {Cs[-1]:g}, each started from the last: "
          f"{seconds:.1f} s, largest gap {max(gaps):.1e}", flush=True)  # fmt: skip


def folds(X, y, options):
    where = "cpu" if X.device.type == "cpu" else str(X.device)
    chosen = sx.LogisticRegressionCV(
        np.logspace(-3.0, 1.0, 20), cv=5, multi_class="multinomial", device=where, refine=False
    )
    seconds, _ = timed(lambda: chosen.fit(X, y), X.device)
    print(f"\n20 values of C on 5 folds, and the last fit: {seconds:.1f} s; C = {chosen.C_:.3g}, "
          f"largest gap {max(chosen.path_['gap']):.1e}, validation error "
          f"{100 * min(chosen.path_['validation_error']):.2f} %", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_280_000)
    parser.add_argument("--columns", type=int, default=768)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--C", type=float, nargs="*", default=[0.001, 0.01, 0.1, 1.0])
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for a peer")
    parser.add_argument("--parts", nargs="*", default=["fit", "steps", "sweep", "folds", "peers"])
    options = parser.parse_args()
    device = torch.device(options.device)
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor"
    print(f"# A linear probe: {options.rows:,} x {options.columns}, {options.classes} classes")
    print(f"\n{named}; Python {sys.version.split()[0]}, torch {torch.__version__}, "
          f"numpy {np.__version__}; {time.strftime('%Y-%m-%d')}")  # fmt: skip
    rate = rates(device, options.columns, options.classes)
    print("Measured: " + ", ".join(f"{name} {rate[name]:.0f} Tflop/s" for name in list(rate)[:3])
          + f", copying {rate['copied']:.0f} GB/s")  # fmt: skip
    X, y = clusters(options.rows, options.columns, options.classes, device)
    for part in options.parts:
        if part == "steps":
            steps(X, y, options, rate)
        else:
            {"fit": fit, "sweep": sweep, "folds": folds, "peers": peers}[part](X, y, options)


if __name__ == "__main__":
    main()
