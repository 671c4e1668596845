"""Measure the report's memory and the explorer's first answers in a full store: `python -m benchmarks.full_store`.

Memory: a campaign of ten record sizes is reported with more and more repetitions of each configuration. Each report
runs in a process of its own, and its peak is the resident memory's (VmHWM; Linux).

First answers: the store holds 1 and then 100 reported campaigns of 279 trials each. The explorer's app is asked in a
process of its own, without a socket, for what its page needs until it names the best configuration: the list of
campaigns, the first campaign, its first record size, the choice. *Cold* is a process that has answered nothing but the
page itself, *warm* the second time; medians over five processes. Requests are those to the store, each of which S3
answers over the network.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, TypeVar
from unittest.mock import patch

import typer

from benchmarks.growing_campaign import ID, CountingStore, grown, made_up_template, repeat
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.steps import report
from kafka_pareto.storage.folder_store import FolderStore
from tests.tasks.report_campaign import small_study, write_confirmed_campaign

BLOCKS = (12, 124, 1249)
RECORD_SIZES = 10
CAMPAIGNS = (1, 100)
PROCESSES = 5
GOAL_S = 0.5
RECORD_SIZES_BYTES = [1024, 8192, 10240, 16383, 65636]
_KIB_PER_MIB = 1024

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Report:
    """The cost of one report; `before_mib` is the memory's peak before it, with all libraries loaded."""

    peak_mib: float
    before_mib: float
    cpu_s: float


@dataclass(frozen=True)
class Answer:
    """The wall time of one answer, and its requests to the store."""

    what: str
    seconds: float
    requests: int


def main(
    reports: Annotated[bool, typer.Option(help="measure the memory of reports")] = True,
    explorer: Annotated[bool, typer.Option(help="measure the explorer's answers")] = True,
) -> None:
    """Measure and print one table for each."""
    os.environ.pop("KAFKA_PARETO_MLFLOW_TRACKING_URI", None)
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-full-") as name:
        folder = Path(name)
        if reports:
            _print_reports(folder)
        if explorer:
            _print_answers(folder)


def _print_reports(folder: Path) -> None:
    print("| repetitions | peak [MiB] | before the report [MiB] | CPU [s] |\n|---|---|---|---|")
    campaign = grown(made_up_template(folder / "template"), folder / "grown", RECORD_SIZES)
    for blocks in BLOCKS:
        repetitions = repeat(campaign, blocks)
        found = _in_own_process(reported, folder / "grown")
        print(f"| {repetitions:,} | {found.peak_mib:.0f} | {found.before_mib:.0f} | {found.cpu_s:.0f} |", flush=True)


def reported(folder: Path) -> Report:
    """Report the campaign in this store; for a process of its own."""
    campaign, before_mib = Campaign.open(FolderStore(folder), "growing", ID), _peak_mib()
    began_s = time.process_time()
    report.run(campaign)
    return Report(_peak_mib(), before_mib, time.process_time() - began_s)


def _peak_mib() -> float:
    # getrusage would count the parent's memory, which a child shares until it starts its own program.
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if peak is None:
        raise ValueError("/proc/self/status has no VmHWM")
    return int(peak[1]) / _KIB_PER_MIB


def _print_answers(folder: Path) -> None:
    print("\n| campaigns | answer | cold [s] | warm [s] | requests, cold | requests, warm |\n|---|---|---|---|---|---|")
    store = CountingStore(folder / "many")
    study = small_study(record_sizes_bytes=RECORD_SIZES_BYTES)
    template = write_confirmed_campaign(folder / "one", study)
    report.run(template)
    contents = {key: template.store.get(key) for key in template.store.keys(f"{template.keys.prefix}/")}
    written = 0
    for number in CAMPAIGNS:
        for at in range(written, number):
            prefix = CampaignKeys(template.keys.study, f"{ID}-{at}").prefix
            for key, content in contents.items():
                store.put(key.replace(template.keys.prefix, prefix, 1), content)
        written = number
        os.environ |= {"AIRFLOW_HOME": str(folder / "airflow"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        asked = [_in_own_process(answers, folder / "many") for _ in range(PROCESSES)]
        cold, warm = ([_median(same) for same in zip(*found, strict=True)] for found in zip(*asked, strict=True))
        for first, second in zip(cold, warm, strict=True):
            times = f"{first.seconds:.2f} | {second.seconds:.2f}"
            print(f"| {number} | {first.what} | {times} | {first.requests:,} | {second.requests:,} |", flush=True)
    print(f"\nThe goal for all answers of a page is {GOAL_S} s.")


def answers(folder: Path) -> tuple[list[Answer], list[Answer]]:
    """Ask the explorer on this store twice; for a process of its own, since the app keeps what it has read."""
    from fastapi.testclient import TestClient  # noqa: PLC0415  (Airflow reads its home when it is imported)

    from kafka_pareto_airflow.explorer import explorer_app  # noqa: PLC0415  (as above)
    from kafka_pareto_airflow.explorer.access import reads_of  # noqa: PLC0415  (as above)

    store = CountingStore(folder)
    app = explorer_app.create_app()
    for each in app.router.dependencies:  # access is not measured
        if each.dependency is not None:
            app.dependency_overrides[each.dependency] = lambda: None
    app.dependency_overrides[reads_of] = lambda: lambda _: True
    with patch.object(explorer_app, "open_store", lambda _: store), TestClient(app) as client:
        client.get("/").raise_for_status()

        def ask(what: str, address: str) -> tuple[Answer, Any]:
            store.asked.clear()
            began_s = time.perf_counter()
            answer = client.get(address).raise_for_status()
            seconds = time.perf_counter() - began_s
            found = answer.json()
            return Answer(what, seconds, store.asked["reads"] + store.asked["listings"]), found

        def opened() -> list[Answer]:
            listed, [first, *_] = ask("list of campaigns", "/api/campaigns")
            path = f"/api/campaigns/{first['study']}/{first['campaign']}"
            overview, found = ask("first campaign", path)
            path = f"{path}/{found['cases'][0]['case']}"
            view, _ = ask("its first record size", path)
            choice, _ = ask("the choice", f"{path}/choice")
            return _with_sum([listed, overview, view, choice])

        return opened(), opened()


def _with_sum(found: list[Answer]) -> list[Answer]:
    return [*found, Answer("all", sum(each.seconds for each in found), sum(each.requests for each in found))]


def _median(found: Sequence[Answer]) -> Answer:
    return replace(found[0], seconds=statistics.median(each.seconds for each in found))


def _in_own_process(ask: Callable[[Path], _Found], folder: Path) -> _Found:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(ask, folder).result()


if __name__ == "__main__":
    typer.run(main)
