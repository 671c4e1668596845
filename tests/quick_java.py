"""A Java that starts sooner. Most JVMs of the tests live for seconds, and starting them took most of the tests' time.

Its JVMs keep to the first compiler, and each begins with the archived classes of a broker. Its inputs and guarantees
are the same; tests that compare speeds take the Java that users have (`real_java`).
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from kafka_pareto.brokers.jvm import BROKER
from kafka_pareto.kafka.java import cds_options
from kafka_pareto.settings import Settings

VARIABLE = "KAFKA_PARETO_JAVA"
_COMMAND = Path(__file__).parents[1] / ".state" / "cache" / "quick-java" / "java"


def use_quick_java() -> None:
    """Lets all that comes take it, unless somebody has chosen a Java."""
    settings = Settings()
    java = shutil.which(settings.java)
    if VARIABLE in os.environ or java is None or not settings.kafka_jars.is_dir():
        return
    command = shlex.join([java, "-XX:TieredStopAtLevel=1", *cds_options(settings.kafka_jars, BROKER)])
    _COMMAND.parent.mkdir(parents=True, exist_ok=True)
    part = _COMMAND.with_name(f"java.{os.getpid()}")  # workers write it at the same time
    part.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    part.chmod(0o755)
    part.replace(_COMMAND)
    os.environ[VARIABLE] = str(_COMMAND)
