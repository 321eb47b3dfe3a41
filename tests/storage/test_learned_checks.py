"""What a file says was learned so far is refused where a loop would write beyond it."""

import os
import warnings
from functools import cache

import numpy as np
import pytest
from fuzz.model_files import joined, parts
from fuzz.model_seeds import LIBSVM, TEXT, _streamed, _with_table

import separatrix as sx
from separatrix.storage.model_checks import require_learned
from separatrix.storage.model_file import from_bytes, read_model, to_bytes
from separatrix.storage.stream_checkpoint import checkpoint_of, read_checkpoint

X = np.array([[0.0, 1.0], [1.0, 0.5], [3.0, 2.0], [4.0, 3.5], [0.5, 4.0], [1.5, 5.0]])
TWO, THREE = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])


@cache
def seed(name):
    return {
        "stream": lambda: _streamed(LIBSVM, "libsvm"),
        "stream of texts": lambda: _streamed(TEXT, "text", "--bits", "7", "--average"),
        "words": lambda: _with_table(TEXT, ".txt", sx.LogisticRegression()),
    }[name]()


def quiet(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


FORGED_GRADIENTS = {
    "too few numbers a feature": lambda s, m, t: (s[:, :, :1].copy(), m, t),
    "too few features": lambda s, m, t: (s[:1].copy(), m[:1].copy(), t),
    "too few machines": lambda s, m, t: (s[:, :1].copy(), m[:, :1].copy(), t),
    "no mean": lambda s, m, t: (s, m[:0].copy(), t),
    "no totals": lambda s, m, t: (s, m, t[:, :1].copy()),
    "single precision": lambda s, m, t: (s.astype(np.float32), m, t),
    "turned": lambda s, m, t: (s.transpose(2, 1, 0).copy().T, m, t),
    "one part": lambda s, m, t: (s,),
    "no array": lambda s, m, t: (s, m, 3.0),
    "a number": lambda s, m, t: (np.float64(3.0).reshape(()), m, t),
}


@pytest.mark.parametrize("way", FORGED_GRADIENTS)
def test_forged_slots_are_refused(way):
    model = quiet(sx.SGD(max_passes=2), THREE)
    require_learned(model)
    model._stream = FORGED_GRADIENTS[way](*model._stream)
    with pytest.raises(sx.ModelFileError, match="learned from a stream"):
        from_bytes(to_bytes(model))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (3, lambda a: a - 1),
        (3, lambda a: a[::-1].copy()),
        (3, lambda a: a[:-1].copy()),
        (3, lambda a: a.astype(np.int32)),
        (4, lambda a: a + 2**40),
        (4, lambda a: a[:0]),
        (5, lambda a: a[:, :2].copy()),
    ],
)
def test_forged_numbers_of_features_are_refused(part, value):
    model = from_bytes(seed("stream of texts")).model  # few of many features are held
    assert len(model._stream) == 6
    changed = list(model._stream)
    changed[part] = value(changed[part])
    model._stream = tuple(changed)
    with pytest.raises(sx.ModelFileError, match="learned from a stream"):
        require_learned(model)


@pytest.mark.parametrize(
    "stream",
    [
        lambda last, answer, visits: (last[:1], answer, visits),
        lambda last, answer, visits: (last, answer[:1], visits),
        lambda last, answer, visits: (last, answer),
        lambda last, answer, visits: (last, answer, 3),
        lambda last, answer, visits: [last, answer, visits],
    ],
)
def test_forged_weights_of_a_perceptron_are_refused(stream):
    model = quiet(sx.Perceptron(max_updates=9), THREE)
    require_learned(model)
    model._stream = stream(*model._stream)
    with pytest.raises(sx.ModelFileError, match="learned from a stream"):
        from_bytes(to_bytes(model))


def test_machines_without_classes_or_of_another_kind_learn_nothing_more():
    model = quiet(sx.SGD(max_passes=2), TWO)
    other = quiet(sx.LinearSVM(), TWO)
    other._stream = model._stream
    with pytest.raises(sx.ModelFileError):
        require_learned(other)
    del model.classes_
    with pytest.raises(sx.ModelFileError):
        require_learned(model)


@pytest.mark.parametrize("average", [False, True])
def test_a_mean_is_not_begun_in_the_middle(average):
    """It once wrote beyond the memory of the mean, and the process died."""
    model = sx.SGD(average=average).partial_fit(X, TWO, classes=[0, 1])
    model.set_params(average=not average)
    with pytest.raises(ValueError, match="not how the earlier rows were learned"):
        model.partial_fit(X, TWO)
    model.set_params(average=average).partial_fit(X, TWO)


def test_weights_of_other_features_are_not_gone_on_from():
    model = sx.Perceptron().partial_fit(X, TWO, classes=[0, 1])
    model._stream = (np.zeros(1), np.zeros(1), 6.0)
    with pytest.raises(ValueError, match="other features"):
        model.partial_fit(X, TWO)
    steps = sx.SGD().partial_fit(X, TWO, classes=[0, 1])
    steps._stream = (steps._stream[0][:1], steps._stream[1][:1], steps._stream[2])
    with pytest.raises(ValueError, match="other features"):
        steps.partial_fit(X, TWO)


# ---- the checkpoint of a stream

FORGED_CHECKPOINTS = [
    ("progress", "test", []),
    ("progress", "test", ["0x0p+0"] * 3),
    ("progress", "window", 0),
    ("progress", "window", "many"),
    ("progress", "recent", "7"),
    ("progress", "recent", [10**30]),
    ("progress", "errors", 10**9),
    ("parser", "kind", "csv"),
    ("parser", "kind", "no such"),
    ("parser", "header", "\u0416"),
    ("parser", "header", None),
    ("parser", "label_side", 3),
    ("parser", "separator", 3),
    ("parser", "characters", None),
    ("parser", "more", 1),
    ("places", 0, {"path": ["x"]}),
    ("places", 0, {"path": "x", "offset": -1}),
    ("places", 0, {"path": "x", "lines": 0.5}),
    ("places", 0, {"path": "x", "head": None}),
    ("places", 0, []),
]


@pytest.mark.parametrize(("part", "name", "value"), FORGED_CHECKPOINTS)
def test_a_forged_checkpoint_is_one_plain_error(part, name, value, tmp_path):
    header, arrays = parts(seed("stream"))
    header["about"]["stream"][part][name] = value
    path = tmp_path / "model.sx"
    path.write_bytes(joined(header, arrays))
    with pytest.raises(sx.ModelFileError, match=r"model.sx: what it says of its stream"):
        read_checkpoint(path, 1 << 20)


@pytest.mark.parametrize("plain", [3, [], "text", {}, {"width": 2**40}])
def test_a_stream_that_is_no_stream_is_refused(plain, tmp_path):
    header, arrays = parts(seed("stream"))
    good = header["about"]["stream"]
    header["about"]["stream"] = good | plain if plain and isinstance(plain, dict) else plain
    path = tmp_path / "model.sx"
    path.write_bytes(joined(header, arrays))
    with pytest.raises(sx.ModelFileError):
        read_checkpoint(path, 1 << 20)


@pytest.mark.parametrize("name", ["stream", "stream of texts"])
def test_a_checkpoint_goes_on_where_it_was(name):
    state = checkpoint_of(from_bytes(seed(name)), 1 << 20)
    assert state.progress.rows == state.learner.rows == state.places[0].lines == 4


def test_a_model_of_no_stream_is_named_with_its_remedy(tmp_path):
    path = tmp_path / "model.sx"
    sx.save(quiet(sx.LinearSVM(), TWO), path)
    with pytest.raises(sx.ModelFileError, match=rf"{os.fspath(path)} was not made by a stream"):
        read_checkpoint(path, 1 << 20)
    whole = read_model(path)
    whole.about["stream"] = from_bytes(seed("stream")).about["stream"]
    streamed = from_bytes(seed("stream"))
    with pytest.raises(sx.DataError, match="does not learn from streams"):
        checkpoint_of(type(whole)(whole.model, streamed.encoding, about=whole.about), 1 << 20)


def test_a_switch_that_is_none_is_refused():
    whole = from_bytes(seed("stream"))
    whole.model.scale = np.ones(2)
    with pytest.raises(sx.ModelFileError, match="of its stream"):
        checkpoint_of(whole, 1 << 20)


def test_words_that_are_not_hashed_are_no_stream():
    words, stream = (from_bytes(seed(k)) for k in ("words", "stream of texts"))
    with pytest.raises(sx.ModelFileError):
        checkpoint_of(type(stream)(stream.model, words.encoding, about=stream.about), 1 << 20)
