"""Gives the steps of a campaign its frozen study, its keys, and typed access to its artifacts in the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd
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

_PARALLEL_READS = 8
# The explorer opens the same campaigns again and again, and most of that is reading YAML.
_parsed_study = lru_cache(maxsize=64)(parse_study)


def check_campaign_id(campaign: str) -> str:
    """Refuses an id that keys or topic names would not allow; a campaign id becomes part of both."""
    if not re.fullmatch(CAMPAIGN_ID, campaign):
        raise BadInputError(f"campaign: {campaign!r}: must be 1 to 63 letters, digits, '-' or '_'")
    return campaign


def campaign_ids(store: Store, study_name: str) -> list[str]:
    """Lists the ids of the study's campaigns in order: all whose design step has frozen the study."""
    ids = store.folders(f"{study_name}/")
    return [each for each in ids if store.tag(CampaignKeys(study_name, each).frozen_study()) is not None]


@dataclass(frozen=True)
class Campaign:
    """Gives access to one campaign: one passage of the pipeline through one study."""

    study: Study
    keys: CampaignKeys
    store: Store

    @property
    def tune(self) -> Tune:
        """Returns the study of a campaign that tunes; another is refused."""
        return tune_study(self.study)

    @classmethod
    def open(cls, store: Store, study_name: str, campaign_id: str) -> Campaign:
        """Opens a campaign whose design step has frozen its study."""
        return cls.at(store, CampaignKeys(study_name, campaign_id))

    @classmethod
    def at(cls, store: Store, keys: CampaignKeys) -> Campaign:
        """Opens whatever has its artifacts under these keys: a campaign, or a check of the settings in force."""
        try:
            text = store.get(keys.frozen_study()).decode()
        except MissingArtifactError as error:
            raise BadInputError(
                f"there is no campaign {keys.prefix} in the store; run its {keys.first_step} step first"
            ) from error
        return cls(_parsed_study(text, keys.frozen_study()), keys, store)

    def write_table(
        self, key: str, frame: pd.DataFrame, columns: dict[str, pa.DataType], *, factors: bool = True
    ) -> str:
        """Writes a table artifact and returns its key."""
        self.store.put(key, encode_table(frame, columns, self.study if factors else None))
        return key

    def read_table(self, key: str, columns: dict[str, pa.DataType], *, factors: bool = True) -> pd.DataFrame:
        """Reads a table artifact and checks its schema."""
        return decode_table(self.store.get(key), key, columns, self.study if factors else None)

    def write_record(self, key: str, record: Record) -> str:
        """Writes a JSON artifact and returns its key."""
        self.store.put(key, record.model_dump_json().encode())
        return key

    def read_record(self, key: str, model: type[AnyRecord]) -> AnyRecord:
        """Reads a JSON artifact and checks its schema."""
        return decode_record(self.store.get(key), key, model)

    def read_repetition(self, key: str) -> Repetition:
        """Reads a repetition and checks its quantities.

        It holds None for a quantity that may be missing and was declared after it was stored.
        """
        found = self.read_record(key, Repetition)
        driver = self.study.declaration
        found = found.model_copy(update={"quantities": driver.with_missing(found.quantities)})
        if fault := driver.fault_of(found.quantities):
            raise ArtifactError(f"{key}: quantities: {fault}")
        return found

    def read_repetitions(self, prefix: str) -> list[Repetition]:
        """Reads all repetitions below a prefix, in the order of their keys."""
        keys = [key for key in self.store.keys(prefix) if key.endswith(".json")]
        with ThreadPoolExecutor(_PARALLEL_READS) as pool:
            return list(pool.map(self.read_repetition, keys))

    def read_measurements(self, cases: Sequence[str], rounds: Iterable[int]) -> list[Repetition]:
        """Reads the repetitions that these rounds measured in these cases, round by round."""
        prefixes = [self.keys.measurements(case, number) for number in rounds for case in cases]
        return [repetition for prefix in prefixes for repetition in self.read_repetitions(prefix)]

    def last_round(self) -> int:
        """Returns the last round whose trials were searched in every case; 0 where there is none yet."""
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
        """Builds the step's manifest; without cases it covers all of the study's."""
        cases = self.study.cases if cases is None else cases
        return Manifest(
            step=step,
            study=self.keys.study,
            campaign=self.keys.campaign,
            cases=list(cases),
            artifacts=list(artifacts),
            counts=dict(counts),
        )
