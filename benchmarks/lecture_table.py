"""The table of the SVM lecture (10.2 and 11.2): sentiment of sentences, C from 0.01 to 1000.

    python -m benchmarks.lecture_table [--splits 20] [--picture FILE.svg]

The recipe: amazon, yelp, imdb in that order; digits and punctuation deleted; lower case; stop words
dropped; the 4500 most frequent words over all 3000 sentences; 250 + 250 test sentences by a seeded
choice, 2500 to train. The lecture shows one split; here is the mean over many.

It leaves two things open: whether a mark deleted between letters joins two words or splits them
(``--marks``), and whether an entry is a word's presence or its count (``--values``). Joined words
and presence come nearest to its table; the others can be printed too. ``separatrix lecture-table``
prints the same table.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import separatrix as sx
from benchmarks._report import SHARED, header
from separatrix.cli.lecture_table import table_lines
from separatrix.data.lectures import STOP_WORDS, WORDS, cleaned, labelled_texts
from separatrix.selection.lecture_table import LECTURE, lecture_sentences, lines_of, split_figures

LECTURE_C, LECTURE_TEST = 0.32, 15.6
SENTENCES = SHARED / "sentiment"


def chosen_by_folds(X, y, seed: int) -> tuple[float, float]:
    """Let five folds choose C on one split; return it with its test error in %."""
    parts = sx.split(y, test=500, seed=seed)
    search = sx.LinearSVMCV(random_state=seed).fit(X[parts.train], y[parts.train])
    return search.C_, 100.0 * np.mean(search.predict(X[parts.test]) != y[parts.test])


def draw(means: np.ndarray, spreads: np.ndarray, chosen: float, path: Path) -> None:
    import matplotlib.pyplot as plt

    from separatrix.plots._drawing import CLASS_COLOURS as PALETTE
    from separatrix.plots._drawing import RC, written_aside

    Cs = list(LECTURE)
    theirs = np.array(list(LECTURE.values()))
    with plt.rc_context(RC):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
        for k, name, at, shift in (
            (0, "training error", 2, (10, 6)),
            (1, "test error", 4, (-6, 16)),
        ):
            colour = PALETTE[k]
            left.errorbar(Cs, means[:, k], spreads[:, k], color=colour, capsize=3)
            left.plot(Cs, theirs[:, k], "o", mfc="none", mec=colour)
            left.annotate(name, (Cs[at], means[at, k]), xytext=shift, color=colour,
                          textcoords="offset points", ha="left" if k == 0 else "right")  # fmt: skip
        left.axvline(chosen, color="0.6", lw=1, ls=":")
        left.annotate(f"five folds choose {chosen:.3g}", (chosen, 11), xytext=(6, 0),
                      textcoords="offset points", color="0.4")  # fmt: skip
        left.set(xscale="log", xlabel="C", ylabel="%", title="Errors", ylim=(-1, 30))
        right.errorbar(
            Cs, means[:, 2], spreads[:, 2], color=PALETTE[2], capsize=3,
            label="mean and spread of the splits",
        )  # fmt: skip
        right.plot(Cs, theirs[:, 2], "o", mfc="none", mec=PALETTE[2], label="the lecture's split")
        right.set(xscale="log", xlabel="C", title="Support vectors", ylim=(0, 2500))
        right.legend(frameon=False, loc="lower left")
        with written_aside(path) as aside:
            figure.savefig(aside, metadata={"Date": None})
        plt.close(figure)


def through_the_study(marks: str, values: str) -> None:
    """Run the same sentences through the one command."""
    texts, labels = labelled_texts(SENTENCES)
    texts = [cleaned(text, marks) for text in texts]
    with tempfile.TemporaryDirectory() as place:
        data, out = Path(place) / "sentences.txt", Path(place) / "study"
        data.write_text("".join(f"{t}\t{y}\n" for t, y in zip(texts, labels, strict=True)))
        subprocess.run(
            [
                sys.executable, "-m", "separatrix", "study", str(data), "-o", str(out),
                "--test-share", "500",
                "-O", "weighting=" + ("binary" if values == "presence" else "counts"),
                "-O", f"max_features={WORDS}",
                "-O", f"stop_words={','.join(sorted(STOP_WORDS))}",
            ],
            check=True,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--marks", choices=("join", "split"), default="join")
    parser.add_argument("--values", choices=("presence", "counts"), default="presence")
    chosen = parser.parse_args()
    header("The lecture's table of sentiment", ["numpy", "scipy", "scikit-learn", "separatrix"])
    X, y = lecture_sentences(SENTENCES, marks=chosen.marks, values=chosen.values)
    print(
        f"{X.shape[0]} sentences, {X.shape[1]} words; mean of {chosen.splits} splits; marks "
        f"deleted between letters {chosen.marks} words; entries are {chosen.values}\n"
    )
    tables = np.array([split_figures(X, y, seed) for seed in range(chosen.splits)])
    means, spreads = tables.mean(axis=0), tables.std(axis=0, ddof=1)
    print("\n".join(table_lines(lines_of(tables))))
    found = [chosen_by_folds(X, y, seed) for seed in range(chosen.splits)]
    Cs, errors = np.array(found).T
    middle = float(np.exp(np.median(np.log(Cs))))
    inside = int(((Cs >= 0.1 - 1e-12) & (Cs <= 1.0 + 1e-12)).sum())
    where = "within" if 0.1 <= middle <= 1.0 and inside == len(Cs) else "outside"
    print(
        f"\nchosen by 5 folds: lecture C = {LECTURE_C} with {LECTURE_TEST} % test error; ours C = "
        f"{middle:.3g} (median; {inside} of {len(Cs)} in 0.1 ... 1: {where}) with "
        f"{errors.mean():.1f} % ({errors.min():.1f} to {errors.max():.1f})"
    )
    print("C chosen: " + ", ".join(f"{C:.3g} x {n}" for C, n in sorted(Counter(Cs).items())))
    if chosen.picture is not None:
        draw(means, spreads, middle, chosen.picture)
        print(f"picture: {chosen.picture}")
    print("\nthe same sentences by one command, separatrix study:\n", flush=True)
    through_the_study(chosen.marks, chosen.values)


if __name__ == "__main__":
    main()
