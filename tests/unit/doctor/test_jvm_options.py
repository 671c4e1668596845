"""The guide's options on a JVM's command line, without anything that may be a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.doctor.guide import Plain
from kafka_pareto.doctor.jvm_options import jvm_options

pytestmark = pytest.mark.fast

MIB = 1 << 20
HERE = Path()
PROGRAM = ["-cp", "/opt/kafka/libs/*", "kafka.Kafka", "server.properties"]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["-Xms8g", "-Xmx8192m"], {"Xms": 8 << 30, "Xmx": 8 << 30}),
        (["-XX:MaxHeapSize=6g", "-XX:InitialHeapSize=512k"], {"Xmx": 6 << 30, "Xms": 512 << 10}),
        (["-XX:+UseG1GC", "-XX:-UseBiasedLocking"], {"UseG1GC": True, "UseBiasedLocking": False}),
        (
            ["-XX:MaxGCPauseMillis=20", "-XX:G1HeapRegionSize=16m"],
            {"MaxGCPauseMillis": 20, "G1HeapRegionSize": 1 << 24},
        ),
        (["-Xlog:gc*:file=/var/log/gc.log:time:filecount=10"], {"gc_log": True}),
        (["-Xlog:gc+heap=debug,safepoint:file=x"], {"gc_log": True, "safepoint_log": True}),
        (["-Xlog:gc*=off"], {"gc_log": False}),
        (["-Xlog:disable", "-Xlog:all=warning:stderr"], {"gc_log": True, "safepoint_log": True}),
        (["-Xloggc:/var/log/gc.log"], {"gc_log": True}),
        (["-server", "-Djava.awt.headless=true"], {"server": True, "java.awt.headless": True}),
        (["-Xmx1g", "-Xmx6g"], {"Xmx": 6 << 30}),
        (["-XX:+UseZGC"], {"UseZGC": True, "UseG1GC": False}),
        (["-XX:-UseParallelGC"], {"UseParallelGC": False}),
        (["--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED", "-Xmx1g"], {"Xmx": 1 << 30}),
        (["--enable-native-access", "ALL-UNNAMED", "--patch-module", "a=b.jar", "-server"], {"server": True}),
    ],
)
def test_an_option_is_read_and_the_last_one_holds(options: list[str], found: dict[str, Plain]) -> None:
    assert jvm_options(["java", *options, *PROGRAM], HERE) == found


def test_possible_secrets_are_not_kept() -> None:
    argv = ["java", "-Djavax.net.ssl.keyStorePassword=hunter2", "-XX:OnError=mail hunter2", "-Xlog:gc:file=hunter2.log"]
    assert jvm_options([*argv, *PROGRAM], HERE) == {"gc_log": True}


def test_arguments_after_the_main_class_belong_to_the_program() -> None:
    assert jvm_options(["java", *PROGRAM, "-Xmx8g"], HERE) == {}


def test_a_file_of_options_is_read_from_the_processs_folder(tmp_path: Path) -> None:
    (tmp_path / "broker.jvm").write_text('# why\n-XX:+UseG1GC -Xlog:gc:file="a b"\n-XX:MaxGCPauseMillis=20\n')
    assert jvm_options(["java", "-Xmx1g", "@broker.jvm", *PROGRAM], tmp_path) == {
        "Xmx": 1 << 30,
        "UseG1GC": True,
        "gc_log": True,
        "MaxGCPauseMillis": 20,
    }


def test_a_file_of_options_that_cannot_be_read_is_an_error_and_not_an_absent_option(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        jvm_options(["java", "@gone", *PROGRAM], tmp_path)
