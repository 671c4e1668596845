"""How well a surrogate does, and how well any could: R² on held-out configurations beside the noise ceiling. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold

from kafka_pareto.analysis.repetition_values import is_mean, per_repetition_value, spread_of
from kafka_pareto.analysis.trials import coefficient_of_variation
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import SCORE_COLUMNS
from kafka_pareto.study.cases import case_label, in_order
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study
from kafka_pareto.surrogates.surrogate import (
    FeatureEncoding,
    Surrogate,
    fit_surrogate,
    logarithm,
    split_by_configuration,
)

CEILING_OF_NOISE_ALONE = 0.1
"""Below this share of explainable variance an objective is noise, whatever a lucky split says."""

LEAST_SHARE_OF_CEILING = 0.5
"""A model that explains less of what can be explained has not learned the objective."""

CURVE_COLUMNS = ("configurations", "r2_train", "r2_held_out", "r2_held_out_sd")

_MINIMUM_ROWS_FOR_R2 = 3
_FOLDS = 5
_SMALLEST_ESTIMATE = 1e-3  # an estimate at or below zero has no logarithm
_CURVE_FRACTIONS = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class JudgedSurrogate:
    """A model with what it was fitted and judged on; `rows` are all trials that measured its objective."""

    surrogate: Surrogate
    rows: pd.DataFrame
    held_out: pd.DataFrame
    scores: pd.DataFrame
    curve: pd.DataFrame

    def pooled_r2_held_out(self) -> float | None:
        """R² on all held-out trials; None when too few were held out."""
        score = self.scores.loc[self.scores["case"].isna(), "r2_held_out"].iloc[0]
        return None if pd.isna(score) else float(score)


def judge_objective(
    study: Study,
    encoding: FeatureEncoding,
    trials: pd.DataFrame,
    repetitions: Iterable[Repetition],
    objective: ObjectiveName,
) -> JudgedSurrogate:
    """Fits one objective on the training configurations and judges it on the held-out ones.

    The judged model is the one that is kept, as in the paper: its scores speak of it and not of a later refit.
    """
    rows = trials[trials[objective].notna()]
    train, held_out = split_by_configuration(rows, study)
    surrogate = fit_surrogate(study, encoding, train, objective)
    errors = error_variances(rows, repetitions, objective, study, of_logarithm=surrogate.log_target)
    estimated = cross_validated(study, encoding, rows, objective)
    scores = score_surrogate(surrogate, train, held_out, estimated, errors)
    curve = learning_curve(study, encoding, rows, objective, np.random.default_rng(study.seed))
    return JudgedSurrogate(surrogate, rows, held_out, scores, curve)


def score_surrogate(
    surrogate: Surrogate,
    train: pd.DataFrame,
    held_out: pd.DataFrame,
    cross_validated: pd.Series,
    error_variances: Mapping[str, float],
) -> pd.DataFrame:
    """Scores one model, pooled (record size null) and within each record size.

    R² and its ceiling are on the scale that the model learned: of the logarithm where it learned that, since p95
    latency spans two decades and users ask for ratios; the mean absolute and squared errors in the objective's own
    unit. Whether an objective is learnable is judged by all its trials, cross-validated, and not by one split.

    Args:
        surrogate: The model, fitted on `train`.
        train: Trials with a measured target; so is `held_out`.
        held_out: Trials of configurations that `train` does not hold.
        cross_validated: For the rows of both, estimates of models that did not see their configuration (NaN: none).
        error_variances: By `trial_key`, the variance of the trial's own measurement error on the learned scale (NaN:
            not known).

    Returns:
        A frame with `SCORE_COLUMNS`; a score that too few rows or no spread allow is null.
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
                "configurations_train": seen["configuration_id"].nunique(),
                "configurations_held_out": unseen["configuration_id"].nunique(),
                "learnable": is_learnable(r2, ceiling),
            }
        )
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS)).astype({"case": "string"})


def is_learnable(r2: float | None, ceiling: float | None) -> bool:
    """Whether a model of this R² has learned something, and a fair part of what its ceiling (None: unknown) leaves."""
    if r2 is None or r2 <= 0:
        return False
    return ceiling is None or (ceiling >= CEILING_OF_NOISE_ALONE and r2 >= LEAST_SHARE_OF_CEILING * ceiling)


def cross_validated(
    study: Study, encoding: FeatureEncoding, rows: pd.DataFrame, objective: ObjectiveName, repeat: int = 0
) -> pd.Series:
    """Each trial's estimate by a model that saw four fifths of the configurations, and not this one.

    Another `repeat` cuts the folds elsewhere. NaN with fewer configurations than folds.
    """
    estimates = np.full(len(rows), np.nan)
    if rows["configuration_id"].nunique() < _FOLDS:
        return pd.Series(estimates, index=rows.index)
    folds = GroupKFold(_FOLDS, shuffle=True, random_state=study.seed + repeat)
    for inside, outside in folds.split(rows, groups=rows["configuration_id"]):
        surrogate = fit_surrogate(study, encoding, rows.iloc[inside], objective)
        estimates[outside] = surrogate.predict(rows.iloc[outside])
    return pd.Series(estimates, index=rows.index)


def r_squared(measured: np.ndarray | pd.Series, estimated: np.ndarray | pd.Series) -> float | None:
    """The coefficient of determination; None for fewer than three rows, an estimate missing or no spread."""
    if len(measured) < _MINIMUM_ROWS_FOR_R2 or np.ptp(np.asarray(measured, dtype=float)) == 0:
        return None
    return None if np.isnan(estimated).any() else float(r2_score(measured, estimated))


def noise_ceiling(measured: pd.Series, error_variances: Sequence[float]) -> float | None:
    """The R² of a model that knows the truth: 1 - mean error variance / variance of what was measured.

    Even such a model misses each trial by that trial's own noise. One that learns from trials as noisy stays below.

    Returns:
        A share in [0, 1], or None when fewer than three trials or half of them have a known error: those with several
        repetitions, where most have one, are not like the others.
    """
    errors, target = np.array(error_variances, dtype=float), measured.to_numpy(dtype=float)
    known = np.isfinite(errors) & np.isfinite(target)
    if known.sum() < max(_MINIMUM_ROWS_FOR_R2, len(known) / 2) or np.ptp(target[known]) == 0:
        return None
    return float(np.clip(1 - errors[known].mean() / target[known].var(ddof=1), 0, 1))


def trial_keys(trials: pd.DataFrame) -> list[str]:
    """One name per trial: its record size and configuration."""
    pairs = zip(trials["case"], trials["configuration_id"], strict=True)
    return [f"{case}/{configuration}" for case, configuration in pairs]


def error_variances(
    trials: pd.DataFrame,
    repetitions: Iterable[Repetition],
    objective: ObjectiveName,
    study: Study,
    *,
    of_logarithm: bool = False,
) -> dict[str, float]:
    """How much each trial's objective, or its logarithm, would vary with fresh repetitions, by `trial_keys`.

    The delete-one jackknife (Efron and Tibshirani 1993, ch. 11): for a mean it is the squared standard error. NaN for
    a mean of fewer than two repetitions, for a CV across fewer than three, and for the logarithm of zero.
    """
    by_id = {repetition.repetition_id: repetition for repetition in repetitions}
    variability = study.protocol.variability
    of_mean = is_mean(objective, variability)
    measured = objective if of_mean else spread_of(objective)
    variances = {}
    for key, ids in zip(trial_keys(trials), trials["repetition_ids"], strict=True):
        kept = [by_id[name] for name in ids if name in by_id]
        values = np.array([per_repetition_value(r, measured, variability) for r in kept], dtype=float)
        variances[key] = _jackknife_variance(values, is_cv=not of_mean, of_logarithm=of_logarithm)
    return variances


def learning_curve(
    study: Study,
    encoding: FeatureEncoding,
    rows: pd.DataFrame,
    objective: ObjectiveName,
    generator: np.random.Generator,
) -> pd.DataFrame:
    """R² by the number of training configurations, cross-validated over folds that share no configuration.

    Returns:
        A frame with `CURVE_COLUMNS`, means over the folds; empty with fewer configurations than folds.
    """
    curve = pd.DataFrame(columns=list(CURVE_COLUMNS), dtype=float)
    if rows["configuration_id"].nunique() < _FOLDS:
        return curve
    points: dict[float, list[tuple[int, float | None, float | None]]] = {fraction: [] for fraction in _CURVE_FRACTIONS}
    for inside, outside in GroupKFold(_FOLDS).split(rows, groups=rows["configuration_id"]):
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
    """The mean absolute error on these trials: of the logarithm for p95 latency and throughput, plain for the CVs."""
    measured, estimated = points[surrogate.objective].to_numpy(dtype=float), surrogate.predict(points)
    if surrogate.objective.endswith("_cv"):
        return float(np.mean(np.abs(measured - estimated)))
    logarithms = [np.log(np.maximum(values, _SMALLEST_ESTIMATE)) for values in (measured, estimated)]
    return float(np.mean(np.abs(logarithms[0] - logarithms[1])))


def describe_scores(scores: pd.DataFrame) -> str:
    """The scores as lines for a log, one per objective and record size."""
    heading = (
        f"{'objective':<17} {'record size':>11} {'of':>5} {'R² train':>9} {'held out':>9} {'5 folds':>8} "
        f"{'ceiling':>8} {'MAE':>10} {'RMSE':>10}"
    )
    lines = [
        "R² of the surrogates, of the logarithm or the value; 'ceiling' is what the repetitions' own noise leaves",
        heading,
    ]
    for row in scores.to_dict("records"):
        case = "all" if pd.isna(row["case"]) else case_label(row["case"])
        numbers = (
            f"{'log' if row['of_logarithm'] else 'value':>5} {_number(row['r2_train']):>9} "
            f"{_number(row['r2_held_out']):>9} {_number(row['r2_cross_validated']):>8} "
            f"{_number(row['r2_noise_ceiling']):>8}"
        )
        errors = f"{_number(row['mae_held_out']):>10} {_number(row['rmse_held_out']):>10}"
        remark = "  too few rows to judge" if pd.isna(row["r2_cross_validated"]) else "  not learnable"
        lines.append(f"{row['objective']:<17} {case:>11} {numbers} {errors}{'' if row['learnable'] else remark}")
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "-" if value is None or pd.isna(value) else f"{value:.3f}"


def _r2_of(surrogate: Surrogate, rows: pd.DataFrame) -> float | None:
    estimated = pd.Series(surrogate.predict(rows), index=rows.index)
    return r_squared(_learned(rows[surrogate.objective], surrogate), _learned(estimated, surrogate))


def _learned(values: pd.Series, surrogate: Surrogate) -> pd.Series:
    """Values of the objective on the scale that the model learned."""
    if not surrogate.log_target:
        return values
    return pd.Series(logarithm(values.to_numpy(dtype=float)), index=values.index)


def _jackknife_variance(values: np.ndarray, *, is_cv: bool, of_logarithm: bool) -> float:
    count = len(values)
    if count < (3 if is_cv else 2) or not np.isfinite(values).all():
        return float("nan")
    statistic = coefficient_of_variation if is_cv else np.mean
    left_out = np.array([statistic(np.delete(values, place)) for place in range(count)])
    if of_logarithm:
        if not (left_out > 0).all():
            return float("nan")
        left_out = np.log(left_out)
    return float((count - 1) / count * np.sum((left_out - left_out.mean()) ** 2))
