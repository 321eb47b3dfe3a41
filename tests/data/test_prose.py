"""A column of sentences beside others: words against scikit-learn, and the way through a model."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

import separatrix as sx
from separatrix.data.encodings.encoding import TableEncoding
from separatrix.data.raw_rows import RawRows
from tests.amounts import COMPILED_ONLY
from tests.cli.command import separatrix as run


def frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    own = [["poor", "dull", "awful !"], ["great", "fine", "so lovely"]]
    notes = [f"the visit was {rng.choice(own[k])} and we went home {at}" for at, k in enumerate(y)]
    notes[3] = None
    return pd.DataFrame(
        {
            "comment": notes,
            "age": np.round(rng.normal(40.0 + 5.0 * y, 10.0), 1),
            "city": rng.choice(["A", "B"], n),
            "label": np.where(y == 1, "yes", "no"),
        }
    )


def test_words_are_those_of_scikit_learn():
    data = frame()
    table = sx.read(data, target="label")
    words = table.encoding.words
    peer = TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]", min_df=2
    )
    expected = peer.fit_transform(data["comment"].fillna("")).toarray()
    names = [f'comment: "{gram}"' for gram in peer.get_feature_names_out()]
    order = np.argsort(np.array(table.feature_names)[words].tolist())
    assert sorted(names) == sorted(np.array(table.feature_names)[words].tolist())
    ours = table.X.toarray()[:, words][:, order]
    np.testing.assert_allclose(ours, expected[:, np.argsort(names)], atol=1e-6)
    assert any("words and pairs of words became features" in note for note in table.notes)


def test_short_and_repeated_texts_stay_categories():
    data = frame()
    data["name"] = [f"person {k}" for k in range(len(data))]
    data["phrase"] = np.where(np.arange(len(data)) % 3, "a phrase said very often", "another one")
    table = sx.read(data, target="label")
    kinds = {code["name"]: code["kind"] for code in table.encoding.to_dict()["columns"]}
    assert kinds["comment"] == "prose"
    assert kinds["name"] == kinds["phrase"] == kinds["city"] == "category"
    declared = sx.read(data, target="label", categorical=["comment"])
    kinds = {code["name"]: code["kind"] for code in declared.encoding.to_dict()["columns"]}
    assert kinds["comment"] == "category"


def test_plain_data_give_the_encoding_again():
    encoding = sx.read(frame(), target="label").encoding
    again = TableEncoding.from_dict(encoding.to_dict())
    assert again == encoding
    plain = encoding.to_dict()
    next(c for c in plain["columns"] if c["kind"] == "prose")["weights"].pop()
    with pytest.raises(sx.DataError, match="each word must have a weight"):
        TableEncoding.from_dict(plain)


def test_a_column_that_is_not_there_has_no_words():
    encoding = sx.read(frame(), target="label").encoding
    X = encoding.transform(frame().drop(columns="comment"), allow_missing=True).X
    assert sp.issparse(X)
    assert X.toarray()[:, encoding.words].sum() == 0.0


def test_scaling_leaves_words_alone_and_test_rows_teach_none():
    table = sx.read(frame(), target="label")
    codes = np.unique(table.y, return_inverse=True)[1]
    some = np.arange(60)
    learned = RawRows(table).learn("ranks", some, codes)
    words = learned.encoding.inner.words
    known = {code["name"]: code for code in learned.encoding.inner.to_dict()["columns"]}
    assert "comment" in known
    assert (learned.encoding.columns.scale[words] == 1.0).all()
    lengths = np.sqrt((learned.X.toarray()[:, : len(words)][:, words] ** 2).sum(axis=1))
    assert ((abs(lengths - 1.0) < 1e-6) | (lengths == 0.0)).all()
    alone = sx.read(frame().iloc[:60], target="label").encoding.to_dict()
    assert known["comment"] == {c["name"]: c for c in alone["columns"]}["comment"]


@COMPILED_ONLY
def test_study_predict_and_verify(tmp_path):
    file = tmp_path / "mixed.csv"
    frame().to_csv(file, index=False)
    out = tmp_path / "out"
    assert run("study", file, "-t", "label", "-o", out, "--folds", "3").returncode == 0
    for name in ("model.sx", "certificate.json"):
        done = run("verify", out / name, file, *(["-t", "label"] if name != "model.sx" else []))
        assert done.returncode == 0, done.stdout + done.stderr
    done = run("predict", "-m", out / "model.sx", file)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 121
