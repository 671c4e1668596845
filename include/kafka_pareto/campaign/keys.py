"""Store keys of every artifact of a campaign. Schemas: tables (Parquet) in `tables`, JSON models in `records`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partialmethod
from typing import ClassVar


@dataclass(frozen=True)
class CampaignKeys:
    """Keys of one campaign's artifacts, below `<study>/<campaign>/`; a round's take its number last (default 0)."""

    study: str
    campaign: str
    first_step: ClassVar[str] = "design"

    @property
    def prefix(self) -> str:
        """Return the common prefix of all keys, without a trailing slash."""
        return f"{self.study}/{self.campaign}"

    def _key(self, path: str, *names: str) -> str:
        return f"{self.prefix}/{path.format(*names)}"

    def _of_round(self, path: str, round_number: int = 0) -> str:
        return f"{self.prefix}/round={round_number:02d}/{path}"

    def _named(self, path: str, name: str, round_number: int = 0) -> str:
        return self._of_round(path.format(name), round_number)

    frozen_study = partialmethod(_key, "study.yaml")
    payload = partialmethod(_key, "payload.txt")  # the text or records to send, if the study names a file
    plan = partialmethod(_key, "plan.json")  # Plan, CheckPlan
    ceilings = partialmethod(_key, "ceilings.json")  # Ceilings
    fingerprint = partialmethod(_key, "fingerprints/{}.json")  # Fingerprint, by case
    load_machines = partialmethod(_key, "load_machines/")  # a folder per session
    load_machine = partialmethod(_key, "load_machines/{}/{}.json")  # AnnouncedMachine, by session and number
    load_machines_stopped = partialmethod(_key, "load_machines/{}/stopped")

    design = partialmethod(_of_round, "01_design.parquet")
    proposal = partialmethod(_of_round, "01_proposal.json")  # Proposal: the cases that the round measures
    advice = partialmethod(_of_round, "01_advice.json")  # FollowedAdvice
    prior = partialmethod(_of_round, "01_prior.json")  # Prior: campaigns of a warm start
    prior_trials = partialmethod(_of_round, "01_prior_trials.parquet")

    measurements = partialmethod(_named, "02_measurements/{}/")  # a case's repetitions, one object each
    sizing = partialmethod(_named, "02_measurements/{}_sizing.json")  # Sizing, by case
    discarded = partialmethod(_named, "02_set_aside/{}/")  # a case's repetitions whose block was measured again
    noise = partialmethod(_named, "02_noise/{}.json")  # NoiseReport, by case
    noise_repetitions = partialmethod(_named, "02_noise/{}/")

    trials = partialmethod(_of_round, "03_trials.parquet")
    validation = partialmethod(_named, "03_validation/{}")  # rejected.parquet, summary.json, data_docs/…
    surrogates = partialmethod(_named, "04_surrogates/{}")  # <objective>.ubj, scores.parquet, figures/…
    comparisons = partialmethod(_key, "04_comparison/")
    comparison = partialmethod(_key, "04_comparison/{}.json")  # PartComparison, by part
    fronts = partialmethod(_of_round, "05_front/")
    front = partialmethod(_named, "05_front/{}.parquet")  # non-dominated by estimate, by case
    hypervolume = partialmethod(_named, "05_front/{}_hypervolume.parquet")  # per generation of a case's search
    report = partialmethod(_key, "07_report/{}")  # report.html, cards.json, a case's settings, figures/…, tables/…
    changes = partialmethod(_key, "08_rollout/changes/{}.json")  # Changes of the system since the measurement
    answers = partialmethod(_key, "08_rollout/answers/")  # oldest key first

    def failures(self, case: str, round_number: int = 0) -> str:
        """Return the key of a case's failed repetitions (JSON, `Failures`); without a case, the prefix of all."""
        return self._of_round(f"02_failed/{case}.json" if case else "02_failed/", round_number)

    def confirmation(self, case: str, name: str = "") -> str:
        """Key of `in_force.json`, `candidates.parquet`, `repetitions/…`, `trials.parquet` or `decision.json`."""
        return self._key("06_confirmation/{}/{}", case, name)

    def answer(self, at: datetime) -> str:
        """Return the key of one answer by its UTC time (JSON, `Answer`)."""
        return f"{self.answers()}{at:%Y%m%dT%H%M%S.%f}.json"


@dataclass(frozen=True)
class InForceKeys:
    """Keys of the active settings in one case; no study or campaign name begins like them."""

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
        """Return the key of one version, from 1 on; never overwritten (JSON, `ActiveSettings`)."""
        return f"{self.versions()}{number:05d}.json"

    def file(self, name: str) -> str:
        """Return the key of the newest version as a client file, like `producer.properties`."""
        return f"{self.prefix}/{name}"


@dataclass(frozen=True)
class GateKeys(CampaignKeys):
    """Keys of one measurement of two settings files, kept apart from campaigns; `campaign` is its ID."""

    first_step: ClassVar[str] = "gate"

    @property
    def prefix(self) -> str:
        """Return the common prefix of all keys, without a trailing slash."""
        return f"_gates/{self.study}/{self.campaign}"

    def result(self) -> str:
        """Return the key of the result (JSON, `GateResult`)."""
        return f"{self.prefix}/08_gate.json"


@dataclass(frozen=True)
class CheckKeys(CampaignKeys):
    """Keys of one check of the active settings, kept apart from campaigns; `campaign` is the check's ID."""

    first_step: ClassVar[str] = "check"

    @staticmethod
    def of_study(study: str) -> str:
        """Return the prefix of the study's checks."""
        return f"_checks/{study}/"

    @property
    def prefix(self) -> str:
        """Return the common prefix of all keys, without a trailing slash."""
        return f"{self.of_study(self.study)}{self.campaign}"

    def check(self) -> str:
        """Return the key of the check's result (JSON, `Check`)."""
        return f"{self.prefix}/08_check.json"
