"""The data of the lectures, each as (X, y); ``sx.lectures`` holds them.

Where a lecture does not print its points, the set here was made to give the lecture's own numbers;
the docstring says so. The page "From lecture to code" of the documentation uses them.

>>> import separatrix as sx
>>> X, y = sx.lectures.five_points()
>>> sx.separability(X, y).kind
'separable'

Data that need no file, for a first look: tables that come with scikit-learn, read as files.
"""

from __future__ import annotations

import csv
import string
from collections import Counter
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from separatrix.data.table import Table
from separatrix.errors import DataError

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = [
    "eighty_five_points",
    "exclusive_or",
    "five_points",
    "iris_pair",
    "parabola",
    "sentences",
    "twenty_points",
    "two_hundred_points",
    "two_points",
]


Points = NDArray[np.float64]
Labels = NDArray[Any]
# Example 2 of lecture 002: the visits at which a point causes an update, its class and the point.
_UPDATES = {
    1: (1, (0.62, 0.52)), 2: (-1, (-0.13, -0.95)), 15: (-1, (-0.83, 0.96)),
    19: (1, (0.84, -1.0)), 114: (1, (0.01, 0.54)), 186: (-1, (-0.33, -0.28)),
}  # fmt: skip
_FINAL = np.array([0.0, 2.76, 0.33])
WORDS = 4500
STOP_WORDS = {"the", "a", "an", "i", "he", "she", "they", "to", "of", "it", "from"}
# The three files of the UCI set, in the order in which the words are counted.
_PARTS = ("amazon_cells_labelled.txt", "yelp_labelled.txt", "imdb_labelled.txt")
_NEEDED = (
    'The lecture uses "Sentiment Labelled Sentences" (Kotzias et al., KDD 2015) of the UCI Machine '
    f"Learning Repository: unpack it, and give the folder that holds {', '.join(_PARTS[:2])} and "
    f"{_PARTS[2]}, or one file of the same lines (sentence, tab, 0 or 1)."
)


def five_points() -> tuple[Points, Labels]:
    """Return the five points of lecture 000, "Perceptron: graphical example".

    With rate 0.2 from (0, 1, 0.5), three updates lead to the weights (0.2, 0.5, 1).

    >>> import separatrix as sx
    >>> X, y = sx.lectures.five_points()
    >>> model = sx.Perceptron(learning_rate=0.2, init=[0, 1, 0.5])
    >>> [frame.weights.round(9).tolist() for frame in sx.replay(model, X, y)][-1]
    [0.2, 0.5, 1.0]
    """
    X = [[1.0, 1.0], [2.0, -2.0], [-1.0, -1.5], [-2.0, 1.0], [1.5, -0.5]]
    return np.array(X), np.array([1, -1, -1, 1, 1])


def two_points() -> tuple[Points, Labels]:
    """Return two points as in lecture 002, "Perceptron, Example 1": two updates.

    The lecture does not print its points. These behave as it says: the first update leaves the
    second point misclassified, the second update corrects both.

    >>> import separatrix as sx
    >>> [frame.errors for frame in sx.replay(sx.Perceptron(), *sx.lectures.two_points())]
    [2, 1, 0]
    """
    return np.array([[2.0], [-0.25]]), np.array([1, -1])


def two_hundred_points() -> tuple[Points, Labels]:
    """Return 200 points as in lecture 002, "Perceptron, Example 2": six updates in 400 visits.

    The lecture does not print its points. Its counts imply 200 of them: the last update is at
    visit 186, and a whole pass without one ends at visit 400. These were made to give its updates,
    at the same visits, and its final weights (0, 2.76, 0.33).

    >>> import separatrix as sx
    >>> frames = list(sx.replay(sx.Perceptron(), *sx.lectures.two_hundred_points()))
    >>> len(frames) - 1, frames[-1].weights.round(2).tolist()
    (6, [0.0, 2.76, 0.33])
    """
    w, points, labels = np.zeros(3), [], []
    evenly = 0
    for visit in range(1, 201):
        if visit in _UPDATES:
            label, point = _UPDATES[visit]
            w += label * np.array([1.0, *point])
        else:
            # The next point of an even sequence that the weights of this visit classify correctly.
            right = False
            while not right:
                evenly += 1
                shares = evenly * np.array([0.7548776662466927, 0.5698402909980532]) % 1.0
                point = tuple(np.round(2.0 * shares - 1.0, 2).tolist())
                row = np.array([1.0, *point])
                label = 1 if _FINAL @ row > 0 else -1
                right = label * (w @ row) > 0.05 and label * (_FINAL @ row) > 0.05
        points.append(point)
        labels.append(label)
    return np.array(points), np.array(labels)


def twenty_points() -> tuple[Points, Labels]:
    """Return 20 points on a line as in lecture 002, "Dimension Lifting": no threshold separates.

    The lecture does not print its points. Its counts imply 20 of them, and its discriminant
    (33) says where the classes are. `parabola` lifts them.

    >>> import separatrix as sx
    >>> sx.separability(*sx.lectures.twenty_points()).kind
    'overlapping'
    """
    x = np.array([
        -0.03, 0.53, -0.63, -0.91, -0.87, 0.71, -0.46, -0.79, -0.6, -0.86,
        -0.98, -0.47, 0.36, -0.22, -0.69, 0.21, 0.83, -0.15, 0.47, 0.53,
    ])  # fmt: skip
    return x[:, None], np.where(-0.12 - 1.5 * x + 3.12 * x**2 > 0, 1, -1)


def parabola() -> tuple[Points, Labels]:
    """Return the 20 points lifted to (x, x^2 - 1): lecture 002, "Lifting, Example 1".

    They were made to give the lecture's 47 updates, at the visits it shows, and its final weights
    (3, -1.5, 3.12).

    >>> import separatrix as sx
    >>> frames = list(sx.replay(sx.Perceptron(), *sx.lectures.parabola()))
    >>> len(frames) - 1, frames[-1].weights.round(2).tolist()
    (47, [3.0, -1.5, 3.12])
    """
    X, y = twenty_points()
    return np.column_stack([X, X**2 - 1.0]), y


def exclusive_or() -> tuple[Points, Labels]:
    """Return the corners of a square, its diagonals the classes: lecture 000, "VC dimension".

    It is the second of the lecture's three cases of four points that no line can label.

    >>> import separatrix as sx
    >>> verdict = sx.separability(*sx.lectures.exclusive_or())
    >>> verdict.kind, verdict.witness.multipliers
    ('overlapping', (1, 1, 1, 1))
    """
    return np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([-1, -1, 1, 1])


def eighty_five_points() -> tuple[Points, Labels]:
    """Return 85 separable points as in lecture 004, section 4.3: the perceptron separates them.

    The lecture does not print its points; these have a narrow gap between the classes.

    >>> import separatrix as sx
    >>> X, y = sx.lectures.eighty_five_points()
    >>> len(X), sx.Perceptron().fit(X, y).score(X, y)
    (85, 1.0)
    """
    X = np.random.default_rng(85).uniform(-1, 1, size=(400, 2))
    X = X[np.abs(X @ [1.0, 2.0] - 0.3) > 0.05][:85]
    return X, np.where(X @ [1.0, 2.0] > 0.3, 1, -1)


def iris_pair() -> tuple[Points, Labels]:
    """Return setosa and versicolor by sepal width and petal width: lecture 004, section 6.2.

    >>> import numpy as np
    >>> import separatrix as sx
    >>> X, y = sx.lectures.iris_pair()
    >>> hard = sx.LinearSVM(C=np.inf).fit(X, y)
    >>> X.shape, len(hard.support_), round(hard.margin_, 3)
    ((100, 2), 3, 0.291)
    """

    found = two_irises()
    return found.X, found.y


def sentences(
    path: str | PathLike[str],
    *,
    words: int = WORDS,
    marks: Literal["join", "split"] = "join",
    values: Literal["presence", "counts"] = "presence",
) -> tuple[sp.csr_array, Labels]:
    """Return labelled sentences as a bag of words: lecture 004, sections 9.1 to 9.3.

    Digits and punctuation are deleted, letters made lower case, eleven stop words dropped; the
    most frequent words are the columns. The lecture leaves two things open: `marks` and `values`.
    The defaults come nearest to its table.

    Parameters
    ----------
    path : folder or file
        The folder of UCI's "Sentiment Labelled Sentences", or one file of lines "sentence, tab,
        0 or 1".
    words : int, default=4500
        The columns; of equally frequent words those that come first are kept.
    marks : "join" or "split", default="join"
        Whether a mark deleted between letters joins two words ("good,not") or splits them.
    values : "presence" or "counts", default="presence"
        Whether an entry is 1, or how often the word occurs.

    >>> import pathlib, tempfile
    >>> import separatrix as sx
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "sentences.txt"
    >>> _ = file.write_text("Needless to say, I wasted my money.\\t0\\nWill order again!\\t1\\n")
    >>> X, y = sx.lectures.sentences(file)
    >>> X.shape, y.tolist()
    ((2, 8), [0, 1])
    """
    if marks not in ("join", "split"):
        raise ValueError(f"marks must be 'join' or 'split'. Got {marks!r} instead.")
    if values not in ("presence", "counts"):
        raise ValueError(f"values must be 'presence' or 'counts'. Got {values!r} instead.")
    if words < 1:
        raise ValueError(f"words must be at least 1. Got {words} instead.")
    texts, labels = labelled_texts(path)
    X = _bag_of_words([cleaned(text, marks) for text in texts], words)
    if values == "presence":
        X.data[:] = 1.0
    return X, labels


def labelled_texts(path: str | PathLike[str]) -> tuple[list[str], Labels]:
    """Return the sentences as they are written, and their labels, 0 or 1."""
    place = Path(path)
    files = [place / part for part in _PARTS] if place.is_dir() else [place]
    texts: list[str] = []
    labels: list[int] = []
    for file in files:
        if not file.is_file():
            raise DataError(f"there is no such file. {_NEEDED}", str(file))
        try:
            lines = file.read_text(encoding="utf-8").split("\n")  # some hold U+0085: no splitlines
        except UnicodeDecodeError:
            raise DataError(f"this is not text in UTF-8. {_NEEDED}", str(file)) from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                text, tab, label = line.rpartition("\t")
                if not tab or label.strip() not in ("0", "1"):
                    raise DataError(
                        f"expected a sentence, a tab and 0 or 1. {_NEEDED}", str(file), number
                    )
                texts.append(text)
                labels.append(int(label))
    if len(set(labels)) < 2:
        raise DataError(f"both labels, 0 and 1, must occur. {_NEEDED}", str(place))
    return texts, np.array(labels)


def cleaned(text: str, marks: str = "join") -> str:
    """Return a sentence in lower case without digits and punctuation.

    >>> cleaned("Good,not 5 stars"), cleaned("Good,not 5 stars", "split")
    ('goodnot  stars', 'good not   stars')
    """
    between = "" if marks == "join" else " "
    return text.translate(
        dict.fromkeys(map(ord, string.punctuation + string.digits), between)
    ).lower()


def needed_sentences() -> str:
    """Say which data the lecture's table needs, and where they come from."""
    return _NEEDED


def _bag_of_words(texts: list[str], words: int) -> sp.csr_array:
    """Count the most frequent words; of equals, those that come first."""
    import scipy.sparse as sp

    split = [[word for word in text.split() if word not in STOP_WORDS] for text in texts]
    counts = Counter(word for text in split for word in text)
    column = {word: k for k, (word, _) in enumerate(counts.most_common(words))}
    found = [(k, column[word]) for k, text in enumerate(split) for word in text if word in column]
    rows, columns = np.array(found, dtype=np.int64).reshape(-1, 2).T
    X = sp.csr_array((np.ones(len(found)), (rows, columns)), shape=(len(texts), len(column)))
    X.sum_duplicates()
    return X


# ---- data that need no file, for a first look: tables that come with scikit-learn, read as files


_MEASURED = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave points", "symmetry", "fractal dimension",
)  # fmt: skip
_FLOWER = [f"{part} {side}, cm" for part in ("sepal", "petal") for side in ("length", "width")]
_CELL = [
    *(f"mean {name}" for name in _MEASURED),
    *(f"{name} error" for name in _MEASURED),
    *(f"worst {name}" for name in _MEASURED),
]


def two_irises() -> Table:
    """Return setosa and versicolor by sepal width and petal width: two separable clouds."""
    X, y = _read("iris")
    rows, columns = y != "virginica", [1, 3]
    X, y = np.ascontiguousarray(X[rows][:, columns]), y[rows].astype("<U10")
    names = [_FLOWER[j] for j in columns]
    return Table(X, y, names, np.unique(y), "embedded", "iris", "")


def breast_cancer() -> Table:
    """Return the Wisconsin breast cancers: 30 measurements of cell nuclei, two classes."""
    X, y = _read("breast_cancer")
    return Table(X, y, _CELL[:], np.unique(y), "embedded", "breast cancer", "", "diagnosis")


def iris() -> Table:
    """Return Anderson's irises: four measurements of flowers, three species."""
    X, y = _read("iris")
    return Table(X, y, _FLOWER[:], np.unique(y), "embedded", "iris", "", "species")


def _read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of a table and the class of each row, without loading scikit-learn."""
    package = find_spec("sklearn")
    assert package is not None, "scikit-learn is required"
    assert package.origin is not None
    path = Path(package.origin).parent / "datasets" / "data" / f"{name}.csv"
    with open(path, encoding="utf-8", newline="") as file:
        (_, _, *classes), *rows = csv.reader(file)
    X = np.array([[float(value) for value in row[:-1]] for row in rows])
    return X, np.array([classes[int(row[-1])] for row in rows])
