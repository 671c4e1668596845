"""Find the programs of a log pipeline."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.drivers.common.jvm_process import java_version
from kafka_pareto.drivers.log_pipeline.web_parts import find_program
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings

READY_S = 90.0
_NEWEST_JAVA_OF_SPARK = 17
_DEBIAN = {"nginx": "nginx-light", "mariadbd": "mariadb-server", "mariadb-install-db": "mariadb-server"}


@dataclass(frozen=True)
class Programs:
    """Paths of the programs: `python` has Flask and PySpark; `aggregator` and `spark_jars` are folders of jars."""

    python: Path
    filebeat: Path
    aggregator: Path
    collector: Path
    spark_jars: Path
    java: str


def find_programs(settings: Settings, database: str) -> Programs:
    """Return the paths of the programs.

    Raises:
        BadInputError: If one is missing, with the command that installs it, or Java is too new for Spark.
    """
    needed = ["nginx", *(("mariadbd", "mariadb-install-db") if database == "mariadb" else ())]
    if missing := [name for name in needed if find_program(name) is None]:
        packages = " ".join(dict.fromkeys(_DEBIAN[name] for name in missing))
        instead = ", or set database: sqlite" if "mariadbd" in missing else ""
        raise BadInputError(
            f"{missing[0]} is not on the PATH; run `apt-get install --no-install-recommends {packages}`{instead}"
        )
    folder = settings.log_pipeline
    programs = Programs(
        python=folder / "venv" / "bin" / "python",
        filebeat=folder / "filebeat",
        aggregator=folder / "aggregator",
        collector=folder / "collector",
        spark_jars=folder / "spark-jars",
        java=settings.java,
    )
    for path in (programs.python, programs.filebeat, programs.aggregator, programs.collector, programs.spark_jars):
        if not path.exists():
            raise BadInputError(f"{path}: not found; run make log-pipeline to build it")
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if os.environ.get("JAVA_HOME") else "java"
    if (version := java_version(java)) > _NEWEST_JAVA_OF_SPARK:
        raise BadInputError(
            f"{java} is Java {version}, too new for Spark 3.5; set JAVA_HOME to Java {_NEWEST_JAVA_OF_SPARK} or older"
        )
    return programs
