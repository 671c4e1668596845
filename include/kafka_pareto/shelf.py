"""Where a phase's repetitions lie in the store, and where those go whose block had to be measured again."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tenacity import before_sleep_log, retry, retry_if_exception_type, stop_after_delay, wait_exponential

from kafka_pareto.artifacts import CampaignKeys, Repetition
from kafka_pareto.blocks import PlannedRepetition
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import StoreError

log = logging.getLogger(__name__)

_STORE_DEADLINE_S = 300.0


class Shelf:
    """The repetitions below one prefix, one object each; a store that is away is waited for, some minutes long."""

    def __init__(self, campaign: Campaign, prefix: str) -> None:
        self._campaign = campaign
        self._prefix = prefix
        self._stored = set(campaign.store.keys(prefix))

    def holds(self, planned: PlannedRepetition) -> bool:
        """Whether the repetition is in the store, whatever came of it."""
        return self._key(planned.repetition_id) in self._stored

    def put(self, measured: Repetition) -> None:
        """Stores the repetition, over an earlier record of the same one.

        Raises:
            StoreError: If that cannot be done even after some minutes; the measurement is then in the log.
        """
        key = self._key(measured.repetition_id)
        self._write(key, measured)
        self._stored.add(key)

    def put_aside(self, measured: Repetition) -> None:
        """Keeps a repetition that does not count. Its key names its start: the same write may be repeated."""
        self._write(
            f"{_aside(self._campaign.keys, measured)}{measured.repetition_id}@{measured.started_at}.json", measured
        )

    def set_aside(self, block: Iterable[PlannedRepetition]) -> None:
        """Takes the block's repetitions out of the phase and keeps them aside, each copied before it is deleted."""
        for planned in block:
            if self.holds(planned):
                key = self._key(planned.repetition_id)
                self.put_aside(self._campaign.read_record(key, Repetition))
                self._campaign.store.delete(key)
                self._stored.remove(key)

    def _key(self, repetition_id: str) -> str:
        return f"{self._prefix}{repetition_id}.json"

    def _write(self, key: str, measured: Repetition) -> None:
        persistent = retry(
            retry=retry_if_exception_type(StoreError),
            stop=stop_after_delay(_STORE_DEADLINE_S),
            wait=wait_exponential(max=15),
            before_sleep=before_sleep_log(log, logging.WARNING),
            reraise=True,
        )(self._campaign.write_record)
        try:
            persistent(key, measured)
        except StoreError:
            log.error("measured, but not stored: %s", measured.model_dump_json())
            raise


def sent_bytes(campaign: Campaign) -> int:
    """What the campaign has sent so far to a cluster that is not ours; 0 for our own, where nobody asks."""
    if campaign.study.cluster is None:
        return 0
    keys = campaign.keys
    prefixes = [
        prefix
        for size in campaign.study.record_sizes_bytes
        for prefix in (
            keys.measurements(size),
            keys.noise_repetitions(size),
            keys.set_aside(size),
            keys.confirmation(size, "repetitions/"),
            keys.confirmation(size, "set_aside/"),
        )
    ]
    stored = [repetition for prefix in prefixes for repetition in campaign.read_repetitions(prefix)]
    return sum(each.attempts * each.records_requested * each.record_size_bytes for each in stored)


def _aside(keys: CampaignKeys, measured: Repetition) -> str:
    if measured.phase in ("choice", "gain"):
        return keys.confirmation(measured.record_size_bytes, "set_aside/")
    return keys.set_aside(measured.record_size_bytes, measured.round)
