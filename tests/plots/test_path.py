"""The picture of the path says what the table says."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from separatrix.plots.curves import draw_path, save_path
from separatrix.selection.path_table import PathTable


def made(validation, training, chosen, loss="hinge"):
    C = np.geomspace(0.01, 100.0, len(validation))
    columns = {
        "C": C,
        "validation_error": np.array(validation),
        "validation_spread": np.full(len(C), 0.01),
        "standard_error": np.full(len(C), 0.005),
        "training_error": np.array(training),
        "n_support": np.linspace(100.0, 10.0, len(C)),
        "margin": np.linspace(1.0, 0.1, len(C)),
        "n_folds": np.full(len(C), 5),
    }
    return PathTable(columns, chosen, "least", np.zeros((len(C), 5)), (), loss)


def words(table):
    figure = Figure()
    draw_path(figure, table)
    upper, lower = figure.axes
    return " ".join(text.get_text() for text in upper.texts), upper, lower


def test_ends_are_named_where_the_errors_show_them():
    both, upper, lower = words(made([0.3, 0.1, 0.2], [0.3, 0.08, 0.0], 1))
    assert "underfitting" in both
    assert "overfitting" in both
    assert lower.get_ylabel() == "support vectors"
    assert "10.0 %" in upper.get_title()
    flat, _, _ = words(made([0.1, 0.1, 0.1], [0.1, 0.1, 0.1], 0))
    assert not flat
    _, _, lower = words(made([0.3, 0.1, 0.2], [0.3, 0.08, 0.0], 1, "logistic"))
    assert lower.get_ylabel() == "margin"


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_picture_is_written_whole(tmp_path, ending):
    save_path(made([0.3], [0.2], 0), tmp_path / f"path.{ending}")
    assert [file.name for file in tmp_path.iterdir()] == [f"path.{ending}"]
