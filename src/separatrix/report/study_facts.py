"""What a study found, put into the facts that its page and its JSON tell."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix import __version__
from separatrix.core.checks import ratio_of
from separatrix.core.explanation import weights_by_name
from separatrix.core.linear_model import least_cost
from separatrix.core.verdict import Verdict
from separatrix.data.encodings.column_codes import NumberCode
from separatrix.data.encodings.column_features import deviations
from separatrix.data.summary import summarise
from separatrix.data.table import Table
from separatrix.report import facts as f
from separatrix.report.advice import next_steps
from separatrix.report.conclusions import answer, reading_of
from separatrix.report.evaluation import (
    Excerpts,
    calibration_of,
    curves_of,
    importance_of,
    margins_of,
    mistakes_of,
    own_margins,
)
from separatrix.report.learning import learning_facts
from separatrix.report.measures import class_measures, measures_of, regression_facts
from separatrix.report.replay import replay_facts
from separatrix.report.scoring import imbalance_facts, scoring_facts, threshold_facts
from separatrix.report.verdict import digest, joined_verdicts, verdict_facts
from separatrix.selection.opening import TestResult
from separatrix.selection.path_table import PathTable

if TYPE_CHECKING:
    from separatrix.report.study import Study

__all__ = ["facts_of"]

_FEATURES = 20
_CHECKED_ENTRIES = 20_000_000  # above, proofs are not checked once more
_SUPPORT = 10
_NO_PART = 200  # names of features without a weight
_HUGE_SPREAD = 1000.0
_MANY_REPEATED = 0.05  # of the test rows


def facts_of(
    work: Study, verdicts: list[Verdict], machine: Any, path: PathTable, result: TestResult
) -> f.Facts:
    """Return all that a study found."""
    table, parts, names = work.table, work.parts, work.names
    if table.texts is None:
        work.excerpts.importance = importance_of(
            machine.coef_, work.encoded.feature_names, table.feature_names
        )
    train_scores = machine.decision_function(work.model_train)
    test_scores = machine.decision_function(work.model_test)
    chances, threshold = machine.predict_proba(work.model_test), float(machine.threshold_)
    entries = getattr(table.X, "nnz", table.X.size)
    small = entries <= _CHECKED_ENTRIES
    facts = f.Facts(
        title=work.settings.title or source_of(table),
        question=_question(names, table),
        made_with=f.MadeWith(__version__),
        data=data_facts(
            table, summarise(table), names, work.codes, parts, work.settings.features == "raw",
            notes_of(work),
        ),
        split=f.Split(
            len(parts.train), len(parts.test), f"The test holds {parts.how}.",
            None if work.folding.times is not None else work.settings.seed,
            len(parts.validation) or None,
        ),
        verdict=_verdicts(work, verdicts, small),
        candidates=work.candidates or (raw_candidate(machine, path, work),),
        baseline=baseline_facts(work.codes_train, names),
        chosen_by=_chosen_by(work),
        curve_gains=work.gains,
        path=path_facts(
            path, work.settings.folds, work.settings.times, work.remarks,
            "error" if (chose := work.chose) is None else chose.title, _errors_at(work, machine),
        ),
        scoring=scoring_facts(work, path, test_scores, chances, threshold),
        threshold=threshold_facts(work, test_scores),
        imbalance=imbalance_facts(work, test_scores, threshold),
        machine=machine_facts(
            machine, work.model_train, work.y_train,
            machine.certificate_.check(work.model_train, work.y_train) if small else None,
        ),
        replay=replay_facts(
            machine, work.model_train, work.codes_train, work.encoded.feature_names,
            work.settings.seed,
        ),
        test=test_facts(result, parts.test, work.y_train),
        measures=measures_of(result.confusion, test_scores, chances, work.codes_test),
        per_class=class_measures(result.confusion, names),
        learning=learning_facts(work, machine, path),
        bounds=tuple(
            f.Bound(bound.name, bound.value, bound.assumptions, bound.confidence, str(bound))
            for bound in result.bounds
        ),
        features=feature_facts(machine, work.model_train, work.encoded.feature_names, names),
        regression=regression_facts(work),
        support=support_facts(
            machine, work.model_train, work.codes_train, parts.train, names, work.excerpts
        ),
        curves=curves_of(test_scores, work.codes_test, names),
        calibration=calibration_of(
            chances, work.codes_test, names,
            "Probabilities are fitted on held-out folds." if hasattr(machine, "probability") else
            "Probabilities are those of the model itself.",
        ),
        margins=margins_of(
            {
                "train": (train_scores, work.codes_train),
                "test": (test_scores, work.codes_test),
            },
            names,
        ),
        mistakes=mistakes_of(
            test_scores, work.codes_test, parts.test, names, work.excerpts, threshold,
            _codes_at_costs(machine, chances),
        ),
        commands=work.commands,
    )  # fmt: skip
    assert facts.path is not None, "it was given above"
    facts = dataclasses.replace(facts, reading=reading_of(facts.path), measures=_agreeing(facts))
    steps = next_steps(facts, work.settings, work.again)
    facts = dataclasses.replace(facts, next_steps=steps)
    return dataclasses.replace(facts, answer=answer(facts))


def _agreeing(facts: f.Facts) -> tuple[f.Measure, ...]:
    """Return the measures; one that has an interval elsewhere on the page has the same here."""
    known = {}
    if (rare := facts.imbalance) is not None:
        known["balanced_accuracy"] = rare.low, rare.high, rare.how
    if (chosen := facts.scoring) is not None:
        name = "balanced_accuracy" if chosen.name == "balanced" else chosen.name
        known[name] = chosen.low, chosen.high, chosen.how
    return tuple(
        f.Measure(part.name, part.value, *known[part.name]) if part.name in known else part
        for part in facts.measures
    )


def _codes_at_costs(machine: Any, chances: np.ndarray) -> np.ndarray | None:
    """Return the classes predicted where mistakes have costs; None where the scores decide."""
    costs = getattr(machine, "costs_", None)
    return None if costs is None else least_cost(chances, costs)


def _chosen_by(work: Study) -> str:
    """Say what chose among several candidates; of one there was nothing to choose but C."""
    if len(work.candidates) < 2 and work.chose is work.measure:
        return ""
    from separatrix.selection.compared import rule_of_choice

    rows, cuts = (max(getattr(c, name) for c in work.candidates) for name in ("n_rows", "cuts"))
    return rule_of_choice(rows, work.chose, cuts, is_hard=work.chose is not work.measure)


def _errors_at(work: Study, machine: Any) -> str:
    """Say at which threshold the errors of held-out rows were counted; "" for the usual one."""
    if work.chose is None:
        return ""
    if not work.chose.has_threshold(len(machine.coef_)):
        return "the sign of the score" if len(work.names) == 2 else "the largest score"
    if work.alarm_bound is not None:
        return "the threshold, and of what was not chosen at one of as many false alarms"
    return "the threshold that is best for it"


def _verdicts(work: Study, verdicts: list[Verdict], check: bool) -> f.Verdict:
    each = []
    for k, verdict in enumerate(verdicts):
        number = 1 if len(verdicts) == 1 else k
        signs = np.where(work.codes_train == number, 1, 0)
        has_proof = check and verdict.certificate is not None
        checked = verdict.check(work.X_train, signs) if has_proof else None
        one = verdict_facts(verdict, work.parts.train, work.y, work.excerpts, checked)
        each.append(dataclasses.replace(one, name=work.names[number]))
    return joined_verdicts(each)


def _question(names: list[str], table: Table) -> str:
    who = f"{names[0]} from {names[1]}" if len(names) == 2 else f"{len(names)} classes apart"
    return f"Can a hyperplane in {table.X.shape[1]:,} features tell {who}?"


def source_of(table: Table) -> str:
    """Return the names of the files without the folders, which are nobody's business."""
    return ", ".join(os.path.basename(part.rstrip("/")) for part in table.source.split(", "))


def data_facts(
    table: Table,
    summary: dict[str, Any],
    names: list[str],
    codes: np.ndarray,
    parts: Any,
    from_all_rows: bool,
    notes: Sequence[str],
) -> f.Data:
    """Tell what was read."""
    every = (np.arange(len(codes)), parts.train, parts.test)
    counts = [np.bincount(codes[rows], minlength=len(names)).tolist() for rows in every]
    classes = [f.ClassCount(name, *count) for name, *count in zip(names, *counts, strict=True)]
    return f.Data(
        source=source_of(table),
        n_rows=table.X.shape[0],
        n_features=table.X.shape[1],
        classes=tuple(classes),
        sha256=table.sha256,
        kind=table.kind,
        target=table.target,
        notes=(
            *(_without_folders(note, table) for note in notes),
            *_oddities(summary, table, from_all_rows),
        ),
    )


def notes_of(work: Study) -> list[str]:
    """Return the notes of reading; medians are those that the model takes, of the training rows."""
    notes = list(work.table.notes)
    if work.encoded.encoding is work.table.encoding:
        return notes
    before, after = _medians(work.table), _medians(work.encoded)
    for name in before.keys() & after.keys():
        said = f"each replaced by the median {before[name]:g} and"
        again = f"each replaced by the median {after[name]:g} of the training rows and"
        notes = [
            note.replace(said, again) if note.startswith(f"{name}: ") else note for note in notes
        ]
    return notes


def _medians(table: Table) -> dict[str, float]:
    encoding = getattr(table.encoding, "inner", table.encoding)
    codes = getattr(encoding, "codes", ())
    return {code.name: code.median for code in codes if isinstance(code, NumberCode)}


def _without_folders(note: str, table: Table) -> str:
    for part in table.source.split(", "):
        for folder in (part.rstrip("/"), os.path.dirname(part)):
            if folder:
                note = note.replace(f"{folder}/", "")
    return note


def _oddities(found: dict[str, Any], table: Table, from_all_rows: bool) -> list[str]:
    notes = []
    if found["constant_columns"]:
        notes.append(f"{found['constant_columns']:,} columns hold one value only")
    if found["duplicate_columns"]:
        notes.append(f"{found['duplicate_columns']:,} columns repeat another")
    if found["duplicate_rows"]:
        notes.append(f"{found['duplicate_rows']:,} rows repeat another")
    if found["opposed_rows"]:
        notes.append(
            f"{found['opposed_rows']:,} rows equal a row with another label: no hyperplane "
            "classifies all of them correctly"
        )
    if found["scale_spread"] > _HUGE_SPREAD:
        notes.append(
            f"the largest values of the columns differ by a factor of {found['scale_spread']:,.0f}"
        )
    if from_all_rows and table.encoding is not None and table.kind not in ("libsvm", "idx"):
        notes.append(
            "the encoding of raw values as features was learned on all rows, test rows included, "
            "but without their labels"
        )
    notes.append("rows are numbered from 0, in the order of the data")
    return notes


# ---- path and machine


def path_facts(
    table: Any,
    folds: int,
    times: bool,
    remarks: tuple[str, ...],
    measure: str = "error",
    errors_at: str = "",
) -> f.Path:
    """Tell the path over C, and what chose on it."""
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
            score=row.get("validation_score"),
            score_error=row.get("score_error"),
        )
        for row in table
    ]
    errors = [row.validation_error for row in rows]
    return f.Path(
        rows=tuple(rows),
        chosen=table.C,
        reason=" ".join([table.reason, *table.notes, *remarks]),
        folds=folds,
        measure=measure,
        errors_at=errors_at,
        best=rows[int(np.argmin(errors))].C,
        seconds=float(table["seconds"].sum()) if times else None,
    )


def raw_candidate(machine: Any, path: PathTable, work: Study) -> f.Candidate:
    """Tell the one candidate of a study that compares nothing but C."""
    row = list(path)[path.chosen]
    return f.Candidate(
        features=work.settings.features, loss=getattr(machine, "loss", "logistic"), C=path.C,
        error=row["validation_error"], standard_error=row["standard_error"],
        n_features=work.model_train.shape[1], n_rows=work.model_train.shape[0], chosen=True,
        seconds=float(path["seconds"].sum()) if work.settings.times else None,
        l1_ratio=ratio_of(machine),
        n_nonzero=round(row["n_nonzero"]) if "n_nonzero" in row else None,
    )  # fmt: skip


def baseline_facts(codes: np.ndarray, names: list[str]) -> f.Baseline:
    """Tell what naming the commonest class comes to; stratified folds have its share each."""
    counts = np.bincount(codes, minlength=len(names))
    commonest = int(np.argmax(counts))
    return f.Baseline(names[commonest], float(1.0 - counts[commonest] / counts.sum()))


def machine_facts(machine: Any, X: Any, y: np.ndarray, checked: bool | None) -> f.Machine:
    """Tell the machine that was fitted at the end."""
    proof = machine.certificate_
    proofs = getattr(proof, "machines", (proof,))
    margin = getattr(machine, "margin_", None)
    return f.Machine(
        name=type(machine).__name__,
        loss=getattr(proofs[0], "loss", "logistic"),  # a multinomial proof names none
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
        certificate=digest("\n".join(one.to_json() for one in proofs)),
        proof=proof.in_words() if checked else str(proof),
        checked=checked,
        l1_ratio=ratio_of(machine),
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
        new_rows=_new_rows(result, len(overlap)),
        baseline=float(1.0 - totals[commonest] / totals.sum()),
        sealed="Opened once, after C was chosen and the model fitted and proved.",
    )


def _new_rows(result: TestResult, repeated: int) -> f.NewRows | None:
    """Tell the errors on the rows that do not stand in training, where many others do."""
    fresh = result.fresh
    if repeated <= _MANY_REPEATED * result.n:
        return None
    if fresh is None:  # all of them do
        return f.NewRows(0, 0)
    return f.NewRows(fresh.n, fresh.errors, fresh.rate, fresh.lower, fresh.upper)


# ---- what weighs


def feature_facts(machine: Any, X: Any, names: Any, classes: list[str]) -> tuple[f.Features, ...]:
    """Name the weights of most effect: weight times the spread of its column."""
    spreads = deviations(X)
    found = []
    proofs = getattr(machine.certificate_, "machines", (machine.certificate_,))
    proofs = proofs * len(machine.coef_) if len(proofs) == 1 else proofs  # one of all classes
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
                **_no_part(proofs[k] if ratio_of(machine) else None, names),
            )
        )
    return tuple(found)


def _no_part(proof: Any, names: Any) -> dict[str, Any]:
    """Name the features that are proved to have no weight; nothing of dense weights."""
    if proof is None:
        return {}
    first = tuple(str(names[j]) for j in proof.zeros[:_NO_PART].tolist())
    return {"n_proved_zero": len(proof.zeros), "proved_zero": first}


def support_facts(
    machine: Any, X: Any, codes: np.ndarray, rows: np.ndarray, names: list[str], excerpts: Excerpts
) -> tuple[f.Support, ...]:
    """Name the training rows of most influence; of equals, those most on the wrong side."""
    proof = machine.certificate_
    proofs = getattr(proof, "machines", (proof,))
    if not hasattr(proofs[0], "multipliers"):
        return ()  # of a multinomial model every row has a share
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
