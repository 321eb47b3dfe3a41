import json
import pickle
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from tests.amounts import cases
from tests.problems import as_sparse, problem

import separatrix as sx
from separatrix.checker import check
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.equilibrate import packing_order
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import solve
from separatrix.solvers.updates import kozinec, perceptron
from separatrix.storage.model_proof import prove_model

BINARY = [sx.Kozinec, sx.DeltaRule]
ALL = [*BINARY, sx.Perceptron]


def two_clouds():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)) - 3, rng.normal(size=(20, 2)) + 3])
    return X, np.repeat(["low", "up"], 20)


# ---- bad input: one clear error each


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[np.nan], [1.0]], [0, 1], "X contains NaN in row 0, column 0"),
        ([[0.0], [np.inf]], [0, 1], "X contains inf in row 1, column 0"),
        ([[0.0], [-np.inf]], [0, 1], "X contains -inf in row 1"),
        ([[0.0], [1.0]], [1, 1], "one class"),
        ([[0.0]], [1], "one class"),
        (np.empty((0, 2)), [], "0 sample"),
        (np.empty((2, 0)), [0, 1], "0 feature"),
        ([[0.0], [1.0]], [0, 1, 1], "inconsistent"),
        ([["a"], ["b"]], [0, 1], "X holds text where a number is needed: 'a'"),
        ([[0.0], [1.0]], [0.5, 1.7], "continuous"),
        ([[0.0], [1.0]], [np.nan, 1.0], "NaN"),
    ],
)
def test_bad_data_get_one_clear_error(kind, X, y, words):
    machine = kind()
    with pytest.raises(ValueError, match=words):
        machine.fit(X, y)
    assert not hasattr(machine, "coef_")


def test_bad_data_in_a_frame_or_a_sparse_matrix_are_named():
    frame = pd.DataFrame({"age": [1.0, 2.0], "height": [1.0, np.nan]})
    with pytest.raises(sx.DataError, match="row 1, column 'height'"):
        sx.Kozinec().fit(frame, [0, 1])
    X = sp.csr_array(np.array([[0.0, 1.0], [0.0, np.inf]]))
    with pytest.raises(sx.DataError, match="inf in row 1, column 1"):
        sx.Perceptron().fit(X, [0, 1])
    machine = sx.Kozinec().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(sx.DataError, match="NaN"):
        machine.predict([[np.nan]])


def test_large_finite_values_are_not_taken_for_infinite():
    X = np.array([[1.7e308, 1.0], [1.7e308, -1.0]])
    machine = sx.Perceptron(scale=True).fit(X, [0, 1])
    assert machine.status_ == "separated"


@pytest.mark.parametrize("kind", BINARY)
def test_three_classes_where_two_are_needed(kind):
    with pytest.raises(ValueError, match=r"got 3 classes, \['a', 'b', 'c'\]") as caught:
        kind().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    assert "sx.OneVsRest(" in str(caught.value)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (sx.Kozinec(epsilon=0), "epsilon must be a number above 0. Got 0 instead"),
        (sx.Kozinec(order="best"), "order must be one of"),
        (sx.Kozinec(max_updates=0), "max_updates"),
        (sx.Kozinec(max_updates=1.5), "max_updates"),
        (sx.Kozinec(max_seconds=-1), "max_seconds"),
        (sx.Perceptron(update="all"), "update must be one of"),
        (sx.Perceptron(order="worst", update="batch"), "goes with update='single'"),
        (sx.Perceptron(learning_rate=0), "learning_rate"),
        (sx.Perceptron(learning_rate="fast"), "learning_rate"),
        (sx.Perceptron(decay=-1), "decay"),
        (sx.Perceptron(pocket="deep"), "pocket"),
        (sx.Perceptron(patience=5, pocket=False), "needs pocket"),
        (sx.Perceptron(batch_size=0), "batch_size"),
        (sx.Perceptron(init="ones"), "init must be"),
        (sx.Perceptron(init=[1.0]), "init must hold 3 numbers"),
        (sx.Perceptron(init=[1.0, np.nan, 0.0]), "finite"),
        (sx.Perceptron(tol=-1), "tol"),
        (sx.DeltaRule(learning_rate=-1), "learning_rate"),
        (sx.DeltaRule(tol=-1), "tol"),
        (sx.DeltaRule(order="worst"), "order"),
    ],
)
def test_bad_parameters_get_one_clear_error(machine, words):
    with pytest.raises(ValueError, match=words):
        machine.fit(*two_clouds())


def test_overflow_is_an_error_and_no_answer():
    X, y = np.array([[1e308], [-1e308], [1e308]]), [1, 1, 0]
    machine = sx.Perceptron(learning_rate=10.0)
    with pytest.raises(sx.DataError, match="scale=True"):
        machine.fit(X, y)
    assert not hasattr(machine, "coef_")
    with pytest.raises(sx.DataError, match="Divide the columns"):
        sx.Kozinec().fit(X, y)
    with pytest.raises(sx.DataError, match="too large"):
        sx.DeltaRule().fit(X, y)
    with pytest.raises(ValueError, match="DeltaRule"):
        sx.DeltaRule(learning_rate=1.0).fit(X, y)


def test_a_weight_too_large_for_its_column_is_refused():
    X = np.array([[5e-324], [-5e-324], [5e-324]]) * [[1], [1], [2]]
    with pytest.raises(sx.DataError, match="too large for floating point"):
        sx.Perceptron(scale=True, max_updates=50).fit(X, [1, 0, 1])


# ---- what a fit leaves


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1.0, 1.0], [7, 11]])
@pytest.mark.parametrize("kind", ALL)
def test_labels_of_any_kind_come_back(kind, labels):
    X, y = two_clouds()
    y = np.array(labels)[(y == "up").astype(int)]
    machine = kind().fit(X, y)
    assert machine.classes_.tolist() == labels
    assert (machine.predict(X) == y).all()
    assert (machine.decision_function(X) > 0).tolist() == (y == labels[1]).tolist()
    assert machine.certificate_.check(X, y)


@pytest.mark.parametrize("kind", ALL)
def test_dense_sparse_frames_and_float32_agree(kind):
    X, y = two_clouds()
    X = X.round(2)
    reference = kind().fit(X, y)
    for form in (np.asfortranarray(X), as_sparse(X, np.int32), as_sparse(X, np.int64)):
        assert_allclose(kind().fit(form, y).coef_, reference.coef_, rtol=1e-9)
    frame = kind().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert_allclose(frame.coef_, reference.coef_)
    assert "a " in str(frame)
    assert kind().fit(X.astype(np.float32), y).score(X, y) == 1.0
    read_only = X.copy()
    read_only.flags.writeable = False
    assert np.array_equal(kind().fit(read_only, y).coef_, reference.coef_)


@pytest.mark.parametrize("kind", ALL)
def test_without_an_intercept_there_is_none(kind):
    X, y = two_clouds()
    machine = kind(fit_intercept=False).fit(X, y)
    assert machine.intercept_.tolist() == [0.0]
    assert machine.score(X, y) == 1.0
    assert machine.certificate_.check(X, y)


def test_budgets_warn_with_what_was_reached():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    with pytest.warns(ConvergenceWarning, match="training rows are misclassified"):
        machine = sx.Perceptron(max_updates=200).fit(X, y)
    assert machine.status_ == "budget"
    assert machine.errors_ == (machine.predict(X) != y).sum()
    with pytest.warns(ConvergenceWarning, match="No hyperplane has a margin above"):
        kozinec = sx.Kozinec(max_updates=500).fit(X, y)
    assert not kozinec.certificate_.holds
    assert kozinec.margin_bounds_[1] < 0.5
    assert kozinec.certificate_.check(X, y)
    with pytest.warns(ConvergenceWarning, match="loss is"):
        sx.DeltaRule(max_updates=5).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        sx.Perceptron(max_seconds=1e-9, max_updates=10**9).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        assert sx.Perceptron(max_passes=2).fit(X, y).n_passes_ == 2.0


def test_identical_points_with_opposite_labels_end_at_the_origin():
    with pytest.warns(ConvergenceWarning, match="reaches the origin"):
        machine = sx.Kozinec().fit([[1.0], [1.0], [2.0]], [0, 1, 1])
    assert machine.status_ == "origin"


@pytest.mark.parametrize(("X", "fit_intercept"), [([[0.0], [0.0]], True), ([[1.0], [1.0]], False)])
@pytest.mark.parametrize("as_rows", [np.array, sp.csr_array])
def test_the_origin_proves_a_bound_that_both_checkers_accept(X, fit_intercept, as_rows):
    """Its claim had zero weights, which have no margin."""
    y = [0, 1]
    with pytest.warns(ConvergenceWarning, match="reaches the origin"):
        machine = sx.Kozinec(fit_intercept=fit_intercept).fit(as_rows(np.array(X)), y)
    proof = machine.certificate_
    assert proof.check(np.array(X), y)
    assert proof.upper < 1e-12
    whole = json.loads(proof.to_json())
    problem = problem_from(np.array(X), y, fit_intercept)
    assert "largest margin" in str(check(whole, as_checker_data(problem)))
    zero = replace(proof.separation, weights=((5.0 * (not fit_intercept), 0.0),), worst_row=None,
                   worst_margin=Fraction(0))  # fmt: skip
    assert not replace(proof, separation=zero).check(np.array(X), y)
    assert prove_model(machine, np.array(X), y)[0]


def test_divergence_names_the_largest_stable_rate():
    X, y = two_clouds()
    with pytest.raises(ValueError, match="diverges above") as caught:
        sx.DeltaRule(learning_rate=1.0).fit(X, y)
    limit = float(str(caught.value).split("diverges above ")[1].split(". ")[0])
    assert sx.DeltaRule(learning_rate=0.99 * limit, tol=1e-3).fit(X, y).score(X, y) == 1.0
    with pytest.raises(ValueError, match="is stable up to"):
        sx.DeltaRule(learning_rate=10.0, update="single").fit(X, y)


def test_scaling_inside_changes_nothing_but_the_road():
    for seed in cases(200):
        case = problem(seed, kind="extreme_columns")
        X = as_sparse(case.X, np.int32) if seed % 2 else case.X
        # No weight for the smallest columns can be written down: that is refused above.
        if np.abs(case.X).max(axis=0).min(initial=1.0) < 1e-290:
            continue
        machine = sx.Perceptron(scale=True).fit(X, case.y_signs)
        assert machine.status_ == "separated"
        assert machine.certificate_.holds
        assert machine.certificate_.check(X, case.y_signs)


def test_scaled_replay_is_in_the_units_of_the_data():
    X, y = two_clouds()
    X = X * [1.0, 1e6]
    machine = sx.Perceptron(scale=True).fit(X, y)
    *_, last = sx.replay(sx.Perceptron(scale=True), X, y)
    assert np.array_equal(last.weights, [*machine.intercept_, *machine.coef_[0]])


@pytest.mark.parametrize("kind", [sx.Perceptron, sx.DeltaRule])
def test_where_there_is_no_intercept_none_is_predicted_with(kind):
    X, y = np.array([[1.0], [2.0], [-1.0], [-2.0]]), [1, 1, 0, 0]
    machine = kind(fit_intercept=False, init="random").fit(X, y)
    assert machine.intercept_.tolist() == [0.0]
    assert machine.score(X, y) == 1.0
    with pytest.raises(ValueError, match="no intercept"):
        kind(fit_intercept=False, init=[100.0, 0.0]).fit(X, y)


def test_an_average_that_does_not_separate_says_so():
    X, y = [[1.0], [2.0], [3.0], [-0.1], [-5.0], [0.2], [-0.05], [0.1]], [1, 1, 1, 0, 0, 1, 0, 1]
    with pytest.warns(ConvergenceWarning, match="their average, the answer, does not"):
        machine = sx.Perceptron(average=True).fit(X, y)
    assert machine.status_ == "averaged"
    assert not machine.certificate_.holds
    assert machine.errors_ > 0


def test_the_certificate_speaks_of_the_data_as_given():
    X, y = np.array([[1.0, 900.0], [2.0, -800.0], [1.0, 900.0], [5.0, 5.0]]), [0, 1, 1, 0]
    with pytest.warns(ConvergenceWarning):
        machine = sx.Perceptron(scale=True, max_updates=50).fit(X, y)
    assert machine.certificate_.weights == ((*machine.intercept_, *machine.coef_[0]),)
    assert not machine.certificate_.holds
    assert machine.certificate_.data_sha256 == fingerprint(SignedProblem(X, [-1, 1, 1, -1]))


@pytest.mark.parametrize("large", [1e13, 1.7e18, 1e100])
def test_a_short_row_beside_a_long_one_is_no_origin(large):
    machine = sx.Kozinec().fit([[0.0], [large]], [0, 1])
    assert machine.status_ == "separated"
    assert machine.certificate_.holds
    small = sx.Kozinec(fit_intercept=False).fit([[1e-13], [-1.0]], [1, 0])
    assert small.status_ == "separated"


def test_an_epsilon_below_rounding_is_not_claimed():
    X, y = two_clouds()
    for epsilon in (1e-17, 1e-14, 1e-3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine = sx.Kozinec(epsilon=epsilon, max_updates=3000).fit(X, y)
        if machine.status_ == "epsilon":
            lower, upper = machine.margin_bounds_
            assert upper - lower <= epsilon


def test_a_broken_sparse_matrix_is_refused():
    X = sp.csr_matrix(np.eye(2))
    X.indices[1] = 50_000_000
    with pytest.raises(sx.DataError, match="well-formed CSR"):
        sx.Perceptron().fit(X, [0, 1])


def test_budgets_beyond_all_bounds_are_no_budget():
    X, y = two_clouds()
    machine = sx.Perceptron(max_passes=1e30, patience=10**30, max_updates=10**300)
    assert machine.fit(X, y).status_ == "separated"


def test_labels_of_mixed_kinds_are_refused():
    with pytest.raises(sx.DataError, match="mixes labels"):
        sx.Perceptron().fit([[0.0], [1.0]], np.array(["a", 1], dtype=object))


# ---- many classes


@pytest.mark.long
def test_many_classes_by_kesler():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    centres = np.array([[9.0, 0.0], [0.0, 9.0], [-9.0, -9.0], [9.0, 20.0]])
    X = np.vstack([centre + rng.normal(size=(15, 2)) for centre in centres])
    y = np.repeat(list("abcd"), 15)
    machine = sx.Perceptron().fit(X, y)
    assert machine.status_ == "separated"
    assert machine.coef_.shape == (4, 2)
    assert machine.score(X, y) == 1.0
    assert machine.certificate_.check(X, y)
    assert machine.novikoff_.holds
    assert machine.decision_function(X).shape == (60, 4)
    assert "a, b, c, d" in str(machine)
    sparse = sx.Perceptron().fit(sp.csr_array(X), y)
    assert_allclose(sparse.coef_, machine.coef_, rtol=1e-9)


# ---- streams


def test_partial_fit_in_pieces_is_one_pass():
    X, y = two_clouds()
    whole = sx.Perceptron(pocket=False).partial_fit(X, y, classes=["low", "up"])
    pieces = sx.Perceptron(pocket=False)
    for begin in range(0, 40, 7):
        pieces.partial_fit(X[begin : begin + 7], y[begin : begin + 7], classes=["low", "up"])
    assert np.array_equal(whole.coef_, pieces.coef_)
    assert whole.n_iter_ == pieces.n_iter_
    assert whole.status_ == "streaming"
    assert whole.certificate_ is None
    assert "streaming" in str(whole)


def test_partial_fit_averages_over_all_pieces():
    X, y = two_clouds()
    whole = sx.Perceptron(average=True).partial_fit(X, y, classes=["low", "up"])
    pieces = sx.Perceptron(average=True)
    for begin in range(0, 40, 7):
        pieces.partial_fit(X[begin : begin + 7], y[begin : begin + 7], classes=["low", "up"])
    assert_allclose(whole.coef_, pieces.coef_, rtol=1e-9)


def test_partial_fit_goes_on_from_fit_and_refuses_what_it_cannot_do():
    X, y = two_clouds()
    machine = sx.Perceptron().fit(X, y)
    w = machine.coef_.copy()
    machine.partial_fit(X, y)
    assert machine.errors_ is None  # it spoke of the rows of the last fit
    assert np.array_equal(machine.coef_, w)
    with pytest.raises(sx.DataError, match=r"not among the classes: \['new'\]"):
        machine.partial_fit(X[:1], ["new"])
    with pytest.raises(ValueError, match="classes must be passed"):
        sx.Perceptron().partial_fit(X, y)
    with pytest.raises(AttributeError) as caught:
        sx.Perceptron(scale=True).partial_fit
    assert "scale=True" in str(caught.value)
    with pytest.raises(sx.DataError, match="left the range"):
        sx.Perceptron(learning_rate=1e9).partial_fit([[1e308], [1e308]], [0, 1], classes=[0, 1])


# ---- manners


@pytest.mark.parametrize("kind", ALL)
def test_reads_well_in_a_terminal_and_in_a_notebook(kind):
    X, y = two_clouds()
    machine = kind()
    assert str(machine) == repr(machine)
    machine.fit(pd.DataFrame(X, columns=["<b>x</b>", "z"]), y)
    text = str(machine)
    assert "proved: all 40 rows lie strictly on their own side" in text
    assert "low (-) and up (+)" in text
    page = machine._repr_mimebundle_()["text/html"]
    assert "proved" in page
    assert "<b>x</b>" not in page


@pytest.mark.parametrize("kind", ALL)
def test_can_be_cloned_and_pickled(kind):
    X, y = two_clouds()
    machine = kind(random_state=None).fit(X, y)
    assert not hasattr(clone(machine), "coef_")
    again = pickle.loads(pickle.dumps(machine))
    assert np.array_equal(again.predict(X), machine.predict(X))
    assert str(again) == str(machine)
    assert again.certificate_.check(X, y)


def test_replay_leaves_the_estimator_alone_and_refuses_others():
    X, y = two_clouds()
    machine = sx.Kozinec(epsilon=0.1)
    frames = list(sx.replay(machine, X, y))
    assert not hasattr(machine, "classes_")
    fitted = machine.fit(X, y)
    assert np.array_equal(frames[-1].weights[1:], fitted.coef_[0])
    with pytest.raises(TypeError, match="no updates to replay"):
        sx.replay(object(), X, y)


def test_errors_can_be_pickled():
    error = sx.DataError("what", file="a.csv", line=3, column=4)
    again = pickle.loads(pickle.dumps(error))
    assert (again.file, again.line, again.column) == ("a.csv", 3, 4)
    assert str(again) == str(error) == "a.csv, line 3, column 4: what"
    witness = pickle.loads(pickle.dumps(sx.NotSeparableError("no", witness=[1, 2])))
    assert witness.witness == [1, 2]


def test_packed_columns_change_no_product():
    """Wide sparse data are visited with their columns renumbered: no product w.z changes, so the
    perceptron's weights are the same to the bit; Kozinec also adds up |w|^2, in another order."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 9000), density=0.01, rng=rng, format="csr")
    y = rng.integers(0, 2, size=60)
    problem = SignedProblem(X, np.where(y == 1, 1.0, -1.0))
    assert packing_order(problem) is not None
    for method, machine in (
        (perceptron, sx.Perceptron(pocket=False)),
        (kozinec, sx.Kozinec(epsilon=0.01)),
    ):
        settings = {"epsilon": 0.01} if method is kozinec else {}
        plain, _ = solve(method, problem, 5000, **settings)
        machine.set_params(max_updates=5000).fit(X, y)
        assert_allclose(machine.coef_[0], plain.w[1:], rtol=0 if method is perceptron else 1e-6)
        assert machine.certificate_.check(X, y)
        *_, last = sx.replay(machine, X, y)
        assert np.array_equal(last.weights[1:], machine.coef_[0])
    first = rng.normal(size=9001)
    warm, _ = solve(perceptron, problem, first=first)
    given = sx.Perceptron(pocket=False, init=first).fit(X, y)
    assert np.array_equal(given.coef_[0], warm.w[1:])
    many = sx.Perceptron().fit(X, np.arange(60) % 3)
    assert many.score(X, np.arange(60) % 3) == 1.0


# ---- answers that depend on the units of columns, and pockets


@pytest.mark.parametrize(
    "model",
    [
        sx.KernelSVM(),
        sx.KernelPerceptron(max_updates=100),
        sx.Perceptron(max_updates=100),
        sx.DeltaRule(max_updates=100),
        sx.Kozinec(max_updates=100),
        sx.lift.RadialBasis(5),
        sx.lift.RandomFourier(5),
    ],
)
def test_columns_far_apart_in_size_are_warned_of_once(model):
    X, y = two_clouds()
    X = np.column_stack([X[:, :1] * 2000, X[:, 1:]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).fit(X, y)
    found = [str(one.message) for one in caught if one.category is sx.ScaleWarning]
    assert len(found) == 1
    assert "--scale standard" in found[0]
    assert "scale=True" in found[0] or "StandardScaler" in found[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).fit(StandardScaler().fit_transform(X), y)
    assert not [one for one in caught if one.category is sx.ScaleWarning]


def test_the_pocket_holds_the_best_weights_visited():
    """Gallant's ratchet may miss them; the lectures' pocket, the default for few rows, does not."""
    missed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, size=40)
        with pytest.warns(ConvergenceWarning):
            found = sx.Perceptron(max_updates=300).fit(X, y).errors_
        with pytest.warns(ConvergenceWarning):
            ratchet = sx.Perceptron(max_updates=300, pocket="ratchet").fit(X, y).errors_
        best = min(frame.errors for frame in sx.replay(sx.Perceptron(max_updates=300), X, y))
        assert found == best
        missed += ratchet > best
    assert missed > 0
    many = np.random.default_rng(0).normal(size=(2000, 2))
    assert sx.Perceptron()._run(many, many[:, 0] > 0).settings["pocket"] == "ratchet"
