"""Payloads: of exactly the size asked for, one per line, and as compressible as stated."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_pareto.drivers.producer.payload import PAYLOAD_BYTES, payload_lines
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.workload import CompressiblePayload, PayloadFile

pytestmark = pytest.mark.fast

FILE = PayloadFile(file="log.txt")


def compressible(fraction: float, size: int, seed: int = 1) -> list[str]:
    return payload_lines(CompressiblePayload(compressed_fraction=fraction), size, None, np.random.default_rng(seed))


def cut(corpus: str, size: int) -> list[str]:
    return payload_lines(FILE, size, corpus, np.random.default_rng(1))


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("size", [37, 1024, 65536])
def test_a_batch_of_compressible_records_shrinks_to_the_stated_fraction(fraction: float, size: int):
    lines = compressible(fraction, size)
    in_a_batch = max(16_384 // size, 1)

    assert {len(line) for line in lines} == {size}
    for at in range(0, 20 * in_a_batch, in_a_batch):
        batch = "".join(lines[at : at + in_a_batch]).encode()
        assert len(zlib.compress(batch)) / len(batch) == pytest.approx(fraction, abs=0.03)


@pytest.mark.slow
def test_compressible_records_follow_from_the_seed_alone():
    assert compressible(0.3, 1024) == compressible(0.3, 1024)
    assert compressible(0.3, 1024) != compressible(0.3, 1024, seed=2)


def test_records_that_cannot_be_compressed_that_well_are_refused():
    with pytest.raises(
        BadInputError, match=r"compressed_fraction: 0\.99: the closest fraction for records of 1024 bytes is 0\.7"
    ):
        payload_lines(
            CompressiblePayload.model_construct(compressed_fraction=0.99), 1024, None, np.random.default_rng(1)
        )


def test_records_differ_within_any_usual_batch():
    for lines in (compressible(0.3, 8192), cut("".join(map(chr, range(33, 127))) * 3 + "\n", 8192)):
        assert sum(map(len, lines)) == PAYLOAD_BYTES
    assert len(set(compressible(0.3, 8192))) == PAYLOAD_BYTES // 8192


def test_a_file_is_cut_from_its_beginning_to_its_end_and_again():
    assert cut("one two\nthree\r\nfour ", 8)[:6] == [
        "one two ",
        "three  f",
        "our one ",
        "two thre",
        "e  four ",
        "one two ",
    ]


def test_no_character_is_split_and_spaces_fill_the_gap():
    assert cut("ab€cd", 4)[:4] == ["ab  ", "€c", "dab ", "€c"]


@pytest.mark.slow
@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.text(min_size=1, max_size=200), st.integers(4_000, 9_000))
def test_whatever_the_text_records_have_the_size_asked_for_and_no_line_end(corpus: str, size: int):
    lines = cut(corpus, size)

    assert {len(line.encode()) for line in lines} == {size}
    assert not any("\n" in line or "\r" in line for line in lines)


def test_an_empty_file_is_refused():
    with pytest.raises(BadInputError, match=r"log\.txt: the file is empty"):
        cut("", 100)
