"""Store a phase's repetitions, and move those of rejected blocks out of the phase."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec, TypeVar

from tenacity import before_sleep_log, retry, retry_if_exception_type, stop_after_delay, wait_exponential

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Phase, Repetition
from kafka_pareto.errors import StoreError
from kafka_pareto.measurement.blocks import PlannedRepetition

log = logging.getLogger(__name__)

_STORE_DEADLINE_S = 300.0

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class RepetitionStore:
    """The repetitions below one prefix of a campaign, one object each, downloaded once and then kept up to date.

    If the store is down, operations are retried for minutes.
    """

    def __init__(self, campaign: Campaign, prefix: str) -> None:
        self.campaign = campaign
        self._prefix = prefix
        self._stored = {found.repetition_id: found for found in campaign.read_repetitions(prefix)}
        self._failed = {name for name, found in self._stored.items() if found.outcome == "failed"}
        # Keys rejected before this process; later rejections are complete, or this process has ended.
        self._discarded: set[str] | None = None

    def repetitions(self) -> list[Repetition]:
        """Return all stored repetitions in key order, with any outcome."""
        return [self._stored[each] for each in sorted(self._stored, key=self._key)]

    def failed(self) -> list[Repetition]:
        """Return the failed ones in key order."""
        return [self._stored[each] for each in sorted(self._failed, key=self._key)]

    def holds(self, planned: PlannedRepetition) -> bool:
        """Return whether the repetition is stored, with any outcome."""
        return planned.repetition_id in self._stored

    def put(self, measured: Repetition) -> None:
        """Store the repetition, replacing an earlier record of it.

        Raises:
            StoreError: If that fails even after minutes of retries; the measurement is then in the log.
        """
        self._write(self._key(measured.repetition_id), measured)
        self._stored[measured.repetition_id] = measured
        if measured.outcome == "failed":
            self._failed.add(measured.repetition_id)
        else:
            self._failed.discard(measured.repetition_id)

    def discard(self, measured: Repetition) -> None:
        """Store a rejected repetition. Its key names its start: the same write may be repeated."""
        self._write(_discarded_key(self.campaign.keys, measured), measured)

    def discard_block(self, block: Iterable[PlannedRepetition]) -> None:
        """Move the block's repetitions out of the phase.

        All are copied before the first is deleted, so after a kill the block `is_partly_discarded`.
        """
        spoiled = sorted(planned.repetition_id for planned in block if self.holds(planned))
        for repetition_id in spoiled:
            self.discard(self._stored[repetition_id])
        for repetition_id in spoiled:
            persistently(self.campaign.store.delete)(self._key(repetition_id))
            del self._stored[repetition_id]
            self._failed.discard(repetition_id)

    def is_partly_discarded(self, block: Sequence[PlannedRepetition]) -> bool:
        """Return whether one of the block's repetitions is both rejected and still in the phase."""
        keys, first = self.campaign.keys, block[0]
        if self._discarded is None:
            self._discarded = set(
                self.campaign.store.keys(_discarded_prefix(keys, first.phase, first.case, first.round_number))
            )
        stored = [self._stored[planned.repetition_id] for planned in block if self.holds(planned)]
        return any(_discarded_key(keys, repetition) in self._discarded for repetition in stored)

    def _key(self, repetition_id: str) -> str:
        return f"{self._prefix}{repetition_id}.json"

    def _write(self, key: str, measured: Repetition) -> None:
        try:
            persistently(self.campaign.write_record)(key, measured)
        except StoreError:
            log.error("repetition measured but not stored: %s", measured.model_dump_json())
            raise


def persistently(operation: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Return the operation, retried for minutes while the store is down."""
    return retry(
        retry=retry_if_exception_type(StoreError),
        stop=stop_after_delay(_STORE_DEADLINE_S),
        wait=wait_exponential(max=15),
        before_sleep=before_sleep_log(log, logging.WARNING),
        reraise=True,
    )(operation)


def _discarded_key(keys: CampaignKeys, measured: Repetition) -> str:
    prefix = _discarded_prefix(keys, measured.phase, measured.case, measured.round)
    return f"{prefix}{measured.repetition_id}@{measured.started_at}.json"


def _discarded_prefix(keys: CampaignKeys, phase: Phase, case: str, round_number: int) -> str:
    if phase in ("choice", "gain", "final"):
        return keys.confirmation(case, "set_aside/")
    return keys.discarded(case, round_number)
