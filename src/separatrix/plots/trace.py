"""A run of an iterative method in pictures: the plane with its boundaries, and the run over time.

A still picture (.svg, .png, .pdf) shows the last boundary with earlier ones behind it; a .gif plays
the updates one after another.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from separatrix.plots._drawing import (
    ACCENT,
    CLASS_COLOURS,
    FAINT,
    INK,
    RC,
    SOFT,
    draw_points,
    line_ends,
    plain,
    thinned,
    written_aside,
)

__all__ = ["STILL", "Drawing", "draw_trace", "drawing", "save_trace"]

STILL = (".svg", ".png", ".pdf")
_FRAMES_PLAYED = 120
_MILLISECONDS, _MILLISECONDS_AT_THE_END = 150, 3000
_BOUNDARIES_SHOWN = 12
_LINEAR_UPDATES = 60


class Drawing(Figure):
    """A figure; notebooks show it without pyplot, and ``savefig`` writes it to a file."""

    def _repr_png_(self) -> bytes:
        held = io.BytesIO()
        self.savefig(held, format="png", dpi=110)
        return held.getvalue()


@contextmanager
def drawing(width: float, height: float) -> Iterator[Drawing]:
    """Give an empty figure, and the style of all pictures while it is drawn on."""
    with matplotlib.rc_context(RC):
        figure = Drawing(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def save_trace(
    frames: Sequence[Any],
    X: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    feature_names: Sequence[str],
    title: str,
    subtitle: str,
    path: str | os.PathLike[str],
    progress: Callable[[float], None] | None = None,
    score: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> None:
    """Draw the frames of a replay over one feature or two; the ending of `path` is the format.

    `score` gives the score of points by weights, where that is not linear in these features.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in (*STILL, ".gif"):
        raise ValueError(f"the picture must end in .svg, .png, .pdf or .gif. Got {str(path)!r}.")
    if len(class_names) != 2:
        raise ValueError(
            f"a picture needs two features and two classes. Got {len(class_names)} classes; keep "
            "the rows of two."
        )
    if X.shape[1] not in (1, 2):
        raise ValueError(
            f"a picture needs two features and two classes. Got {X.shape[1]} features; choose two "
            "with --features, or one."
        )
    if ending == ".gif" and (X.shape[1] == 1 or score is not None):
        raise ValueError(
            "a .gif plays two features without a lift. Use --storyboard, which draws every update."
        )
    if X.shape[1] == 1 or score is not None:
        _save_step(frames, X, codes, class_names, feature_names, title, subtitle, target, score)
        return
    with matplotlib.rc_context(RC), written_aside(target) as aside:
        picture = _Picture(frames, X, codes, class_names, feature_names, title, subtitle)
        if ending == ".gif":
            picture.play(aside, progress)
        else:
            picture.draw_past()
            picture.show(len(frames) - 1)
            # No date in the file: the same run gives the same bytes.
            metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending)
            picture.figure.savefig(aside, dpi=150, metadata=metadata)


def draw_trace(
    frames: Sequence[Any],
    X: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    feature_names: Sequence[str],
    title: str,
    subtitle: str,
) -> Drawing:
    """Return the last frame over two features, earlier boundaries behind it, and the run."""
    with matplotlib.rc_context(RC):
        picture = _Picture(frames, X, codes, class_names, feature_names, title, subtitle)
        FigureCanvasAgg(picture.figure)
        picture.draw_past()
        picture.show(len(frames) - 1)
    return picture.figure


def _save_step(
    frames: Sequence[Any],
    X: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    feature_names: Sequence[str],
    title: str,
    subtitle: str,
    target: Path,
    score: Any,
) -> None:
    """Draw the last frame over one feature, or where the boundary is a curve; and the run."""
    from separatrix.plots.storyboard import draw_step, linear_score

    with matplotlib.rc_context(RC), written_aside(target) as aside:
        picture = _Picture(
            frames, np.zeros((len(X), 2)), codes, class_names, ("", ""), title, subtitle
        )
        picture.plane.clear()
        before = frames[-2] if len(frames) > 1 else None
        draw_step(picture.plane, frames[-1], before, X, codes, class_names, score or linear_score)
        picture.plane.set_xlabel(plain(feature_names[0]))
        picture.plane.set_ylabel(plain(feature_names[1]) if X.shape[1] == 2 else "score w.x + b")
        picture.plane.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.11), ncol=2, frameon=False, fontsize=9
        )
        picture.draw_run(len(frames) - 1)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        picture.figure.savefig(aside, dpi=150, metadata=metadata.get(target.suffix.lower()))


class _Picture:
    """The plane on the left; errors and margins over the updates on the right.

    What moves is a handful of artists whose data are set for each frame; all else is drawn once.
    """

    def __init__(
        self,
        frames: Sequence[Any],
        X: np.ndarray,
        codes: np.ndarray,
        class_names: Sequence[str],
        feature_names: Sequence[str],
        title: str,
        subtitle: str,
    ) -> None:
        self.frames, self.X, self.codes = frames, X, codes
        self.figure = Drawing(figsize=(10.0, 5.6))
        self.figure.set_layout_engine(ConstrainedLayoutEngine(rect=(0.0, 0.0, 1.0, 0.89)))
        self.figure.text(0.012, 0.945, plain(title), fontsize=14, fontweight="bold", color=INK)
        self.figure.text(0.012, 0.905, plain(subtitle), fontsize=10, color=SOFT)
        grid = self.figure.add_gridspec(2, 2, width_ratios=(1.55, 1.0))
        self.plane = self.figure.add_subplot(grid[:, 0])
        self._draw_points(class_names, feature_names)
        self._draw_errors(self.figure.add_subplot(grid[0, 1]))
        self._draw_margins(self.figure.add_subplot(grid[1, 1]))

    def _draw_points(self, class_names: Sequence[str], feature_names: Sequence[str]) -> None:
        axes, X = self.plane, self.X
        low, high = X.min(axis=0), X.max(axis=0)
        room = 0.12 * np.where(high > low, high - low, 1.0)
        self.low, self.high = low - room, high + room
        self.limits = (self.low[0], self.high[0]), (self.low[1], self.high[1])
        draw_points(axes, X, self.codes, class_names, s=34, linewidth=0.7, alpha=None)
        ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": ACCENT}
        (self.ring,) = axes.plot(
            [], [], "o", markersize=13, markeredgewidth=1.8, label="row last used", zorder=4, **ring
        )
        (self.boundary,) = axes.plot([], [], color=INK, linewidth=2.0, zorder=2)
        self.street = [
            axes.plot([], [], color=INK, linewidth=1.0, linestyle="--", alpha=0.7, zorder=2)[0]
            for _ in range(2)
        ]
        axes.set(
            xlim=(self.low[0], self.high[0]),
            ylim=(self.low[1], self.high[1]),
            xlabel=plain(feature_names[0]),
            ylabel=plain(feature_names[1]),
        )
        self.caption = axes.set_title(" ", loc="left")
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.11), ncol=3, frameon=False, fontsize=9
        )

    def _draw_errors(self, axes: Any) -> None:
        (self.errors,) = axes.step([], [], where="post", color=ACCENT, linewidth=1.6)
        axes.set_ylim(0, 1.08 * max(1, *(frame.errors for frame in self.frames), 1))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_title("misclassified rows")
        self._set_updates(axes)

    def _draw_margins(self, axes: Any) -> None:
        bounded = np.isfinite(self.frames[-1].bound)
        axes.axhline(0.0, color=FAINT, linewidth=0.8)
        self.bounds, self.margins = (
            axes.plot([], [], color=colour, linewidth=1.6, linestyle=dashes, label=label)[0]
            for colour, dashes, label in (
                (FAINT, "--", "no margin is larger"),
                (CLASS_COLOURS[1], "-", "margin now"),
            )
        )
        axes.set_ylim(*self._margin_window())
        axes.set_xlabel("updates")
        axes.set_title("margin, and what it cannot exceed" if bounded else "margin")
        self._set_updates(axes)
        if bounded:  # below the axes, where no curve is
            axes.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.28), ncol=2, frameon=False, fontsize=9
            )

    def _margin_window(self) -> tuple[float, float]:
        """Leave out the first wild swings, which would flatten all that follows."""
        margins = [frame.margin for frame in self.frames]
        bounds = [frame.bound for frame in self.frames if np.isfinite(frame.bound)]
        high = min(max(bounds), 4.0 * bounds[-1]) if bounds else max(margins)
        low = max(min(margins), -high) if high > 0.0 else min(margins)
        room = 0.08 * (high - low or 1.0)
        return low - room, high + room

    def _set_updates(self, axes: Any) -> None:
        last = max(1, self.frames[-1].update)
        if last > _LINEAR_UPDATES:
            axes.set_xscale("symlog", linthresh=10)
            axes.xaxis.set_major_formatter(ScalarFormatter())
        else:
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_xlim(0, last)

    # ---- what moves

    def show(self, last: int) -> None:
        """Show the state after frame number `last`."""
        frame = self.frames[last]
        w = frame.weights
        self.caption.set_text(f"after {frame.update:,} update{'s' * (frame.update != 1)}")
        self.ring.set_data(self.X[[frame.row]].T if frame.row >= 0 else ([], []))
        self.boundary.set_data(self._line(w))
        closest = (np.where(self.codes == 1, 1.0, -1.0) * (self.X @ w[1:] + w[0])).min()
        for side, line in zip((-1.0, 1.0), self.street, strict=True):
            shifted = np.concatenate([[w[0] + side * closest], w[1:]])
            line.set_data(self._line(shifted) if closest > 0.0 else ([], []))
        self.draw_run(last)

    def draw_run(self, last: int) -> None:
        """Draw errors and margins up to frame number `last`."""
        shown = self.frames[: last + 1]
        updates = np.array([f.update for f in shown])
        self.errors.set_data(updates, [f.errors for f in shown])
        self.margins.set_data(updates, [f.margin for f in shown])
        bounds = np.array([f.bound for f in shown])
        self.bounds.set_data(updates[np.isfinite(bounds)], bounds[np.isfinite(bounds)])

    def draw_past(self) -> None:
        """Draw some earlier boundaries, the older the fainter."""
        last = len(self.frames) - 1
        for number in np.unique(np.linspace(0, max(0, last - 1), _BOUNDARIES_SHOWN).astype(int)):
            strength = 0.15 + 0.5 * (number + 1) / (last + 1)
            ends = self._line(self.frames[number].weights)
            self.plane.plot(*ends, color=FAINT, linewidth=1.0, alpha=strength, zorder=1)

    def _line(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two points of the line b + w.x = 0 beyond the window, whatever its slope."""
        if not (np.isfinite(w).all() and np.hypot(*w[1:]) > 0.0):
            return np.empty(0), np.empty(0)
        ends = line_ends(w[1:], w[0], self.limits)
        return ends[:, 0], ends[:, 1]

    def play(self, path: Path, progress: Callable[[float], None] | None) -> None:
        """Write an animation; long runs are thinned, their beginning kept in full."""
        from PIL import Image

        self.figure.set_dpi(80)
        canvas = FigureCanvasAgg(self.figure)
        moving = [self.ring, self.boundary, *self.street, self.errors, self.margins, self.bounds]
        moving.append(self.caption)
        for artist in moving:
            artist.set_animated(True)
        canvas.draw()
        background = canvas.copy_from_bbox(self.figure.bbox)
        numbers, images = thinned(len(self.frames), _FRAMES_PLAYED), []
        for count, number in enumerate(numbers):
            canvas.restore_region(background)
            self.show(number)
            for artist in moving:
                artist.axes.draw_artist(artist)
            image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            images.append(image.quantize(64, method=Image.Quantize.FASTOCTREE))
            if progress is not None:
                progress((count + 1) / len(numbers))
        shown_for = [_MILLISECONDS] * (len(images) - 1) + [_MILLISECONDS_AT_THE_END]
        images[0].save(
            path, save_all=True, append_images=images[1:], duration=shown_for, loop=0, optimize=True
        )
