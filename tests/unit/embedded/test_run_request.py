"""The user's options of `make run`, and the parameters for Airflow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_properties import parse_properties
from kafka_pareto.settings import Settings
from kafka_pareto.steps.begin import asked_for
from kafka_pareto.steps.freezing import is_frozen
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.options import DesignOptions
from kafka_pareto.study.overrides import read_baseline, with_overrides
from kafka_pareto.study.requests import RunRequest
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study_file import dump_study, load_study
from kafka_pareto_embedded.runs.request import dag_parameters, handing_over, study_name
from tests.compared import comparison
from tests.recorded import STUDIES, paper_study

pytestmark = pytest.mark.fast

CLUSTER: dict[str, Any] = {"bootstrap_servers": "a:9092", "ceiling_mib_s": 5.0, "ceiling_gib": 2.0}


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(client_configs=tmp_path / "client-configs")


def test_a_bare_run_is_a_new_campaign_of_quick_and_leaves_the_study_as_it_is(
    store: FolderStore, settings: Settings
) -> None:
    parameters = dag_parameters(RunRequest(), store, settings)
    assert re.fullmatch(r"\d{8}T\d{6}", parameters.pop("campaign"))
    assert parameters == {"study": "quick"}


def test_options_become_parameters(store: FolderStore, settings: Settings) -> None:
    request = RunRequest(record_sizes=[1024, 8192], seed=0, repetitions=3, warm_start="latest", consent=True, **CLUSTER)
    parameters = dag_parameters(request, store, settings)
    assert parameters.pop("campaign")
    assert parameters == {
        "study": "quick",
        "record_sizes": [1024, 8192],
        "seed": 0,
        "repetitions": 3,
        "warm_start": "latest",
        "bootstrap_servers": "a:9092",
        "ceiling_mib_s": 5.0,
        "ceiling_gib": 2.0,
        "consent": True,
    }


def test_a_campaign_resumes_with_its_original_values_whatever_its_study(store: FolderStore, settings: Settings) -> None:
    cluster = ForeignCluster(
        bootstrap_servers="a:9092", client_config="prod.properties", ceiling_mib_s=5, ceiling_gib=2, consent=True
    )
    study = with_overrides(paper_study(), ["8192"], 7, 4, cluster)
    store.put("paper/c/study.yaml", dump_study(study).encode())
    assert dag_parameters(RunRequest(study="quick", campaign="c"), store, settings) == {
        "study": "paper",
        "campaign": "c",
        "record_sizes": [8192],
        "seed": 7,
        "repetitions": 4,
        "cool_down_s": 5.0,
        "bootstrap_servers": "a:9092",
        "client_config": "prod.properties",
        "ceiling_mib_s": 5.0,
        "ceiling_gib": 2.0,
        "consent": True,
    }


@pytest.mark.parametrize(
    "overrides",
    [
        {"cool_down_s": 0.0},
        {"baseline": {"linger.ms": 20, "acks": "1", "enable.idempotence": False}},
        {"cases": ["8192"], "seed": 0, "repetitions": 3, "cool_down_s": 0.25},
    ],
)
def test_an_interrupted_campaign_of_paper_resumes_with_its_original_study(
    store: FolderStore, settings: Settings, overrides: dict[str, Any]
) -> None:
    started = with_overrides(paper_study(), **overrides)
    store.put("paper/c/study.yaml", dump_study(started).encode())
    parameters = dag_parameters(RunRequest(campaign="c"), store, settings)
    baseline = parameters.get("baseline")
    again = with_overrides(
        paper_study(),
        [str(size) for size in parameters["record_sizes"]],
        parameters["seed"],
        parameters["repetitions"],
        cool_down_s=parameters["cool_down_s"],
        baseline=None if baseline is None else read_baseline(baseline, "baseline").used,
    )
    assert again == started


@pytest.mark.parametrize("name", sorted(path.stem for path in STUDIES.glob("*.yaml")))
def test_every_shipped_study_resumes(store: FolderStore, settings: Settings, name: str) -> None:
    study = load_study(STUDIES / f"{name}.yaml")
    store.put(f"{name}/c/study.yaml", dump_study(study).encode())
    parameters = dag_parameters(RunRequest(study=name, campaign="c"), store, settings)
    options = DesignOptions(**{key: value for key, value in parameters.items() if key not in ("study", "campaign")})
    assert is_frozen(store, CampaignKeys(name, "c"), asked_for(study, options, settings), None)


def test_a_campaign_on_a_named_cluster_resumes(store: FolderStore, settings: Settings) -> None:
    study = paper_study().model_copy(update={"cluster": ForeignCluster(name="orders", **CLUSTER)})
    store.put("paper/c/study.yaml", dump_study(study).encode())
    parameters = dag_parameters(RunRequest(study="paper", campaign="c"), store, settings)
    options = DesignOptions(**{key: value for key, value in parameters.items() if key not in ("study", "campaign")})
    assert is_frozen(store, CampaignKeys("paper", "c"), asked_for(study, options, settings), None)


def test_of_a_baselines_file_only_the_tunable_properties_travel(
    store: FolderStore, settings: Settings, tmp_path: Path
) -> None:
    given = tmp_path / "my producer.properties"
    given.write_text("# ours\nbootstrap.servers=secret-host:9092\nlinger.ms=20\ncompression.type=zstd\n")
    parameters = dag_parameters(RunRequest(baseline=str(given), cool_down_s=0), store, settings)
    assert parameters["baseline"] == "linger.ms=20\ncompression.type=zstd\n"
    assert parameters["cool_down_s"] == 0


def test_a_baselines_file_may_be_in_javas_iso_8859_1(store: FolderStore, settings: Settings, tmp_path: Path) -> None:
    given = tmp_path / "producer.properties"
    given.write_bytes("# Verzögerung\nlinger.ms=20\n".encode("latin-1"))
    assert dag_parameters(RunRequest(baseline=str(given)), store, settings)["baseline"] == "linger.ms=20\n"
    given.write_text("linger.ms=20\n", encoding="utf-16")
    with pytest.raises(BadInputError, match=r"BASELINE: .*producer.properties: .* save it as UTF-8"):
        RunRequest(baseline=str(given))


def test_a_baselines_file_with_a_secret_is_refused_by_its_key(
    store: FolderStore, settings: Settings, tmp_path: Path
) -> None:
    given = tmp_path / "producer.properties"
    given.write_text("linger.ms=20\nssl.truststore.password=hidden\n")
    with pytest.raises(BadInputError, match=r"BASELINE: .*: ssl.truststore.password: may hold a secret") as raised:
        dag_parameters(RunRequest(baseline=str(given)), store, settings)
    assert "hidden" not in str(raised.value)


def test_a_campaign_resumes_with_its_original_warm_start(store: FolderStore, settings: Settings) -> None:
    study = with_overrides(load_study(STUDIES / "cold_burst.yaml"), warm_start=["c1", "c2"])
    store.put("cold_burst/c/study.yaml", dump_study(study).encode())

    assert dag_parameters(RunRequest(campaign="c"), store, settings)["warm_start"] == "c1,c2"


def test_the_client_configuration_is_kept_privately_and_only_its_name_travels(
    store: FolderStore, settings: Settings, tmp_path: Path
) -> None:
    given = tmp_path / "my client.properties"
    given.write_text("sasl.jaas.config=… password=hidden;")
    request = RunRequest(client_config=str(given), **CLUSTER)
    parameters = dag_parameters(request, store, settings)
    kept = settings.client_configs / f"{parameters['campaign']}.properties"
    assert parameters["client_config"] == kept.name
    assert "hidden" not in str(parameters)
    credentials = handing_over(request, parameters, settings)
    assert credentials is not None
    with credentials("r"):
        # Bound to the brokers that it was handed over for.
        bound = {"bootstrap.servers": CLUSTER["bootstrap_servers"]}
        assert parse_properties(kept.read_text()) == {**parse_properties(given.read_text()), **bound}
        assert kept.stat().st_mode & 0o777 == 0o600
        assert settings.client_configs.stat().st_mode & 0o777 == 0o700


def test_a_campaign_that_has_ended_wants_its_client_configuration_again(
    store: FolderStore, settings: Settings, tmp_path: Path
) -> None:
    cluster = ForeignCluster(bootstrap_servers="a:9092", client_config="c.properties", ceiling_mib_s=5, ceiling_gib=2)
    store.put("paper/c/study.yaml", dump_study(with_overrides(paper_study(), cluster=cluster)).encode())
    with pytest.raises(
        BadInputError, match=r"CAMPAIGN: 'c': the copy of its client.properties was deleted .* KAFKA_CONFIG=…"
    ):
        dag_parameters(RunRequest(study="paper", campaign="c"), store, settings)
    given = tmp_path / "given.properties"
    given.touch()
    request = RunRequest(study="paper", campaign="c", client_config=str(given))
    again = dag_parameters(request, store, settings)
    assert again["client_config"] == "c.properties"
    credentials = handing_over(request, again, settings)
    assert credentials is not None
    with credentials("r"):
        pass
    joined = dag_parameters(RunRequest(study="paper", campaign="c"), store, settings)  # it has not ended yet
    assert joined == again


def test_a_campaign_that_is_not_there_is_refused_and_the_newest_that_are_there_are_named(
    store: FolderStore, settings: Settings
) -> None:
    for day in range(11, 18):
        store.put(f"paper/202611{day}T120000/study.yaml", b"")
    store.put("quick/20261118T120000/study.yaml", b"")
    with pytest.raises(
        BadInputError, match=r"CAMPAIGN: '20261117T12000': no study has a campaign with this ID"
    ) as raised:
        dag_parameters(RunRequest(campaign="20261117T12000"), store, settings)
    newest = ["20261118T120000 (quick)", *(f"202611{day}T120000 (paper)" for day in (17, 16, 15, 14))]
    assert f"the newest are {', '.join(newest)}; omit CAMPAIGN" in str(raised.value)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (RunRequest(bootstrap_servers="a:9092"), "KAFKA: an existing cluster needs CEILING_MIB_S"),
        (RunRequest(bootstrap_servers="a:9092", ceiling_gib=1), "KAFKA: an existing cluster needs CEILING_MIB_S"),
        (RunRequest(campaign="c"), "CAMPAIGN: 'c': no study has a campaign with this ID; there are none yet"),
    ],
)
def test_an_unusable_option_is_one_clear_line(
    store: FolderStore, settings: Settings, request_: RunRequest, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as raised:
        dag_parameters(request_, store, settings)
    assert "\n" not in str(raised.value)


def test_a_client_configuration_that_cannot_be_read_is_one_clear_line(settings: Settings) -> None:
    with pytest.raises(BadInputError, match="KAFKA_CONFIG: /nowhere: cannot be read: No such file"):
        handing_over(RunRequest(client_config="/nowhere", **CLUSTER), {"campaign": "c"}, settings)


@pytest.fixture
def with_comparison(tmp_path: Path) -> Settings:
    """Settings whose folder of studies has the small comparison and `quick`."""
    folder = tmp_path / "studies"
    folder.mkdir()
    (folder / "quick.yaml").write_text((STUDIES / "quick.yaml").read_text())
    (folder / "impact_small.yaml").write_text(dump_study(comparison()))
    return Settings(client_configs=tmp_path / "client-configs", studies=folder)


@pytest.mark.parametrize(
    ("study", "options", "option"),
    [
        ("quick", {"parts": ["acks"]}, "PARTS"),
        ("quick", {"factor": "linger.ms", "levels": "0,5"}, "FACTOR"),
        ("impact_small", {"record_sizes": [1024]}, "RECORD_SIZES"),
        ("impact_small", {"warm_start": "latest"}, "WARM_START"),
        ("impact_small", {"approval": True}, "APPROVAL"),
    ],
)
def test_an_option_that_studies_of_this_kind_do_not_have_is_refused(
    store: FolderStore, with_comparison: Settings, study: str, options: dict[str, Any], option: str
) -> None:
    with pytest.raises(BadInputError, match=f"^{option}: study {study} is of kind .*, which has no such option$"):
        dag_parameters(RunRequest(study=study, **options), store, with_comparison)


def test_a_comparisons_baseline_is_refused_before_its_file_is_read_as_a_producers(
    store: FolderStore, with_comparison: Settings, tmp_path: Path
) -> None:
    given = tmp_path / "consumer.properties"
    given.write_text("max.poll.records=2000\n")
    rule = "which has no such option; set the study's reference instead$"
    with pytest.raises(BadInputError, match=f"^BASELINE: study impact_small is of kind compare, {rule}"):
        dag_parameters(RunRequest(study="impact_small", baseline=str(given)), store, with_comparison)


def test_the_parts_or_the_one_factor_of_a_comparison_become_parameters(
    store: FolderStore, with_comparison: Settings
) -> None:
    parts = dag_parameters(RunRequest(study="impact_small", parts=["compression_type", "grid"]), store, with_comparison)
    assert parts["parts"] == ["compression_type", "grid"]
    one = dag_parameters(RunRequest(study="impact_small", factor="linger.ms", levels="0,5"), store, with_comparison)
    assert (one["factor"], one["levels"], one.get("parts")) == ("linger.ms", "0,5", None)


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"cases": ["record_size"], "seed": 7, "repetitions": 4},
        {"table": {"factor": "linger.ms", "levels": [5, 0, 20]}},
        {"table": {"factor": "acks", "levels": ["1", "all"]}, "cool_down_s": 0.5},
    ],
)
def test_an_interrupted_comparison_resumes_with_its_original_study(
    store: FolderStore, with_comparison: Settings, overrides: dict[str, Any]
) -> None:
    file = comparison()
    started = with_overrides(file, **overrides)
    store.put("impact_small/c/study.yaml", dump_study(started).encode())

    parameters = dag_parameters(RunRequest(campaign="c"), store, with_comparison)

    given = parameters.get("levels")
    again = with_overrides(
        file,
        parameters.get("parts"),
        parameters["seed"],
        parameters["repetitions"],
        cool_down_s=parameters["cool_down_s"],
        table=None if given is None else file.table_of(parameters["factor"], given.split(",")),
    )
    assert again == started


def test_a_campaign_names_its_own_study_whatever_else_was_said(store: FolderStore, with_comparison: Settings) -> None:
    store.put("impact_small/c/study.yaml", dump_study(comparison()).encode())
    assert study_name(RunRequest(campaign="c"), store, with_comparison) == "impact_small"
    assert study_name(RunRequest(), store, with_comparison) == "quick"
    with pytest.raises(BadInputError, match="no study has a campaign with this ID"):
        study_name(RunRequest(campaign="d"), store, with_comparison)
