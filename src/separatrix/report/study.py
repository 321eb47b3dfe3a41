"""The main job: data in; verdict, path, certified machine, honest test and report out.

    choose C     minimise over C   the mean validation error, or another measure, over the folds
    fit          minimise          1/2 |w|^2 + C sum loss   on all training rows, with proof
                                   (of sparse weights |w|_1 in place of 1/2 |w|^2)
    test         once              on rows that had no part in either

Every finished step and fold is kept (`journal`), so that a study that was ended goes on where it
was, and ends with the same bytes, apart from times.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.core.checks import checked_ratio, one_of, positive
from separatrix.core.verdict import Verdict
from separatrix.data.table import AS_READ, Table
from separatrix.errors import ContaminatedTestError, ModelFileError
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.report import facts as f
from separatrix.report.advice import Again, changed_line
from separatrix.report.evaluation import Excerpts
from separatrix.report.journal import Journal, alone_in, key_of
from separatrix.report.scoring import alarm_bound, measure_of, set_apart, settled, thresholded
from separatrix.report.study_facts import facts_of
from separatrix.report.study_proof import STUDY_FORMAT, labels_of
from separatrix.report.study_rows import rows_of
from separatrix.report.verdict import verdict_within
from separatrix.selection.chosen_machine import chosen_machine, fitted_on, held_out_scores
from separatrix.selection.folds import Fold, folds_of
from separatrix.selection.opening import Overlap
from separatrix.selection.path import RULES
from separatrix.selection.path_table import PathTable
from separatrix.selection.refinement import fitting_loss, grid
from separatrix.selection.sealed_test import SealedTest
from separatrix.selection.split import Parts
from separatrix.solvers.running.drive import cores
from separatrix.storage.model_file import from_bytes, to_bytes

if TYPE_CHECKING:
    from separatrix.data.raw_rows import RawRows
    from separatrix.selection.compared import Compared
    from separatrix.selection.kernel_candidate import KernelCompared
    from separatrix.selection.scores import Measure

__all__ = ["OUTPUTS", "Settings", "Study", "study"]

OUTPUTS = ("report.html", "model.sx", "certificate.json", "path.csv", "study.json")
Progress = Callable[[str, float, float], None]
_AS_BEFORE = (
    ("device", "cpu"), ("features", AS_READ), ("lift", None), ("kernel", None), ("l1", None),
)  # fmt: skip
_OF_SCORING = ("scoring", "costs", "at_most_false_alarms", "minimax")
_RANKS = "The loss is logistic, whose scores rank rows at every threshold; --loss takes another."
_COSTS = (
    "Costs of several classes choose features, loss and C; predict names the class of least "
    "expected cost, by the calibrated probabilities."
)
_NO_TEXT_CURVE = "No curve was tried ({}): texts have no columns to bend."
_NO_CURVE = "No curve was tried (lift): there are too many columns."
_LATE_KERNEL = "No kernel was tried: the time was over."


@dataclass(frozen=True)
class Settings:
    """The settings of a study."""

    loss: str = "auto"
    l1: float | None = None  # of all candidates; None: the lasso is one where columns are many
    features: str = "auto"
    scale: str | None = None  # "standard" is features="standard"
    lift: str | None = None
    kernel: str | None = None
    Cs: tuple[float, ...] | int | None = None
    folds: int = 5
    test_share: float = 0.2
    seed: int = 0
    rule: str = "best"
    tol: float = 1e-4
    balanced: bool = False
    scoring: str | None = None
    costs: str | None = None
    at_most_false_alarms: float | None = None
    minimax: bool = False
    by_time: bool = False
    time: str | None = None
    group: str | None = None
    dedupe: bool = False
    positive: str | None = None
    max_seconds: float | None = None
    verdict_seconds: float = 60.0
    device: str = "cpu"
    title: str = ""
    times: bool = True

    def __post_init__(self) -> None:
        """Refuse what no study can do, before any row is read."""
        grid(self.Cs)
        one_of("scale", self.scale, (None, "standard"))
        if self.scale is not None:
            if self.features not in ("auto", "standard"):
                raise ValueError(
                    f"scale={self.scale!r} and features={self.features!r} both say what columns "
                    "become: give one of them."
                )
            object.__setattr__(self, "features", "standard")
            object.__setattr__(self, "scale", None)
        one_of("loss", self.loss, ("auto", "hinge", "squared_hinge", "logistic"))
        self._check_l1()
        one_of("lift", self.lift, (None, "auto"))
        one_of("kernel", self.kernel, (None, "auto"))
        one_of("rule", self.rule, RULES)
        positive("max_seconds", self.max_seconds, optional=True)
        positive("verdict_seconds", self.verdict_seconds, zero=True, infinite=True)
        positive("test_share", self.test_share)
        if self.lift is not None and self.features == AS_READ:
            raise ValueError(
                "lift makes products of columns, and features='raw' takes the columns as they are: "
                "give one of them."
            )
        if self.kernel is not None and self.features == AS_READ:
            raise ValueError(
                "kernel compares with standardised columns, and features='raw' compares nothing: "
                "give one of them."
            )

    def _check_l1(self) -> None:
        if self.l1 is None or not checked_ratio(self.l1):
            return
        if self.loss == "hinge":
            raise ValueError(
                "l1 above 0 has the logistic loss or the squared hinge. Got loss='hinge' instead."
            )
        if self.device != "cpu":
            raise ValueError("l1 above 0 is solved on the processor: use device='cpu'.")


def with_loss(settings: Settings, table: Table) -> tuple[Settings, tuple[str, ...]]:
    """Settle the loss: the hinge, or on large narrow data the one that is ten times faster.

    A measure other than the error needs scores that rank: the hinge knows one threshold only.
    Sparse weights have the logistic loss.
    """
    if settings.loss != "auto" or (settings.features != AS_READ and not settings.l1):
        return settings, ()
    if settings.l1:
        return dataclasses.replace(settings, loss="logistic"), ()
    if settings.scoring not in (None, "error"):
        return dataclasses.replace(settings, loss="logistic"), (_RANKS,)
    loss, remark = fitting_loss(table.X)
    return dataclasses.replace(settings, loss=loss), (remark,) if remark else ()


def study(
    table: Table,
    folder: str | Path,
    settings: Settings | None = None,
    *,
    commands: tuple[f.Command, ...] = (),
    progress: Progress | None = None,
) -> f.Facts:
    """Study a table and leave report, model, certificate, path and facts in the folder."""
    return Study(table, Path(folder), settings or Settings(), commands, progress).run()


class Study:
    """One study: its rows, its journal, and the steps in order."""

    def __init__(
        self,
        table: Table,
        folder: Path,
        settings: Settings,
        commands: tuple[f.Command, ...] = (),
        progress: Progress | None = None,
        again: Again | None = None,
    ) -> None:
        self.table, self.folder = table, folder
        self.settings, self.remarks = with_loss(settled(settings), table)
        self.commands, self.progress = commands, progress
        self.again = partial(changed_line, commands[0].line) if commands else again
        self.y = labels_of(table.y, settings.positive)
        self.classes, self.codes = np.unique(self.y, return_inverse=True)
        self.names = [str(name) for name in self.classes.tolist()]
        rows = rows_of(table, self.y, self.settings)
        self.folding = rows.folding
        self.table = table = dataclasses.replace(table, notes=[*table.notes, *rows.notes])
        self.measure = measure_of(settings := self.settings, self.names)
        if self.measure is not None and self.measure.costs.matrix:
            self.remarks += (_COSTS,)
        self.parts: Parts = set_apart(
            rows.parts, self.codes, self.names, settings, rows.folding.times
        )
        self.alarm_bound = alarm_bound(settings, self.parts, self.names)
        self.threshold: dict[str, Any] = {}
        X, train, test = table.X, self.parts.train, self.parts.test
        self.X_train, self.y_train, self.codes_train = X[train], self.y[train], self.codes[train]
        self.X_test, self.y_test, self.codes_test = X[test], self.y[test], self.codes[test]
        self.candidates: tuple[f.Candidate, ...] = ()
        self.gains: tuple[str, ...] = ()  # of curves
        self.excerpts = Excerpts(X, table.feature_names, table.texts)
        self._use(X, table.encoding, table.feature_names)
        self.journal: Journal

    def _use(self, X: Any, encoding: Any, names: Sequence[str]) -> None:
        """Take the features that the model is fitted on."""
        self.encoded = dataclasses.replace(self.table, X=X, encoding=encoding, feature_names=names)
        self.model_train, self.model_test = X[self.parts.train], X[self.parts.test]

    @cached_property
    def raw(self) -> RawRows:
        """The rows before anything is learned of them."""
        from separatrix.data.raw_rows import RawRows

        return RawRows(self.table)

    @property
    def key(self) -> str:
        """The name of this work: other data or settings have another."""
        data = data_of(self.table.X, self.codes, max(2, len(self.names)), True)
        chosen = {
            name: value
            for name, value in dataclasses.asdict(self.settings).items()
            if name not in ("title", "times", "verdict_seconds")
            # Older work is resumed under its name.
            and (name, value) not in _AS_BEFORE
            and name != "scale"
            and (name not in _OF_SCORING or value not in (None, False))
            and (name not in ("time", "group", "dedupe") or value)
        }
        if self.folding.groups is not None or self.folding.times is not None:
            chosen["rows"] = self._key_of_folds()
        return key_of({"data": fingerprint(data), "classes": self.names, "settings": chosen})

    def _key_of_folds(self) -> str:
        kept = self.folding.groups if self.folding.times is None else self.folding.times
        assert kept is not None, "folds keep something apart"
        return key_of({"folds": "apart", "values": [str(value) for value in kept.tolist()]})

    def folds(self) -> list[Fold]:
        """Return the folds of the training rows."""
        train, codes, classes = self.parts.train, self.codes_train, np.arange(len(self.names))
        return folds_of(
            self.folding.cv(train, codes), np.zeros((len(train), 1)), codes, classes,
            groups=self.folding.groups_of(train), seed=self.settings.seed,
        )  # fmt: skip

    def run(self) -> f.Facts:
        """Do what is not done yet, and write everything."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with alone_in(self.folder):
            self.journal = Journal(self.folder, self.key)
            try:
                facts = self._facts()
            except BaseException:
                self.journal.settle()
                raise
            self.journal.close()
        return facts

    def _facts(self) -> f.Facts:
        """Do the steps in order, and write what they found."""
        seal = self._sealed()
        self._say("verdict", 0, 1)
        verdicts = self._verdicts()
        machine, path = self._machine()
        self._say("test", 0, 1)
        result = seal.result or seal.open(
            machine, self.model_train, self.y_train, name=self._name_of(machine),
            rows=self.model_test, overlap=self._overlap(seal),
        )  # fmt: skip
        self._say("report", 0, 1)
        facts = facts_of(self, verdicts, machine, path, result)
        self._write(facts, verdicts, machine, path)
        return facts

    def _say(self, what: str, done: float, total: float) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    # ---- the test, sealed

    def _sealed(self) -> SealedTest:
        """Seal the test rows; refuse at once where another model has met them."""
        rows = data_of(self.X_test, self.codes_test, max(2, len(self.names)), True)
        name = fingerprint(rows, like="")  # as version 0.1 named them: what was opened stays so
        state = self.journal.seals / f"{name[:16]}.json"
        seal = SealedTest(self.X_test, self.y_test, state=state)
        if seal.result is not None and not seal.result.model.endswith(self.journal.key):
            raise ContaminatedTestError(
                f"the test rows of this split were opened in {self.folder} before, by "
                f"{seal.result.model}. What is chosen after that needs a test set of its own: "
                f"{self._other_test}. To repeat that study, use its settings."
            )
        return seal

    @property
    def _other_test(self) -> str:
        in_time = self.folding.times is not None
        return "wait for later rows" if in_time else "choose another --seed"

    def _overlap(self, seal: SealedTest) -> Overlap:
        """Find the test rows that also stand in training: texts by their words in order."""
        if self.table.texts is None:
            return seal.overlap(self.X_train)
        first: dict[str, int] = {}
        for number, row in enumerate(self.parts.train.tolist()):
            first.setdefault(self.table.texts[row], number)
        matches = np.array([first.get(self.table.texts[row], -1) for row in self.parts.test])
        rows = np.flatnonzero(matches >= 0)
        return Overlap(rows=rows, train_rows=matches[rows], n=seal.n)

    def _name_of(self, machine: Any) -> str:
        return f"{type(machine).__name__}(C={machine.C:.6g}), study {self.journal.key}"

    # ---- verdict

    def _verdicts(self) -> list[Verdict]:
        """Judge the training rows; of several classes, each against all others."""
        numbers = [1] if len(self.names) == 2 else range(len(self.names))
        deadline = time.monotonic() + self.settings.verdict_seconds
        found = []
        for k in numbers:
            signs = np.where(self.codes_train == k, 1, 0)
            new: list[Verdict] = []  # what a file says is compared with the data again
            judge = partial(self._judge, signs, deadline, new)
            judged, _ = self.journal.step(f"verdict_{k}", judge)
            found.append(new[0] if new else Verdict.from_json(judged["verdict"]))
        return found

    def _judge(
        self, signs: np.ndarray, deadline: float, new: list[Verdict]
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        verdict = verdict_within(
            self.X_train,
            signs,
            deadline - time.monotonic(),
            problems=1 if len(self.names) == 2 else len(self.names),
        )
        new.append(verdict)
        return {"verdict": verdict.to_json()}, {}

    # ---- machine

    def _machine(self) -> tuple[Any, PathTable]:
        """Choose C and fit on all training rows; both are kept until the end."""
        kept, step = self.journal.mine / "machine.sx", self.journal.kept_step("path")
        if step is not None:
            with contextlib.suppress(OSError, ModelFileError):
                whole = from_bytes(kept.read_bytes(), plain=self.settings.device == "cpu")
                self._learn(step[0]["features"])
                self.candidates = tuple(f.Candidate(**each) for each in step[0]["candidates"])
                self.threshold = step[0]["threshold"]
                self.gains = tuple(step[0].get("gains", ()))
                return whole.model, _path_of(*step)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            machine, path = self._chosen()
        notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        path.notes = (*path.notes, *dict.fromkeys(notes))  # the calibration warns of folds again
        arrays = {name: path[name] for name in path.columns}
        record = {"chosen": path.chosen, "reason": path.reason, "notes": list(path.notes)}
        record["columns"] = list(path.columns)
        record["features"] = next(
            (each.features for each in self.candidates if each.chosen), AS_READ
        )
        record["candidates"] = [dataclasses.asdict(each) for each in self.candidates]
        record["threshold"] = self.threshold
        record["gains"] = list(self.gains)
        arrays["folds"] = path.fold_errors
        if path.fold_losses is not None:
            arrays["losses"] = path.fold_losses
        self.journal.step("path", lambda: (record, arrays))
        write_whole(kept, to_bytes(machine))
        return machine, path

    def _learn(self, features: str) -> None:
        """Learn the features of the model from the training rows alone."""
        if self.settings.features != AS_READ:
            learned = self.raw.learn(features, self.parts.train, self.codes)
            self._use(learned.X, learned.encoding, learned.feature_names)

    def _searched(self) -> tuple[Any, PathTable]:
        """Compare features and losses, and fit the best on all training rows."""
        from separatrix.selection.candidates import LOSSES, Search
        from separatrix.selection.kernel_candidate import curve_gains

        settings, raw = self.settings, self.raw
        balanced = "balanced" if settings.balanced else None
        seconds = np.inf if settings.max_seconds is None else settings.max_seconds
        deadline = time.perf_counter() + seconds
        search = Search(
            raw, self.parts.train, self.codes, np.arange(len(self.names)), folds=self.folding,
            seed=settings.seed, workers=cores(), class_weight=balanced, Cs=settings.Cs,
            rule=settings.rule, deadline=deadline, measure=self.measure,
            is_given=settings.scoring is not None, store=self.journal,
            l1=settings.l1 if settings.device == "cpu" else 0.0, progress=self._say,
        )  # fmt: skip
        features = raw.candidates if settings.features == "auto" else (settings.features,)
        if settings.lift == "auto":
            features = tuple(dict.fromkeys((*features, *raw.curves)))
        losses = LOSSES if settings.loss == "auto" else (settings.loss,)
        best = search.best(features, losses)
        if settings.kernel == "auto":
            search.compare_kernel()
        self._learn(best.candidate.features)
        self.candidates = tuple(self._tried_facts(each, each is best) for each in search.compared)
        self.candidates += self._kernel_facts(search.kernel)
        self.gains = curve_gains(search.compared, search.kernel)
        model = fitted_on(
            best, self.model_train, self.y_train, self.codes_train,
            tol=settings.tol, class_weight=balanced, random_state=settings.seed,
            device=settings.device, deadline=deadline,
        )  # fmt: skip
        known = np.isfinite(best.scores).all(axis=1)
        self.threshold = thresholded(self, model, best.scores[known], self.codes_train[known])
        self._count_errors(best.path, best.scores)
        path = best.path
        if settings.lift == "auto" and not raw.curves:
            path.notes += (_NO_TEXT_CURVE.format("lift") if raw.has_texts else _NO_CURVE,)
        if settings.kernel == "auto" and search.kernel is None:
            path.notes += (_NO_TEXT_CURVE.format("kernel") if raw.has_texts else _LATE_KERNEL,)
        return model, path

    @property
    def chose(self) -> Measure | None:
        """The measure that chose the model: the one given, or the log loss of a hard table."""
        from separatrix.selection.compared import LOG_LOSS

        scored = any(each.score is not None for each in self.candidates)
        return LOG_LOSS if self.measure is None and scored else self.measure

    def _tried_facts(self, each: Compared, chosen: bool) -> f.Candidate:
        """Tell what a candidate came to on the folds."""
        score, score_error = each.score or (None, None)
        tried = each.candidate
        return f.Candidate(
            tried.features, tried.loss, each.C, each.error, each.standard_error, each.n_features,
            each.n_rows, chosen, each.seconds if self.settings.times else None, score, score_error,
            l1_ratio=tried.l1_ratio, n_nonzero=each.n_nonzero, cuts=each.cuts,
        )  # fmt: skip

    def _kernel_facts(self, found: KernelCompared | None) -> tuple[f.Candidate, ...]:
        """Tell what the kernel came to on the same folds; it is never the model."""
        if found is None:
            return ()
        n, errors, losses = len(found.errors), found.errors, found.losses
        spread = float(errors.std(ddof=1)) if n > 1 else 0.0
        fact = f.Candidate(
            found.candidate.features, found.candidate.loss, found.C, float(errors.mean()),
            float(spread / np.sqrt(n)), found.n_features, found.n_rows,
            seconds=found.seconds if self.settings.times else None, gamma=found.gamma,
        )  # fmt: skip
        if found.measure is not None:
            score = float(found.measure.shown(losses.mean()))
            error = float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else 0.0
            fact = dataclasses.replace(fact, score=score, score_error=error)
        return (fact,)

    def _chosen(self) -> tuple[Any, PathTable]:
        settings = self.settings
        if settings.features != AS_READ:
            return self._searched()
        machine, path = chosen_machine(
            self.X_train,
            self.y_train,
            loss=settings.loss,
            Cs=settings.Cs,
            folds=self.folding.cv(self.parts.train, self.codes_train),
            groups=self.folding.groups_of(self.parts.train),
            rule=settings.rule,
            tol=settings.tol,
            class_weight="balanced" if settings.balanced else None,
            seed=settings.seed,
            max_seconds=settings.max_seconds,
            device=settings.device,
            store=self.journal,
            progress=lambda done, total, text: self._say(f"path: {text}", done, total),
            measure=self.measure,
            l1=settings.l1 or 0.0,
        )
        if self.measure is not None or settings.minimax or self.alarm_bound is not None:
            train = self.parts.train
            held_out = held_out_scores(
                self.X_train, self.y_train, machine.C,
                self.folding.cv(train, self.codes_train), settings.seed, self.journal,
                self.folding.groups_of(train), settings.l1 or 0.0,
            )  # fmt: skip
            self.threshold = thresholded(self, machine, *held_out)
            rows = np.concatenate([np.flatnonzero(each.validation > 0.0) for each in self.folds()])
            scores = np.full((len(train), held_out[0].shape[1]), np.nan)
            scores[rows] = held_out[0]
            self._count_errors(path, scores)
        return machine, path

    def _count_errors(self, path: PathTable, scores: np.ndarray) -> None:
        """Count the held-out errors of the model chosen at the threshold that bounds false alarms.

        Every other threshold is that of the path itself.
        """
        if self.alarm_bound is None:
            return
        called = np.where(scores[:, 0] > self.threshold["value"], 1, 0)
        held = [fold.validation > 0.0 for fold in self.folds()]
        errors = np.array([np.mean(called[own] != self.codes_train[own]) for own in held])
        error, spread = float(errors.mean()), float(errors.std(ddof=1))
        path.fold_errors[path.chosen] = errors
        path["validation_error"][path.chosen] = error
        path["validation_spread"][path.chosen] = spread
        path["standard_error"][path.chosen] = spread / np.sqrt(len(errors))
        self.candidates = tuple(
            dataclasses.replace(
                each, error=error, standard_error=float(path["standard_error"][path.chosen])
            )
            if each.chosen
            else each
            for each in self.candidates
        )

    # ---- files

    def _write(
        self, facts: f.Facts, verdicts: list[Verdict], machine: Any, path: PathTable
    ) -> None:
        from separatrix.report.page import render_report

        certificate = {
            "format": STUDY_FORMAT,
            "training_rows": self.parts.train.tolist(),
            "positive": self.settings.positive,
            **_described(self.table),
            "verdict": [json.loads(verdict.to_json()) for verdict in verdicts],
            "machine": [
                json.loads(one.to_json())
                for one in getattr(machine.certificate_, "machines", (machine.certificate_,))
            ],
        }
        assert facts.test is not None, "the test was opened"
        summary: dict[str, Any] = {
            "test_errors": facts.test.errors,
            "test_rows": facts.test.n,
            "positive": self.settings.positive,
        }
        if self.threshold:
            rule = {"rule": self.threshold["rule"]}
            claim = rule if self.alarm_bound is None else self.alarm_bound.to_dict()
            summary["threshold"] = claim
            certificate["threshold"] = {"value": self.threshold["value"], **claim}
        if self.settings.features != AS_READ:
            certificate["encoding"] = self.encoded.encoding.to_dict()
        model = to_bytes(machine, table=self.encoded, rows=self.parts.train, about=summary)
        times = self.settings.times
        write_whole(self.folder / "model.sx", model)
        write_whole(self.folder / "certificate.json", (json.dumps(certificate) + "\n").encode())
        write_whole(self.folder / "path.csv", _csv_of(path, times).encode())
        write_whole(self.folder / "report.html", render_report(facts).encode())
        # Last of all: where it is, the study is whole.
        write_whole(self.folder / "study.json", (facts.to_json() + "\n").encode())


def _described(table: Table) -> dict[str, Any]:
    """Return the target and the columns used, where they have names."""
    columns = table.columns_used
    if columns is None or table.target is None:
        return {}
    return {"data": {"target": table.target, "columns": columns}}


def _path_of(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> PathTable:
    columns = {name: arrays[name] for name in header["columns"]}
    notes = tuple(header["notes"])
    return PathTable(
        columns, header["chosen"], header["reason"], arrays["folds"], notes,
        fold_losses=arrays.get("losses"),
    )  # fmt: skip


def _csv_of(path: PathTable, times: bool) -> str:
    names = [name for name in path.columns if times or name != "seconds"]
    lines = [",".join([*names, "chosen"])]
    for number, row in enumerate(path):
        lines.append(",".join([*(repr(row[name]) for name in names), f"{number == path.chosen:d}"]))
    return "\n".join(lines) + "\n"
