"""Says settings as the files that clients read: which there are depends on the driver. `versions` stores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.producer_config import PropertyValue
from kafka_pareto.rollout.log_pipeline_files import (
    aggregator_properties,
    filebeat_yml,
    logstash_yml,
    spark_properties,
)
from kafka_pareto.rollout.producer_files import java_properties, librdkafka_properties, spring_yaml
from kafka_pareto.study.log_pipeline import LOG_PIPELINE
from kafka_pareto.study.producer import PRODUCER

_Writer = Callable[[Mapping[str, PropertyValue]], str]
_WRITERS: Mapping[str, Mapping[str, _Writer]] = {
    PRODUCER.name: {
        "producer.properties": java_properties,
        "application.yaml": spring_yaml,
        "librdkafka.properties": librdkafka_properties,
    },
    LOG_PIPELINE.name: {
        "filebeat.yml": filebeat_yml,
        "logstash.yml": logstash_yml,
        "producer.properties": aggregator_properties,
        "spark.properties": spark_properties,
    },
}
_OF_OTHERS: Mapping[str, _Writer] = {"settings.properties": java_properties}


def client_files(driver: str) -> tuple[str, ...]:
    """Lists the names of the files that the clients of a driver read."""
    return tuple(_WRITERS.get(driver, _OF_OTHERS))


def settings_file(
    settings: Mapping[str, PropertyValue], name: str, header: Sequence[str], driver: str = PRODUCER.name
) -> str:
    """Returns the text of a file: the header's lines as comments, then the settings.

    Args:
        settings: Whatever `Tune.properties` returns.
        name: One of `client_files`.
        header: Its first lines.
        driver: What reads it.

    Raises:
        BadInputError: If clients of the driver read no such file.
    """
    writers = _WRITERS.get(driver, _OF_OTHERS)
    if name not in writers:
        raise BadInputError(f"{name}: is no file of the driver {driver}; there are {', '.join(writers)}")
    return "".join(f"# {' '.join(line.split())}\n" for line in header) + writers[name](settings)
