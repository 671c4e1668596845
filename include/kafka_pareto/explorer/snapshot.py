"""Read the artifacts of one case of a campaign so far."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import cast

import pandas as pd
import pyarrow as pa

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.advice import followed_advice
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import NoiseReport, Repetition, ValidationSummary
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS, DESIGN_COLUMNS, FRONT_COLUMNS, TRIAL_COLUMNS, table_schema
from kafka_pareto.decision.decision import Decision
from kafka_pareto.errors import BadInputError
from kafka_pareto.report.card_context import CardContext
from kafka_pareto.report.cards import Cards
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.tune import Tune

_PARALLEL_READS = 8
_REPETITIONS_KEPT = 8192


@dataclass(frozen=True)
class Snapshot:
    """One case of one campaign. A table without data yet is empty.

    Attributes:
        written: When each object of the campaign was written, by key.
        trials: `TRIAL_COLUMNS` and factors, from the design and the rounds.
        round_of: The round that first drew a configuration.
        front: `FRONT_COLUMNS` and factors of the last search.
        candidates: `CANDIDATE_COLUMNS` and factors of the configurations to confirm.
        confirmed: `TRIAL_COLUMNS` and factors of the choice blocks measured so far.
        decision: None until the case's confirmation ends.
        context: The card's remarks beside the decision; None before the report.
        noise: The A/A study of the baseline; None without one.
        advised_by: Who advises a configuration, by its id.
        problems: Why the gate stopped the campaign; empty if it did not.
    """

    campaign: Campaign
    case: str
    written: Mapping[str, datetime]
    trials: pd.DataFrame
    round_of: Mapping[str, int]
    front: pd.DataFrame
    candidates: pd.DataFrame
    confirmed: pd.DataFrame
    decision: Decision | None
    context: CardContext | None
    noise: NoiseReport | None
    advised_by: Mapping[str, Sequence[str]]
    problems: Sequence[str]

    @property
    def study(self) -> Tune:
        """Return the campaign's study."""
        return self.campaign.tune


def read_snapshot(campaign: Campaign, case: str) -> Snapshot:
    """Read the tables of finished steps; single repetitions only if no gate has passed their round.

    Raises:
        BadInputError: If the campaign has no such case.
        ArtifactError: If an artifact is damaged or of another schema version; the message names it.
    """
    cases = campaign.tune.cases
    if case not in cases:
        known = ", ".join(map(case_label, cases))
        raise BadInputError(f"campaign {campaign.keys.prefix} has no data for {case_label(case)}; it has {known}")
    return _Reader(campaign, case).read()


class _Reader:
    def __init__(self, campaign: Campaign, case: str) -> None:
        self._campaign, self._keys, self._case = campaign, campaign.keys, case
        self._written = campaign.store.written_at(f"{campaign.keys.prefix}/")
        self._rounds = campaign.tune.round_numbers()

    def read(self) -> Snapshot:
        keys, case, written = self._keys, self._case, self._written
        decision, context = self._decision()
        return Snapshot(
            campaign=self._campaign,
            case=case,
            written=written,
            trials=self._trials(),
            round_of=self._round_of(),
            front=self._table(self._last(lambda number: keys.front(case, number)), FRONT_COLUMNS),
            candidates=self._table(keys.confirmation(case, "candidates.parquet"), CANDIDATE_COLUMNS),
            confirmed=self._confirmed(),
            decision=decision,
            context=context,
            noise=self._campaign.read_record(keys.noise(case), NoiseReport) if keys.noise(case) in written else None,
            advised_by=followed_advice(self._campaign).titles(case),
            problems=self._problems(),
        )

    def _table(self, key: str, columns: dict[str, pa.DataType]) -> pd.DataFrame:
        if key not in self._written:
            return pd.DataFrame(columns=table_schema(columns, self._campaign.study).names)
        found = self._campaign.read_table(key, columns)
        return found[found.case == self._case].reset_index(drop=True)

    def _last(self, key_of: Callable[[int], str]) -> str:
        """Return the key in the last round that has the object, else in round 0."""
        return next((key for number in reversed(self._rounds) if (key := key_of(number)) in self._written), key_of(0))

    def _round_of(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for number in self._rounds:
            for name in self._table(self._keys.design(number), DESIGN_COLUMNS).configuration_id:
                found.setdefault(name, number)
        return found

    def _trials(self) -> pd.DataFrame:
        """Return the last gate's trials, which include earlier rounds, and those measured since."""
        passed = self._table(self._last(self._keys.trials), TRIAL_COLUMNS)
        since = [number for number in self._rounds if self._keys.trials(number) not in self._written]
        prefixes = [self._keys.measurements(self._case, number) for number in since]
        measured = self._repetitions(prefixes)
        known = set(passed.configuration_id)
        new = summarise_trials([r for r in measured if r.configuration_id not in known], self._campaign.tune)
        both = [frame for frame in (passed, new) if len(frame)]
        return pd.concat(both, ignore_index=True) if both else passed

    def _confirmed(self) -> pd.DataFrame:
        key = self._keys.confirmation(self._case, "trials.parquet")
        if key in self._written:
            return self._table(key, TRIAL_COLUMNS)
        measured = self._repetitions([self._keys.confirmation(self._case, "repetitions/")])
        choice = [repetition for repetition in measured if repetition.phase == "choice"]
        return summarise_trials(choice, self._campaign.tune)

    def _repetitions(self, prefixes: Sequence[str]) -> list[Repetition]:
        keys = [key for key in self._written if key.startswith(tuple(prefixes)) and key.endswith(".json")]
        return read_repetitions(self._campaign, {key: self._written[key] for key in keys})

    def _decision(self) -> tuple[Decision | None, CardContext | None]:
        report, own = self._keys.report("cards.json"), self._keys.confirmation(self._case, "decision.json")
        if report in self._written:
            cards = self._campaign.read_record(report, Cards)
            for decision, context in zip(cards.cards, cards.contexts, strict=True):
                if decision.case == self._case:
                    return decision, context
        return self._campaign.read_record(own, Decision) if own in self._written else None, None

    def _problems(self) -> list[str]:
        """Return why the last gate stopped the campaign, if it did."""
        last = self._last(lambda number: self._keys.validation("summary.json", number))
        return self._campaign.read_record(last, ValidationSummary).problems if last in self._written else []


@dataclass(frozen=True)
class Written:
    """One write of an object. Stores are distinguished by identity."""

    store: Hashable
    key: str
    written_at: datetime
    campaign: Campaign = field(compare=False)


class KeptRepetitions:
    """A cache of repetitions with random eviction.

    A page reads the same repetitions in the same order each time: evicting the oldest would miss every time once they
    exceed the capacity by one.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Written, Repetition] = {}
        self._lock = Lock()
        self._random = random.Random(0)  # noqa: S311 (not a secret)

    def read(self, written: Written) -> Repetition:
        """Return the repetition, read at most once while it is cached."""
        found = self._kept.get(written)
        if found is None:
            found = written.campaign.read_repetition(written.key)
            with self._lock:
                if len(self._kept) >= self._most:
                    del self._kept[self._random.choice(list(self._kept))]
                self._kept[written] = found
        return found


_KEPT = KeptRepetitions(_REPETITIONS_KEPT)


def read_repetitions(campaign: Campaign, written: Mapping[str, datetime]) -> list[Repetition]:
    """Return repetitions by key and time of writing, read once per write."""
    store = cast("Hashable", campaign.store)  # not part of its protocol
    with ThreadPoolExecutor(_PARALLEL_READS) as pool:
        return list(pool.map(_KEPT.read, [Written(store, key, at, campaign) for key, at in written.items()]))


def repetitions_named(snapshot: Snapshot, repetition_ids: Iterable[str]) -> list[Repetition]:
    """Return those of the case's repetitions that are in the store, by ID."""
    keys = {_repetition_key(snapshot, each) for each in repetition_ids}
    return read_repetitions(snapshot.campaign, {key: at for key, at in snapshot.written.items() if key in keys})


def _repetition_key(snapshot: Snapshot, repetition_id: str) -> str:
    """Return the key of a repetition of the design, the rounds or the confirmation; its ID states phase and round."""
    phase, number, *_ = repetition_id.split("-")
    if phase != "design":
        return snapshot.campaign.keys.confirmation(snapshot.case, f"repetitions/{repetition_id}.json")
    prefix = snapshot.campaign.keys.measurements(snapshot.case, int(number.removeprefix("r")))
    return f"{prefix}{repetition_id}.json"
