"""Lists which studies there are: one class for each pair of a kind and a driver."""

from __future__ import annotations

from typing import Literal

from kafka_pareto.study.producer_study import ProducerStudy
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune


class TuneProducer(ProducerStudy, Tune):
    """Tunes a producer."""

    kind: Literal["tune"] = "tune"
    driver: Literal["producer"] = "producer"


STUDY_CLASSES: dict[tuple[str, str], type[Study]] = {("tune", "producer"): TuneProducer}
"""Which class checks a file, by its `kind` and its `driver`."""
