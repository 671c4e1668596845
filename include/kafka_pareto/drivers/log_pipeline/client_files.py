"""Write a log pipeline's settings as configuration files of its parts; the user fills in paths and hosts.

The names are those of the reference documentation of Filebeat 7.17, Logstash 7.17 (`logstash.yml`) and Spark 3.5.
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
    lines = "several lines" if settings["log_lines"] == "multi" else "one line"
    comment = f"# Expects each log entry on {lines}. Replace the log's path and the aggregator's address with yours.\n"
    return comment + yaml.safe_dump(configuration, sort_keys=False)


def logstash_yml(settings: Mapping[str, PropertyValue]) -> str:
    """Return Logstash's settings, with comments on the aggregator that was measured instead."""
    is_stored = settings["aggregator_acknowledges"] == "kafka"
    comments = [
        "Measured with another aggregator that has the same batch size, delay and workers. Measure Logstash before you "
        "rely on these values."
    ]
    if is_stored:
        comments.append(
            "The measured aggregator acknowledged events once Kafka had them. Logstash's memory queue can lose "
            "acknowledged events; its persisted queue cannot."
        )
    configuration = {
        "pipeline.workers": settings["aggregator_workers"],
        "pipeline.batch.size": settings["aggregator_batch_size"],
        "pipeline.batch.delay": settings["aggregator_batch_delay_ms"],
        "queue.type": "persisted" if is_stored else "memory",
    }
    return "".join(f"# {line}\n" for line in comments) + yaml.safe_dump(configuration, sort_keys=False)


def aggregator_properties(settings: Mapping[str, PropertyValue]) -> str:
    """Return the properties of the aggregator's producer."""
    linger_ms, acks = settings["linger_ms"], settings["acks"]
    comment = f'# In Logstash\'s kafka output: linger_ms => {linger_ms}, acks => "{acks}".\n'
    return comment + properties_lines({"acks": acks, "linger.ms": linger_ms})


def spark_properties(settings: Mapping[str, PropertyValue]) -> str:
    """Return the file for `spark-submit --properties-file`; the job must apply the trigger itself."""
    comment = f'# In the job: writeStream.trigger(processingTime=spark.conf.get("{_TRIGGER}")).\n'
    return comment + properties_lines({_TRIGGER: f"{settings['trigger_ms']} milliseconds"})
