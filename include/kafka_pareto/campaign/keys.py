"""Every artifact of a campaign: its key in the store, and the schema of each table. Defined here and nowhere else.

Tables are Parquet with fixed columns (units in the names) and one further column per factor of the study, named by
the Kafka property. What is JSON has its model in `records`; both share one schema version.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar


@dataclass(frozen=True)
class CampaignKeys:
    """The keys of one campaign's artifacts, all under `<study>/<campaign>/`."""

    study: str
    campaign: str
    first_step: ClassVar[str] = "design"

    @property
    def prefix(self) -> str:
        return f"{self.study}/{self.campaign}"

    def frozen_study(self) -> str:
        return f"{self.prefix}/study.yaml"

    def plan(self) -> str:
        """Repetitions, duration, bytes and peak disk as computed before the start (JSON, `Plan`)."""
        return f"{self.prefix}/plan.json"

    def fingerprint(self, case: str) -> str:
        """The cluster and machine as found when measuring of this record size began (JSON, `Fingerprint`)."""
        return f"{self.prefix}/fingerprints/{case}.json"

    def design(self, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/01_design.parquet"

    def proposal(self, round_number: int) -> str:
        """Which record sizes go on in this round, and why the others do not (JSON, `Proposal`)."""
        return f"{self._round(round_number)}/01_proposal.json"

    def prior(self) -> str:
        """Which earlier campaigns a warm start learns from, and what was left out of them (JSON, `Prior`)."""
        return f"{self._round(0)}/01_prior.json"

    def prior_trials(self) -> str:
        return f"{self._round(0)}/01_prior_trials.parquet"

    def measurements(self, case: str, round_number: int = 0) -> str:
        """The prefix below which a record size's repetitions lie, one JSON object each."""
        return f"{self._round(round_number)}/02_measurements/{case}/"

    def sizing(self, case: str, round_number: int = 0) -> str:
        """How many records one repetition of this record size sends (JSON, `Sizing`)."""
        return f"{self._round(round_number)}/02_measurements/{case}_sizing.json"

    def set_aside(self, case: str, round_number: int = 0) -> str:
        """The prefix of repetitions that were measured in a block which had to be measured again."""
        return f"{self._round(round_number)}/02_set_aside/{case}/"

    def noise(self, case: str, round_number: int = 0) -> str:
        """The A/A study of the baseline (JSON, `NoiseReport`); its repetitions lie below `noise_repetitions`."""
        return f"{self._round(round_number)}/02_noise/{case}.json"

    def noise_repetitions(self, case: str, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/02_noise/{case}/"

    def payload(self) -> str:
        """The text that records are cut from, where the study names a file."""
        return f"{self.prefix}/payload.txt"

    def trials(self, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/03_trials.parquet"

    def validation(self, name: str, round_number: int = 0) -> str:
        """`rejected.parquet`, `summary.json` and the site `data_docs/…` of the validation."""
        return f"{self._round(round_number)}/03_validation/{name}"

    def surrogates(self, name: str, round_number: int = 0) -> str:
        """`<objective>.ubj`, `scores.parquet` and `figures/…` of the training."""
        return f"{self._round(round_number)}/04_surrogates/{name}"

    def front(self, case: str, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/05_front/{case}.parquet"

    def hypervolume(self, case: str, round_number: int = 0) -> str:
        return f"{self._round(round_number)}/05_front/{case}_hypervolume.parquet"

    def confirmation(self, case: str, name: str = "") -> str:
        """`candidates.parquet`, `repetitions/…`, `trials.parquet`, `decision.json` of one record size."""
        return f"{self.prefix}/06_confirmation/{case}/{name}"

    def report(self, name: str) -> str:
        """`report.html`, `cards.json`, `<case>/producer.properties`, `figures/…`, `tables/…`."""
        return f"{self.prefix}/07_report/{name}"

    def answers(self) -> str:
        """The prefix of what people answered when they were asked about the recommendations; the oldest key first."""
        return f"{self.prefix}/08_rollout/answers/"

    def answer(self, at: datetime) -> str:
        """One answer, by when it was given, in UTC (JSON, `Answer`)."""
        return f"{self.answers()}{at:%Y%m%dT%H%M%S.%f}.json"

    def _round(self, round_number: int) -> str:
        return f"{self.prefix}/round={round_number:02d}"


@dataclass(frozen=True)
class InForceKeys:
    """The keys of what is in force for one record size of a study; no study's or campaign's name begins alike."""

    study: str
    case: str

    @staticmethod
    def of_study(study: str) -> str:
        """The prefix below which each record size of the study has a folder."""
        return f"_in_force/{study}/"

    @property
    def prefix(self) -> str:
        return f"{self.of_study(self.study)}{self.case}"

    def versions(self) -> str:
        """The prefix of all versions; their keys are in their order."""
        return f"{self.prefix}/versions/"

    def version(self, number: int) -> str:
        """One version, from 1 on, never written over (JSON, `SettingsInForce`)."""
        return f"{self.versions()}{number:05d}.json"

    def file(self, name: str) -> str:
        """The newest version as a file that a producer reads: `producer.properties`, `application.yaml`, …"""
        return f"{self.prefix}/{name}"


@dataclass(frozen=True)
class CheckKeys(CampaignKeys):
    """The keys of one check of the settings in force: measured like a campaign, and kept apart from them.

    `campaign` is the check's id. What it measures is a confirmation, of what is in force.
    """

    first_step: ClassVar[str] = "check"

    @property
    def prefix(self) -> str:
        return f"_checks/{self.study}/{self.campaign}"

    def plan(self) -> str:
        """What is checked: each record size with its settings in force, or why it is not measured (`CheckPlan`)."""
        return f"{self.prefix}/plan.json"

    def check(self) -> str:
        """What came of it (JSON, `Check`)."""
        return f"{self.prefix}/08_check.json"
