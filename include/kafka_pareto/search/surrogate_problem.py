"""Define the search problem: the surrogates' estimates under the study's rules and limits. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
from pymoo.core.problem import Problem

from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.configuration_space import ConfigurationSpace, Row, durability_column, rows_of
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.factors import Column, Positions
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.surrogate import Estimator, estimates

Values = npt.NDArray[np.float64]


class SurrogateProblem(Problem):  # type: ignore[misc]
    """Minimise the estimated objectives as losses within the study's rules and limits.

    A broken rule or unwanted durability is a violation of 1; a missed limit one of the share of the bound by which the
    estimate misses it, which leads the search back. A configuration is estimated once, however many points of the cube
    decode to it; results keep the order of first evaluation.

    Attributes:
        front_losses: The distinct non-dominated losses of all configurations so far without violation, shape (n,
            objectives).
    """

    def __init__(
        self,
        study: Tune,
        case: str,
        surrogates: Mapping[ObjectiveName, Estimator],
        durabilities: Collection[Durability],
    ) -> None:
        self.space = ConfigurationSpace(study.factors)
        self.objectives = [objective for objective in study.objective_names if objective in surrogates]
        self.limits = [limit for limit in study.limits if limit.objective in surrogates]
        self.front_losses: Values = np.empty((0, len(self.objectives)))
        self._study = study
        self._case = case
        self._variables = study.variables(case)
        self._surrogates = {objective: surrogates[objective] for objective in self.objectives}
        self._durabilities = frozenset(durabilities)
        self._rules = study.rules()
        self._known: dict[Row, Values] = {}  # of each configuration its losses, then its violations
        super().__init__(
            n_var=len(study.factors),
            n_obj=len(self.objectives),
            n_ieq_constr=len(self._rules) + 1 + len(self.limits),
            xl=0.0,
            xu=1.0,
        )

    def losses_of(self, frame: pd.DataFrame) -> Values:
        """Return the objectives' columns with the maximised ones negated, shape (rows, objectives)."""
        losses: Values = frame[self.objectives].to_numpy(dtype=float) * self._signs()
        return losses

    def broken_rules(self) -> list[str]:
        """List the rules that no configuration so far has kept; all of them if only their union is too much."""
        wanted = " or ".join(durability.name for durability in sorted(self._durabilities))
        forbidden = [f"not ({region})" for region in self._study.forbidden]
        named = [*map(str, self._study.constraints), *forbidden, f"durability {wanted}"]
        least = self._learned()[:, self.n_obj : self.n_obj + len(named)].min(axis=0)
        return [text for text, violation in zip(named, least, strict=True) if violation > 0] or named

    def feasible(self) -> pd.DataFrame:
        """Return every configuration so far that keeps the rules, once, in order of evaluation.

        The columns are the factors, `estimated_<objective>` in the objectives' own units for those with a model, and
        `limits_met_estimated`.
        """
        learned = self._learned()
        losses, broken, excesses = np.split(learned, np.cumsum([self.n_obj, len(self._rules) + 1]), axis=1)
        frame = pd.DataFrame(list(self._known), columns=list(self._study.factors))
        frame[[f"estimated_{objective}" for objective in self.objectives]] = losses * self._signs()
        frame["limits_met_estimated"] = (excesses == 0).all(axis=1)
        kept: pd.DataFrame = frame[(broken == 0).all(axis=1)].reset_index(drop=True)
        return kept

    def _evaluate(self, x: Positions, out: dict[str, Values], *_: object, **__: object) -> None:
        columns = self.space.columns(x)
        rows = rows_of(columns)
        if fresh := {row: at for at, row in enumerate(rows) if row not in self._known}:
            places = list(fresh.values())
            self._learn(list(fresh), {name: column[places] for name, column in columns.items()})
        values = np.array([self._known[row] for row in rows])
        out["F"], out["G"] = values[:, : self.n_obj], values[:, self.n_obj :]

    def _learn(self, rows: list[Row], columns: Mapping[str, Column]) -> None:
        frame = pd.DataFrame({**columns, "case": self._case})
        estimated = estimates(self._surrogates, frame)
        losses = np.column_stack([estimated[objective] for objective in self.objectives]) * self._signs()
        violations = np.column_stack([*self._broken(columns), *self._excesses(estimated)])
        self._known.update(zip(rows, np.hstack([losses, violations]), strict=True))
        self._keep_non_dominated(losses[(violations == 0).all(axis=1)])

    def _broken(self, columns: Mapping[str, Column]) -> list[npt.NDArray[np.bool_]]:
        broken = [~rule.holds_for(columns, self._variables) for rule in self._rules]
        unwanted = [durability not in self._durabilities for durability in durability_column(self._study, columns)]
        return [*broken, np.array(unwanted)]

    def _excesses(self, estimated: Mapping[ObjectiveName, Values]) -> list[list[float]]:
        return [
            [max(0.0, limit.excess_fraction(estimate)) for estimate in estimated[limit.objective].tolist()]
            for limit in self.limits
        ]

    def _keep_non_dominated(self, losses: Values) -> None:
        # Many configurations share their losses (a tree ensemble is piecewise constant): those are kept once.
        losses = np.unique(np.vstack([self.front_losses, losses]), axis=0)
        best = losses[non_dominated(losses)]
        if not np.array_equal(best, self.front_losses):
            self.front_losses = best

    def _learned(self) -> Values:
        return np.array(list(self._known.values()))

    def _signs(self) -> Values:
        return np.array([-1.0 if is_maximised(objective) else 1.0 for objective in self.objectives])
