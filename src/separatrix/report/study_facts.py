"""What a study found, put into the facts that its page and its JSON tell."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np

from separatrix.core.explanation import weights_by_name
from separatrix.data.scaling import deviations
from separatrix.data.table import Table
from separatrix.report import facts as f
from separatrix.report.evaluation import own_margins
from separatrix.report.excerpts import Excerpts
from separatrix.selection.opening import TestResult

__all__ = [
    "data_facts",
    "feature_facts",
    "machine_facts",
    "path_facts",
    "support_facts",
    "test_facts",
    "verdict_facts",
]

_WITNESS_ROWS = 8
_FEATURES = 20
_SUPPORT = 10
_HUGE_SPREAD = 1000.0


def source_of(table: Table) -> str:
    """Return the names of the files without the folders, which are nobody's business."""
    return ", ".join(os.path.basename(part.rstrip("/")) for part in table.source.split(", "))


def data_facts(
    table: Table, summary: dict[str, Any], names: list[str], codes: np.ndarray, parts: Any
) -> f.Data:
    """Tell what was read."""
    counts = [np.bincount(codes[rows], minlength=len(names)) for rows in (parts.train, parts.test)]
    classes = [
        f.ClassCount(name, int(train + test), int(train), int(test))
        for name, train, test in zip(names, *counts, strict=True)
    ]
    return f.Data(
        source=source_of(table),
        n_rows=table.X.shape[0],
        n_features=table.X.shape[1],
        classes=tuple(classes),
        sha256=table.sha256,
        kind=table.kind,
        target=table.target,
        notes=(
            *(_without_folders(note, table) for note in table.notes),
            *_oddities(summary, table),
        ),
    )


def _without_folders(note: str, table: Table) -> str:
    for part in table.source.split(", "):
        for folder in (part.rstrip("/"), os.path.dirname(part)):
            if folder:
                note = note.replace(f"{folder}/", "")
    return note


def _oddities(found: dict[str, Any], table: Table) -> list[str]:
    notes = []
    if found["constant_columns"]:
        notes.append(f"{found['constant_columns']:,} columns hold one value only")
    if found["duplicate_columns"]:
        notes.append(f"{found['duplicate_columns']:,} columns repeat another")
    if found["duplicate_rows"]:
        notes.append(f"{found['duplicate_rows']:,} rows repeat another")
    if found["opposed_rows"]:
        notes.append(
            f"{found['opposed_rows']:,} rows have a twin with another label: no hyperplane gets "
            "them all right"
        )
    if found["scale_spread"] > _HUGE_SPREAD:
        notes.append(
            f"the largest values of the columns differ by a factor of {found['scale_spread']:,.0f}"
        )
    if table.encoding is not None and table.kind not in ("libsvm", "idx"):
        notes.append(
            "how raw values become features was learned on all rows, those of the test included, "
            "but without their labels"
        )
    notes.append("rows are numbered from 0, in the order of the data")
    return notes


# ---- the verdict


def verdict_facts(
    verdict: Any, rows: np.ndarray, labels: np.ndarray, excerpts: Excerpts, checked: bool | None
) -> f.Verdict:
    """Tell a verdict on training rows by their numbers in the table."""
    witness = verdict.witness
    listed: list[f.WitnessRow] = []
    sentence = str(verdict)
    if witness is not None:
        numbers = tuple(int(rows[row]) for row in witness.rows)
        sentence = sentence.replace(str(witness), str(type(witness)(numbers, witness.multipliers)))
        for row, multiplier in list(zip(numbers, witness.multipliers, strict=True))[:_WITNESS_ROWS]:
            listed.append(f.WitnessRow(row, _short(multiplier), str(labels[row]), excerpts.of(row)))
    proof = verdict.certificate
    return f.Verdict(
        kind=verdict.kind,
        sentence=sentence,
        margin=verdict.margin,
        witness=tuple(listed),
        witness_rows=0 if witness is None else len(witness.rows),
        checked=checked,
        certificate="" if proof is None else _digest(proof.to_json()),
    )


def _short(number: int) -> str:
    text = str(number) if number.bit_length() <= 64 else ""
    return text if text and len(text) <= 12 else f"about 1e{round(number.bit_length() * 0.30103)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ---- path and machine


def path_facts(table: Any, folds: int, times: bool, remarks: tuple[str, ...]) -> f.Path:
    """Tell the path over C."""
    rows = [
        f.PathRow(
            C=row["C"],
            validation_error=row["validation_error"],
            validation_spread=row["standard_error"],
            training_error=row["training_error"],
            n_support=row["n_support"],
            margin=row["margin"],
            gap=row["gap"],
            seconds=row["seconds"] if times else None,
        )
        for row in table
    ]
    errors = [row.validation_error for row in rows]
    return f.Path(
        rows=tuple(rows),
        chosen=table.C,
        reason=" ".join([table.reason, *table.notes, *remarks]),
        folds=folds,
        best=rows[int(np.argmin(errors))].C,
        seconds=float(table["seconds"].sum()) if times else None,
    )


def machine_facts(machine: Any, X: Any, y: np.ndarray, checked: bool | None) -> f.Machine:
    """Tell the machine that was fitted at the end."""
    proof = machine.certificate_
    proofs = getattr(proof, "machines", (proof,))
    margin = getattr(machine, "margin_", None)
    return f.Machine(
        name=type(machine).__name__,
        loss=proofs[0].loss,
        C=float(machine.C),
        objective=float(np.sum(machine.objective_)),
        dual_objective=float(np.sum(machine.dual_objective_)),
        gap=float(machine.gap_),
        tol=float(machine.tol),
        status=str(machine.status_),
        n_support=len(machine.support_) if hasattr(machine, "support_") else None,
        n_rows=X.shape[0],
        margin=float(margin) if isinstance(margin, float) else None,
        training_errors=int(np.count_nonzero(machine.predict(X) != y)),
        n_machines=len(proofs),
        certificate=_digest("\n".join(one.to_json() for one in proofs)),
        proof=str(proof),
        checked=checked,
    )


def test_facts(result: TestResult, rows: np.ndarray, y_train: np.ndarray) -> f.OpenedTest:
    """Tell what the sealed test came to; its rows by their numbers in the table."""
    overlap = np.zeros(0, dtype=np.int64) if result.overlap is None else result.overlap
    totals = result.confusion.sum(axis=1)
    commonest = int(np.argmax(np.unique(y_train, return_counts=True)[1]))
    return f.OpenedTest(
        n=result.n,
        errors=result.errors,
        rate=result.rate,
        low=result.interval.lower,
        high=result.interval.upper,
        confidence=result.interval.confidence,
        confusion=tuple(tuple(int(count) for count in row) for row in result.confusion),
        duplicates=len(overlap),
        duplicate_rows=tuple(int(rows[at]) for at in overlap[:_FEATURES]),
        baseline=float(1.0 - totals[commonest] / totals.sum()),
        sealed="Opened once, after C was chosen and the machine fitted and proved.",
    )


# ---- what weighs


def feature_facts(machine: Any, X: Any, names: Any, classes: list[str]) -> tuple[f.Features, ...]:
    """Name the weights of most effect: weight times the spread of its column."""
    spreads = deviations(X)
    found = []
    for k, weights in enumerate(machine.coef_):
        heaviest = weights_by_name(machine, names, spreads=spreads, machine=k, most=_FEATURES)
        two = len(classes) == 2
        found.append(
            f.Features(
                towards=classes[1] if two else classes[k],
                against=classes[0] if two else "all others",
                features=tuple(
                    f.Feature(one.name, one.weight, one.importance or 0.0)
                    for one in heaviest
                    if one.weight != 0.0
                ),
                intercept=float(machine.intercept_[k]),
                total=len(weights),
                nonzero=int(np.count_nonzero(weights)),
            )
        )
    return tuple(found)


def support_facts(
    machine: Any, X: Any, codes: np.ndarray, rows: np.ndarray, names: list[str], excerpts: Excerpts
) -> tuple[f.Support, ...]:
    """Name the training rows of most influence; of equals, those most on the wrong side."""
    proof = machine.certificate_
    proofs = getattr(proof, "machines", (proof,))
    alpha = np.max([one.multipliers for one in proofs], axis=0)
    margins = own_margins(machine.decision_function(X), codes)
    order = np.lexsort((margins, -alpha.round(12)))[:_SUPPORT]
    return tuple(
        f.Support(
            row=int(rows[at]),
            label=names[int(codes[at])],
            alpha=float(alpha[at]),
            margin=float(margins[at]),
            excerpt=excerpts.of(int(rows[at])),
        )
        for at in order
        if alpha[at] > 0.0
    )
