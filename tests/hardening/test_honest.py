"""Some dozens of the honest fits, and what the long run found: each failed before it was fixed."""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from fuzz import honest
from fuzz.exact_judge import Claim
from fuzz.honest_fits import FITS
from sklearn.exceptions import ConvergenceWarning
from tests.amounts import cases

import separatrix as sx
from separatrix.core.keeping import margin_of


@pytest.mark.parametrize("kind", FITS)
def test_honest_fits_claim_nothing_false(kind):
    found = [honest.attempt(kind, 7, number) for number in range(max(3, len(cases(60)) // 12))]
    assert [false for _, _, false in found if false] == []


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("inference", 1962),  # an error, off by 3e-8, was outside its own enclosure
        ("LogisticRegressionPath", 1140),  # it went on for hours
        ("LogisticRegressionPath", 1656),  # with too few bits the judge saw a gap where none is
    ],
)
def test_fits_that_a_long_run_reported(kind, number):
    assert honest.attempt(kind, 701, number)[2] == []


def test_the_judge_is_awake():
    assert Claim("bound", ">=", 1.0 - 2.0**-53, lambda: honest.exact(1.0)).verdict()
    assert not Claim("bound", "<=", 1.0 - 2.0**-53, lambda: honest.exact(1.0)).verdict()
    assert Claim("bound", "<=", float("nan"), lambda: honest.exact(1.0)).verdict()


def test_a_fit_without_end_is_reported(monkeypatch):
    def endless(*_):
        while True:
            pass

    monkeypatch.setattr(honest, "_ENDLESS", 1)
    monkeypatch.setitem(FITS, "SGD", endless)
    _, _, false = honest.attempt("SGD", 7, 0)
    assert "it went on for 1 s" in false[0]


def test_costs_that_lose_digits_are_refused():
    """C times a weight below the least normal number is another cost than the one asked for."""
    X, y = [[0.0], [1.0]], [0, 1]
    for machine in (sx.LinearSVM(1e-12), sx.KernelSVM(1e-12), sx.SGD(C=1e-12)):
        with pytest.raises(sx.DataError, match="number"):
            machine.fit(X, y, [1e-300, 1e-300])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_huge_costs_and_a_penalised_bias(loss):
    """The square of the balance was beyond the largest number: OverflowError."""
    machine = sx.LinearSVM(1e-5, loss=loss, intercept_penalty=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit([[-8e-48, 3e-33], [4e54, 7e54], [4e45, -1e-20]], [0, 1, 0], [1e280] * 3)
    assert machine.gap_ >= 0.0


def test_tiny_costs():
    """Costs of 1e-300: a slope of zero, and products that vanish, ended in ZeroDivisionError."""
    X = [[-4.5e-36, 0.0], [0.0, -7.5e-09], [-3e-36, 7.5e-09], [1.5e-36, 2.2e-08], [0.0, 1.5e-08]]
    weights = [9.6e-287, 3.5e-296, 3e-285, 1.5e-291, 4.1e-287]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = sx.LinearSVM(9.4e-9).fit(X, [0, 1, 0, 0, 0], weights)
        rows = [[0.57, -0.02], [1.0, -0.04], [-0.07, 0.003], [-0.09, 0.004]]
        weights = [2e-290, 1.8e-282, 7.9e-292, 3.7e-294]
        direct = sx.KernelSVM(1e-12, gamma=1.0, multi_class="direct").fit(
            rows, [1, 2, 0, 0], weights
        )
    assert machine.certificate_.dual <= machine.certificate_.primal
    assert direct.certificate_.dual <= direct.certificate_.primal


def test_costs_that_vanish_beside_the_target():
    """Where a cost over the size of the weights is 0, least squares in a box refused its bounds."""
    X = [
        [2.2323804717337405, 2.4234639963482634], [2.6950408382002124, 2.8889227460084866],
        [2.290120983713234, 2.474069533852764], [2.736277640110766, 2.975397230644876],
        [2.4931253647831965, 2.7251148345176786], [2.4840982966926568, 2.684372961016127],
        [2.2671520305574533, 2.4602970438568412], [2.4512817192189585, 2.707482780872515],
        [2.471724967325809, 2.6643415542646833], [2.1927930897373198, 2.45394677219168],
        [2.703722126556882, 2.9325872337194954],
    ] * np.array([1e26, 1e65])  # fmt: skip
    y = [0, 2, 0, 2, 1, 1, 0, 1, 1, 0, 2]
    weights = [1e12, 1e-300, 1.0, 1.0, 1e-300, 1.0, 0.0, 1e12, 0.0, 1.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.OneVsOne(sx.LinearSVM(9.068372905148303), n_jobs=1).fit(X, y, weights)
    assert all(proof.dual <= proof.primal for proof in model.certificates_)


@pytest.mark.parametrize("size", [1e-310, 1e-195, 1.0, 1e195])
def test_the_margin_of_tiny_weights_is_not_infinite(size):
    """The squares of weights of 1e-195 vanish, and margin_ = 1 / |w| was told as infinite."""
    with np.errstate(all="ignore"):
        wanted = 1.0 / size / 5.0
    assert margin_of(size * np.array([3.0, 4.0])) == pytest.approx(wanted, rel=1e-9)
    assert margin_of(np.zeros(2)) == np.inf


def test_a_share_below_rounding_is_no_shrinkage():
    """The n x n matrix was singular to rounding: LinAlgError."""
    X = [
        [1.110737886799372e-08, 1.5294924177237946e-15, 730377909.7681398, 7703999943.859562, 1e22],
        [
            1.1107379008044391e-08,
            1.5294924101745963e-15,
            730377901.7829189,
            7704000123.379661,
            2e22,
        ],
        [1.1107378978442669e-08, 1.529492437631072e-15, 730377901.0178938, 7704000131.926223, 3e22],
    ]
    model = sx.Fisher(shrinkage=0.5).fit(sp.csr_array(X), [1, 0, 0])
    assert np.isfinite(model.coef_).all()


def test_a_verdict_on_partitions_whose_weights_are_floats(tmp_path):
    """Whether there was a verdict was asked of the verdict, which refuses to be true or false."""
    whole = [
        [1, 0, 1, 0, -2, -1], [-2, 1, 1, 0, -1, 1], [1, 2, 0, -2, -2, -2], [0, 2, 2, 1, 1, -1],
        [0, -2, 0, 0, -1, -2], [1, 1, 0, -1, -1, -1], [1, -2, 1, -1, 1, 1], [-1, -2, -1, -2, 1, 1],
        [-1, 1, 1, -2, 1, -1], [-1, -2, 0, -2, 1, -1],
    ]  # fmt: skip
    X = whole * 2.0 ** np.array([103, 88, -161, -390, -239, -356])
    y = [0, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    assert sx.separability(sx.open_partitions(tmp_path)).kind == sx.separability(X, y).kind


def test_errors_of_the_perceptron_are_counted_exactly():
    """Scores that overflow are no number, and were counted as errors."""
    X, y = [[2e200, 0.0], [-2e200, 0.0], [0.0, 1e200]], [0, 1, 2]
    init = [[0.0, 3e180, 0.0], [0.0, -3e180, 0.0], [0.0, 2e180, 4e180]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.Perceptron(init=init, learning_rate=1e-300, update="batch", max_updates=2)
        model.fit(X, y)
    assert model.certificate_.holds
    assert model.errors_ == 0


def test_the_order_of_stored_entries_changes_no_prediction():
    """Sums of unsorted rows round differently: a row proved right was predicted wrong."""
    values, places = np.array([1.0, 1.0, 1e16, -1e16]), np.array([1, 3, 0, 2])
    columns = sp.csr_array((values, places, np.array([0, 4])), shape=(1, 4))
    model = sx.LinearSVM().fit(np.eye(4), [0, 1, 1, 1])
    model.coef_, model.intercept_ = np.ones((1, 4)), np.zeros(1)
    in_order = sp.csr_array(columns.toarray())
    assert model.decision_function(columns) == model.decision_function(in_order)


def test_the_mean_violation_is_that_of_the_weights():
    """HiGHS takes small entries for zeros; its objective was told as that of all rows."""
    X = [[-6e-05, 0.125], [0.0, 0.0], [-1e3, -1e6], [-6e-05, 0.125], [1e3, 2e6], [-8.0, 0.0]]
    X = np.array(X) * [1.0, 1e-3]
    y = np.array([1, 0, 0, 0, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.LinearProgramHalfspace(slack=True).fit(X, y)
    told = sum(model.slack_[y == k].mean() for k in (0, 1))
    assert model.objective_ == pytest.approx(told, rel=1e-12)


def test_a_column_that_cannot_be_divided_without_rounding():
    """SGD's proof spoke of rounded columns, and its own check refused it."""
    X, y = [[5e-324], [4.0], [3.0], [-1.0]], [0, 1, 1, 0]
    with pytest.warns(ConvergenceWarning, match="nothing is proved"):
        model = sx.SGD(loss="logistic").fit(X, y)
    assert model.certificate_ is None
    assert model.gap_ is None
    assert str(model.status_) == "passed"
    assert json.dumps(model.objective_) == "null"


def test_masses_whose_product_vanishes():
    """Fisher's certificate divided by the product of the two masses, which was 0."""
    X, y = (
        [[0.0, 0.0], [1.0, 1.5], [2.0, 2.0], [1.0, 0.0], [2.0, 1.5], [3.0, 2.0]],
        [0, 0, 0, 1, 1, 1],
    )
    plain = sx.Fisher().fit(X, y).certificate_
    tiny = sx.Fisher().fit(X, y, [2.0**-600] * 6).certificate_
    assert tiny.ratio / 2.0**600 == pytest.approx(plain.ratio)
    assert tiny.check(X, y, [2.0**-600] * 6)


@pytest.mark.parametrize("size", [1e-150, 1e-158])
def test_squares_that_vanish_are_not_nothing(size):
    """Least squares of tiny targets claimed a gap of exactly 0."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6) * size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.LeastSquares(task="regression").fit(X, y)
    assert model.certificate_.gap > 0.0
    assert model.certificate_.check(X, y)


def test_a_scale_that_is_no_number():
    """gamma='scale' of a variance near the least number was infinite."""
    with pytest.raises(sx.DataError, match="give gamma as a number"):
        sx.KernelSVM().fit([[0.0], [1e-160], [2e-160]], [0, 1, 1])


@pytest.mark.parametrize(
    ("kind", "seed", "number"),
    [
        ("LinearSVM", 11, 92),
        ("LeastSquares", 1, 88),
        ("LeastSquares", 1, 93),
        ("Fisher", 1, 56),
        ("Fisher", 31, 1113),  # rows of weight 0 changed the order of a sum
    ],
)
def test_fits_that_were_false(kind, seed, number):
    """Also: coordinate descent divided by the share of a bias that was as stiff as can be."""
    assert honest.attempt(kind, seed, number)[2] == []


def test_a_hard_margin_without_bound_is_refused():
    """The kernel is not positive: dual variables grew to NaN, and a violation of 0 was claimed."""
    X = [[0.0023875], [0.0094364], [-0.0011456], [0.0048341], [0.0022236], [0.0095398]]
    machine = sx.KernelSVM(np.inf, kernel="sigmoid", coef0=1.0, gamma=65657.0, multi_class="ovr")
    with pytest.raises(ValueError, match="C=inf asks for a hard margin"):
        machine.fit(X, [1, 2, 0, 2, 1, 2])


@pytest.mark.long
def test_models_of_one_kernel_are_checked_alone_where_one_bound_for_all_is_too_wide():
    """Some were proved alone; `check` summed all of them at once, and refused the honest fit."""
    X = [
        [399.64132729163777], [2.052652632949499e-06], [2.8390813551779537e37],
        [5.851937664432252e16], [1.849801631080184e-19], [3.783449905390761e-14],
        [0.0030351973194138572], [1.7766780170303835e-17], [5735558652756550.0],
        [7.587821623625753e31], [5.851937664432252e16], [50521669124320.28],
    ]  # fmt: skip
    y = [0, 2, 1, 1, 1, 1, 2, 0, 2, 1, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = sx.KernelSVM(1.3960359157197577, kernel=lambda A, B: A @ B.T, n_jobs=1).fit(X, y)
    assert machine.certificate_.holds
    assert machine.certificate_.check(X, y)


def test_the_interval_of_best_biases_is_that_of_the_weights_returned():
    """The last digits of w were put right, and the interval stayed that of the weights before."""
    X = [
        [0.1, -0.007923138875007035, -0.01584627775001407],
        [0.1, 0.15053963862513367, 0.11884708312510553],
    ]
    C = 76110.91922442084
    model = sx.LinearSVM(C, solver="dual_coordinate").fit(sp.csr_array(X), [0, 1])
    scores, square = X @ model.coef_[0], float(model.coef_[0] @ model.coef_[0])
    for b in (*model.intercept_interval_, model.intercept_[0]):
        slack = np.maximum(0.0, 1.0 - np.array([-1.0, 1.0]) * (scores + b)).sum()
        assert square / 2.0 + C * slack == pytest.approx(model.objective_, rel=1e-6)


def test_a_bias_that_is_not_best_does_not_widen_the_interval():
    """A fit out of budget named a worse bias as one end of the biases that are best."""
    X = np.array([[7.5e-57, -3.346281441361643e20], [1e-56, -4.509231791940776e20],
                  [-2e-56, 9.051568012073579e20], [6.9e-56, -3.049890739126338e21],
                  [4.8e-57, -2.117612223184399e20], [7.6e-56, -3.3878227336429243e21]])  # fmt: skip
    y = np.array([1, 0, 1, 1, 0, 1])
    weights = np.array([0.5819207, 0.54834973, 0.80906849, 0.40830566, 0.19788741, 0.11120714])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the budget
        model = sx.LinearSVM(solver="dual_coordinate", max_passes=300).fit(X, y, weights)
    scores, signs = X @ model.coef_[0], 2.0 * y - 1.0
    slack = [
        float(weights @ np.maximum(0.0, 1.0 - signs * (scores + b)))
        for b in (*model.intercept_interval_, model.intercept_[0])
    ]
    assert max(slack) <= min(slack) * (1.0 + 1e-6)


def test_passes_without_a_row_to_visit_count():
    """The budget had no end: a hundred thousand passes over no row, of three."""
    X, y = [[40.6], [1.4], [21.0], [-1.4]], [1.0, -1.0, 0.0, -1.0]
    model = sx.LinearSVM(
        1e-11, solver="dual_coordinate", max_passes=300, class_weight="balanced", multi_class="ovo"
    ).fit(X, y, [1.0, 1e-300, 1.0, 1e-300])
    assert np.max(model.n_iter_) <= 1_000


def test_a_class_that_weighs_next_to_nothing_is_not_balanced():
    """Its factor was infinite, and so were the costs of its rows."""
    with pytest.raises(sx.DataError, match="balanced"):
        sx.LinearSVM(class_weight="balanced").fit([[0.0], [1.0]], [0, 1], [1e-300, 1e12])


def test_single_precision_is_centred_in_double():
    """`check` took the mean in the precision of the rows, and refused the honest direction."""
    X = np.array(
        [
            [9.29038402e11, 6.77881119e11, 10.1477451, 13.2319775, 75.5136795, 312628960.0],
            [9.29038533e11, 6.77881250e11, 10.1477451, 13.2319775, 75.5136871, 312628992.0],
            [9.29038467e11, 6.77881184e11, 10.1477451, 13.2319784, 75.5136948, 312629024.0],
            [9.29038533e11, 6.77881184e11, 10.1477432, 13.2319775, 75.5136871, 312628960.0],
            [9.29038402e11, 6.77881184e11, 10.1477442, 13.2319775, 75.5136948, 312628960.0],
            [9.29038467e11, 6.77881053e11, 10.1477442, 13.2319765, 75.5136795, 312629024.0],
            [9.29038467e11, 6.77881119e11, 10.1477432, 13.2319765, 75.5137024, 312629024.0],
            [9.29038402e11, 6.77881315e11, 10.1477442, 13.2319784, 75.5136871, 312628992.0],
        ],
        dtype=np.float32,
    )
    y, weights = [-1, -4, -1, -1, -1, -1, -1, -4], np.full(8, 1e280)
    proof = sx.Fisher("gaussian").fit(X, y, weights).certificate_
    assert proof.check(X, y, weights)


def test_a_column_that_varies_where_rows_weigh_nothing_is_refused_in_words():
    X = sp.csr_array([[23.0, 23.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])
    with pytest.raises(sx.DataError, match="sample weights differ too much"):
        sx.Fisher(shrinkage=0.5).fit(X, [1, 0, 0, 0], [1e-312, 1e-312, 1.0, 1e-312])


def test_rows_of_weight_zero_do_not_unmake_the_proof_of_least_squares():
    """Fit and `check` named different rows: those of weight 0 were there for one of them."""
    X, y, weights = [[1.0], [9.0], [2.0], [4.0]], [0, 1, 1, 0], [1.0, 0.0, 1.0, 1.0]
    assert sx.LeastSquares().fit(X, y, weights).certificate_.check(X, y, weights)


def test_a_dual_above_the_objective_is_no_proof():
    """HiGHS drops entries below 1e-9: its bound was of other rows, and above the objective."""
    X = [
        [0.0020823564942760494, 0.001377875077783529, -0.00019691845665434322],
        [2.322517838646184e-07, 1.5367875079866197e-07, -2.196293620211213e-08],
        [2.322517838646184e-07, 1.5367875079866197e-07, -2.196293620211213e-08],
        [-8056.8515526692245, -5331.140460502146, 761.8977718780802],
        [0.0006890724864749584, 0.0004559525751282371, -6.516227693606029e-05],
    ]
    with pytest.warns(ConvergenceWarning, match="differ too much in size"):
        model = sx.LinearProgramHalfspace(slack=True).fit(X, [0, 0, 1, 1, 1])
    assert str(model.status_) == "unproved"


def test_the_cost_of_large_single_precision_rows_is_not_zero():
    """Squares overflowed in float32: the first cost was 0, stayed 0, and the fit never ended."""
    X = np.full((4, 1), 9.44473296573929e30, dtype=np.float32)
    machine = sx.LinearSVM(
        np.inf, loss="squared_hinge", solver="dual_coordinate", multi_class="ovo",
        intercept_penalty=1e9,
    )  # fmt: skip
    with pytest.raises(sx.NotSeparableError):
        machine.fit(X, [1, 2, 0, 1])


def test_a_singular_curvature_of_the_biases_is_no_error():
    """The fit ended in NumPy's LinAlgError."""
    assert honest.attempt("multinomial", 1001, 554)[2] == []


def test_biases_that_no_row_holds_are_no_error_of_sparse_weights():
    """Every row was sure of two classes of three: the fit ended in NumPy's LinAlgError."""
    X, y = [[100000001.0], [100000000.4], [100000004.5], [100000000.4]], [1, 1, 2, 0]
    model = sx.LogisticRegression(
        0.087, l1_ratio=1.0, multi_class="multinomial", tol=1e-12, max_passes=300
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, [0.04, 6e8, 4600.0, 6e8])
    assert model.certificate_.check(X, y)


@pytest.mark.parametrize(("kind", "number"), [("sparse-LinearSVM", 38), ("sparse-logistic", 6)])
def test_sparse_fits_of_extreme_columns_are_quiet(kind, number):
    """Sums that overflow bound nothing, which is no matter for a warning of NumPy's."""
    assert honest.attempt(kind, 5, number)[0] == "fits"
