"""Every public name says what it is, and shows it in a session that runs."""

import doctest
import inspect
import pydoc
from types import ModuleType

import pytest

import separatrix as sx

NAMES = [name for name in sx.__all__ if name != "__version__"]
MODULES = [name for name in NAMES if isinstance(getattr(sx, name), ModuleType)]
MEMBERS = [f"{name}.{member}" for name in MODULES for member in getattr(sx, name).__all__]


def value_of(dotted):
    value = sx
    for name in dotted.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_docstring_with_an_example(name):
    value = value_of(name)
    text = inspect.getdoc(value) or ""
    assert text.split("\n")[0].endswith((".", ":", "?")), "the first line is a sentence"
    assert doctest.DocTestParser().get_examples(text), "no example"


@pytest.mark.parametrize("name", MEMBERS)
def test_members_of_public_modules_say_what_they_are(name):
    if callable(value_of(name)):
        assert inspect.getdoc(value_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_public_method_says_what_it_does(name):
    value = value_of(name)
    if not inspect.isclass(value):
        return
    silent = [
        f"{kind.__name__}.{method}"
        for kind in value.__mro__
        if kind.__module__.startswith("separatrix")
        for method, function in vars(kind).items()
        if inspect.isfunction(function) and not method.startswith("_")
        if not inspect.getdoc(getattr(value, method))
    ]
    assert not silent


def test_help_opens_with_what_to_do_first():
    text = pydoc.plain(pydoc.render_doc(sx))
    opening = text[:4000]
    for name in ("sx.separability", "sx.LinearSVM", "sx.LinearSVMCV", "sx.read", "sx.save"):
        assert name in opening
    examples = doctest.DocTestParser().get_examples(sx.__doc__)
    assert examples, "help(sx) shows a session"


def test_help_names_everything():
    for name in NAMES:
        assert name in sx.__doc__, f"help(sx) does not say what sx.{name} is for"
