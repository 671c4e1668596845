"""Score surrogates: R² on held-out configurations, and the noise ceiling, the highest R² possible. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import SCORE_COLUMNS
from kafka_pareto.study.cases import case_label, in_order
from kafka_pareto.study.declarations import objective_named
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.calibration import FOLDS, Calibration, calibrate, folds_of
from kafka_pareto.surrogates.noise_ceiling import MINIMUM_ROWS_FOR_R2, error_variances, noise_ceiling, trial_keys
from kafka_pareto.surrogates.surrogate import (
    FeatureEncoding,
    Surrogate,
    fit_surrogate,
    logarithm,
    split_by_configuration,
)

CEILING_OF_NOISE_ALONE = 0.1
"""Below this share of explainable variance an objective is noise, even if a lucky split scores well."""
LEAST_SHARE_OF_CEILING = 0.5
"""A model that explains less than this share of what can be explained has not learned the objective."""
CURVE_COLUMNS = ("configurations", "r2_train", "r2_held_out", "r2_held_out_sd")
_SMALLEST_ESTIMATE = 1e-3  # an estimate at or below zero has no logarithm
_CURVE_FRACTIONS = (0.25, 0.5, 0.75, 1.0)
_SHOWN = {
    "r2_train": ("R² train", 9),
    "r2_held_out": ("held out", 9),
    "r2_cross_validated": ("5 folds", 8),
    "r2_noise_ceiling": ("ceiling", 8),
    "coverage_cross_validated": ("in 90 %", 8),
    "mae_held_out": ("MAE", 10),
    "rmse_held_out": ("RMSE", 10),
}


@dataclass(frozen=True)
class JudgedSurrogate:
    """A model with its training and held-out trials; `rows` are all trials that measured its objective.

    Means have a `calibration` if there are enough trials.
    """

    surrogate: Surrogate
    rows: pd.DataFrame
    held_out: pd.DataFrame
    scores: pd.DataFrame
    calibration: Calibration | None = None

    def pooled_r2_held_out(self) -> float | None:
        """Return R² on all held-out trials; None if too few."""
        score = self.scores.loc[self.scores["case"].isna(), "r2_held_out"].iloc[0]
        return None if pd.isna(score) else float(score)


def judge_objective(
    study: Tune,
    encoding: FeatureEncoding,
    trials: pd.DataFrame,
    repetitions: Iterable[Repetition],
    objective: ObjectiveName,
) -> JudgedSurrogate:
    """Fit one objective on the training configurations and judge it on the held-out ones.

    As in the paper, the judged model is kept, not a later refit.
    """
    rows = trials[trials[objective].notna()]
    train, held_out = split_by_configuration(rows, study)
    surrogate = fit_surrogate(study, encoding, train, objective)
    errors = error_variances(rows, repetitions, objective, study, of_logarithm=surrogate.log_target)
    estimated = cross_validated(study, encoding, rows, objective)
    scores = score_surrogate(surrogate, train, held_out, estimated, errors)
    calibration = None
    if objective in study.means and (calibrated := calibrate(study, rows, objective, estimated)):
        calibration, covered = calibrated
        of_case = covered.groupby(rows["case"]).mean()
        scores["coverage_cross_validated"] = scores["case"].map(of_case).where(scores["case"].notna(), covered.mean())
    return JudgedSurrogate(surrogate, rows, held_out, scores, calibration)


def score_surrogate(
    surrogate: Surrogate,
    train: pd.DataFrame,
    held_out: pd.DataFrame,
    cross_validated: pd.Series,
    error_variances: Mapping[str, float],
) -> pd.DataFrame:
    """Score one model, pooled (case null) and within each case, as `SCORE_COLUMNS`; null if the rows are too few.

    R² and its ceiling are on the scale that the model learned: the logarithm for p95 latency, which spans two decades
    and is compared by ratios. MAE and RMSE are in the objective's own unit. Learnability depends on all trials,
    cross-validated, not on one split. `error_variances` holds, by `trial_keys`, the variance of the measurement error
    on the learned scale, NaN if unknown.
    """
    everything = pd.concat([train, held_out])
    scopes: list[str | None] = [None, *in_order(everything["case"].unique())]
    measured = _learned(everything[surrogate.objective], surrogate)
    estimates = pd.Series(surrogate.predict(everything), index=everything.index)
    answers, unseen_answers = _learned(estimates, surrogate), _learned(cross_validated, surrogate)
    rows = []
    for case in scopes:
        seen, unseen = (part if case is None else part[part["case"] == case] for part in (train, held_out))
        both = seen.index.append(unseen.index)
        error = (unseen[surrogate.objective] - estimates[unseen.index]).to_numpy(dtype=float)
        r2 = r_squared(measured[both], unseen_answers[both])
        ceiling = noise_ceiling(measured[both], [error_variances[key] for key in trial_keys(everything.loc[both])])
        rows.append(
            {
                "objective": surrogate.objective,
                "case": case,
                "of_logarithm": surrogate.log_target,
                "r2_train": r_squared(measured[seen.index], answers[seen.index]),
                "r2_held_out": r_squared(measured[unseen.index], answers[unseen.index]),
                "r2_cross_validated": r2,
                "mae_held_out": float(np.mean(np.abs(error))) if len(error) else None,
                "rmse_held_out": float(np.sqrt(np.mean(error**2))) if len(error) else None,
                "r2_noise_ceiling": ceiling,
                "coverage_cross_validated": np.nan,
                "configurations_train": seen["configuration_id"].nunique(),
                "configurations_held_out": unseen["configuration_id"].nunique(),
                "learnable": is_learnable(r2, ceiling),
            }
        )
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS)).astype({"case": "string"})


def is_learnable(r2: float | None, ceiling: float | None) -> bool:
    """Return whether a model with this R² has learned enough of the explainable variance, if that is known."""
    if r2 is None or r2 <= 0:
        return False
    return ceiling is None or (ceiling >= CEILING_OF_NOISE_ALONE and r2 >= LEAST_SHARE_OF_CEILING * ceiling)


def cross_validated(
    study: Tune, encoding: FeatureEncoding, rows: pd.DataFrame, objective: ObjectiveName, repeat: int = 0
) -> pd.Series:
    """Return each trial's estimate by a model that saw four fifths of the configurations, but not this one.

    Another `repeat` draws other folds. NaN with fewer configurations than folds.
    """
    estimates = np.full(len(rows), np.nan)
    for inside, outside in folds_of(study, rows, repeat):
        surrogate = fit_surrogate(study, encoding, rows.iloc[inside], objective)
        estimates[outside] = surrogate.predict(rows.iloc[outside])
    return pd.Series(estimates, index=rows.index)


def r_squared(measured: np.ndarray | pd.Series, estimated: np.ndarray | pd.Series) -> float | None:
    """Return the coefficient of determination; None below three rows, with a missing estimate or without spread."""
    if len(measured) < MINIMUM_ROWS_FOR_R2 or np.ptp(np.asarray(measured, dtype=float)) == 0:
        return None
    return None if np.isnan(estimated).any() else float(r2_score(measured, estimated))


def learning_curve(
    study: Tune, encoding: FeatureEncoding, rows: pd.DataFrame, objective: ObjectiveName, generator: np.random.Generator
) -> pd.DataFrame:
    """Return R² by number of training configurations (`CURVE_COLUMNS`), averaged over folds of configurations.

    Empty with fewer configurations than folds.
    """
    curve = pd.DataFrame(columns=list(CURVE_COLUMNS), dtype=float)
    if rows["configuration_id"].nunique() < FOLDS:
        return curve
    points: dict[float, list[tuple[int, float | None, float | None]]] = {fraction: [] for fraction in _CURVE_FRACTIONS}
    for inside, outside in GroupKFold(FOLDS).split(rows, groups=rows["configuration_id"]):
        train, held_out = rows.iloc[inside], rows.iloc[outside]
        order = generator.permutation(train["configuration_id"].unique())
        for fraction, scores in points.items():
            count = max(1, round(fraction * len(order)))
            part = train[train["configuration_id"].isin(order[:count])]
            surrogate = fit_surrogate(study, encoding, part, objective)
            scores.append((count, _r2_of(surrogate, part), _r2_of(surrogate, held_out)))
    for fraction, scores in points.items():
        table = pd.DataFrame(scores, columns=["count", "train", "held_out"], dtype=float)
        if table["held_out"].notna().any():
            curve.loc[fraction] = [
                round(table["count"].mean()),
                table["train"].mean(),
                table["held_out"].mean(),
                table["held_out"].std(ddof=0),
            ]
    return curve.drop_duplicates("configurations", keep="last").reset_index(drop=True)


def prediction_error(surrogate: Surrogate, points: pd.DataFrame) -> float:
    """Return the mean absolute error on these trials, of the logarithm for means and plain for CVs."""
    measured, estimated = points[surrogate.objective].to_numpy(dtype=float), surrogate.predict(points)
    if objective_named(surrogate.objective).spread_of:
        return float(np.mean(np.abs(measured - estimated)))
    logarithms = [np.log(np.maximum(values, _SMALLEST_ESTIMATE)) for values in (measured, estimated)]
    return float(np.mean(np.abs(logarithms[0] - logarithms[1])))


def describe_scores(scores: pd.DataFrame) -> str:
    """Return the scores as lines for a log, one per objective and case."""
    lines = [
        "R² of the surrogates, on a log or linear scale; ceiling: highest R² possible given the noise; "
        "in 90 %: share of unseen trials inside their 90 % interval",
        f"{'objective':<17} {'case':>11} {'scale':>6} " + " ".join(head.rjust(w) for head, w in _SHOWN.values()),
    ]
    for row in scores.to_dict("records"):
        case = "all" if pd.isna(row["case"]) else case_label(row["case"])
        scale = "log" if row["of_logarithm"] else "linear"
        texts = ["-" if pd.isna(row[name]) else f"{row[name]:.3f}" for name in _SHOWN]
        numbers = " ".join(text.rjust(width) for text, (_, width) in zip(texts, _SHOWN.values(), strict=True))
        remark = "  too few rows to judge" if pd.isna(row["r2_cross_validated"]) else "  not learnable"
        lines.append(f"{row['objective']:<17} {case:>11} {scale:>6} {numbers}{'' if row['learnable'] else remark}")
    return "\n".join(lines)


def _r2_of(surrogate: Surrogate, rows: pd.DataFrame) -> float | None:
    estimated = pd.Series(surrogate.predict(rows), index=rows.index)
    return r_squared(_learned(rows[surrogate.objective], surrogate), _learned(estimated, surrogate))


def _learned(values: pd.Series, surrogate: Surrogate) -> pd.Series:
    """Return values of the objective on the scale that the model learned."""
    if not surrogate.log_target:
        return values
    return pd.Series(logarithm(values.to_numpy(dtype=float)), index=values.index)
