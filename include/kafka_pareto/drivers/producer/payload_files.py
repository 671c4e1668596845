"""Keeps the payloads of a testbed: a file of records for each kind and size that its loads send."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.producer.payload import payload_lines
from kafka_pareto.study.workload import Payload, PayloadFile, ProducerLoad


class PayloadFiles:
    """Makes each payload once, in a folder."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        self._campaign = campaign
        self._folder = folder
        self._made: dict[tuple[str, int], Path] = {}

    def file_of(self, load: ProducerLoad) -> Path | None:
        """Returns the file with the load's records, one in a line; None where the load tool makes its own.

        Raises:
            BadInputError: If records of this size cannot be made as the study wants them.
        """
        if isinstance(load.payload, str):
            return None
        key = (repr(load.payload), load.record_size_bytes)
        if key not in self._made:
            self._made[key] = self._make(load.payload, load.record_size_bytes)
        return self._made[key]

    def _make(self, payload: Payload, record_size_bytes: int) -> Path:
        corpus = None
        if isinstance(payload, PayloadFile):
            corpus = self._campaign.store.get(self._campaign.keys.payload()).decode()
        rng = np.random.default_rng([self._campaign.study.seed, record_size_bytes])
        file = self._folder / f"records-{len(self._made)}.txt"
        lines = payload_lines(payload, record_size_bytes, corpus, rng)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file


@contextmanager
def payload_files(campaign: Campaign) -> Iterator[PayloadFiles]:
    """Keeps the payloads of a campaign's loads for as long as the context is open."""
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-payload-") as folder:
        yield PayloadFiles(campaign, Path(folder))
