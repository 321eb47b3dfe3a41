"""The ``separatrix`` command: gathers the commands and turns every failure into one plain line."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

from separatrix import __version__
from separatrix._compiled import dispensable
from separatrix._terminal import cleansed
from separatrix.cli._output import say

__all__ = ["PlainCommand", "PlainGroup", "light_imports"]

# Python would look for garbage once more at the end, among all that was ever imported.
atexit.register(gc.freeze)
# It also looks after every 700 new objects, and imports make many that stay: an eighth of a fit.
_GARBAGE = (100_000, 20, 100)

DONE, ANSWER_IS_NO, USAGE, BAD_DATA, BUDGET, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130

_HELP = (
    "Linear classification with proof: find a hyperplane between classes, certify it "
    "exactly, and see why.\n\n"
    "Begin with a file of your own, a row a line, and the column that holds the classes:\n\n"
    "    separatrix study DATA.csv --target COLUMN -o FOLDER\n\n"
    "It writes FOLDER/report.html, to be read in a browser, and FOLDER/model.sx. Without DATA "
    "it studies two sets that come with it. `separatrix COMMAND --help` says more about each."
)
_EPILOG = (
    "`separatrix --install-completion` teaches your shell to complete commands and options; "
    "`man separatrix` is the whole manual."
)
_PANELS = {
    "The whole journey": ("study",),
    "Ask the data": ("info", "separable", "infer", "path"),
    "Fit, use and check a model": ("fit", "predict", "verify", "export"),
    "Watch a method work": ("trace", "lab", "lecture-table"),
    "Rows that keep coming, other formats": ("stream", "convert"),
}
_POSTPONED = ("numpy.ctypeslib", "numpy.f2py", "numpy.testing", "scipy.spatial")


class _PlainFlags:
    """Gives every flag an empty metavar: Typer 0.29 shows ``--json <bool>`` in place of ``--json``.

    Typer makes some flags itself (``--help``, those of the shell's completion), so that no
    declaration of ours could give it them.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in parameters:
            if getattr(each, "is_flag", False) and each.metavar is None:
                each.metavar = ""
            if getattr(each, "_runtime_param", ...) is None:
                each._runtime_param = _AsGiven()
        return parameters


class _AsGiven:
    """Takes values that need no conversion as they are: defaults, texts and paths.

    Typer 0.29 has pydantic convert all, defaults too, and to load it takes a fifth of a second.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value in the type of the option."""
        kind, several = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if not several:
            if value is None or (isinstance(kind, type) and isinstance(value, kind)):
                return value
            if kind is Path and isinstance(value, str):
                return Path(value)
        elif value is None:
            return ()
        elif kind == list[str] and isinstance(value, list | tuple):
            return list(value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)


class PlainCommand(_PlainFlags, TyperCommand):
    """A command whose flags take no value, and show none; its errors steer no terminal."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; names from data may stand in what it refuses."""
        try:
            with light_imports():
                return super().invoke(ctx)
        except BadParameter as error:
            vars(error)["message"] = cleansed(error.message)
            raise


class PlainGroup(_PlainFlags, TyperGroup):
    """The commands together, likewise."""


@contextmanager
def light_imports() -> Iterator[None]:
    """Keep modules that a command does not use out of its process.

    SciPy loads all of NumPy's packages, among them the interface to Fortran compilers and the
    tests. Its optimisers load its geometry. numba loads coverage.py and a reader of its settings
    where they are installed. Together they take a quarter of a second.
    """
    postponing = _Postponing()
    sys.meta_path.insert(0, postponing)
    unused = {"coverage"} if os.path.exists(".numba_config.yaml") else {"coverage", "yaml"}
    dispensable.update(unused)
    try:
        yield
    finally:
        dispensable.difference_update(unused)
        sys.meta_path.remove(postponing)


class _Postponing:
    """Finds some packages as Python does, and loads each when something in it is first used."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return how to load a module later; None for those that load at once."""
        spec = PathFinder.find_spec(name, path) if name in _POSTPONED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def _print_version(requested: bool) -> None:
    if requested:
        say(f"separatrix {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback when something fails.")
    ] = False,
) -> None:
    """Do what every command shares."""


def application(only: str | None = None) -> typer.Typer:
    """Return the command line: all commands, or `only` one, without loading the others."""
    made = typer.Typer(
        name="separatrix",
        cls=PlainGroup,
        help=_HELP,
        epilog=_EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(options)
    for title, names in _PANELS.items():
        for name in names if only is None else {only}.intersection(names):
            plain = name.replace("-", "_")
            command = getattr(import_module(f"separatrix.cli.{plain}"), plain)
            made.command(name, cls=PlainCommand, rich_help_panel=title)(command)
    return made


def __getattr__(name: str) -> Any:
    """Return ``app``, the command line with all its commands, made when it is first needed."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = application()
    return globals()["app"]


def _command_in(words: list[str]) -> str | None:
    """Return the command that is called; None where the help or the shell asks for them all."""
    known = words[0] if words else ""
    completing = any(name.endswith("_COMPLETE") for name in os.environ)
    named = any(known in names for names in _PANELS.values())
    return known if named and not completing else None


_REFUSALS = {
    errno.ENOENT: "there is no such file or folder; check the path",
    errno.EACCES: "permission denied; choose another place, or have the permission changed",
    errno.EPERM: "permission denied; choose another place, or have the permission changed",
    errno.EROFS: "this file system is read-only; choose another place",
    errno.EEXIST: "there is a file of this name already, and a folder is needed; choose another",
    errno.ENOTDIR: "a part of this path is a file, and a folder is needed",
    errno.EISDIR: "this is a folder, and a file is needed",
    errno.ENOSPC: "no space is left on the disk; free some, or choose another place",
}


def exit_code(error: Exception) -> int:
    """Tell a refusal of the data from one of the options, and both from a fault of ours.

    Our refusals of data have classes of their own. A plain ``ValueError`` that this package raises
    is about parameters; scikit-learn's is about the data it validated; anyone else's we caused.
    """
    if isinstance(error, OSError) or (
        isinstance(error, ValueError) and type(error) is not ValueError
    ):
        return BAD_DATA
    if not isinstance(error, ValueError) or error.__traceback__ is None:
        return OUR_FAULT
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    raised_by = str(frame.f_globals.get("__name__", "")).split(".", 1)[0]
    return {"separatrix": USAGE, "sklearn": BAD_DATA}.get(raised_by, OUR_FAULT)


def _in_words(error: Exception) -> str:
    """Say what the system refused, and of which file."""
    known = isinstance(error, OSError) and error.filename is not None and error.errno in _REFUSALS
    if not known:
        return str(error)
    assert isinstance(error, OSError)
    name = os.fsdecode(error.filename).removesuffix(".part")  # the half that stands aside
    return f"{name}: {_REFUSALS[error.errno or 0]}"


def main() -> None:
    """Run the command line; the exit code says how it ended."""
    gc.set_threshold(*_GARBAGE)
    debug = "--debug" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--debug"]  # wherever it stands
    if sys.argv[1:2] == ["train"]:  # LIBLINEAR's word
        sys.argv[1] = "fit"
        if "-q" not in sys.argv:
            say("separatrix: train is called fit here; taken as `separatrix fit`.", err=True)
    try:
        called = application(_command_in(sys.argv[1:]))
        called(prog_name="separatrix")  # also where Python was called: completion goes by the name
    except SystemExit as end:
        # Where the reader of a pipe has gone (``| head``), click ends with 1: not an error here.
        gone = isinstance(end.__context__, BrokenPipeError)
        sys.exit(DONE if gone else end.code)
    except KeyboardInterrupt:
        say("Interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (``| head``): not an error, and nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(DONE)
    except Exception as error:
        if debug:
            raise
        code = exit_code(error)
        if code != OUR_FAULT:
            say(f"separatrix: {_in_words(error)}", err=True)
            sys.exit(code)
        say(
            f"separatrix: a fault of ours, not of your data: {type(error).__name__}: {error}. "
            "Run again with --debug to see where, and please report it.",
            err=True,
        )
        sys.exit(OUR_FAULT)
