"""The steps `train` and `optimize` on a store in a folder: by their command lines, and on campaigns of odd kinds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.tables import FRONT_COLUMNS, FRONT_INTERVAL_COLUMNS, HYPERVOLUME_COLUMNS, SCORE_COLUMNS
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.errors import BadInputError
from kafka_pareto.steps import optimize, train
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.sections import Surrogate
from kafka_pareto.study.study_file import dump_study
from kafka_pareto.surrogates.surrogate import SurrogateIndex
from tests.recorded import recorded_repetitions
from tests.step_command import run_step
from tests.trained_campaign import recorded_campaign, small_study

pytestmark = [pytest.mark.servers, pytest.mark.studies]  # no server, but each step is a process

CASE = "8192"


def run(step: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_step(step, folder, "--campaign", "c1", *arguments, home=folder.parent)


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of two record sizes that the train step has gone through."""
    folder = tmp_path_factory.mktemp("trained") / "store"
    cases = ("1024", CASE)
    recorded_campaign(folder, small_study(cases), recorded_repetitions(cases, configurations=20))
    done = run("train", folder)
    assert done.returncode == 0, done.stderr
    (folder.parent / "stdout").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def searched_folder(trained_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with one record size searched."""
    folder = Path(shutil.copytree(trained_folder, tmp_path_factory.mktemp("searched") / "store"))
    done = run("optimize", folder, "--case", CASE)
    assert done.returncode == 0, done.stderr
    (folder.parent / "stdout").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture
def folder(trained_folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(trained_folder, tmp_path / "store"))


def campaign_in(folder: Path) -> Campaign:
    return Campaign.open(FolderStore(folder), "paper", "c1")


def test_train_prints_r2_per_objective_and_record_size_and_ends_with_its_manifest(trained_folder: Path) -> None:
    lines = (trained_folder.parent / "stdout").read_text(encoding="utf-8").splitlines()
    manifest = Manifest.model_validate_json(lines[-1])
    for objective in PRODUCER.objective_names:
        assert sum(line.startswith(f"{objective} ") for line in lines) == 3  # pooled, and each of two record sizes
        assert f"r2_held_out_{objective}" in manifest.counts
    assert manifest.counts["surrogates"] == 4
    assert all(campaign_in(trained_folder).store.get(key) for key in manifest.artifacts)


def test_train_writes_models_scores_and_the_models_input_schema(trained_folder: Path) -> None:
    campaign = campaign_in(trained_folder)
    index = campaign.read_record(campaign.keys.surrogates("encoding.json"), SurrogateIndex)
    scores = campaign.read_table(campaign.keys.surrogates("scores.parquet"), SCORE_COLUMNS, factors=False)
    assert set(index.models) == set(PRODUCER.objective_names)
    assert len(scores) == 4 * 3
    of_means = scores.objective.isin(PRODUCER.means)
    assert scores.coverage_cross_validated[of_means].between(0.5, 1).all()
    assert scores.coverage_cross_validated[~of_means].isna().all()


def test_optimize_writes_a_front_and_its_hypervolume(searched_folder: Path) -> None:
    lines = (searched_folder.parent / "stdout").read_text(encoding="utf-8").splitlines()
    manifest = Manifest.model_validate_json(lines[-1])
    campaign = campaign_in(searched_folder)
    front = campaign.read_table(campaign.keys.front(CASE), FRONT_INTERVAL_COLUMNS)
    for mean in PRODUCER.means:
        low, estimate, high = (front[f"estimated_{mean}{end}"] for end in ("_low", "", "_high"))
        assert (low < estimate).all()
        assert (estimate < high).all()
    assert front["estimated_latency_cv"].notna().all()  # one shot: all four are searched, as in the paper
    hypervolume = campaign.read_table(campaign.keys.hypervolume(CASE), HYPERVOLUME_COLUMNS, factors=False)
    assert manifest.cases == [CASE]
    assert manifest.counts["evaluations"] == 7360
    assert manifest.counts["front"] == front["on_joint_front"].sum() > 0
    assert len(hypervolume) == 80


@pytest.mark.long
def test_both_steps_repeated_write_equal_artifacts_byte_for_byte(searched_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(searched_folder, tmp_path / "store"))
    campaign = campaign_in(folder)
    keys = [*campaign.store.keys(campaign.keys.surrogates("")), campaign.keys.front(CASE)]
    first = {key: campaign.store.get(key) for key in keys}
    assert run("train", folder).returncode == 0
    assert run("optimize", folder, "--case", CASE).returncode == 0
    assert {key: campaign.store.get(key) for key in keys} == first


@pytest.mark.parametrize("configurations", [0, 1, 8])
def test_a_tiny_campaign_goes_through_both_steps(tmp_path: Path, configurations: int) -> None:
    study = small_study((CASE,), generations=10)
    study = study.model_copy(update={"surrogate": Surrogate(n_estimators=20), "durability": None})
    protocol = study.protocol.model_copy(update={"minimum_valid_repetitions": 2})
    study = study.model_copy(update={"protocol": protocol})
    repetitions = recorded_repetitions((CASE,), configurations=configurations, blocks=2)
    campaign = recorded_campaign(tmp_path / "store", study, repetitions)
    train.run(campaign)
    optimize.run(campaign, CASE)
    front = campaign.read_table(campaign.keys.front(CASE), FRONT_COLUMNS)
    assert set(front.loc[front["durability_accepted"], "acks"]) == {"all"}
    assert set(front.loc[~front["durability_accepted"], "acks"]) <= {"0", "1"}


def test_trials_without_cvs_are_searched_by_the_means_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    repetitions = recorded_repetitions((CASE,), configurations=20, blocks=2)  # the paper's minimum is 10
    campaign = recorded_campaign(tmp_path / "store", small_study((CASE,)), repetitions)
    train.run(campaign)
    assert "latency_cv: no trial has enough valid repetitions" in caplog.text
    optimize.run(campaign, CASE)
    front = campaign.read_table(campaign.keys.front(CASE), FRONT_COLUMNS)
    assert front["estimated_throughput_cv"].isna().all()
    assert front["estimated_throughput_mib_s"].notna().all()


def test_rounds_search_without_an_objective_that_was_not_learned(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    campaign = campaign_in(folder)
    rounds = campaign.study.model_copy(update={"strategy": "rounds"})
    campaign.store.put(campaign.keys.frozen_study(), dump_study(rounds).encode())
    key = campaign.keys.surrogates("scores.parquet")
    scores = campaign.read_table(key, SCORE_COLUMNS, factors=False)
    learnable = scores["objective"] != "latency_cv"
    campaign.write_table(key, scores.assign(learnable=learnable), SCORE_COLUMNS, factors=False)
    optimize.run(campaign_in(folder), CASE)
    assert "latency_cv is not learnable, so the search excludes it" in caplog.text
    front = campaign.read_table(campaign.keys.front(CASE), FRONT_COLUMNS)
    assert front["estimated_latency_cv"].isna().all()
    assert front["estimated_throughput_cv"].notna().all()


def test_trials_of_another_schema_version_are_refused(folder: Path) -> None:
    path = folder / campaign_in(folder).keys.trials()
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({b"kafka_pareto.schema_version": b"7"}), path)
    done = run("train", folder)
    assert done.returncode == 65
    assert "03_trials.parquet: schema_version 7: this release reads version 4" in done.stderr
    assert "Traceback" not in done.stderr


def test_trials_of_which_none_is_valid_are_refused(folder: Path) -> None:
    path = folder / campaign_in(folder).keys.trials()
    table = pq.read_table(path)
    empty = pa.Table.from_pandas(pd.DataFrame(columns=table.column_names), schema=table.schema)
    pq.write_table(empty, path)
    with pytest.raises(BadInputError, match="no trial has a valid repetition"):
        train.run(campaign_in(folder))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("encoding.json", b'{"schema_version": 9}', "encoding.json: "),
        ("encoding.json", None, "encoding.json: is not in the store"),
        ("latency_cv.ubj", b"", "latency_cv.ubj: is not the model that its encoding.json describes"),
        ("latency_cv.ubj", None, "latency_cv.ubj: is not in the store"),
    ],
)
def test_damaged_surrogates_are_refused(folder: Path, name: str, content: bytes | None, message: str) -> None:
    store, key = campaign_in(folder).store, campaign_in(folder).keys.surrogates(name)
    store.delete(key)
    if content is not None:
        store.put(key, content)
    with pytest.raises(BadInputError, match=message):
        optimize.run(campaign_in(folder), CASE)


def test_a_record_size_that_the_study_does_not_have_is_refused(folder: Path) -> None:
    with pytest.raises(BadInputError, match="--case: 77: must be one of the study's: 1024, 8192"):
        optimize.run(campaign_in(folder), "77")
