"""`--column-groups`: the columns of a category are zero together, or not at all."""

import json

import numpy as np
import pytest

import separatrix as sx
from tests.cli.command import separatrix as run


@pytest.fixture
def shop(tmp_path):
    """Whether something was bought, by its colour; towns and sizes play no part."""
    rng = np.random.default_rng(0)
    lines = ["colour,town,size,weight,bought"]
    for _ in range(240):
        colour, town = rng.choice(["red", "green", "blue"]), rng.choice(["A", "B", "C", "D"])
        bought = (colour == "red") ^ (rng.random() < 0.2)
        lines.append(f"{colour},{town},{rng.normal():.3f},{rng.normal():.3f},{bought}")
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_a_table_knows_what_a_column_became(shop):
    table = sx.read(shop, target="bought")
    names = table.feature_names
    sources = [{names[j].split("=")[0] for j in group} for group in table.column_groups]
    assert sources == [{"colour"}, {"town"}]
    X, y = np.eye(4), [0, 1, 0, 1]
    model = sx.LogisticRegression(l1_ratio=1.0, groups=[]).fit(X, y)  # none is in a group
    assert model.certificate_.groups == ()


def test_a_category_comes_in_as_a_whole(shop, tmp_path):
    table, out = sx.read(shop, target="bought"), tmp_path / "model.sx"
    done = run("fit", shop, "--target", "bought", "--l1", "1", "-c", "0.05",
               "--column-groups", "encoded", "-o", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    model = sx.load(out)
    colour = table.column_groups[0]
    assert model.groups == table.column_groups
    assert np.flatnonzero(model.coef_[0]).tolist() == colour
    assert run("verify", out, shop).returncode == 0
    done = run("path", shop, "--target", "bought", "--l1", "1", "--Cs", "0.02,0.05",
               "--column-groups", "encoded", "--folds", "2", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    counts = [row["n_nonzero"] for row in json.loads(done.stdout)["rows"]]
    assert set(counts) <= {0.0, 1.5, 3.0}  # the mean of two folds


def test_columns_are_named(shop, tmp_path):
    out, names = tmp_path / "model.sx", sx.read(shop, target="bought").feature_names
    done = run("fit", shop, "--target", "bought", "--l1", "1", "--column-groups",
               "size, weight; town", "-o", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    groups = [{names[j].split("=")[0] for j in group} for group in sx.load(out).groups]
    assert groups == [{"size", "weight"}, {"town"}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--column-groups", "encoded"], "needs --l1"),
        (["--l1", "1", "--column-groups", "size,length"], "'length', which is no column"),
        (["--l1", "1", "--column-groups", "encoded", "--memory", "1GB"], "in memory"),
        (["--l1", "1", "--column-groups", "encoded", "--lift", "polynomial:2"], "as they are read"),
    ],
)
def test_what_cannot_be_is_refused_in_words(shop, more, words):
    done = run("fit", shop, "--target", "bought", *more)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())


def test_a_table_without_categories_has_no_encoded_groups(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{k},{k % 3},{k % 2}" for k in range(12)) + "\n")
    done = run("path", path, "--target", "y", "--l1", "1", "--column-groups", "encoded")
    assert done.returncode == 2
    assert "every feature is a column" in " ".join(done.stderr.replace("│", " ").split())


def test_blocks_of_rows_and_streams_have_no_sparse_weights(shop, tmp_path):
    rows = tmp_path / "rows.libsvm"
    rows.write_text("".join(f"{k % 2} 1:{k} 2:{k % 3}\n" for k in range(12)))
    done = run("fit", rows, "--l1", "1", "--memory", "1GB")
    assert done.returncode == 2
    assert "needs whole columns" in " ".join(done.stderr.replace("│", " ").split())
    done = run("stream", shop, "--target", "bought", "--l1", "1")
    assert done.returncode == 2
    assert "--l1" in done.stderr
    with pytest.raises(TypeError, match="l1_ratio"):
        sx.SGD(l1_ratio=1.0)
