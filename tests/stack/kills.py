"""Kills the parts of a stack one after another while a campaign sends records, and sees each come back."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import psutil

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.errors import ClusterError, MissingArtifactError, StoreError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.measurement.own_topics import topic_name
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import open_store
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.stack.embedded_stack import EmbeddedStack

STEP = "measure task"
VICTIMS = (STEP, "airflow-scheduler", "kafka-2", "minio", "mlflow")
_GOES_ON_WITHIN_S = 240.0
_LOAD_ENDS_WITHIN_S = 5.0


@dataclass(frozen=True)
class Kill:
    """One `kill -9`: the records that arrived just before it, and the time until the campaign resumed.

    Attributes:
        killed_at: As a repetition's `started_at`.
        next_key: Of a repetition that was begun after the kill.
        goes_on_after_s: From the kill until that repetition was in the store.
    """

    victim: str
    records_between_looks: int
    killed_at: str
    next_key: str
    goes_on_after_s: float


@dataclass(frozen=True)
class Survived:
    """A campaign that ran to its end although every part of its stack was killed once, and what `run` said of it."""

    campaign: Campaign
    said: str
    killer: Killer
    kills: list[Kill]


class Killer:
    """Takes aim at one campaign of a stack."""

    def __init__(self, stack: EmbeddedStack, keys: CampaignKeys, cases: list[str], seed: int) -> None:
        self._stack = stack
        self._keys = keys
        self._cases = cases
        self._store = open_store(stack.stack.settings())
        self._rng = np.random.default_rng(seed)

    def kill_everything_once(self) -> list[Kill]:
        """Kills the victims in random order, each at a random repetition, when the one before has been survived."""
        kills = []
        with Cluster(self._stack.stack.bootstrap_servers, None, self._stack.stack.settings()) as cluster:
            for victim in self._rng.permutation(VICTIMS):
                self._wait_for_repetitions(int(self._rng.integers(1, 4)))
                kills.append(self._kill(str(victim), cluster))
                print(kills[-1])
        return kills

    def _kill(self, victim: str, cluster: Cluster) -> Kill:
        victims_process = self._process(victim)
        arrived = self._records_arriving(cluster)
        stored, pid = set(self._repetition_keys()), victims_process.pid
        try:
            victims_process.kill()
        except psutil.NoSuchProcess:  # a step that has just come to its end
            return self._kill(victim, cluster)
        killed_at, killed = datetime.now(UTC).isoformat(), time.monotonic()
        if victim == STEP:
            wait_until("the load has ended with its step", lambda: not self.load(), _LOAD_ENDS_WITHIN_S)
        else:
            wait_until(f"another {victim} runs", lambda: self._stack.pids().get(victim, pid) != pid, 60)
        next_key = self._begun_after(killed_at, stored, f"the campaign goes on after the kill of {victim}")
        return Kill(victim, arrived, killed_at, next_key, time.monotonic() - killed)

    def load(self) -> list[psutil.Process]:
        """The load generators that send to a topic of the campaign."""
        topics = {topic_name(self._keys, size) for size in self._cases}
        return _processes(lambda argv: not topics.isdisjoint(argv))

    def steps(self) -> list[psutil.Process]:
        """The campaign's steps."""
        return _processes(lambda argv: f"--campaign={self._keys.campaign}" in argv)

    def _process(self, victim: str) -> psutil.Process:
        if victim != STEP:
            return psutil.Process(self._stack.pids()[victim])
        found: list[psutil.Process] = []

        def look() -> bool:
            found[:] = self.steps() if self.load() else []
            return bool(found)

        wait_until("a step loads the cluster", look, _GOES_ON_WITHIN_S)
        return max(found, key=lambda step: step.create_time())

    def _records_arriving(self, cluster: Cluster) -> int:
        """How many records arrived in a topic between two looks, as soon as some do."""
        seen: dict[str, int] = {}
        arrived: list[int] = []

        def look() -> bool:
            for topic in self._loaded_topics():
                with suppress(ClusterError):
                    offset = cluster.end_offset(topic)
                    arrived.append(offset - seen.get(topic, offset))
                    seen[topic] = offset
            return bool(arrived) and arrived[-1] > 0

        wait_until("records arrive", look, _GOES_ON_WITHIN_S, poll_s=0.02)
        return arrived[-1]

    def _loaded_topics(self) -> set[str]:
        topics = {topic_name(self._keys, size) for size in self._cases}
        return {word for process in self.load() for word in process.info["cmdline"] if word in topics}

    def _wait_for_repetitions(self, count: int) -> None:
        enough = len(self._repetition_keys()) + count
        wait_until(
            f"{count} more repetitions are stored", lambda: len(self._repetition_keys()) >= enough, _GOES_ON_WITHIN_S
        )

    def _begun_after(self, moment: str, known: set[str], what: str) -> str:
        """The key of a repetition that began after the moment, as soon as one is stored; `known` are too old."""
        found: list[str] = []

        def look() -> bool:
            with suppress(StoreError, MissingArtifactError):  # away, or a block that is being rejected
                new = sorted(set(self._repetition_keys()) - known)
                found[:] = [key for key in new if self._started_at(key) > moment]
            return bool(found)

        wait_until(what, look, _GOES_ON_WITHIN_S)
        return found[0]

    def _started_at(self, key: str) -> str:
        return decode_record(self._store.get(key), key, Repetition).started_at

    def _repetition_keys(self) -> list[str]:
        """Of all repetitions in the store; none while it is away."""
        prefixes = [self._keys.measurements(case) for case in self._cases]
        prefixes += [self._keys.confirmation(case, "repetitions/") for case in self._cases]
        try:
            return [key for prefix in prefixes for key in self._store.keys(prefix)]
        except StoreError:
            return []


def _processes(wanted: Callable[[list[str]], bool]) -> list[psutil.Process]:
    running = psutil.process_iter(["cmdline"])
    return [process for process in running if wanted(process.info["cmdline"] or [])]
