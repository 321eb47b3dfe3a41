"""``help(sx.X)`` shows all of a name: parameters with types and defaults, answers, relatives."""

import doctest
import inspect
import re
from types import ModuleType

import pytest

import separatrix as sx

NAMES = [name for name in sx.__all__ if name != "__version__"]
RECORDS = ("Table", "Verdict")  # made by `read` and `separability`, not by their users
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.+))?$", re.MULTILINE)


def sections(value):
    """The summary under "", then the text of every section by its title."""
    pieces = SECTION.split(inspect.getdoc(value) or "")
    return {"": pieces[0], **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


def entries(body):
    """The type of every name listed in a section; names may share an entry."""
    return {
        name.strip().lstrip("*"): kind
        for names, kind in ENTRY.findall(body)
        for name in names.split(",")
    }


def needed(value):
    if isinstance(value, ModuleType) or (isinstance(value, type) and issubclass(value, Exception)):
        return ("See Also",)
    if value.__name__ in RECORDS:
        return ("Attributes", "See Also", "Examples")
    if isinstance(value, type):
        return ("Parameters", "Attributes", "See Also", "Examples")
    return ("Parameters", "Returns", "See Also", "Examples")


def looked_up(name):
    value = sx
    for part in name.removeprefix("sx.").split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name", NAMES)
def test_every_section_is_there(name):
    found = sections(getattr(sx, name))
    if "Yields" in found:
        found["Returns"] = found["Yields"]
    missing = [title for title in needed(getattr(sx, name)) if not found.get(title, "").strip()]
    assert not missing, f"help(sx.{name}) has no {', '.join(missing)}"
    assert len(found[""].split("\n")[0]) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_parameters_have_types_and_their_true_defaults(name):
    value = getattr(sx, name)
    if "Parameters" not in needed(value):
        return
    listed = entries(sections(value)["Parameters"])
    signature = inspect.signature(value).parameters
    assert sorted(listed) == sorted(signature)
    for each in signature.values():
        kind = listed[each.name]
        if each.kind is each.VAR_KEYWORD:
            continue
        assert kind, f"{each.name} has no type"
        if each.default is each.empty:
            assert "default" not in kind, each.name
        else:
            written = kind.partition("default=")[2]
            assert written, f"{each.name}: no default in {kind!r}"
            assert eval(written, {"inf": float("inf")}) == each.default, each.name


@pytest.mark.parametrize("name", NAMES)
def test_see_also_names_what_exists(name):
    body = sections(getattr(sx, name))["See Also"]
    listed = re.findall(r"^([\w.]+) : \S", body, re.MULTILINE)
    assert listed, "an entry is `name : what it is`"
    for relative in listed:
        assert looked_up(relative) is not getattr(sx, name), "itself"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name):
    """`make test` runs the same examples as doctests of the source."""
    value = getattr(sx, name)
    home = value if isinstance(value, ModuleType) else inspect.getmodule(value)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    parsed = doctest.DocTestParser().get_doctest(
        inspect.getdoc(value), dict(vars(home)), name, None, None
    )
    assert parsed.examples
    outcome = doctest.DocTestRunner(optionflags=options).run(parsed)
    assert outcome.failed == 0
