"""Read a campaign that `benchmarks.keep_campaign` kept: its study, its repetitions and the report's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.on_cluster import Values
from kafka_pareto.analysis.repetition_values import coefficient_of_variation, smallest_value
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.declarations import objective_named
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune, tune_study

TABLES = "tables"
OF_REPETITIONS = {"p95_latency_ms": "latency_p95_ms", "throughput_mib_s": "throughput_mib_s"}
"""The column of the repetitions that holds a mean's values."""


@dataclass(frozen=True)
class KeptCampaign:
    """A kept campaign.

    Attributes:
        repetitions: The valid ones of design and confirmation; `case` is a text.
        r2: The report's table of the surrogates' scores; `case` is empty over all record sizes.
        estimates: The report's table of estimates and measured values.
    """

    study: Tune
    repetitions: pd.DataFrame
    r2: pd.DataFrame
    estimates: pd.DataFrame

    def design(self) -> pd.DataFrame:
        """Return the trials of the design, as the report's tables of the published study take them."""
        own = self.repetitions[(self.repetitions.phase == "design") & (self.repetitions["round"] == 0)]
        return pd.DataFrame([self._trial(of_trial) for _, of_trial in own.groupby(["case", "configuration_id"])])

    def values(self, case: str, phase: str, mean: str) -> dict[str, Values]:
        """Map each configuration's id to its values of a mean, by block."""
        own = self.repetitions
        own = own[(own.case == case) & (own.phase == phase)].sort_values("block")
        return {str(name): self._floored(rows, mean) for name, rows in own.groupby("configuration_id")}

    def sides(self, case: str, configuration_id: str, mean: str) -> tuple[Values, Values]:
        """Return the baseline's and the configuration's values in the fresh blocks that have both, by block."""
        own = self.repetitions[self.repetitions.case == case]
        own = own[own.phase.isin(["gain", "final"])]
        baseline, pick = (
            own[own.configuration_id == name].set_index("block")
            for name in (self.study.baseline_id(), configuration_id)
        )
        blocks = sorted(baseline.index.intersection(pick.index))
        return self._floored(baseline.loc[blocks], mean), self._floored(pick.loc[blocks], mean)

    def pick(self, case: str) -> str | None:
        """Return the configuration measured with the baseline in the gain blocks; None if there is none."""
        own = self.repetitions
        own = own[(own.case == case) & (own.phase == "gain") & (own.configuration_id != self.study.baseline_id())]
        return None if own.empty else str(own.configuration_id.iloc[0])

    def _floored(self, rows: pd.DataFrame, mean: str) -> Values:
        values: Values = rows[OF_REPETITIONS[mean]].to_numpy(dtype=float)
        least: Values = np.maximum(values, smallest_value(mean, self.study.protocol))
        return least

    def _trial(self, rows: pd.DataFrame) -> dict[str, object]:
        first = rows.iloc[0]
        configuration = {name: _level(first[name], factor.levels or []) for name, factor in self.study.factors.items()}
        return {
            "case": first.case,
            "configuration_id": first.configuration_id,
            "is_baseline": bool(first.is_baseline),
            "feasible": self.study.keeps_rules(configuration, first.case),
            "durability": self.study.durability_of(configuration).name,
            **{name: objective_value(self._floored(rows, mean_of(name)), name) for name in self.study.objective_names},
            "repetition_ids": [],
            **configuration,
        }


def mean_of(objective: str) -> str:
    """Return the mean whose values an objective is computed from; of a mean itself."""
    return objective_named(objective).spread_of or objective


def objective_value(values: Values, objective: str) -> float:
    """Return a trial's mean, or its CV across repetitions."""
    return coefficient_of_variation(values) if objective_named(objective).spread_of else float(np.mean(values))


def read_kept(folder: Path) -> KeptCampaign:
    """Read a folder that `benchmarks.keep_campaign` wrote.

    Raises:
        BadInputError: If a file of it is missing, or its CVs are not across repetitions.
    """
    names = ("repetitions.csv", f"{TABLES}/r2_per_objective.csv", f"{TABLES}/estimated_vs_measured.csv")
    if missing := [name for name in ("study.yaml", *names) if not (folder / name).exists()]:
        raise BadInputError(
            f"{folder}: lacks {missing[0]}; keep a campaign there by `python -m benchmarks.keep_campaign`"
        )
    study = tune_study(load_study(folder / "study.yaml"))
    if study.protocol.variability != "across_repetitions":
        raise BadInputError(f"{folder}/study.yaml: protocol.variability: the published CVs are across_repetitions")
    repetitions, r2, estimates = (
        pd.read_csv(folder / name, dtype={"case": str}, keep_default_na=False, na_values=[""]) for name in names
    )
    if "outcome" in repetitions:
        repetitions = repetitions[repetitions.outcome == "valid"]
    return KeptCampaign(study, repetitions, r2, estimates)


def _level(value: object, levels: Sequence[FactorValue]) -> FactorValue:
    """Return the level that a cell stands for: a CSV does not distinguish the text 1 from the number."""
    return next((level for level in levels if str(level) == str(value)), str(value))
