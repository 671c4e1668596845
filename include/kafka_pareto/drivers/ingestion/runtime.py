"""Run the driver `ingestion`."""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import fmean

from kafka_pareto.analysis.wording import counted
from kafka_pareto.bottleneck.limiting_resource import LoadSetting
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.jvm_process import java_version
from kafka_pareto.drivers.common.systems import broker_starts_s, open_system
from kafka_pareto.drivers.ingestion import page_cache
from kafka_pareto.drivers.ingestion.attempt import load_setting
from kafka_pareto.drivers.ingestion.load import CheckRequest, IngestionLoad, IngestionRequest
from kafka_pareto.drivers.ingestion.rows_files import most_rows, row_bytes, rows_of, sent_rows_of
from kafka_pareto.drivers.ingestion.runner import IngestionRunner
from kafka_pareto.drivers.ingestion.sent import HEAP_PER_FILE_BYTE
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.drivers.ingestion.testbed import open_ingestion_testbed
from kafka_pareto.measurement.driver_runtime import DriverRuntime, System
from kafka_pareto.settings import Settings
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.study import Study

_GIB = 1 << 30
_MIB = 1 << 20
# A low estimate for two cores with one broker; a plan gives the longest time of an undisturbed campaign.
_ROWS_S = 300_000.0
_READ_BACK_ROWS_S = 1_000_000.0
_AROUND_A_REPETITION_S = 4.0
_FIRST_OF_VIRTUAL_THREADS = 21


class IngestionRuntime(DriverRuntime):
    """Run repetitions of ingestions."""

    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:  # noqa: ARG002
        """Compute the maximum cost of these repetitions, including making the files."""
        found = CompareIngestion.of(study)
        read_back = sum(times * _mean_rows(found, case, rows_of) for case, times in repetitions.items())
        sent = sum(times * _mean_rows(found, case, sent_rows_of) for case, times in repetitions.items())
        count = sum(repetitions.values())
        most = max((most_rows(found, case) for case in repetitions), default=0)
        return Plan(
            repetitions=count,
            duration_s=count * (found.protocol.cool_down_s + _AROUND_A_REPETITION_S)
            + sent / _ROWS_S
            + read_back / _READ_BACK_ROWS_S
            + broker_starts_s(found, repetitions),
            sent_gib=sent * row_bytes(found) / _GIB,
            peak_disk_gib=2 * most * row_bytes(found) * (1 + found.workload.replication_factor) / _GIB,
        )

    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Open the study's cluster; brokers of its own start only for the measurement."""
        return open_system(study, settings, lambda: _largest_heap_mib(CompareIngestion.of(study)))

    def load_setting(self, campaign: Campaign, case: str, configuration: Configuration) -> LoadSetting:  # noqa: ARG002
        """Return the values that decide the verdict on an ingestion."""
        return load_setting(CompareIngestion.of(campaign.study), configuration)

    def fault_here(self, study: Study, settings: Settings, configuration: Configuration) -> str:
        """Return a level's missing requirement: kcat, a Java with virtual threads, or a usable file."""
        study = CompareIngestion.of(study)
        found = study.effective(configuration)
        if found["path"] == "kcat":
            if shutil.which("kcat") is None:
                return "kcat is not installed"
            if fault := _fault_of_lines(study, settings):
                return f"kcat sends lines unchanged, but {fault}"
        if found["page_cache"] == "cold" and (fault := page_cache.fault_here()):
            return fault
        is_virtual = str(found["senders"]).startswith("virtual_threads")
        if is_virtual and (version := java_version(settings.java)) < _FIRST_OF_VIRTUAL_THREADS:
            return f"virtual threads need Java {_FIRST_OF_VIRTUAL_THREADS}; this machine has Java {version}"
        return ""

    @contextmanager
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> Iterator[IngestionRunner]:
        """Open the runner of one part: cluster, lease, topics, tool and files."""
        study = CompareIngestion.of(campaign.study)
        with open_ingestion_testbed(campaign, study, case, settings) as testbed:
            yield IngestionRunner(study, case, testbed)


def _fault_of_lines(study: CompareIngestion, settings: Settings) -> str:
    """Describe the malformed lines if a user's file has too many; else return an empty text."""
    file = Path(study.workload.file or "")
    if not (file.is_file() and file.stat().st_size):
        return ""
    with file.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as held:
        if held.find(b"\r\n") >= 0:
            return f"{file} has lines ending in carriage returns"
        lines = sum(1 for _ in iter(held.readline, b""))
    check = CheckRequest(study.protocol.timeout_s, file=file, delimiter=study.workload.delimiter)
    found = IngestionLoad("", None, settings).check(check).file
    rows = found.rows if found else 0
    return "" if lines == rows + 1 else f"{file} has {lines:,} lines for a header and {counted(rows, 'row')}"


def _mean_rows(
    study: CompareIngestion, case: str, rows_of_level: Callable[[CompareIngestion, Configuration], int]
) -> float:
    return fmean(rows_of_level(study, level) for level in study.levels_of(case))


def _largest_heap_mib(study: CompareIngestion) -> int:
    """Return the largest total heap of any level's processes, in MiB."""
    return max(_heap_mib(study, level) for case in study.cases for level in study.levels_of(case))


def _heap_mib(study: CompareIngestion, level: Configuration) -> int:
    found = study.effective(level)
    request = IngestionRequest(Path(), "", study.properties(level), 0.0, producers=int(found["producers"]))
    file_bytes = rows_of(study, level) * row_bytes(study) if found["path"] == "kafka_tool" else 0
    return int(found["processes"]) * request.heap_mib + int(HEAP_PER_FILE_BYTE * file_bytes / _MIB)


RUNTIME = IngestionRuntime()
