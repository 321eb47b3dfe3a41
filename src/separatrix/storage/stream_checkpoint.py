"""A stream's model file: the machine, how lines become rows, the errors so far, and the places.

It is a model file like any other, written aside and renamed: whoever is killed finds the last one
whole, and goes on from the places it names.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from separatrix.data.line_feed import Place
from separatrix.data.stream_rows import Parser, parser_of
from separatrix.errors import ModelFileError
from separatrix.estimators.stream_learner import Progressive, StreamLearner
from separatrix.storage.model_file import read_model, save

__all__ = ["Checkpoint", "read_checkpoint", "write_checkpoint"]


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
    whole = read_model(path)
    plain = whole.about.get("stream")
    if plain is None or whole.encoding is None:
        raise ModelFileError(
            f"{os.fspath(path)} was not made by a stream. Give the new model another name, or "
            "start anew with --fresh."
        )
    try:
        return Checkpoint(
            StreamLearner.of(whole.model, most_features),
            parser_of(plain["parser"], whole.encoding),
            Progressive.from_dict(plain["progress"]),
            [Place(**place) for place in plain["places"]],
            int(plain["width"]),
        )
    except (KeyError, TypeError) as error:
        raise ModelFileError(
            f"{os.fspath(path)}: what it says of its stream is not well-formed."
        ) from error
