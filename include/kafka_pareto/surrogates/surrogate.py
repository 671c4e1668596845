"""Fit surrogate models: one gradient-boosted regressor per objective over the factors and the case. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from sklearn.model_selection import GroupShuffleSplit
from xgboost import XGBRegressor
from xgboost.core import XGBoostError

from kafka_pareto.errors import ArtifactError
from kafka_pareto.storage.record import Record
from kafka_pareto.study.declarations import all_objectives, feature_named
from kafka_pareto.study.factors import CategoricalFactor
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune


class FeatureEncoding(BaseModel):
    """Encodes factors as a model's columns: numbers unchanged, a categorical level as its place in `levels`.

    With `codes` the model takes the place as a quantity (the paper's way), with `native` as an unordered category. An
    unlisted level becomes a missing value. A driver's declared features are computed here from the columns they name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    features: list[str]
    levels: dict[str, list[str]]
    categories: Literal["codes", "native"]

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the model's columns, all float64, from a frame with one column per factor and the case."""
        columns = {}
        for name in self.features:
            feature = feature_named(name)
            if feature is not None:
                values = feature.values({column: frame[column].to_numpy() for column in feature.columns})
                columns[name] = np.asarray(values, dtype=float)
            elif name in self.levels:
                places = {level: place for place, level in enumerate(self.levels[name])}
                columns[name] = np.array([places.get(level, np.nan) for level in frame[name].tolist()], dtype=float)
            else:
                columns[name] = frame[name].to_numpy(dtype=float)
        return pd.DataFrame(columns, index=frame.index)

    def inputs(self) -> list[str]:
        """List the columns that a frame must have to be encoded."""
        declared = ((name, feature_named(name)) for name in self.features)
        return list(dict.fromkeys(each for name, found in declared for each in (found.columns if found else (name,))))

    def feature_types(self) -> list[str] | None:
        """Return XGBoost's `feature_types`: `c` for a native category, `q` for a quantity; None for `codes`."""
        if self.categories == "codes":
            return None
        return ["c" if name in self.levels else "q" for name in self.features]


class SurrogateFile(BaseModel):
    """One objective's model file; with `log_target`, the model predicts the logarithm."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256: str
    log_target: bool


class SurrogateIndex(Record):
    """A campaign's models (`encoding.json`): their encoding, and which objectives have a model."""

    encoding: FeatureEncoding
    models: dict[ObjectiveName, SurrogateFile]


@dataclass(frozen=True)
class Surrogate:
    """A fitted model of one objective."""

    objective: ObjectiveName
    encoding: FeatureEncoding
    log_target: bool
    regressor: XGBRegressor

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the estimates, in the objective's unit, for rows with one column per factor and the case.

        A model of the logarithm estimates the geometric rather than the arithmetic mean.
        """
        return self.predict_encoded(self.encoding.encode(frame).to_numpy())

    def predict_encoded(self, rows: np.ndarray) -> np.ndarray:
        """Return the estimates for encoded rows, shape (rows, features)."""
        answer = np.asarray(self.regressor.predict(rows), dtype=float)
        return np.exp(answer) if self.log_target else answer

    def to_bytes(self) -> bytes:
        """Return the model in XGBoost's UBJ format."""
        return bytes(self.regressor.get_booster().save_raw("ubj"))

    def file(self) -> SurrogateFile:
        """Return the index's entry for this model."""
        return SurrogateFile(sha256=hashlib.sha256(self.to_bytes()).hexdigest(), log_target=self.log_target)


class Estimator(Protocol):
    """Estimates one objective."""

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the estimates for rows with one column per factor and the case."""


def estimates(models: Mapping[ObjectiveName, Estimator], frame: pd.DataFrame) -> dict[ObjectiveName, np.ndarray]:
    """Return each model's estimates; rows are encoded once for all surrogates that share an encoding."""
    encoded: dict[int, np.ndarray] = {}
    answers = {}
    for objective, model in models.items():
        if isinstance(model, Surrogate):
            rows = encoded.get(id(model.encoding))
            if rows is None:
                rows = encoded[id(model.encoding)] = model.encoding.encode(frame).to_numpy()
            answers[objective] = model.predict_encoded(rows)
        else:
            answers[objective] = model.predict(frame)
    return answers


def load_surrogate(content: bytes, key: str, objective: ObjectiveName, index: SurrogateIndex) -> Surrogate:
    """Read a model file that the index lists; `key` names it in messages."""
    known = index.models[objective]
    # XGBoost aborts the whole process on some damaged files, so the content is checked before it sees any.
    if hashlib.sha256(content).hexdigest() != known.sha256:
        raise ArtifactError(f"{key}: is not the model that its encoding.json describes; run the train step again")
    regressor = XGBRegressor(n_jobs=1)
    try:
        regressor.load_model(bytearray(content))
    except XGBoostError as error:
        raise ArtifactError(f"{key}: this XGBoost cannot read the model; run the train step again") from error
    return Surrogate(objective, index.encoding, known.log_target, regressor)


def feature_encoding(study: Tune, trials: pd.DataFrame) -> FeatureEncoding:
    """Return the encoding for a study: levels in the study's order, then those that only the baseline has."""
    levels = {}
    for name, factor in study.factors.items():
        if isinstance(factor, CategoricalFactor):
            levels[name] = [*factor.levels, *sorted(set(trials[name]) - set(factor.levels))]
    of_the_case = [each.name for each in study.declaration.case_features]
    if not of_the_case:
        of_the_case, levels["case"] = ["case"], list(study.cases)
    features = [*study.factors, *of_the_case, *(each.name for each in study.derived_features())]
    return FeatureEncoding(features=features, levels=levels, categories=study.surrogate.categories)


def split_by_configuration(trials: pd.DataFrame, study: Tune) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split trials into training and held-out rows without common configurations; with one, nothing is held out."""
    if trials["configuration_id"].nunique() < 2:
        return trials, trials.iloc[:0]
    splitter = GroupShuffleSplit(n_splits=1, test_size=study.surrogate.held_out_fraction, random_state=study.seed)
    train, held_out = next(splitter.split(trials, groups=trials["configuration_id"]))
    return trials.iloc[train], trials.iloc[held_out]


def fit_surrogate(
    study: Tune, encoding: FeatureEncoding, rows: pd.DataFrame, objective: ObjectiveName, seed: int | None = None
) -> Surrogate:
    """Fit one objective on rows whose target is measured (no NaN).

    With the study's `log_target` the model learns the `logarithm`, unless no target is positive. `seed` overrides the
    study's.
    """
    target = rows[objective].to_numpy(dtype=float)
    log_target = study.surrogate.log_target and bool((target > 0).any())
    regressor = new_regressor(study, encoding, study.seed if seed is None else seed)
    regressor.fit(
        encoding.encode(rows), logarithm(target) if log_target else target, sample_weight=trial_weights(study, rows)
    )
    return Surrogate(objective, encoding, log_target, regressor)


def logarithm(values: np.ndarray) -> np.ndarray:
    """Return the natural logarithm; 0 counts as half of the smallest positive value.

    A 0 (the CV of repetitions that agree to the millisecond) means below the resolution. If none is positive, all count
    as 1.
    """
    positive = values[values > 0]
    return np.asarray(np.log(np.maximum(values, positive.min() / 2 if len(positive) else 1.0)))


def trial_weights(study: Tune, rows: pd.DataFrame) -> np.ndarray:
    """Return each trial's weight, 1 on average: with `repetitions` its number of valid ones, else equal.

    That is the inverse variance of its mean.
    """
    if study.surrogate.weights == "equal":
        return np.ones(len(rows))
    repetitions = rows["repetitions_valid"].to_numpy(dtype=float)
    return np.asarray(repetitions / repetitions.mean())


def new_regressor(study: Tune, encoding: FeatureEncoding, seed: int) -> XGBRegressor:
    """Return the study's unfitted regressor. One thread: a few hundred rows gain nothing from more."""
    parameters = study.surrogate
    return XGBRegressor(
        n_estimators=parameters.n_estimators,
        max_depth=parameters.max_depth,
        learning_rate=parameters.learning_rate,
        subsample=parameters.subsample,
        colsample_bytree=parameters.colsample_bytree,
        reg_lambda=parameters.reg_lambda,
        objective=parameters.loss,
        random_state=seed,
        feature_types=encoding.feature_types(),
        enable_categorical=encoding.categories == "native",
        n_jobs=1,
    )


def importance(surrogate: Surrogate) -> pd.Series:
    """Return each feature's share of the total gain of all splits, largest first; 0 if unused."""
    gains = surrogate.regressor.get_booster().get_score(importance_type="total_gain")
    shares = pd.Series({name: float(gains.get(name, 0.0)) for name in surrogate.encoding.features})
    total = shares.sum()
    return (shares / total if total > 0 else shares).sort_values(ascending=False, kind="stable")


def measured_objectives(trials: pd.DataFrame) -> list[ObjectiveName]:
    """List the objectives that at least one trial has measured, without the baseline unless it is alone.

    The baseline alone teaches nothing; with one repetition per configuration, only the baseline has a CV in the rounds.
    """
    others = trials[~trials["is_baseline"]]
    learned_from = trials if others.empty else others
    return [
        each.name for each in all_objectives() if each.name in learned_from and learned_from[each.name].notna().any()
    ]
