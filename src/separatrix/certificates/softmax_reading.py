"""The certificate of the multinomial machine from its JSON form."""

from __future__ import annotations

from typing import Any

from separatrix.certificates.reading import about_data
from separatrix.certificates.refusal import opened
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.certificates.weights_by_class import read

__all__ = ["softmax_gap_from_json"]


def softmax_gap_from_json(text: str | dict[str, Any]) -> SoftmaxGap:
    """Read the certificate of a multinomial machine; it proves nothing until its `check`."""
    with opened(text, "softmax-gap") as whole:
        return SoftmaxGap(**read(whole["claim"], about_data(whole)))
