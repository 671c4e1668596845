"""Lists which studies there are: one class for each pair of a kind and a driver."""

from __future__ import annotations

from typing import Literal

from kafka_pareto.study.declaration import Feature
from kafka_pareto.study.producer_study import ProducerStudy
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune


# The driver's class comes first: its protocol takes the place of the common one.
class TuneProducer(ProducerStudy, Tune):
    """Tunes a producer."""

    kind: Literal["tune"] = "tune"
    driver: Literal["producer"] = "producer"

    def derived_features(self) -> list[Feature]:
        """Lists the records of a batch, where the study varies its size and wants them."""
        return super().derived_features() if self.surrogate.records_per_batch else []


STUDY_CLASSES: dict[tuple[str, str], type[Study]] = {("tune", "producer"): TuneProducer}
"""Which class checks a file, by its `kind` and its `driver`."""
