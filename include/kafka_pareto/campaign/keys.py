"""Defines every artifact of a campaign: its key in the store. No other module does.

The schema of each table is in `tables`. What is JSON has its model in `records`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar


@dataclass(frozen=True)
class CampaignKeys:
    """Builds the keys of one campaign's artifacts, all under `<study>/<campaign>/`."""

    study: str
    campaign: str
    first_step: ClassVar[str] = "design"

    @property
    def prefix(self) -> str:
        """Returns the common beginning of all keys, without a slash at the end."""
        return f"{self.study}/{self.campaign}"

    def frozen_study(self) -> str:
        """Returns the key of the study as the design step froze it (YAML)."""
        return f"{self.prefix}/study.yaml"

    def plan(self) -> str:
        """Returns the key of repetitions, duration, bytes and peak disk as computed before the start (JSON, `Plan`)."""
        return f"{self.prefix}/plan.json"

    def ceilings(self) -> str:
        """Returns the key of what the machine of a comparison can do without Kafka (JSON, `Ceilings`)."""
        return f"{self.prefix}/ceilings.json"

    def fingerprint(self, case: str) -> str:
        """Returns the key of the cluster and machine as found before this case was measured (JSON, `Fingerprint`)."""
        return f"{self.prefix}/fingerprints/{case}.json"

    def design(self, round_number: int = 0) -> str:
        """Returns the key of the configurations that a round measures (table)."""
        return f"{self._round(round_number)}/01_design.parquet"

    def proposal(self, round_number: int) -> str:
        """Returns the key of the decision which cases go on in this round, and why others do not (JSON, `Proposal`)."""
        return f"{self._round(round_number)}/01_proposal.json"

    def advice(self) -> str:
        """Returns the key of what others advise, and of what the study leaves out of it (JSON, `FollowedAdvice`)."""
        return f"{self._round(0)}/01_advice.json"

    def prior(self) -> str:
        """Returns the key of the earlier campaigns that a warm start uses, and of what it left out (JSON, `Prior`)."""
        return f"{self._round(0)}/01_prior.json"

    def prior_trials(self) -> str:
        """Returns the key of the earlier campaigns' trials that a warm start uses (table)."""
        return f"{self._round(0)}/01_prior_trials.parquet"

    def measurements(self, case: str, round_number: int = 0) -> str:
        """Returns the prefix below which a case's repetitions lie, one JSON object each."""
        return f"{self._round(round_number)}/02_measurements/{case}/"

    def sizing(self, case: str, round_number: int = 0) -> str:
        """Returns the key of how many records one repetition of this case sends (JSON, `Sizing`)."""
        return f"{self._round(round_number)}/02_measurements/{case}_sizing.json"

    def set_aside(self, case: str, round_number: int = 0) -> str:
        """Returns the prefix of repetitions whose block had to be measured again."""
        return f"{self._round(round_number)}/02_set_aside/{case}/"

    def failures(self, case: str, round_number: int = 0) -> str:
        """Returns the key of a case's failed repetitions (JSON, `Failures`); without a case, the prefix of all."""
        name = f"{case}.json" if case else ""
        return f"{self._round(round_number)}/02_failed/{name}"

    def noise(self, case: str, round_number: int = 0) -> str:
        """Returns the key of the baseline's A/A study (JSON, `NoiseReport`); see `noise_repetitions` for its data."""
        return f"{self._round(round_number)}/02_noise/{case}.json"

    def noise_repetitions(self, case: str, round_number: int = 0) -> str:
        """Returns the prefix below which the repetitions of the noise study lie."""
        return f"{self._round(round_number)}/02_noise/{case}/"

    def payload(self) -> str:
        """Returns the key of the text that loads are made from, where the study names a file."""
        return f"{self.prefix}/payload.txt"

    def trials(self, round_number: int = 0) -> str:
        """Returns the key of a round's trials, summarised from its valid repetitions (table)."""
        return f"{self._round(round_number)}/03_trials.parquet"

    def validation(self, name: str, round_number: int = 0) -> str:
        """Returns the key of `rejected.parquet`, `summary.json` or the site `data_docs/…` of the validation."""
        return f"{self._round(round_number)}/03_validation/{name}"

    def surrogates(self, name: str, round_number: int = 0) -> str:
        """Returns the key of `<objective>.ubj`, `scores.parquet`, `calibration.json` or `figures/…` of the training."""
        return f"{self._round(round_number)}/04_surrogates/{name}"

    def comparisons(self) -> str:
        """Returns the prefix of what the parts of a comparison came to."""
        return f"{self.prefix}/04_comparison/"

    def comparison(self, part: str) -> str:
        """Returns the key of what one part of a comparison came to (JSON, `PartComparison`)."""
        return f"{self.comparisons()}{part}.json"

    def fronts(self, round_number: int = 0) -> str:
        """Returns the prefix below which the search writes."""
        return f"{self._round(round_number)}/05_front/"

    def front(self, case: str, round_number: int = 0) -> str:
        """Returns the key of the non-dominated configurations by estimate (table)."""
        return f"{self.fronts(round_number)}{case}.parquet"

    def hypervolume(self, case: str, round_number: int = 0) -> str:
        """Returns the key of the search's hypervolume after each generation (table)."""
        return f"{self.fronts(round_number)}{case}_hypervolume.parquet"

    def confirmation(self, case: str, name: str = "") -> str:
        """Returns the key of what one case's confirmation wrote.

        That is `in_force.json` (JSON, `FoundInForce`), `candidates.parquet`, `repetitions/…`, `trials.parquet` or
        `decision.json` (JSON, `Decision`).
        """
        return f"{self.prefix}/06_confirmation/{case}/{name}"

    def report(self, name: str) -> str:
        """Returns the key of `report.html`, `cards.json`, a case's settings, `figures/…` or `tables/…`."""
        return f"{self.prefix}/07_report/{name}"

    def changes(self, name: str) -> str:
        """Returns the key of what has changed of the system since it was measured (JSON, `Changes`)."""
        return f"{self.prefix}/08_rollout/changes/{name}.json"

    def answers(self) -> str:
        """Returns the prefix of people's answers to the question about the recommendations; the oldest key is first."""
        return f"{self.prefix}/08_rollout/answers/"

    def answer(self, at: datetime) -> str:
        """Returns the key of one answer, by the time at which it was given, in UTC (JSON, `Answer`)."""
        return f"{self.answers()}{at:%Y%m%dT%H%M%S.%f}.json"

    def _round(self, round_number: int) -> str:
        return f"{self.prefix}/round={round_number:02d}"


@dataclass(frozen=True)
class InForceKeys:
    """Builds the keys of what is in force in one case of a study.

    No name of a study or campaign begins like them.
    """

    study: str
    case: str

    @staticmethod
    def of_study(study: str) -> str:
        """Returns the prefix below which each case of the study has a folder."""
        return f"_in_force/{study}/"

    @property
    def prefix(self) -> str:
        """Returns the common beginning of all keys of the case, without a slash at the end."""
        return f"{self.of_study(self.study)}{self.case}"

    def versions(self) -> str:
        """Returns the prefix of all versions, whose keys sort by version."""
        return f"{self.prefix}/versions/"

    def version(self, number: int) -> str:
        """Returns the key of one version, from 1 on; it is never overwritten (JSON, `SettingsInForce`)."""
        return f"{self.versions()}{number:05d}.json"

    def file(self, name: str) -> str:
        """Returns the key of the newest version as a file that clients read, like `producer.properties`."""
        return f"{self.prefix}/{name}"


@dataclass(frozen=True)
class CheckKeys(CampaignKeys):
    """Builds the keys of one check of the settings in force. It is measured like a campaign, and kept apart from them.

    `campaign` is the check's id. A check's measurement is a confirmation of the settings in force.
    """

    first_step: ClassVar[str] = "check"

    @property
    def prefix(self) -> str:
        """Returns the common beginning of all keys of the check, without a slash at the end."""
        return f"_checks/{self.study}/{self.campaign}"

    def plan(self) -> str:
        """Returns the key of the cases with their settings in force, or why one is not measured (JSON, `CheckPlan`)."""
        return f"{self.prefix}/plan.json"

    def check(self) -> str:
        """Returns the key of the check's result (JSON, `Check`)."""
        return f"{self.prefix}/08_check.json"
