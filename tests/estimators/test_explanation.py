import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.amounts import cases
from tests.problems import problem

import separatrix as sx
from separatrix.core.explanation import contributions, weights_by_name

IRIS = load_iris()
X, Y = IRIS.data, IRIS.target_names[IRIS.target]
MODELS = [
    sx.LinearSVM(),
    sx.LogisticRegression(),
    sx.Fisher(),
    sx.KernelSVM(multi_class="ovr"),
    make_pipeline(StandardScaler(), sx.LinearSVM()),
    make_pipeline(sx.lift.Polynomial(2), sx.LogisticRegression()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("rows", [slice(0, 100), slice(None)], ids=["two", "three"])
def test_contributions_add_up_to_the_score_to_the_last_bit(model, rows):
    model.fit(X[rows], Y[rows])
    scores = model.decision_function(X[rows])
    told = list(contributions(model, X[rows], ["a", "b", "c", "d"]))
    assert len(told) == len(scores)
    for each, score, predicted in zip(told, scores, model.predict(X[rows]), strict=True):
        values = [value for _, value in each.parts]
        assert math.fsum([each.intercept, each.rounding, *values]) == each.score
        assert each.score == (score if scores.ndim == 1 else score.max())
        assert abs(each.rounding) <= 1e-13 * (abs(each.intercept) + sum(map(abs, values)))
        assert each.speaks_for == (predicted if scores.ndim > 1 else model.classes_[1])
        assert values == sorted(values, key=abs, reverse=True)


def test_contributions_of_every_kind_of_problem():
    for seed in cases(120):
        case = problem(seed)
        if len(set(case.y_signs)) < 2:
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = sx.Perceptron(max_updates=50).fit(case.X, case.y_signs)
            if not np.isfinite(model.decision_function(case.X)).all():
                continue
            for rows in (case.X, sp.csr_array(case.X)):
                scores = model.decision_function(rows)
                for each, score in zip(contributions(model, rows), scores, strict=True):
                    parts = [value for _, value in each.parts]
                    assert math.fsum([each.intercept, each.rounding, *parts]) == score


def test_support_vectors_and_products_have_names():
    kernel = sx.KernelSVM().fit(X[:100], Y[:100])
    (told,) = contributions(kernel, X[:1])
    assert told.parts[0][0].startswith("training row ")
    lifted = make_pipeline(sx.lift.Polynomial(2), sx.LinearSVM()).fit(X[:100], Y[:100])
    (told,) = contributions(lifted, X[:1], ["a", "b", "c", "d"])
    assert "a b" in dict(told.parts)
    (told,) = contributions(sx.LinearSVM().fit(X[:100], Y[:100]), X[:1])
    assert told.parts[0][0].startswith("x")
    assert told.top(2).count(";") == 1


@pytest.mark.parametrize(
    "model", [sx.LinearSVM(multi_class="ovo"), sx.KernelSVM(), sx.GaussianPlugIn()]
)
def test_machines_that_vote_have_no_contributions(model):
    with pytest.raises(ValueError, match=r"vote|no sum"):
        next(contributions(model.fit(X, Y), X))


def test_weights_by_name_importance_and_odds(tmp_path):
    path = tmp_path / "data.csv"
    rows = ["age,job,label"]
    rows += [f"{20 + k % 30},{['cook', 'clerk'][k % 2]},{int(k % 7 > 3)}" for k in range(60)]
    path.write_text("\n".join(rows) + "\n")
    table = sx.read(path, target="label")
    model = sx.LogisticRegression().fit(table.X, table.y)
    spreads = np.asarray(table.X.toarray()).std(axis=0)
    told = weights_by_name(model, table.feature_names, spreads=spreads, encoding=table.encoding)
    effects = [abs(weight.importance) for weight in told]
    assert effects == sorted(effects, reverse=True)
    by_name = {weight.name: weight for weight in told}
    assert by_name["age"].unit == "unit of age"
    assert by_name["job=cook"].unit == "where it is so"
    place = list(table.feature_names).index("age")
    assert by_name["age"].weight == model.coef_[0, place]
    assert by_name["age"].odds_ratio == np.exp(model.coef_[0, place])
    assert by_name["age"].importance == model.coef_[0, place] * spreads[place]
    plain = weights_by_name(sx.LinearSVM().fit(table.X, table.y), table.feature_names)
    assert plain[0].importance is None
    assert plain[0].odds_ratio is None
    scaled = make_pipeline(StandardScaler(), sx.LogisticRegression()).fit(X, Y)
    raw = weights_by_name(scaled, machine=2)
    assert {weight.name for weight in raw} == {"x0", "x1", "x2", "x3"}
