"""A stream's model file: the model, how lines become rows, the errors so far, and the places.

It is a model file like any other, written aside and renamed: whoever is killed finds the last one
whole, and goes on from the places it names.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from separatrix.data.encodings.encoding import IndexEncoding, TableEncoding
from separatrix.data.encodings.words import TextEncoding
from separatrix.data.sources.line_feed import Place
from separatrix.data.stream_rows import Parser, parser_of
from separatrix.errors import DataError, ModelFileError
from separatrix.estimators.stream_learner import Progressive, StreamLearner
from separatrix.solvers.updates import sgd_rows
from separatrix.storage.model_file import ModelFile, read_model, save

# What turns lines of a kind into rows.
ENCODINGS: dict[str, type[Any]] = {
    "libsvm": IndexEncoding,
    "csv": TableEncoding,
    "json": TableEncoding,
    "arff": TableEncoding,
    "text": TextEncoding,
}


@dataclass
class Checkpoint:
    """What a run needs to go on."""

    learner: StreamLearner
    parser: Parser
    progress: Progressive
    places: list[Place]
    width: int = 0  # features met so far


@dataclass(frozen=True)
class _Described:
    """What `save` asks of a table."""

    encoding: Any
    source: str
    kind: str
    target: str | None
    sha256: str = ""
    feature_names: tuple[str, ...] = ()


def write_checkpoint(path: str | os.PathLike[str], state: Checkpoint) -> None:
    """Write the model file, with all that a later run needs."""
    parser, learner = state.parser, state.learner
    encoding = parser.encoding
    if parser.kind == "libsvm":
        encoding = replace(encoding, n_features=max(1, state.width))
    encoding = replace(encoding, classes=tuple(learner.classes.tolist()))
    width = state.width if parser.kind == "libsvm" else len(encoding.feature_names)
    model = learner.model(max(1, width))
    places = [asdict(place.sealed()) for place in state.places]
    about = {
        "stream": {
            "parser": parser.to_dict(),
            "progress": state.progress.to_dict(),
            "places": places,
            "width": state.width,
        }
    }
    described = _Described(encoding, "", parser.kind, getattr(encoding, "target", None))
    save(model, path, table=described, about=about)


def read_checkpoint(path: str | os.PathLike[str], most_features: int) -> Checkpoint:
    """Read what a run left."""
    try:
        return checkpoint_of(read_model(path), most_features)
    except _Malformed as error:
        raise ModelFileError(f"{os.fspath(path)}{error}") from error


class _Malformed(ModelFileError):
    """A fault whose file is not named yet."""


def checkpoint_of(whole: ModelFile, most_features: int) -> Checkpoint:
    """Return what a model file holds of its stream; whatever it says is looked at first."""
    plain = whole.about.get("stream")
    if plain is None or whole.encoding is None:
        raise _Malformed(
            " was not made by a stream. Give the new model another name, or start anew with "
            "--fresh."
        )
    try:
        state = Checkpoint(
            StreamLearner.of(whole.model, most_features),
            parser_of(plain["parser"], whole.encoding),
            Progressive.from_dict(plain["progress"]),
            [Place(**place) for place in plain["places"]],
            int(plain["width"]),
        )
        _require_sound(state)
    except DataError:  # a model that does not learn from streams: said in its own words
        raise
    except Exception as error:
        # As in a model file itself: whoever wrote it so, no run of ours did.
        raise _Malformed(": what it says of its stream is not well-formed.") from error
    return state


def _require_sound(state: Checkpoint) -> None:
    """Refuse numbers and words that no run leaves: loops and paths follow them."""
    parser, progress, model = state.parser, state.progress, state.learner.machine
    switches = (model.average, model.scale == "auto" or model.scale, model.fit_intercept)
    sound = (
        all(type(switch) is bool for switch in switches)
        and isinstance(parser.encoding, ENCODINGS[parser.kind])
        and (parser.kind != "text" or bool(getattr(parser.encoding, "hashing", None)))
        and parser.label_side in (0, -1)  # before the tab, or after it
        and isinstance(parser.separator, str)
        and isinstance(parser.characters, str)
        and progress.window >= 1
        and 0 <= progress.errors <= progress.rows
        and (progress.recent <= 1).all()
        and progress.test.shape == sgd_rows.fresh().shape
        and 0 <= state.width <= model.n_features_in_
        and all(_is_place(place) for place in state.places)
    )
    if not sound:
        raise ValueError("a part of the stream is out of range")


def _is_place(place: Place) -> bool:
    texts, numbers = (place.path, place.head, place.tail), (place.offset, place.lines)
    return all(type(text) is str for text in texts) and all(
        type(number) is int and number >= 0 for number in numbers
    )
