"""Every kind is read and written by one table, field by field; what it does not know is refused."""

import copy
import functools
import json

import numpy as np
import pytest
from fuzz.checker_agreement import MAKERS

import separatrix as sx
from separatrix.certificates.reading import from_json
from separatrix.checker import CLAIMS, Refused
from separatrix.problem.canonical import problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.storage.certificate_files import prove_again

BY_CHECKER_ALONE = {"gordan", "margin-bounds", "least-squares", "fisher", "fisher-directions"}
READ = sorted(set(CLAIMS) - BY_CHECKER_ALONE)


@functools.cache
def made(kind):
    makers = {kind: MAKERS[kind]} if kind in MAKERS else MAKERS
    for make in makers.values():
        for seed in range(20):
            whole, X, y = make(np.random.default_rng(seed))
            if whole["kind"] == kind:
                return whole, X, y
    raise AssertionError(f"nothing makes a {kind}")


def genuine(kind):
    return copy.deepcopy(made(kind))


@pytest.mark.parametrize("kind", READ)
def test_what_is_read_is_written_as_it_was(kind):
    whole, X, y = genuine(kind)
    again = from_json(json.dumps(whole), kind)
    assert json.loads(again.to_json())["claim"] == whole["claim"]
    assert list(json.loads(again.to_json())["claim"]) == list(whole["claim"])
    assert again.check(X, y)
    with pytest.raises(Refused, match="the kind must be"):
        from_json(whole, *(set(CLAIMS) - {kind}))


def leaves(value, path=()):
    """Yield the paths of all texts that are floats."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))
    elif isinstance(value, str) and value.lstrip("-").startswith("0x") and "p" in value:
        yield path


@pytest.mark.parametrize("kind", READ)
def test_a_float_is_written_in_one_way(kind):
    whole, _, _ = genuine(kind)
    for path in list(leaves(whole["claim"]))[:8]:
        for text in ("1", "0x1", "1.0", "0X1P+0", " 0x1p+0", "0x1p+99999", "nan", 1.0):
            other = copy.deepcopy(whole)
            holder = other["claim"]
            for key in path[:-1]:
                holder = holder[key]
            if (path[-1], text) == ("smallest", "nan"):
                continue
            holder[path[-1]] = text
            with pytest.raises(Refused):
                from_json(other)


@pytest.mark.parametrize("kind", READ)
def test_fields_too_many_or_too_few_are_refused_by_name(kind):
    whole, X, y = genuine(kind)
    for part in ("data", "claim"):
        for name in whole[part]:
            if kind == "kernel-separation" and name in CLAIMS[kind].optional:
                continue  # a bound need not be claimed
            less = whole | {part: {key: v for key, v in whole[part].items() if key != name}}
            with pytest.raises(Refused, match=f"{name}|either"):
                from_json(less)
        with pytest.raises(Refused, match="extra"):
            prove_again(whole | {part: whole[part] | {"extra": 1}}, X, y)
    with pytest.raises(Refused, match="twice"):
        from_json(json.dumps(whole).replace('"rows"', '"rows": 1, "rows"', 1))


@pytest.mark.parametrize("kind", ["duality-gap", "kernel-gap"])
def test_one_multiplier_does_not_stand_for_several_rows(kind):
    whole, X, y = genuine(kind)
    whole["claim"] |= {"rows": [0, 1], "multipliers": ["0x1p-9"]}
    with pytest.raises(Refused, match="with a multiplier each"):
        prove_again(whole, X, y)


def test_lists_of_other_lengths_and_huge_rows_are_refused_without_a_traceback():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]]), [0, 1, 2]
    about = {"rows": 3, "features": 2, "intercept": True, "classes": ["0", "1", "2"]}
    about["sha256"] = fingerprint(problem_from(X, y, True))
    whole = {"format": "separatrix-certificate-1", "kind": "separation", "data": about}
    for lengths in ((3, 2, 3), (9,), (3, 3, 4)):
        weights = [["0x1p+0"] * length for length in lengths]
        assert not from_json(whole | {"claim": {"weights": weights}}).check(X, y)
    overlap = json.loads(sx.separability([[0.0], [1.0], [2.0]], [0, 1, 0]).to_json())["certificate"]
    overlap["claim"]["rows"][0] = 10**30
    assert not from_json(overlap).check([[0.0], [1.0], [2.0]], [0, 1, 0])


@pytest.mark.parametrize("kind", ["duality-gap", "sparse-gap", "kernel-gap", "kernel-separation"])
def test_a_short_file_lays_out_no_numbers_for_billions_of_rows(kind):
    whole, X, y = genuine(kind)
    name = "shares" if "shares" in whole["claim"] else "multipliers"
    if "costs" in whole["claim"]:
        whole["claim"]["costs"] = ["0x1p+0"]
    for rows in (2**29, 2**39, 2**25 + 2**13 + 1):
        whole["data"]["rows"] = rows
        whole["claim"] |= {"rows": [0, rows - 1], name: ["0x1p-9"] * 2}
        with pytest.raises(Refused, match="must be named"):
            from_json(whole)
    whole["data"]["rows"] = 10**7
    whole["claim"] |= {"rows": [0, 10**7 - 1]}
    assert not from_json(whole).check(X, y)


def test_models_of_one_file_are_laid_out_together_or_not_at_all():
    whole, _, _ = genuine("scaled-gap")
    whole["data"]["rows"] = 2**24
    one = whole["claim"]["machines"][0] | {"costs": ["0x1p+0"]}
    whole["claim"]["machines"] = [one] * 20
    with pytest.raises(Refused, match="must be named"):
        from_json(whole)
