"""Words of messages that depend on other words."""

from __future__ import annotations

__all__ = ["with_article"]


def with_article(noun: str) -> str:
    """Return a noun with "a" or "an" before it; a u is taken as in unit.

    >>> with_article("occurrence"), with_article("unit of age"), with_article("OneVsRest")
    ('an occurrence', 'a unit of age', 'a OneVsRest')
    """
    vowel = noun[:1].lower() in ("a", "e", "i", "o") or noun.startswith("nd")  # ndarray
    return f"{'an' if vowel and not noun.startswith('One') else 'a'} {noun}"
