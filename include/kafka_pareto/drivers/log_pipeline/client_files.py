"""Write a log pipeline's settings as the files of its parts; the user fills in paths and hosts.

Names are from the references of Filebeat 7.17, Logstash 7.17 (`logstash.yml`) and Spark 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from kafka_pareto.drivers.log_pipeline.filebeat_pair import shipping_configuration
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.properties_file import properties_lines

_ACCESS_LOG = "/var/log/nginx/access.log"
_LOGSTASH = "localhost:5044"
_TRIGGER = "spark.logs.trigger"


def filebeat_yml(settings: Mapping[str, PropertyValue]) -> str:
    """Return Filebeat's configuration."""
    configuration = shipping_configuration(settings, _ACCESS_LOG, "output.logstash", _LOGSTASH)
    entries = "a JSON object on several lines" if settings["log_lines"] == "multi" else "on one line"
    said = f"# Each entry of the log is {entries}. Put in your log's path and your aggregator's address.\n"
    return said + yaml.safe_dump(configuration, sort_keys=False)


def logstash_yml(settings: Mapping[str, PropertyValue]) -> str:
    """Return Logstash's settings; a comment states what was measured instead."""
    is_stored = settings["aggregator_acknowledges"] == "kafka"
    said = ["Measured with another aggregator, of the same batch size, delay and workers; measure Logstash, too."]
    if is_stored:
        said.append(
            "Measured: Filebeat hears of an event once Kafka has it. Logstash's memory queue may lose what it has "
            "acknowledged; its persisted one keeps it."
        )
    configuration = {
        "pipeline.workers": settings["aggregator_workers"],
        "pipeline.batch.size": settings["aggregator_batch_size"],
        "pipeline.batch.delay": settings["aggregator_batch_delay_ms"],
        "queue.type": "persisted" if is_stored else "memory",
    }
    return "".join(f"# {line}\n" for line in said) + yaml.safe_dump(configuration, sort_keys=False)


def aggregator_properties(settings: Mapping[str, PropertyValue]) -> str:
    """Return the properties of the aggregator's producer."""
    linger_ms, acks = settings["linger_ms"], settings["acks"]
    said = f'# In Logstash\'s kafka output: linger_ms => {linger_ms}, acks => "{acks}".\n'
    return said + properties_lines({"acks": acks, "linger.ms": linger_ms})


def spark_properties(settings: Mapping[str, PropertyValue]) -> str:
    """Return the file for `spark-submit --properties-file`; the job must apply the trigger itself."""
    said = f'# In the job: writeStream.trigger(processingTime=spark.conf.get("{_TRIGGER}")).\n'
    return said + properties_lines({_TRIGGER: f"{settings['trigger_ms']} milliseconds"})
