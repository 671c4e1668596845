"""Estimate what predicted batches could add to the surrogates: `python -m benchmarks.what_if_prior`.

An audit predicts how settings fill batches. As an upper bound of the use of such predictions, the surrogates of the
kept campaign `steady` are given what no prediction can exceed: the batch size, records per request and compression that
were measured in the same repetitions. Prints R² of the logarithm on held-out configurations, within each record size,
with and without these inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks.on_cluster import DATA
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import tune_study
from kafka_pareto.surrogates.scores import cross_validated, r_squared
from kafka_pareto.surrogates.surrogate import feature_encoding

CAMPAIGN = DATA / "campaigns" / "steady"
CUTS = 10
MEASURED_BATCHES = ("batch_size_avg_bytes", "records_per_request_avg", "compression_rate_avg")
TARGETS = {
    "p95_latency_ms": "latency_p95_ms",
    "throughput_mib_s": "throughput_mib_s",
    "latency_cv": "latency_cv_in_run",
    "throughput_cv": "throughput_cv_in_run",
}


def main() -> None:
    """Print a row for each objective."""
    study = tune_study(load_study(CAMPAIGN / "study.yaml"))
    trials = _trials(list(study.factors))
    encoding = feature_encoding(study, trials)
    informed = encoding.model_copy(update={"features": [*encoding.features, *MEASURED_BATCHES]})
    print(f"{len(trials)} configurations at {trials.case.nunique()} record sizes; 5 folds, mean of {CUTS} cuts (SD)")
    print(f"{'objective':18}{'settings only':>16}{'and measured batches':>22}")
    for objective in TARGETS:
        rows = trials[trials[objective] > 0]
        found = []
        for each in (encoding, informed):
            scores = [_r2(rows, objective, cross_validated(study, each, rows, objective, cut)) for cut in range(CUTS)]
            found.append(f"{np.mean(scores):.3f} ({np.std(scores):.3f})")
        print(f"{objective:18}{found[0]:>16}{found[1]:>22}")


def _trials(factors: Sequence[str]) -> pd.DataFrame:
    """Return the geometric mean of each configuration's repetitions at each record size."""
    read = pd.read_csv(CAMPAIGN / "repetitions.csv", keep_default_na=False, na_values=[""])
    read = read[(read.outcome == "valid") & (read.phase != "gain")].assign(
        case=lambda each: each.record_size_bytes.astype(str)
    )
    values = [*TARGETS.values(), *MEASURED_BATCHES]
    keys = ["case", "configuration_id", "is_baseline", *factors]
    read[values] = read[values].where(read[values] > 0).map(np.log)
    grouped = read.groupby(keys)
    trials = grouped[values].mean().map(np.exp).rename(columns={column: name for name, column in TARGETS.items()})
    return trials.assign(repetitions_valid=grouped.size()).reset_index()


def _r2(rows: pd.DataFrame, objective: str, estimates: pd.Series) -> float:
    """Return the mean of R² within each record size."""
    frame = pd.DataFrame({"case": rows.case, "measured": np.log(rows[objective]), "estimated": np.log(estimates)})
    scores = [r_squared(each.measured, each.estimated) for _, each in frame.groupby("case")]
    return float(np.mean([score for score in scores if score is not None]))


if __name__ == "__main__":
    main()
