"""No small certificate takes hours, or more memory than there is: it is refused before that."""

import time
from fractions import Fraction

import pytest
from tests.checker.claims import proved

from separatrix.checker import Data, Refused
from separatrix.checker.balls import ONE
from separatrix.checker.codec import MOST_STEPS, require_work
from separatrix.checker.kinds import COEFFICIENT
from separatrix.checker.likelihood import Look, Rows
from separatrix.checker.squares import independent

LONG = "0x" + "f" * 200_000
ONES = ["0x1p+0"]
GAP = {"positive": 1, "negative": -1, "costs": ONES, "bias": "0x0p+0", "curved": False}
GAP |= {"smallest": "nan", "primal": "0x1p+99", "dual": "-0x1p+99", "violation": "0x1p+900"}


def column(*values, classes=2):
    """Rows of one column, whose class numbers go round."""
    rows = [([0], [float(x)]) if x else ([], []) for x in values]
    codes = [i % classes for i in range(len(rows))]
    return Data(rows, codes, 1, classes, tuple(map(str, range(classes))))


def with_kernel(name, data, **changes):
    named = list(range(len(data.rows)))
    kernel = {"name": name, "gamma": "0x1p+0", "degree": 618, "coef0": "0x0p+0"}
    whole = GAP | {"kernel": kernel, "rows": named, "multipliers": ONES * len(named)}
    return proved(data, "kernel-gap", whole | changes)


@pytest.mark.parametrize(
    ("name", "values"),
    [("poly", [2**52 + 2 * i + 1 for i in range(1000)]), ("rbf", range(1, 9001))],
)
def test_values_of_a_kernel(name, values):
    with pytest.raises(Refused, match="the kernel: too much work"):
        with_kernel(name, column(*values))


def test_a_kernel_given_as_a_matrix_is_not_written_out():
    """20,000 rows of no entry took the square of their number in memory."""
    n = 20_000
    data = Data([([], [])] * n, [i % 2 for i in range(n)], n, 2, ("0", "1"))
    some = {"rows": [0, 1], "multipliers": ONES * 2, "smallest": "0x0p+0"}
    begun = time.process_time()
    assert "precomputed" in with_kernel("precomputed", data, **some)
    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize(
    ("kind", "claim", "words"),
    [
        ("softmax-gap", {"costs": ONES, "bias_penalty": "0x0p+0"}, "the softmax of all rows"),
        ("least-squares", {"ridge": "0x0p+0"}, "the sums of squares"),
    ],
)
def test_as_many_classes_as_rows(kind, claim, words):
    data = column(*range(1, 4001), classes=4000)
    claim |= {"weights": [["0x0p+0"] * 2] * 4000}
    bounds = ("primal", "dual") if kind == "softmax-gap" else ("objective", "least", "gap")
    with pytest.raises(Refused, match=words):
        proved(data, kind, claim | dict.fromkeys(bounds, "0x0p+0"))


def test_classes_are_counted_at_once():
    data = column(*range(1, 20_001), classes=20_000)
    claim = {"weights": [["0x0p+0"]] * 20_000, "lower": ["0x0p+0"], "upper": ["0x1p+0"]}
    begun = time.process_time()
    with pytest.raises(Refused, match="too few columns vary"):
        proved(data, "fisher-directions", claim | {"moved": "0x0p+0", "directions": [ONES]})
    assert time.process_time() - begun < 3.0


def test_the_rank_of_sparse_rows_takes_little():
    """A true certificate of two rows a column took a minute: zeros were stored."""
    d = 600
    rows = [([], [])] * 2 + [([j // 2], [1.0]) for j in range(2 * d)] + [([0], [2.0])]
    codes = [j % 2 for j in range(len(rows) - 1)] + [1]
    data = Data(rows, codes, d, 2, ("0", "1"))
    claim = {"rows": list(range(2 * d + 2)), "multipliers": ["0x1"] * (2 * d + 2), "others": "0x0"}
    begun = time.process_time()
    assert "the classes overlap" in proved(data, "overlap", claim)
    assert time.process_time() - begun < 2.0


def test_long_integers(monkeypatch):
    with pytest.raises(Refused, match="more than a million bits"):
        proved(column(1, 1), "gordan", {"rows": [0], "multipliers": ["0x" + "f" * 400_000]})
    monkeypatch.setattr("separatrix.checker.codec.MOST_STEPS", 1 << 20)
    wide = Data([(range(9), [1.0] * 9), ([], [])], [1, 0], 9, 2, ("0", "1"))
    with pytest.raises(Refused, match="the sums of columns: too much work"):
        proved(wide, "gordan", {"rows": [0], "multipliers": [LONG]})
    claim = {"rows": [0], "multipliers": ["0x1"], "others": "0x1", "integers": [LONG, "0x0"]}
    with pytest.raises(Refused, match="the scores of all rows: too much work"):
        proved(column(*[0] * 900), "quasi", claim)


def test_columns_of_sizes_too_different_for_elimination():
    with pytest.raises(Refused, match="sizes too different"):
        independent([[1 << (2000 * (i == j)) * i for j in range(60)] for i in range(60)])


def test_long_columns_of_an_inference():
    data = Data([([0, 1], [1e-300, 1e300 * (-1) ** i]) for i in range(9000)],
                [i // 2 % 2 for i in range(9000)], 2, 2, ("0", "1"))  # fmt: skip
    each = {name: [] for name in COEFFICIENT}
    claim = {"method": "firth", "level": (0.95).hex(), "C": "0x1p+0", "maximum": "local"}
    claim |= {
        "quantile": (3.841458820694124).hex(),
        "columns": [0, 1] * 6,
        "point": ["0x0p+0"] * 12,
    }
    claim |= {"direction": ["0x0"] * 12, "coefficients": [each] * 12}
    with pytest.raises(Refused, match="too large for this checker"):
        proved(data, "inference", claim, intercept=False)


def test_work_is_refused_by_name():
    require_work(MOST_STEPS, "it")
    with pytest.raises(Refused, match=r"^it: too much work for this checker, separatrix verify$"):
        require_work(MOST_STEPS + 1, "it")


def test_a_quadratic_form_counts_the_radii_of_the_entries_it_uses():
    """It doubled the entry [a][b] of the inverse, and added the radius of [b][a]."""
    rows = Rows([[1], [1]], [1], [(0, 0)] * 2, True, 0)
    look = Look(rows, [0, 0])
    look.inverse = [[(ONE, 0), (ONE, 1000)], [(ONE, 0), (ONE, 0)]]
    ((middle, off),) = look.q
    assert Fraction(middle, ONE) == 4
    assert off >= 2000
