import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from tests.amounts import cases
from tests.naive.separability import kind

import separatrix as sx
from separatrix.core.verdict import Witness
from separatrix.estimators.separability import cover_count, name_case
from separatrix.plots.separability import save_shattering


def points_of(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    if seed % 3 == 0:
        return rng.integers(-2, 3, size=(n, d)).astype(float)
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-9, 10, size=d)


def in_general_position(points):
    """Whether no d + 1 points or fewer are affinely dependent: integers only, so ranks are sure."""
    rows = np.column_stack([np.ones(len(points)), points])
    for size in range(1, min(rows.shape) + 1):
        for part in combinations(range(len(rows)), size):
            if np.linalg.matrix_rank(rows[list(part)]) < size:
                return False
    return True


@pytest.mark.parametrize("seed", cases(18))
def test_every_labeling_against_the_simplex_in_fractions(seed):
    points, intercept = points_of(seed), seed % 2 == 0
    result = sx.shatter(points, fit_intercept=intercept)
    assert [labeling.text for labeling in result.labelings] == sorted(
        labeling.text for labeling in result.labelings
    )
    assert len(result.labelings) == 2 ** len(points)
    for labeling in result.labelings:
        signs = 2.0 * np.array(labeling.labels) - 1.0
        assert labeling.kind == kind(points.tolist(), signs.tolist(), intercept)
        assert labeling.check(points)
        assert (labeling.witness is None) == labeling.possible
        if not labeling.possible:
            assert labeling.reason
            assert len(labeling.witness.rows) <= points.shape[1] + 1 + intercept
    assert result.check()


@pytest.mark.parametrize("seed", cases(24))
def test_covers_count_is_reached_in_general_position_and_nowhere_else(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, size=(int(rng.integers(1, 6)), int(rng.integers(1, 4))))
    result = sx.shatter(points)
    assert result.count <= result.cover
    assert result.general_position == in_general_position(points)


def test_the_count_by_its_recurrence():
    """Cover's induction: C(n + 1, D) = C(n, D) + C(n, D - 1)."""
    for n in range(1, 12):
        assert cover_count(n, 1) == 2
        for dimension in range(2, 8):
            assert cover_count(n + 1, dimension) == cover_count(n, dimension) + cover_count(
                n, dimension - 1
            )


@pytest.mark.parametrize(
    ("points", "labels", "case", "reason"),
    [
        (
            [[0, 0], [4, 0], [0, 4], [1, 1]],
            "0001",
            "inside the triangle",
            "inside the triangle ABC",
        ),
        ([[0, 0], [1, 0], [1, 1], [0, 1]], "0101", "diagonals", "AC and BD"),
        ([[0, 0], [2, 2], [3, 0], [1, 1]], "0001", "on the line", "D lies on the line AB, between"),
        ([[0, 0], [0, 0], [1, 0]], "010", "same point", "A and B are the same point"),
        (
            [[0.0] * 3, [4, 0, 0], [0, 4, 0], [0, 0, 4], [1, 1, 1]],
            "00001",
            "inside the simplex",
            "ABCD",
        ),
        (
            [[0, 0, 1], [0, 0, -1], [3, 0, 0], [-3, 2, 0], [-3, -2, 0]],
            "00111",
            "hulls meet",
            "AB and CDE",
        ),
    ],
)
def test_cases_are_named_as_in_the_lecture(points, labels, case, reason):
    labeling = sx.shatter(points)[labels]
    assert not labeling.possible
    assert labeling.case == case
    assert reason in labeling.reason


def test_opposite_labels_share_their_witness():
    result = sx.shatter([[0, 0], [4, 0], [0, 4], [1, 1]])
    assert result["0001"].witness == result["1110"].witness
    assert result[(1, 1, 1, 0)] is result["1110"]
    assert np.array_equal(result["0010"].weights, -result["1101"].weights)


def test_a_forged_verdict_is_refused():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    result = sx.shatter(points)
    impossible, possible = result["0001"], result["0010"]
    for witness in (
        Witness((0, 1, 2, 3), (2, 1, 1, 3)),
        Witness((0, 1, 2, 9), (2, 1, 1, 4)),
        Witness((0, 0, 2, 3), (2, 1, 1, 4)),
        Witness((-4, 1, 2, 3), (2, 1, 1, 4)),
        Witness((0, 1, 2), (2, 1, 1)),
        Witness((), ()),
        None,
    ):
        assert not replace(impossible, witness=witness).check(points)
    assert not replace(possible, labels=(0, 1, 0, 0)).check(points)
    assert not replace(impossible, kind="separable", certificate=possible.certificate).check(points)


def test_every_labeling_is_there_and_says_what_its_proof_does():
    """The possible ones stood for all of them, and lines with an intercept for those without."""
    square = sx.shatter([[0, 0], [1, 0], [1, 1], [0, 1]])
    assert square.check()
    possible = [labeling for labeling in square.labelings if labeling.possible]
    assert not replace(square, labelings=tuple((2 * possible)[:16])).check()
    assert not replace(square, labelings=tuple(possible)).check()
    assert not replace(square, names=tuple("DCBA")).check()
    row = sx.shatter([[1.0, 0.0], [2.0, 0.0]])
    assert row.check()
    assert not replace(row, intercept=False).check()
    assert sx.shatter(row.points, False).check()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_what_a_labeling_says_follows_from_its_certificate(fit_intercept):
    result = sx.shatter([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 1.0]], fit_intercept)
    assert result.check()
    for at, labeling in enumerate(result.labelings):
        other = {"overlapping": "quasi-separable"}.get(labeling.kind, "overlapping")
        forged = [replace(labeling, kind=other)]
        if labeling.possible:
            forged += [replace(labeling, weights=-7.0 * labeling.weights)]
            forged += [replace(labeling, intercept=labeling.intercept + 1.0)]
        else:
            forged += [replace(labeling, weights=np.ones(2), intercept=0.0)]
            forged += [replace(labeling, reason="nonsense"), replace(labeling, case="diagonals!")]
        for changed in forged:
            labelings = (*result.labelings[:at], changed, *result.labelings[at + 1 :])
            assert not replace(result, labelings=labelings).check(), changed


def test_a_case_is_named_after_points_that_are_all_needed():
    """Two pairs of equal points are no quadrilateral whose diagonals cross."""
    result = sx.shatter([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    labeling = result["0101"]
    assert labeling.case == "same point"
    wide = replace(labeling, witness=Witness((0, 1, 2, 3), (1, 1, 1, 1)))
    case, reason = name_case(["A", "C"], ["B", "D"], True)
    labelings = list(result.labelings)
    labelings[5] = replace(wide, case=case, reason=reason)
    assert not replace(result, labelings=tuple(labelings)).check()


def test_what_cannot_be_listed_is_refused():
    with pytest.raises(sx.DataError, match="at most 12 points"):
        sx.shatter(np.zeros((13, 2)))
    with pytest.raises(sx.DataError, match="rows of coordinates"):
        sx.shatter([1.0, 2.0])
    with pytest.raises(sx.DataError, match="one length"):
        sx.shatter([[1.0], [2.0, 3.0]])
    with pytest.raises(sx.DataError, match="nan as coordinate 1"):
        sx.shatter([[0.0, np.nan]])
    with pytest.raises(ValueError, match="names must be 2 different texts"):
        sx.shatter([[0.0], [1.0]], names=["a", "a"])
    with pytest.raises(KeyError, match="labels must be 2 of 0 and 1"):
        sx.shatter([[0.0], [1.0]])["012"]


def test_as_json_and_in_words():
    result = sx.shatter([[0.0], [1.0], [2.0]], names=["left", "middle", "right"])
    whole = json.loads(result.to_json())
    assert whole["count"] == result.count == 6
    assert len(whole["labelings"]) == 8
    named = {labeling["labels"]: labeling for labeling in whole["labelings"]}
    assert named["010"]["witness"] == {"rows": [0, 1, 2], "multipliers": ["0x1", "0x2", "0x1"]}
    assert "middle lies on the line left, right" in named["010"]["reason"]
    assert named["011"]["witness"] is None
    flat = str(sx.shatter(np.arange(7.0)[:, None]))
    assert "and 98 more" in flat


@pytest.mark.long
def test_the_sheet_is_drawn(tmp_path):
    for name, points in {"a": [[0, 0], [4, 0], [0, 4], [1, 1]], "b": [[0, 0], [0, 0]]}.items():
        path = tmp_path / f"{name}.svg"
        save_shattering(sx.shatter(points), path)
        assert path.stat().st_size > 10_000
    with pytest.raises(ValueError, match="in the plane"):
        save_shattering(sx.shatter([[0.0], [1.0]]), tmp_path / "c.svg")
    with pytest.raises(ValueError, match="6 points"):
        save_shattering(sx.shatter(np.eye(7)[:, :2]), tmp_path / "d.svg")
