"""Build the command line and environment of a broker's JVM."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kafka_pareto.brokers.nodes import Node

HEAP_MIB = 384
_JVM_OPTIONS = Path(__file__).parents[2] / "kafka" / "broker.jvm"


def broker_argv(node: Node, jars: Path, java: str, heap_mib: int = HEAP_MIB, options: Sequence[str] = ()) -> list[str]:
    """Return the command line of the broker, which logs to stdout.

    Args:
        node: The node; the process must run in its folder.
        jars: The folder that `include/kafka/pom.xml` fills.
        java: The Java 17+ command.
        heap_mib: Heap, in MiB, all of it taken at the start.
        options: Further options of the JVM.
    """
    heap = [f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m"]
    program = ["-cp", f"{jars.absolute()}/*", "kafka.Kafka", str(node.properties_file)]
    return [java, *heap, f"@{_JVM_OPTIONS}", *folder_options(node), *options, *program]


def gc_log_option(file_name: str) -> str:
    """Return the JVM option that logs each collection and pause.

    The log is one file in the working directory and is never rotated.
    """
    # A relative path, since a colon in an absolute one would end the option's value.
    return f"-Xlog:gc*:file={file_name}:time,uptime,level,tags:filecount=0"


def folder_options(node: Node) -> list[str]:
    """Return the JVM options that keep native libraries and crash reports out of the system's folders."""
    return [f"-Djava.io.tmpdir={node.temporary_folder}", f"-XX:ErrorFile={node.temporary_folder}/hs_err_%p.log"]


def java_environment() -> dict[str, str]:
    """Return the part of the environment that Kafka's programs get.

    Numbers and messages then do not follow the user's language.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {**kept, "LC_ALL": "C"}
