"""Store keys of every artifact of a campaign. Schemas: tables in `tables`, JSON models in `records`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar


@dataclass(frozen=True)
class CampaignKeys:
    """Keys of one campaign's artifacts, all under `<study>/<campaign>/`."""

    study: str
    campaign: str
    first_step: ClassVar[str] = "design"

    @property
    def prefix(self) -> str:
        """Return the common prefix of all keys, without a trailing slash."""
        return f"{self.study}/{self.campaign}"

    def frozen_study(self) -> str:
        """Return the key of the study as the design step froze it (YAML)."""
        return f"{self.prefix}/study.yaml"

    def plan(self) -> str:
        """Return the key of the planned repetitions, duration, bytes and peak disk (JSON, `Plan`)."""
        return f"{self.prefix}/plan.json"

    def ceilings(self) -> str:
        """Return the key of the machine's ceilings without Kafka (JSON, `Ceilings`)."""
        return f"{self.prefix}/ceilings.json"

    def fingerprint(self, case: str) -> str:
        """Return the key of the cluster and machine before this case was measured (JSON, `Fingerprint`)."""
        return f"{self.prefix}/fingerprints/{case}.json"

    def design(self, round_number: int = 0) -> str:
        """Return the key of the configurations that a round measures (table)."""
        return f"{self._round(round_number)}/01_design.parquet"

    def proposal(self, round_number: int) -> str:
        """Return the key of the decision which cases a round measures (JSON, `Proposal`)."""
        return f"{self._round(round_number)}/01_proposal.json"

    def advice(self) -> str:
        """Return the key of published advice and what the study leaves out of it (JSON, `FollowedAdvice`)."""
        return f"{self._round(0)}/01_advice.json"

    def prior(self) -> str:
        """Return the key of the earlier campaigns that a warm start uses or leaves out (JSON, `Prior`)."""
        return f"{self._round(0)}/01_prior.json"

    def prior_trials(self) -> str:
        """Return the key of the earlier campaigns' trials for a warm start (table)."""
        return f"{self._round(0)}/01_prior_trials.parquet"

    def measurements(self, case: str, round_number: int = 0) -> str:
        """Return the prefix of a case's repetitions, one JSON object each."""
        return f"{self._round(round_number)}/02_measurements/{case}/"

    def sizing(self, case: str, round_number: int = 0) -> str:
        """Return the key of the records that one repetition of this case sends (JSON, `Sizing`)."""
        return f"{self._round(round_number)}/02_measurements/{case}_sizing.json"

    def set_aside(self, case: str, round_number: int = 0) -> str:
        """Return the prefix of repetitions whose block was measured again."""
        return f"{self._round(round_number)}/02_set_aside/{case}/"

    def failures(self, case: str, round_number: int = 0) -> str:
        """Return the key of a case's failed repetitions (JSON, `Failures`); without a case, the prefix of all."""
        name = f"{case}.json" if case else ""
        return f"{self._round(round_number)}/02_failed/{name}"

    def noise(self, case: str, round_number: int = 0) -> str:
        """Return the key of the baseline's A/A study (JSON, `NoiseReport`)."""
        return f"{self._round(round_number)}/02_noise/{case}.json"

    def noise_repetitions(self, case: str, round_number: int = 0) -> str:
        """Return the prefix of the A/A study's repetitions."""
        return f"{self._round(round_number)}/02_noise/{case}/"

    def payload(self) -> str:
        """Return the key of the text to send, if the study names a file."""
        return f"{self.prefix}/payload.txt"

    def trials(self, round_number: int = 0) -> str:
        """Return the key of a round's trials (table)."""
        return f"{self._round(round_number)}/03_trials.parquet"

    def validation(self, name: str, round_number: int = 0) -> str:
        """Return the key of the validation's `rejected.parquet`, `summary.json` or site `data_docs/…`."""
        return f"{self._round(round_number)}/03_validation/{name}"

    def surrogates(self, name: str, round_number: int = 0) -> str:
        """Return the key of the training's `<objective>.ubj`, `scores.parquet`, `calibration.json` or `figures/…`."""
        return f"{self._round(round_number)}/04_surrogates/{name}"

    def comparisons(self) -> str:
        """Return the prefix of the parts' comparisons."""
        return f"{self.prefix}/04_comparison/"

    def comparison(self, part: str) -> str:
        """Return the key of one part's comparison (JSON, `PartComparison`)."""
        return f"{self.comparisons()}{part}.json"

    def fronts(self, round_number: int = 0) -> str:
        """Return the prefix of the search's artifacts."""
        return f"{self._round(round_number)}/05_front/"

    def front(self, case: str, round_number: int = 0) -> str:
        """Return the key of the configurations that are non-dominated by estimate (table)."""
        return f"{self.fronts(round_number)}{case}.parquet"

    def hypervolume(self, case: str, round_number: int = 0) -> str:
        """Return the key of the search's hypervolume per generation (table)."""
        return f"{self.fronts(round_number)}{case}_hypervolume.parquet"

    def confirmation(self, case: str, name: str = "") -> str:
        """Return the key of `in_force.json`, `candidates.parquet`, `repetitions/…`, `trials.parquet`, `decision.json`.

        The JSON models are `FoundInForce` and `Decision`.
        """
        return f"{self.prefix}/06_confirmation/{case}/{name}"

    def report(self, name: str) -> str:
        """Return the key of `report.html`, `cards.json`, a case's settings, `figures/…` or `tables/…`."""
        return f"{self.prefix}/07_report/{name}"

    def changes(self, name: str) -> str:
        """Return the key of the system's changes since the measurement (JSON, `Changes`)."""
        return f"{self.prefix}/08_rollout/changes/{name}.json"

    def answers(self) -> str:
        """Return the prefix of people's answers about the recommendations, the oldest key first."""
        return f"{self.prefix}/08_rollout/answers/"

    def answer(self, at: datetime) -> str:
        """Return the key of one answer by its UTC time (JSON, `Answer`)."""
        return f"{self.answers()}{at:%Y%m%dT%H%M%S.%f}.json"

    def _round(self, round_number: int) -> str:
        return f"{self.prefix}/round={round_number:02d}"


@dataclass(frozen=True)
class InForceKeys:
    """Keys of the settings in force in one case; no study or campaign name begins like them."""

    study: str
    case: str

    @staticmethod
    def of_study(study: str) -> str:
        """Return the prefix of the study's cases."""
        return f"_in_force/{study}/"

    @property
    def prefix(self) -> str:
        """Return the common prefix of the case's keys, without a trailing slash."""
        return f"{self.of_study(self.study)}{self.case}"

    def versions(self) -> str:
        """Return the prefix of all versions; keys sort by version."""
        return f"{self.prefix}/versions/"

    def version(self, number: int) -> str:
        """Return the key of one version, from 1 on; never overwritten (JSON, `SettingsInForce`)."""
        return f"{self.versions()}{number:05d}.json"

    def file(self, name: str) -> str:
        """Return the key of the newest version as a client file, like `producer.properties`."""
        return f"{self.prefix}/{name}"


@dataclass(frozen=True)
class CheckKeys(CampaignKeys):
    """Keys of one check of the settings in force, kept apart from campaigns; `campaign` is the check's id."""

    first_step: ClassVar[str] = "check"

    @property
    def prefix(self) -> str:
        """Return the common prefix of all keys, without a trailing slash."""
        return f"_checks/{self.study}/{self.campaign}"

    def plan(self) -> str:
        """Return the key of the cases with their settings in force, or why one is not measured (JSON, `CheckPlan`)."""
        return f"{self.prefix}/plan.json"

    def check(self) -> str:
        """Return the key of the check's result (JSON, `Check`)."""
        return f"{self.prefix}/08_check.json"
