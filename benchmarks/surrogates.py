"""Compute the surrogates' share of the noise ceiling, on recorded data: `python -m benchmarks.surrogates`.

Computes held-out R² within each record size over five folds that share no configuration. Prints the mean over several
ways to cut the folds, and the standard deviation over the cuts. The default settings learn the logarithm and are judged
by it. The paper's settings are judged both by the logarithm and by the value that they learn. Each ceiling is of the
same trials on the same scale.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.sections import Surrogate
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.noise_ceiling import error_variances, noise_ceiling, trial_keys
from kafka_pareto.surrogates.scores import cross_validated, is_learnable, r_squared
from kafka_pareto.surrogates.surrogate import feature_encoding, logarithm
from tests.recorded import paper_study, recorded_repetitions

CUTS = 10

Values = npt.NDArray[np.float64]


def main() -> None:
    """Print one line for each objective and record size."""
    paper = paper_study()
    default = paper.model_copy(update={"surrogate": Surrogate()})
    repetitions = recorded_repetitions(tuple(paper.cases))
    trials = summarise_trials(repetitions, paper)
    print(f"held-out R² over 5 folds, mean of {CUTS} cuts (their standard deviation); {len(trials)} trials")
    print(f"{'':25} {'of the logarithm':^48} {'of the value':^16}")
    print(f"{'objective':25} {'default':>16} {'ceiling':>8} {'share':>6} {'paper':>8} {'paper':>16} {'ceiling':>8}")
    for objective in PRODUCER.objective_names:
        ours, theirs = (_estimates(study, trials, objective) for study in (default, paper))
        errors, value_errors = (
            error_variances(trials, repetitions, objective, paper, of_logarithm=scale) for scale in (True, False)
        )
        for size, rows in trials.groupby("case"):
            here = (trials["case"] == size).to_numpy()
            values = rows[objective]
            logarithms = pd.Series(logarithm(values.to_numpy(dtype=float)))
            ceiling = noise_ceiling(logarithms, [errors[key] for key in trial_keys(rows)]) or 0.0
            value_ceiling = noise_ceiling(values, [value_errors[key] for key in trial_keys(rows)]) or 0.0
            of_cut = _r2(logarithms, np.log(ours[:, here]))
            mean = float(of_cut.mean())
            share = f"{mean / ceiling:6.2f}" if is_learnable(mean, ceiling) else f"{'none':>6}"
            print(
                f"{objective:16} {size:>6} B {mean:8.3f} ({of_cut.std():.3f}) {ceiling:8.3f} {share}"
                f" {_r2(logarithms, logarithm(theirs[:, here])).mean():8.3f}"
                f" {_r2(values, theirs[:, here]).mean():16.3f} {value_ceiling:8.3f}"
            )
    print("share: of the ceiling; none: not learnable")


def _estimates(study: Tune, trials: pd.DataFrame, objective: ObjectiveName) -> Values:
    """Return held-out estimates of shape (cuts, trials)."""
    encoding = feature_encoding(study, trials)
    return np.array([cross_validated(study, encoding, trials, objective, cut) for cut in range(CUTS)])


def _r2(measured: pd.Series, estimates: Values) -> Values:
    return np.array([r_squared(measured, estimated) for estimated in estimates], dtype=np.float64)


if __name__ == "__main__":
    main()
