"""The load generator's process: its arguments and the handling of its output; a shell script stands in for Java."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.drivers.common.cluster_access import target_of
from kafka_pareto.drivers.common.jvm_process import LoadProcess, java_argv
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance, perf_test_options
from kafka_pareto.errors import BadInputError, LoadStartError, LoadToolError
from kafka_pareto.kafka.client_properties import secrets_in
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.study.study import Study
from tests.unit.measuring import foreign

pytestmark = pytest.mark.fast

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="s3cret words";'


def request(**changes: Any) -> LoadRequest:
    return LoadRequest("t", 1024, **{"properties": {}, "records": 10, "timeout_s": 10.0} | changes)


def run_with(tmp_path: Path, script: str, client_config: str, **changes: Any) -> None:
    java, config = tmp_path / "java", tmp_path / "client.properties"
    java.write_text(f"#!/bin/sh\nfor last; do :; done\n{script}\n")
    java.chmod(0o755)
    config.write_text(client_config, encoding="utf-8")
    ProducerPerformance("b:9092", config, Settings(java=str(java), kafka_jars=tmp_path)).run(request(**changes))


@pytest.mark.parametrize("script", ['cat "$last" >&2; exit 1', 'cat "$last"'], ids=["to stderr", "to stdout"])
def test_no_secret_of_the_client_configuration_is_repeated_whatever_the_tool_prints(tmp_path: Path, script: str):
    with pytest.raises(LoadToolError) as caught:
        run_with(tmp_path, script + "; echo s3cret words", f"sasl.jaas.config={JAAS}\nssl.key.password=s3cret")

    assert "s3cret" not in str(caught.value)
    assert "[hidden]" in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secret_is_on_no_disk_while_the_tool_runs_so_that_no_kill_leaves_it_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    found = tmp_path / "found"
    script = f'grep -c s3cret "$last" > {found}; ls -A {folder} >> {found}; stat -L -c %h "$last" >> {found}; exit 1'

    with pytest.raises(LoadToolError):
        run_with(tmp_path, script, "ssl.key.password=s3cret")

    assert found.read_text() == "1\n0\n", "the tool reads it, and it has no name in any folder"


def test_every_producer_of_a_load_has_its_own_buffer_in_the_heap():
    properties = {"buffer.memory": 64 << 20}

    assert request().heap_mib == 192 + 2 * 32
    assert request(properties=properties, producers=3).heap_mib == 192 + 2 * 3 * 64


def test_a_missing_java_is_not_blamed_on_the_configuration(tmp_path: Path):
    nowhere = Settings(java=str(tmp_path / "no-such-java"), kafka_jars=tmp_path)
    with pytest.raises(LoadStartError, match=r"cannot be started: .*no-such-java"):
        ProducerPerformance("b:9092", None, nowhere).run(request())


def test_a_load_whose_parent_died_before_the_tie_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun = tmp_path / "begun"
    monkeypatch.setattr(os, "getpid", lambda: 1)  # of a parent that the load finds to be another by now

    with pytest.raises(LoadToolError, match="exit code 1"):
        run_with(tmp_path, f"touch {begun}", "")
    assert not begun.exists()


@pytest.mark.parametrize(
    ("key", "limit"),
    [({}, r"0\.3 s \(protocol\.timeout_s\)"), ({"timeout_key": ""}, r"0\.3 s")],
    ids=["of the study", "fixed"],
)
def test_a_load_that_is_too_slow_names_the_key_of_its_limit_if_there_is_one(
    tmp_path: Path, key: dict[str, str], limit: str
) -> None:
    with pytest.raises(LoadToolError, match=f"did not finish within {limit} and was stopped; its output: no leader"):
        run_with(tmp_path, "echo no leader >&2; exec sleep 60", "", timeout_s=0.3, **key)


@dataclass(frozen=True)
class Ended:
    cpu_s: float
    errors: str = ""


def test_the_cpu_time_of_a_load_is_that_of_its_own_process(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nsleep 1.5\n")
    java.chmod(0o755)
    burning = "import time\nwhile time.process_time() < 0.5: pass"

    def burn() -> None:
        subprocess.run([sys.executable, "-c", burning], check=True)

    process = LoadProcess("b:9092", None, Settings(java=str(java), kafka_jars=tmp_path))
    ended = process.run("Main", [], request(), burn, lambda ended: Ended(ended.cpu_s))
    assert 0 < ended.cpu_s < 0.4


@pytest.mark.parametrize(("timeout_s", "minutes"), [(1.0, 1), (45.0, 1), (46.0, 2), (600.0, 11)])
def test_an_orphaned_load_has_its_own_limit_above_its_timeout(timeout_s: float, minutes: int):
    argv = java_argv(load_settings(), request(timeout_s=timeout_s), "io.kafkapareto.ClusterAdmin")
    options = argv[: argv.index("-cp")]
    done = subprocess.run([*options, "-XX:+PrintFlagsFinal", "-version"], capture_output=True, text=True, check=True)

    assert re.search(rf"SelfDestructTimer += {minutes} .*command line", done.stdout)


def test_input_refused_by_a_tool_is_reported_in_the_tools_words(tmp_path: Path):
    with pytest.raises(BadInputError) as caught:
        run_with(tmp_path, "echo 'rows.csv: is UTF-16; convert it' >&2; exit 65", "")

    assert (str(caught.value), caught.value.exit_code) == ("rows.csv: is UTF-16; convert it", 65)


def test_letters_beyond_ascii_reach_either_tool_as_escapes(tmp_path: Path):
    with pytest.raises(LoadToolError, match=r"exit code 1: client\.id=h\\u00e9ron \\ud83d\\udc26"):
        run_with(tmp_path, 'grep client.id "$last" >&2; exit 1', "client.id=héron 🐦")


def test_a_jaas_line_is_secret_as_a_whole_and_in_the_words_of_its_password():
    found = secrets_in(f"sasl.jaas.config={JAAS}\nclient.id=me\n")

    assert JAAS in found
    assert {"s3cret", "words"} < set(found)
    assert "me" not in found


def on_secured_cluster() -> Study:
    study = foreign()
    assert study.cluster is not None
    return study.model_copy(update={"cluster": study.cluster.model_copy(update={"client_config": "client.properties"})})


def test_a_client_configuration_that_is_not_utf_8_is_one_clear_error(tmp_path: Path):
    (tmp_path / "client.properties").write_bytes(b"client.id=h\xe9ron")

    with pytest.raises(BadInputError, match=r"client\.properties: cannot be read as a client\.properties"):
        target_of(on_secured_cluster(), Settings(client_configs=tmp_path))


@pytest.mark.parametrize(("asked", "given"), [(1.57, "1"), (2.0, "2"), (1869.99, "1869"), (None, "-1")])
def test_kafkas_tool_never_sends_faster_than_asked(asked: float | None, given: str):
    options = perf_test_options(request(throughput_records_s=asked))

    assert options[options.index("--throughput") + 1] == given


def test_a_limit_that_kafkas_tool_cannot_keep_is_refused_by_the_name_of_its_keys():
    with pytest.raises(BadInputError, match=r"0\.1 records/s of 1024 bytes.*cluster\.ceiling_mib_s"):
        perf_test_options(request(throughput_records_s=0.1))
