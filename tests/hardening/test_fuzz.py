"""Short versions of the scripts in fuzz/, which `make harden` runs at length."""

import pytest
from fuzz import (
    certificates,
    forks_and_threads,
    model_files,
    pages_in_browser,
    peer_models,
    report_names,
)
from fuzz.model_seeds import model_files as seeds
from tests.amounts import COMPILED_ONLY, cases

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.storage.model_file import from_bytes


def test_mutated_model_files(tmp_path):
    told = model_files.batch(max(25, len(cases(250))), 5, tmp_path)
    assert told["altered, refused"] > 0
    assert told["forged, refused"] > 0
    assert not [word for word in told if "failed" in word]
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_truncation_of_every_kind_of_model_at_every_byte():
    for contents in seeds().values():
        for length in range(0, len(contents), 40 if is_interpreted() else 1):
            with pytest.raises(sx.ModelFileError):
                from_bytes(contents[:length])


def test_forged_certificates_of_every_kind():
    made = certificates.run(len(cases(240)), each=20, say=lambda *_, **__: None)
    assert set(made) == set(certificates.KINDS)


@pytest.mark.long
@COMPILED_ONLY
def test_forks_and_threads():
    forks_and_threads.run(len(cases(3)), len(cases(1)), say=lambda *_, **__: None)


def test_peers_files_never_crash_the_reader():
    assert peer_models.run(len(cases(40)), 3, peers=False, say=lambda *_: None)


def test_hostile_texts_in_the_report():
    report_names.run(len(cases(12)), 1)


@pytest.mark.long
@pytest.mark.skipif(is_interpreted(), reason="browser tests run compiled only")
def test_hostile_texts_in_a_real_browser():
    found = dict(pages_in_browser.run(100, 2))
    assert set(found) == {"report", "lab"}
    assert min(found.values()) >= 100
