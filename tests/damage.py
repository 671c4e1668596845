"""Damaged text, for tests that nothing that a program prints brings a parser down."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


def damaged(text: str) -> st.SearchStrategy[str]:
    """The text cut short, with its lines in another order, with pieces replaced, or all of these."""
    cut = st.integers(0, len(text)).map(lambda end: text[:end])
    lines = text.splitlines()
    shuffled = st.integers(0, 2**32).map(lambda seed: "\n".join(np.random.default_rng(seed).permutation(lines)))
    return st.one_of(st.just(text), cut, shuffled).flatmap(_with_pieces_replaced)


def _with_pieces_replaced(text: str) -> st.SearchStrategy[str]:
    places = st.tuples(st.integers(0, len(text)), st.integers(0, 12))
    pieces = st.sampled_from(["", "0", "-", ".", ",", "9" * 400, "1e999", "NaN", "null", "Infinity", "\n"]) | st.text(
        max_size=20
    )
    return st.lists(st.tuples(places, pieces), max_size=4).map(lambda edits: _edited(text, edits))


def _edited(text: str, edits: list[tuple[tuple[int, int], str]]) -> str:
    for (start, length), piece in edits:
        text = text[:start] + piece + text[start + length :]
    return text
