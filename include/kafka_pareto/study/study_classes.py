"""Lists which studies there are: one class for each pair of a kind and a driver."""

from __future__ import annotations

from functools import cache

from kafka_pareto.study.drivers import door, driver_names
from kafka_pareto.study.study import Study


@cache
def study_classes() -> dict[tuple[str, str], type[Study]]:
    """Returns the class that checks a study file, by its `kind` and its `driver`."""
    return {
        (kind, driver): study for driver in driver_names() for kind, study in door(driver, "studies").STUDIES.items()
    }
