"""Measure how every step and page grows with a campaign: `python -m benchmarks.growth`.

A campaign of one record size is run through all steps on the tests' seeded fake of a cluster. Its artifacts are
written again for more and more record sizes, and each step and page is asked of these copies. Counted are the CPU
time of this process and the objects read from the store. The exponent is that of the last step from one number of
record sizes to the next: at 1 a row grows as the campaign does.

A row that would take too long at the next number is skipped there, and its exponent is that of the step before.

Of mapped steps (measure, optimize, confirm) the rows are of one task, so their exponent should be near 0. All that a
task would measure lies in the store, as after a restart.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias, cast

import typer

from benchmarks.growing_campaign import ID, LAST_ROUND, CountingStore, grown, made_up_template, on_fake
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns_of
from kafka_pareto.campaign.progress import campaign_progress
from kafka_pareto.drift.check_records import read_checks
from kafka_pareto.drivers.common.systems import ClusterSystem
from kafka_pareto.explorer.intervals import intervals
from kafka_pareto.explorer.snapshot import read_snapshot
from kafka_pareto.explorer.view import case_view
from kafka_pareto.rollout.versions import versions
from kafka_pareto.steps import confirm, design, measure, optimize, propose, report, train, validate
from tests.fakes import FakeCluster

Cost: TypeAlias = tuple[float, int]
"""CPU seconds, and objects that were read."""
CAMPAIGNS = (1, 10, 100)


def asked_of(campaign: Campaign) -> Iterator[tuple[str, Callable[[], object]]]:
    """List the steps in their order, each with its arguments, then the pages."""
    store, case = campaign.store, campaign.study.cases[0]

    def designed() -> None:
        with FakeCluster() as cluster:
            design.run(store, campaign.tune, "designed", ClusterSystem(cluster))

    def proposed() -> None:
        store.delete(campaign.keys.proposal(LAST_ROUND))  # a decision that is there is kept
        propose.run(campaign, LAST_ROUND)

    yield "step design", designed
    yield "step measure, a task", lambda: on_fake(measure.run, campaign, case, LAST_ROUND)
    yield "step validate", lambda: validate.run(campaign, LAST_ROUND)
    yield "step train", lambda: train.run(campaign, LAST_ROUND)
    yield "step optimize, a task", lambda: optimize.run(campaign, case, LAST_ROUND)
    yield "step propose", proposed
    yield "step confirm, a task", lambda: on_fake(confirm.run, campaign, case)
    yield "page: progress", lambda: campaign_progress(campaign)
    yield "page: view of a record size", lambda: case_view(read_snapshot(campaign, case))
    yield "page: its intervals", lambda: intervals(read_snapshot(campaign, case))
    yield "page: settings and checks", lambda: (versions(store, "growing", case), read_checks(store, "growing", case))
    yield "step report", lambda: report.run(campaign)


def cost_of(campaign: Campaign, ask: Callable[[], object]) -> Cost:
    """Run it once, for a campaign whose store counts."""
    asked = cast("CountingStore", campaign.store).asked
    asked.clear()
    began_s = time.process_time()
    ask()
    return time.process_time() - began_s, asked["reads"]


def exponent(costs: list[float], sizes: list[int]) -> str:
    """Return the exponent between the last two sizes with a cost; a dash where there was next to nothing."""
    before, after = costs[-2:]
    step = sizes[len(costs) - 1] / sizes[len(costs) - 2]
    return f"{math.log(after / before) / math.log(step):.2f}" if before > 0 and after > 0 else "-"


def main(
    sizes: Annotated[list[int] | None, typer.Option(min=1, help="numbers of record sizes; may be given again")] = None,
    at_most_s: Annotated[float, typer.Option(help="a row that would take more CPU seconds is skipped")] = 600.0,
) -> None:
    """Measure and print one table for record sizes and one for campaigns."""
    os.environ.pop("KAFKA_PARETO_MLFLOW_TRACKING_URI", None)
    numbers = sizes or [10, 100, 1000]
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-growth-") as name:
        folder = Path(name)
        template = made_up_template(folder / "template")  # it loads all libraries, too
        costs: dict[str, list[Cost]] = {}
        for at, number in enumerate(numbers):
            campaign = grown(template, folder / str(number), number)
            for row, ask in asked_of(campaign):
                found = costs.setdefault(row, [])
                # A row that is skipped once has no cost at the number before, either.
                if len(found) == at and (not found or found[-1][0] * number / numbers[at - 1] <= at_most_s):
                    found.append(cost_of(campaign, ask))
                    print(f"{number:,}: {row}: {found[-1][0]:.2f} CPU s", file=sys.stderr)
        _print("record sizes", numbers, costs)
        _print("campaigns", list(CAMPAIGNS), {"page: list of campaigns": _listed(template, folder / "many")})


def _listed(template: Campaign, folder: Path) -> list[Cost]:
    """Return the cost of the list for more and more campaigns."""
    store, costs = CountingStore(folder), []
    contents = {key: template.store.get(key) for key in template.store.keys(f"{template.keys.prefix}/")}
    for number in CAMPAIGNS:
        for at in range(number):
            prefix = CampaignKeys(template.keys.study, f"{ID}-{at}").prefix
            for key, content in contents.items():
                store.put(key.replace(template.keys.prefix, prefix, 1), content)
        costs.append(cost_of(replace(template, store=store), lambda: list_campaigns_of(store, "tune")))
    return costs


def _print(what: str, numbers: list[int], costs: dict[str, list[Cost]]) -> None:
    heads = [f"{number:,}" for number in numbers]
    print(f"| | CPU s, {what}: {' | '.join(heads)} | exponent | reads: {' | '.join(heads)} | exponent |")
    print("|---" * (2 * len(numbers) + 3) + "|")
    for row, found in costs.items():
        seconds, reads = [each[0] for each in found], [float(each[1]) for each in found]
        left_out = ["-"] * (len(numbers) - len(found))
        cells = [*(f"{each:.2f}" for each in seconds), *left_out, exponent(seconds, numbers)]
        cells += [*(f"{each:,.0f}" for each in reads), *left_out, exponent(reads, numbers)]
        print(f"| {row} | {' | '.join(cells)} |")


if __name__ == "__main__":
    typer.run(main)
