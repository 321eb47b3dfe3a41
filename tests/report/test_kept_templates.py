"""Compiled templates on disk: used where they are whole and of this source, never trusted else."""

import pytest
from jinja2 import DictLoader, Environment

from separatrix.report.page import KeptTemplates


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_CACHE_DIR", str(tmp_path))
    return tmp_path


def rendered(text, compiled):
    """Render a template in a new environment; note whether it was compiled."""

    class Watched(Environment):
        def compile(self, *arguments, **named):
            compiled.append(text)
            return super().compile(*arguments, **named)

    engine = Watched(loader=DictLoader({"a.html": text}), bytecode_cache=KeptTemplates())
    return engine.get_template("a.html").render(x=3)


def test_a_second_process_compiles_nothing(home):
    compiled = []
    assert [rendered("{{ x }} rows", compiled) for _ in range(3)] == ["3 rows"] * 3
    assert len(compiled) == 1
    assert len(list((home / "pages").iterdir())) == 1


def test_another_source_is_compiled_anew(home):
    compiled = []
    for text in ("{{ x }} rows", "{{ x + 1 }} rows", "{{ x + 1 }} rows"):
        found = rendered(text, compiled)
    assert (found, len(compiled)) == ("4 rows", 2)


def test_other_filters_are_compiled_anew(home, monkeypatch):
    compiled = []
    rendered("{{ x }} rows", compiled)
    monkeypatch.setattr("separatrix.report.words.__file__", __file__)
    assert rendered("{{ x }} rows", compiled) == "3 rows"
    assert len(compiled) == 2


DAMAGES = [lambda b: b"", lambda b: b[:-1], lambda b: b[:50] + b"x" + b[51:]]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_anew(home, damage):
    compiled = []
    rendered("{{ x }} rows", compiled)
    (kept,) = (home / "pages").iterdir()
    kept.write_bytes(damage(kept.read_bytes()))
    assert rendered("{{ x }} rows", compiled) == "3 rows"
    assert len(compiled) == 2


def test_a_home_that_takes_no_files(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEPARATRIX_CACHE_DIR", str(tmp_path / "file"))
    assert rendered("{{ x }} rows", []) == "3 rows"
