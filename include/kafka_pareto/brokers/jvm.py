"""Build the command line of a broker's JVM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kafka_pareto.brokers.nodes import Node
from kafka_pareto.kafka.java import cds_options
from kafka_pareto.shipped import INCLUDE

HEAP_MIB = 384
BROKER = "broker"
"""Name of its CDS archive."""
BROKER_CLASS = "kafka.Kafka"
_JVM_OPTIONS = INCLUDE / "kafka" / "broker.jvm"


def broker_argv(node: Node, jars: Path, java: str, heap_mib: int = HEAP_MIB, options: Sequence[str] = ()) -> list[str]:
    """Return the broker's command line, to be run in the node's folder; the broker logs to stdout.

    The full heap is allocated at start.
    """
    heap = [f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m"]
    program = ["-cp", f"{jars.absolute()}/*", BROKER_CLASS, str(node.properties_file)]
    own = [*cds_options(jars, BROKER), *folder_options(node)]
    return [java, *heap, f"@{_JVM_OPTIONS}", *own, *options, *program]


def gc_log_option(file_name: str) -> str:
    """Return the JVM option that logs each collection and pause to one file, never rotated."""
    # Relative to the working directory: a colon in an absolute path would end the option's value.
    return f"-Xlog:gc*:file={file_name}:time,uptime,level,tags:filecount=0"


def folder_options(node: Node) -> list[str]:
    """Return the JVM options that keep native libraries and crash reports in the node's folder."""
    return [f"-Djava.io.tmpdir={node.temporary_folder}", f"-XX:ErrorFile={node.temporary_folder}/hs_err_%p.log"]
