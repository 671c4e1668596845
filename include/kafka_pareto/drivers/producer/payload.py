"""Make payloads, one record per line, as files for either load tool.

Generated payloads fill `PAYLOAD_BYTES`, more than any usual batch, so no batch contains a record twice.
"""

from __future__ import annotations

import string
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.sent_text import sent_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.workload import CompressiblePayload, Payload, PayloadFile, ProducerLoad, SampledPayload

PAYLOAD_BYTES = 8 << 20
_MAX_LINES = 100_000
# Kafka compresses whole batches; zlib is tried on one of Kafka's default size, or on one record where that is larger.
_BATCH_BYTES = 16_384
_TOLERANCE = 0.03
_LETTERS = np.frombuffer((string.ascii_letters + string.digits + "+/").encode(), dtype=np.uint8)
_LINE_ENDS = str.maketrans("\r\n", "  ")


def payload_lines(
    payload: PayloadFile | CompressiblePayload,
    record_size_bytes: int,
    corpus: str | None,
    rng: np.random.Generator,
) -> list[str]:
    """Return records of exactly `record_size_bytes` in UTF-8, without line ends.

    Args:
        payload: The study's `workload.payload`.
        record_size_bytes: The size of each record.
        corpus: The text of the study's file, if it names one.
        rng: Source of the compressible text.

    Raises:
        BadInputError: If the file is empty, or if records this small cannot be compressed that well.
    """
    count = min(max(PAYLOAD_BYTES // record_size_bytes, 1), _MAX_LINES)
    if isinstance(payload, CompressiblePayload):
        return _compressible(payload.compressed_fraction, record_size_bytes, count, rng)
    if not corpus:
        raise BadInputError(f"workload.payload.file: {payload.file}: the file is empty; records are cut from its text")
    return _cut(corpus, record_size_bytes, count)


def payload_text(payload: Payload) -> str:
    """Return a payload's identity as text."""
    return payload if isinstance(payload, str) else repr(payload)


def _cut(corpus: str, size: int, count: int) -> list[str]:
    """Cut the text from start to end, repeatedly. A record ends before a character that does not fit."""
    text = corpus.translate(_LINE_ENDS).encode()
    endless = text * (size // len(text) + 2)
    lines, start = [], 0
    for _ in range(count):
        end = start + size
        while endless[end] & 0b1100_0000 == 0b1000_0000:  # continues a character
            end -= 1
        lines.append(endless[start:end].decode() + " " * (size - (end - start)))
        start = end % len(text)
    return lines


def _compressible(fraction: float, size: int, count: int, rng: np.random.Generator) -> list[str]:
    """Mix random letters, which hardly compress, with spaces, which do; the result compresses to `fraction`."""
    letters = rng.choice(_LETTERS, size * count)
    batch = max(_BATCH_BYTES // size, 1)
    low, high = 0.0, 1.0
    for _ in range(10):  # bisection: the compressed size grows with the share of letters
        share = (low + high) / 2
        text = _mixed(letters, share, size, min(batch, count))
        reached = len(zlib.compress(text)) / len(text)
        low, high = (share, high) if reached < fraction else (low, share)
    if abs(reached - fraction) > _TOLERANCE:
        raise BadInputError(
            f"workload.payload.compressed_fraction: {fraction}: the closest fraction for records of {size} bytes is "
            f"{reached:.2f}; choose another fraction or larger records"
        )
    records = _mixed(letters, share, size, count).decode()
    return [records[at : at + size] for at in range(0, len(records), size)]


def _mixed(letters: np.ndarray[tuple[int], np.dtype[np.uint8]], share: float, size: int, count: int) -> bytes:
    """Make records of letters followed by spaces; `share` is met on average."""
    bounds = (np.arange(count + 1) * share * size).astype(np.int64)
    is_letter = np.arange(size) < np.diff(bounds)[:, np.newaxis]
    return np.where(is_letter, letters[: size * count].reshape(count, size), np.uint8(ord(" "))).tobytes()


class PayloadFiles:
    """Make each payload once, in a folder."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        self._campaign = campaign
        self._folder = folder
        self._made: dict[tuple[str, int], Path] = {}

    def file_of(self, load: ProducerLoad) -> Path | None:
        """Return the file with the load's values, one per line, or the sample; None if the load tool makes its own.

        Raises:
            BadInputError: If records of this size cannot be compressed that well.
        """
        if isinstance(load.payload, str):
            return None
        key = (repr(load.payload), load.record_size_bytes)
        if key not in self._made:
            file = self._folder / f"records-{len(self._made)}.txt"
            file.write_text(self._records(load.payload, load.record_size_bytes), encoding="utf-8")
            self._made[key] = file
        return self._made[key]

    def _records(self, payload: PayloadFile | SampledPayload | CompressiblePayload, record_size_bytes: int) -> str:
        corpus = None
        if not isinstance(payload, CompressiblePayload):
            corpus = sent_text(self._campaign)
            if isinstance(payload, SampledPayload):
                return corpus
        rng = np.random.default_rng([self._campaign.study.seed, record_size_bytes])
        return "\n".join(payload_lines(payload, record_size_bytes, corpus, rng)) + "\n"


@contextmanager
def payload_files(campaign: Campaign) -> Iterator[PayloadFiles]:
    """Keep the payloads of a campaign's loads while the context is open."""
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-payload-") as folder:
        yield PayloadFiles(campaign, Path(folder))
