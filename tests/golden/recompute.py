"""Recomputes the conclusions from the recorded store and from the kept campaigns.

`PYTHONPATH=include:. .state/venv/bin/python -m tests.golden.recompute` writes `expected/` anew, or the parts that are
named behind it: once a difference is meant, has been read in the test's message, and is to stay for good.
"""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CheckKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Fingerprint, Repetition, Sizing
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.report.cards import Cards
from kafka_pareto.storage.folder_store import FolderStore
from tests.fakes import FakeLoadTool, fake_testbed
from tests.golden.kept_campaign import write_kept_campaign
from tests.golden.normal import as_json, as_text, without_moments

FOLDER = Path(__file__).parent
RECORDED, EXPECTED = FOLDER / "recorded_store", FOLDER / "expected"
STUDY, CAMPAIGN, CHECK = "golden", "c1", "check1"
CASES, LAST_ROUND = ("1024", "8192"), 2
_RECORDED_AT = datetime(2026, 11, 22, 17, tzinfo=UTC).timestamp()
# Pages of Great Expectations' own making, full of times and its versions; their findings are in `summary.json`.
_NOT_COMPARED = ("*/data_docs/*", "leases/*", ".lock")

Texts = dict[str, str]


class Recomputing:
    """A separate store, and the artifacts its steps write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = FolderStore(folder)
        self._before: dict[str, bytes] = {}
        self._manifests: Texts = {}

    def begin(self, *forgotten: str) -> None:
        """Takes away what is to be written again (patterns of keys); what is written from here on is compared."""
        for key in self.store.keys(""):
            if any(fnmatch.fnmatch(key, pattern) for pattern in forgotten):
                self.store.delete(key)
        self._before = {key: self.store.get(key) for key in self.store.keys("")}

    def ran(self, name: str, manifest: Manifest) -> Manifest:
        """Keeps the step's closing word too."""
        self._manifests[f"manifest of {name}.json"] = as_json(manifest.model_dump(mode="json"))
        return manifest

    def written(self) -> Texts:
        """Everything that is new, different or gone since the beginning."""
        now = {key: self.store.get(key) for key in self.store.keys("")}
        changed = {key: content for key, content in now.items() if self._before.get(key) != content}
        found = {key: as_text(key, content) for key, content in changed.items() if not _is_excluded(key)}
        found |= {key: "<deleted>\n" for key in self._before if key not in now}
        return {key: without_moments(text) for key, text in {**self._manifests, **found}.items()}

    def confirm_measured(self, campaign: Campaign, cases: Sequence[str]) -> None:
        """The step `confirm`, whose every repetition must be in the store."""
        from kafka_pareto.steps import confirm

        for case in cases:
            with fake_testbed(campaign, case) as testbed:
                assert isinstance(testbed.load_tool, FakeLoadTool)
                self.ran(f"confirm {case}", confirm.run(campaign, case, ProducerRunner(campaign, case, testbed)))
                assert not testbed.load_tool.requests, f"{case}: the choice is another one: its repetitions are missing"


@contextmanager
def recorded_store(folder: Path) -> Iterator[Recomputing]:
    """A copy of the recorded store; Git keeps no times of files, which are when a campaign was designed."""
    shutil.copytree(RECORDED, folder, dirs_exist_ok=True)
    for path in folder.rglob("*"):
        os.utime(path, (_RECORDED_AT, _RECORDED_AT))
    yield Recomputing(folder)


def searched(folder: Path) -> Texts:
    """The proposal of the last round, and its fronts from the stored surrogates."""
    from kafka_pareto.steps import optimize, propose

    with recorded_store(folder) as again:
        campaign = Campaign.open(again.store, STUDY, CAMPAIGN)
        again.begin(f"*/round=0{LAST_ROUND}/01_*", f"*/round=0{LAST_ROUND}/05_front/*")
        again.ran("propose", propose.run(campaign, LAST_ROUND))
        for case in CASES:
            again.ran(f"optimize {case}", optimize.run(campaign, case, LAST_ROUND))
        return again.written()


def decided(folder: Path) -> Texts:
    """Candidates, confirmed trials and decisions from the stored repetitions."""
    with recorded_store(folder) as again:
        again.begin("*/06_confirmation/*.parquet", "*/06_confirmation/*/decision.json")
        again.confirm_measured(Campaign.open(again.store, STUDY, CAMPAIGN), CASES)
        return again.written()


def measured_on(campaign: Campaign) -> Fingerprint:
    """The cluster as the campaign found it."""
    return campaign.read_record(campaign.keys.fingerprint(CASES[0]), Fingerprint)


def active_settings(folder: Path) -> Texts:
    """An approval, a confirmed pick, and a rollback, from the stored report."""
    from kafka_pareto.steps import accept, roll_back
    from kafka_pareto.study.options import Wanted

    with recorded_store(folder) as again:
        campaign = Campaign.open(again.store, STUDY, CAMPAIGN)
        picked = json.loads(again.store.get(f"_in_force/{STUDY}/{CASES[0]}/versions/00002.json"))["configuration_id"]
        again.begin("_in_force/*", "*/08_rollout/*")
        asked = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
        approved = Wanted(answer="approve", by="ada", reason="before the sale", answered_at=asked)
        pick = Wanted(case=CASES[0], configuration=picked, by="bob", reason="less CPU", request="p1")
        for name, wanted in (("accept", approved), ("accept again", Wanted()), ("pick", pick)):
            again.ran(name, accept.run(campaign, wanted, measured_on))
        back = roll_back.run(again.store, STUDY, CASES[1], by="ada", reason="alarms at night", request="b1")
        again.ran("roll_back", back)
        return again.written()


def checked(folder: Path) -> Texts:
    """The outcome of the stored check, in which one record size has drifted."""
    from kafka_pareto.steps import check_compare

    with recorded_store(folder) as again:
        again.begin("*/08_check.json")
        begun = Campaign.at(again.store, CheckKeys(STUDY, CHECK))
        again.ran("check_compare", check_compare.run(begun))
        return again.written()


def kept(study: str, folder: Path) -> Texts:
    """Trials of all rounds, confirmed trials, decisions and cards of a kept campaign."""
    from kafka_pareto.analysis.trials import summarise_trials
    from kafka_pareto.report.card_layout import cards_text

    campaign = write_kept_campaign(folder, study)
    again = Recomputing(folder)
    again.begin()
    again.confirm_measured(campaign, campaign.study.cases)
    measured = campaign.read_measurements(campaign.study.cases, campaign.study.round_numbers())
    trials = summarise_trials(measured, campaign.study)
    by_hand = {"trials.json": as_json(json.loads(trials.to_json(orient="records", double_precision=15)))}
    return {**again.written(), **by_hand, "cards.txt": cards_text(_kept_cards(campaign, measured))}


def _kept_cards(campaign: Campaign, measured: list[Repetition]) -> Cards:
    """As the step `report` makes them, which would need a gate for every round and draw figures: half a minute."""
    from kafka_pareto.analysis.trials import summarise_trials
    from kafka_pareto.report.card_context import card_context
    from kafka_pareto.search.stopping import rounds_so_far

    study, keys = campaign.study, campaign.keys
    decisions = [campaign.read_record(keys.confirmation(case, "decision.json"), Decision) for case in study.cases]
    numbers = sorted({each.round for each in measured})
    trials = [summarise_trials([each for each in measured if each.round <= number], study) for number in numbers]
    contexts = [
        card_context(
            study,
            decision,
            design=[each for each in measured if each.case == case],
            confirmation=campaign.read_repetitions(keys.confirmation(case, "repetitions/")),
            discarded=[],
            sizing=campaign.read_record(keys.sizing(case), Sizing),
            noise=None,
            noise_repetitions=[],
            rounds=rounds_so_far(study, case, trials),
        )
        for case, decision in zip(study.cases, decisions, strict=True)
    ]
    return Cards(study=keys.study, campaign=keys.campaign, cards=decisions, contexts=contexts)


def validated(folder: Path) -> Texts:
    """Verdicts of the gate and trials, of the design and of the last round."""
    from kafka_pareto.steps import validate

    with recorded_store(folder) as again:
        campaign = Campaign.open(again.store, STUDY, CAMPAIGN)
        again.begin("*/round=0[02]/03_*")
        for number in (0, LAST_ROUND):
            again.ran(f"validate {number}", validate.run(campaign, number))
        return again.written()


def reported(folder: Path) -> Texts:
    """The recorded campaign's report."""
    from kafka_pareto.steps import report

    with recorded_store(folder) as again:
        campaign = Campaign.open(again.store, STUDY, CAMPAIGN)
        again.begin("*/07_report/*")
        again.ran("report", report.run(campaign))
        return again.written()


def explored(folder: Path) -> Texts:
    """Every answer of the explorer's pages on the recorded store."""
    with recorded_store(folder / "store"):
        environment = {**os.environ, "KAFKA_PARETO_STORE_FOLDER": str(folder / "store")}
        environment |= {"AIRFLOW_HOME": str(folder / "airflow"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        argv = [sys.executable, "-m", "tests.golden.explorer", str(folder / "answers")]
        subprocess.run(argv, env=environment, check=True, timeout=120, cwd=FOLDER.parents[1])
    return {name: without_moments(text) for name, text in _texts(folder / "answers").items()}


FAST: dict[str, Callable[[Path], Texts]] = {
    "searched": searched,
    "decided": decided,
    "in_force": active_settings,
    "checked": checked,
    "kept_cold_burst": lambda folder: kept("cold_burst", folder),
    "kept_steady": lambda folder: kept("steady", folder),
}
SLOW: dict[str, Callable[[Path], Texts]] = {
    "validated": validated,
    "reported": reported,
    "explored": explored,
}


def expected(part: str) -> Texts:
    """Returns what was stored of this part, by the artifact's key."""
    return _texts(EXPECTED / part)


def write_expected(part: str, texts: Texts) -> None:
    """Stores this part in place of what was there."""
    shutil.rmtree(EXPECTED / part, ignore_errors=True)
    for name, text in texts.items():
        path = EXPECTED / part / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _texts(folder: Path) -> Texts:
    paths = sorted(folder.rglob("*.txt"))
    return {path.relative_to(folder).as_posix().removesuffix(".txt"): path.read_text("utf-8") for path in paths}


def _is_excluded(key: str) -> bool:
    return any(fnmatch.fnmatch(key, pattern) for pattern in _NOT_COMPARED)


if __name__ == "__main__":
    os.environ.pop("KAFKA_PARETO_MLFLOW_TRACKING_URI", None)
    parts = {**FAST, **SLOW}
    for wanted in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory(prefix="kafka-pareto-golden-") as name:
            write_expected(wanted, parts[wanted](Path(name)))
