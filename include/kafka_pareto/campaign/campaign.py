"""A campaign's frozen study, keys, and typed access to its artifacts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import decode_table, encode_table
from kafka_pareto.errors import ArtifactError, BadInputError, MissingArtifactError
from kafka_pareto.storage.record import AnyRecord, Record, decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.identifiers import CAMPAIGN_ID
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import parse_study
from kafka_pareto.study.tune import Tune, tune_study

if TYPE_CHECKING:
    import pandas as pd

_PARALLEL_READS = 8
_READ_AHEAD = 256
# The explorer reopens the same campaigns, and parsing YAML dominates.
_parsed_study = lru_cache(maxsize=64)(parse_study)


def check_campaign_id(campaign: str) -> str:
    """Reject an ID that keys or topic names would not allow."""
    if not re.fullmatch(CAMPAIGN_ID, campaign):
        raise BadInputError(f"campaign: {campaign!r}: must be 1 to 63 letters, digits, '-' or '_'")
    return campaign


def campaign_ids(store: Store, study_name: str) -> list[str]:
    """List the IDs of the study's campaigns with a frozen study, sorted."""
    ids = store.folders(f"{study_name}/")
    return [each for each in ids if store.tag(CampaignKeys(study_name, each).frozen_study()) is not None]


@dataclass(frozen=True)
class Campaign:
    """One pass of the pipeline through one study."""

    study: Study
    keys: CampaignKeys
    store: Store

    @property
    def tune(self) -> Tune:
        """Return the study of a tuning campaign; reject any other."""
        return tune_study(self.study)

    @classmethod
    def open(cls, store: Store, study_name: str, campaign_id: str) -> Campaign:
        """Open a campaign whose design step has frozen its study."""
        return cls.at(store, CampaignKeys(study_name, campaign_id))

    @classmethod
    def at(cls, store: Store, keys: CampaignKeys) -> Campaign:
        """Open the campaign or check with artifacts under these keys; raises BadInputError without a frozen study."""
        try:
            text = store.get(keys.frozen_study()).decode()
        except MissingArtifactError as error:
            raise BadInputError(
                f"there is no campaign {keys.prefix} in the store; run its {keys.first_step} step first"
            ) from error
        return cls(_parsed_study(text, keys.frozen_study()), keys, store)

    def write(self, key: str, content: bytes) -> str:
        """Write an artifact and return its key."""
        self.store.put(key, content)
        return key

    def write_table(
        self, key: str, frame: pd.DataFrame, columns: dict[str, pa.DataType], *, factors: bool = True
    ) -> str:
        """Write a table artifact and return its key."""
        return self.write(key, encode_table(frame, columns, self.study if factors else None))

    def read_table(self, key: str, columns: dict[str, pa.DataType], *, factors: bool = True) -> pd.DataFrame:
        """Read and validate a table artifact."""
        return decode_table(self.store.get(key), key, columns, self.study if factors else None)

    def write_record(self, key: str, record: Record) -> str:
        """Write a JSON artifact and return its key."""
        return self.write(key, record.model_dump_json().encode())

    def read_record(self, key: str, model: type[AnyRecord]) -> AnyRecord:
        """Read and validate a JSON artifact."""
        return decode_record(self.store.get(key), key, model)

    def find_record(self, key: str, model: type[AnyRecord]) -> AnyRecord | None:
        """Read and validate a JSON artifact; None if it was not written."""
        try:
            return self.read_record(key, model)
        except MissingArtifactError:
            return None

    def read_repetition(self, key: str) -> Repetition:
        """Read a repetition (None for a quantity declared later); raises ArtifactError if it breaks its declaration."""
        found = self.read_record(key, Repetition)
        driver = self.study.declaration
        found = found.model_copy(update={"quantities": driver.with_missing(found.quantities)})
        if fault := driver.fault_of(found.quantities):
            raise ArtifactError(f"{key}: quantities: {fault}")
        return found

    def read_repetitions(self, prefix: str) -> list[Repetition]:
        """Read all repetitions below a prefix, in the order of their keys."""
        return list(self.each_repetition(prefix))

    def each_repetition(self, prefix: str) -> Iterator[Repetition]:
        """Read the repetitions below a prefix in the order of their keys; at most 256 are in memory at a time."""
        keys = [key for key in self.store.keys(prefix) if key.endswith(".json")]
        with ThreadPoolExecutor(_PARALLEL_READS) as pool:
            for at in range(0, len(keys), _READ_AHEAD):
                yield from pool.map(self.read_repetition, keys[at : at + _READ_AHEAD])

    def read_measurements(self, cases: Sequence[str], rounds: Iterable[int]) -> list[Repetition]:
        """Read the repetitions of these rounds in these cases, round by round."""
        return list(self.each_measurement(cases, rounds))

    def each_measurement(self, cases: Sequence[str], rounds: Iterable[int]) -> Iterator[Repetition]:
        """Yield the repetitions of these rounds in these cases, round by round."""
        for number in rounds:
            for case in cases:
                yield from self.each_repetition(self.keys.measurements(case, number))

    def last_round(self) -> int:
        """Return the last round whose trials were searched in every case; 0 if none."""
        for number in reversed(self.study.round_numbers()):
            fronts = {self.keys.front(case, number) for case in self.study.cases}
            searched = self.store.tag(self.keys.trials(number)) and self.store.keys(self.keys.fronts(number))
            if searched and fronts <= set(searched):
                return number
        return 0

    def manifest(
        self,
        step: str,
        artifacts: Sequence[str],
        counts: Mapping[str, int | float],
        cases: Sequence[str] | None = None,
    ) -> Manifest:
        """Build the step's manifest, by default for all cases."""
        cases = self.study.cases if cases is None else cases
        return Manifest(
            step=step,
            study=self.keys.study,
            campaign=self.keys.campaign,
            cases=list(cases),
            artifacts=list(artifacts),
            counts=dict(counts),
        )
