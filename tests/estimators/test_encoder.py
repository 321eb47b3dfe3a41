"""``sx.Encoder``: what `sx.read` learns, inside scikit-learn's pipelines."""

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import separatrix as sx


@pytest.fixture
def frame():
    """Numbers with gaps, categories with gaps, and a column of yes and no."""
    rng = np.random.default_rng(4)
    n = 80
    made = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "job": rng.choice(["clerk", "cook", "boss"], n),
            "colour": pd.Categorical(rng.choice(["red", "blue"], n)),
            "member": rng.choice([True, False], n),
        }
    )
    made.loc[::9, "age"] = np.nan
    made.loc[::13, "job"] = None
    return made


@pytest.fixture
def labels(frame):
    rng = np.random.default_rng(5)
    age = frame.age.fillna(40)
    return np.where(age / 10 + (frame.job == "boss") + rng.normal(size=80) > 4.3, "y", "n")


def dense(found):
    return found.toarray() if hasattr(found, "toarray") else found


@pytest.mark.parametrize("features", ["raw", "standard", "ranks", "splines", "products"])
def test_it_learns_what_read_learns(frame, labels, features):
    read = sx.read(frame.assign(target=labels), target="target")
    encoder = sx.Encoder(features).fit(frame)
    found = dense(encoder.transform(frame))
    if features == "raw":
        assert (found == dense(read.X)).all()
        assert encoder.get_feature_names_out().tolist() == list(read.feature_names)
    else:
        from separatrix.data.raw_rows import RawRows

        codes = np.unique(labels, return_inverse=True)[1]
        learned = RawRows(read).learn(features, np.arange(80), codes)
        assert (found == dense(learned.X)).all()
        assert encoder.get_feature_names_out().tolist() == list(learned.feature_names)
    assert (dense(sx.Encoder(features).fit_transform(frame)) == found).all()
    assert (dense(encoder.transform(polars.from_pandas(frame))) == found).all()
    assert found.shape[1] == len(encoder.get_feature_names_out())


def test_only_fit_learns(frame):
    encoder = sx.Encoder("standard").fit(frame[:40])
    before = encoder.encoding_.to_dict()
    other = frame[40:].assign(job="pilot", age=1e6)
    found = dense(encoder.transform(other))
    assert encoder.encoding_.to_dict() == before
    names = encoder.get_feature_names_out().tolist()
    assert not any("pilot" in name for name in names)
    assert (found[:, [names.index(n) for n in names if n.startswith("job=")]] == 0).all()
    alone = np.vstack([dense(encoder.transform(other[k : k + 1])) for k in range(40)])
    assert (alone == found).all()


def test_a_grid_search_over_a_mixed_frame(frame, labels):
    pipeline = make_pipeline(sx.Encoder(), sx.LinearSVM())
    grid = {"encoder__features": ["raw", "standard", "ranks"], "linearsvm__C": [0.01, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(frame, labels)
    assert search.best_score_ > 0.6
    assert search.predict(frame).shape == (80,)
    assert search.best_estimator_[-1].certificate_ is not None
    naive = []
    for C in (0.01, 1.0):
        scores = cross_val_score(make_pipeline(sx.Encoder("standard"), sx.LinearSVM(C)), frame,
                                 labels, cv=3)  # fmt: skip
        naive.append(scores.mean())
    at = [k for k, p in enumerate(search.cv_results_["params"])
          if p["encoder__features"] == "standard"]  # fmt: skip
    assert np.allclose(search.cv_results_["mean_test_score"][at], naive)


def test_pandas_out_and_columns_apart(frame):
    encoder = sx.Encoder(sparse_output=False).set_output(transform="pandas")
    found = encoder.fit_transform(frame)
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == encoder.get_feature_names_out().tolist()
    apart = ColumnTransformer([("numbers", sx.Encoder("standard"), ["age", "member"]),
                               ("rest", sx.Encoder(), ["job", "colour"])])  # fmt: skip
    names = apart.fit(frame).get_feature_names_out().tolist()
    assert "numbers__age" in names
    assert "rest__job=boss" in names


def test_arrays_have_numbered_columns():
    X = np.array([[1.0, "a"], [np.nan, "b"], [3.0, None]], dtype=object)
    encoder = sx.Encoder().fit(X)
    names = ["x0", "x0=(missing)", "x1=a", "x1=b", "x1=(missing)"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.transform(X).toarray()[1].tolist() == [2.0, 1.0, 0.0, 1.0, 0.0]
    renamed = encoder.get_feature_names_out(["size", "kind"]).tolist()
    assert renamed == [n.replace("x0", "size").replace("x1", "kind") for n in names]
    assert sx.Encoder(categorical=("x0",)).fit(X).transform(X).shape == (3, 6)


@pytest.mark.parametrize("features", ["raw", "words", "ratios", "joined"])
def test_a_column_of_sentences_becomes_words(features):
    rng = np.random.default_rng(0)
    words = ["good", "bad", "film", "plot", "never", "really", "slow"]
    text = pd.DataFrame({"text": [" ".join(rng.choice(words, 6)) for _ in range(30)]})
    y = text.text.str.contains("good").to_numpy()
    pipeline = make_pipeline(sx.Encoder(features), sx.LinearSVM(10.0)).fit(text, y)
    assert pipeline.score(text, y) == 1.0
    names = pipeline[0].get_feature_names_out()
    assert len(names) == pipeline[0].transform(text).shape[1]
    if features == "ratios":
        with pytest.raises(sx.DataError, match="give y"):
            sx.Encoder("ratios").fit(text)


def test_refusals(frame):
    with pytest.raises(sx.DataError, match="no column 'jobs'"):
        sx.Encoder(categorical=("jobs",)).fit(frame)
    with pytest.raises(sx.DataError, match="must be one of raw, standard, ranks"):
        sx.Encoder("words").fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        sx.Encoder().fit(frame).transform(frame[["job"]])
    with pytest.raises(sx.DataError, match="infinite"):
        sx.Encoder().fit(frame.assign(age=np.inf))
    with pytest.raises(sx.DataError, match="minimum of 1"):
        sx.Encoder().fit(frame[:0])


@pytest.mark.parametrize("column", ["job", "colour", "age"])
def test_estimators_name_it_where_they_refuse_a_frame(frame, labels, column):
    X = frame[[column]]
    with pytest.raises(sx.DataError, match=r"sx\.Encoder\(\).*sx\.read\(frame"):
        sx.LinearSVM().fit(X, labels)
    assert make_pipeline(sx.Encoder(), sx.LinearSVM()).fit(X, labels).predict(X).shape == (80,)
