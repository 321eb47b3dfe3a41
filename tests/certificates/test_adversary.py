"""A little of the long searches, so that they keep running: `make harden` does them whole."""

import io
import math
import pkgutil
import warnings
from importlib import import_module

import numpy as np
import pytest
from fuzz import adversary, adversary_exact, adversary_gaps, adversary_sparse, workers
from fuzz.exact_judge import Claim, exact
from fuzz.planted_faults import FAULTS, found_after

import separatrix.certificates
import separatrix.checker
from separatrix.certificates import least_squares, separation, sparse_gap

pytestmark = pytest.mark.long
TRIES = 60


@pytest.mark.parametrize("kind", adversary.KINDS)
def test_the_search_finds_no_false_claim(kind):
    said = []
    counts = adversary.climb(kind, TRIES, 1, say=lambda text, **_: said.append(text))
    assert said == []
    assert counts["presented"] >= TRIES
    assert counts["false"] == 0


def quiet(*_, **__):
    """Say nothing."""


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("hinge", "DualityGap"),
        ("scaled", "DualityGap"),
        ("kernel", "KernelGap"),
        ("softmax", "SoftmaxGap"),
        ("multiclass", "MulticlassGap"),
        ("kernel-multiclass", "KernelMulticlassGap"),
        ("sparse-logistic", "SparseGap"),
        ("sparse-hinge", "SparseGap"),
        ("sparse-softmax", "SparseSoftmaxGap"),
    ],
)
def test_bounds_that_are_a_little_false_are_noticed(monkeypatch, kind, name):
    """Enclosures moved down by a share of 1e-9: what is then proved and accepted is false."""
    made = getattr(adversary_sparse if kind.startswith("sparse") else adversary_gaps, name)
    real = made._found

    def lower(self, *given):
        for found in real(self, *given):
            yield found._replace(primal=found.primal * (1.0 - 1e-9))

    monkeypatch.setattr(made, "_found", lower)
    assert adversary.climb(kind, 100, 1, say=quiet, until_false=True)["false"] > 0


@pytest.mark.parametrize("kind", ["sparse-logistic", "sparse-hinge", "sparse-softmax"])
def test_columns_that_are_called_zero_too_soon_are_noticed(monkeypatch, kind):
    """The best dual point taken to be where the point of the claim is."""
    real = sparse_gap._reach
    at = lambda lengths, gap, numbers: real(lengths, gap * 0.0, numbers)  # noqa: E731
    monkeypatch.setattr(sparse_gap, "_reach", at)
    assert adversary.climb(kind, 80, 1, say=quiet, until_false=True)["false"] > 0


def test_a_least_squared_error_that_is_a_little_false_is_noticed(monkeypatch):
    real = least_squares.SquaresBounds.prove

    def wrong(_, *given):
        objective, least, *rest = real(*given)
        return objective, least * (1.0 + 1e-6), *rest

    monkeypatch.setattr(least_squares.SquaresBounds, "prove", classmethod(wrong))
    assert adversary.climb("least-squares", 900, 4, say=quiet, until_false=True)["false"] > 0


def test_an_upper_bound_on_margins_that_is_a_little_false_is_noticed(monkeypatch):
    real = separation.hull_point_length_up
    monkeypatch.setattr(
        separation, "hull_point_length_up", lambda *given: real(*given) * (1.0 - 1e-9)
    )
    assert adversary.climb("margin-bounds", 300, 1, say=quiet, until_false=True)["false"] > 0


@pytest.mark.parametrize("kind", ["separation", "partition", "errors"])
def test_a_check_that_believes_everything_is_noticed(monkeypatch, kind):
    made = adversary_exact.EXACT[kind]
    real = made.claim

    def believing(point):
        shown = real(point)
        object.__setattr__(shown.proof, "check", lambda *_: True)
        return shown

    monkeypatch.setattr(made, "claim", believing)
    assert adversary.climb(kind, 100, 1, say=quiet, until_false=True)["false"] > 0


PLANTED = [
    ("no rounding outwards", "hinge"),
    ("multipliers need not balance", "kernel-overlap"),
    ("multipliers of a witness below zero", "partition"),
    ("a margin a millionth too large", "verdict"),
]


@pytest.mark.parametrize(("name", "kind"), PLANTED)
def test_faults_that_are_put_into_the_code_are_found(name, kind):
    """`python -m fuzz.planted_faults` does all of them, with several seeds."""
    (fault,) = (each for each in FAULTS if (each.name, each.kind) == (name, kind))
    assert found_after(fault, 0, 600) is not None


def test_the_search_is_the_same_for_the_same_seed():
    counts = [adversary.climb("kernel-overlap", 60, [3, 1], say=quiet) for _ in range(2)]
    assert counts[0] == counts[1]


def test_every_certificate_has_a_kind():
    """Whatever has a `check` in `certificates` is presented by some kind."""
    presented = {"FewestErrors", "Partition", "Separation", "InferenceProof"}
    presented |= {"DualityGaps", "PairGaps", "KernelGaps"}  # all in "several"
    rng = np.random.default_rng(1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in adversary.BOUNDS.values():
            presented.add(type(shown_first(kind, rng)).__name__)
    bases = {"TwoBounds", "SquaresClaim", "EachMachine", "Written", "AboutData"}
    bases |= {"KernelClaim", "NamedMultipliers", "WeightsByClass", "SparseClaim", "OfKernel"}
    found = set()
    for module in pkgutil.iter_modules(separatrix.certificates.__path__):
        inside = import_module(f"separatrix.certificates.{module.name}")
        for name, made in vars(inside).items():
            own = isinstance(made, type) and made.__module__ == inside.__name__
            found |= {name} if own and hasattr(made, "check") else set()
    assert found - bases == presented


def shown_first(kind, rng):
    """Return the first claim of a kind that is not refused by name."""
    while True:
        try:
            return kind.claim(adversary.finite(kind.start(rng))).proof
        except (ValueError, separatrix.checker.Refused):
            continue


def test_a_run_says_how_far_it_is():
    said = io.StringIO()
    with workers.Followed(10, every=0.0, to=said) as followed:
        followed.add("hinge", 4, 0)
        followed.add("kernel", 1, 1)
    assert "5 of 10" in said.getvalue()
    assert "hinge 4, kernel 1; false: 1 of kernel" in said.getvalue()


def test_slow_kinds_get_some_hundreds_of_many():
    shares = adversary.shared_out(1_000_000, adversary.KINDS)
    assert min(shares.values()) >= 300
    assert shares["inference"] < shares["hinge"] / 20
    assert workers.interleaved([[1, 2, 3, 4], ["a", "b"]]) == [1, "a", 2, 3, "b", 4]


def test_a_forged_bound_is_the_next_float_that_is_false():
    above = Claim("primal", ">=", 2.0, lambda: exact(1.0))
    below = Claim("dual", "<=", 0.5, lambda: exact(1.0))
    assert above.verdict() == below.verdict() == ""
    assert above.refuted() == math.nextafter(1.0, 0.0)
    assert below.refuted() == math.nextafter(1.0, 2.0)
    assert above.room() == 0.0


def test_costs_that_are_infinite_beside_finite_ones_are_drawn():
    """The findings of the attack that rest on them are within reach of the search."""
    rng = np.random.default_rng(0)
    drawn = [adversary_gaps.costs_of_rows(rng, 3) for _ in range(300)]
    assert any(np.isinf(costs).any() and np.isfinite(costs).any() for costs in drawn)
    assert any((costs > 4.5e307).all() and np.isfinite(costs).all() for costs in drawn)
