"""A step by the Docker runner, in a real container of a real engine, through the proxy before its socket."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout
from airflow.sdk.execution_time.task_runner import _run_execute_callable

from kafka_pareto_airflow.steps.docker_step import DockerStep, container_names
from tests.alarm import timeout_after
from tests.compose.engine import Engine
from tests.compose.stand_in_steps import (
    IMAGE,
    MANIFEST,
    NETWORK,
    TaskInstance,
    containers,
    environment,
    exit_codes,
    says,
    stand_in_steps,
    task_in_a_process,
)
from tests.contract.engine_proxy import Proxy, running_proxy

pytestmark = pytest.mark.compose


@pytest.fixture(scope="module")
def steps_engine(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with stand_in_steps(engine, tmp_path_factory.mktemp("image")) as prepared:
        yield prepared


@pytest.fixture(scope="module")
def proxy(steps_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with running_proxy(steps_engine.socket, tmp_path_factory.mktemp("proxy"), IMAGE, NETWORK) as running:
        yield running


@pytest.fixture(autouse=True)
def settings(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KAFKA_PARETO_")]:
        monkeypatch.delenv(name)
    for name, value in environment(proxy.port).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def no_container_or_volume_is_left(steps_engine: Engine) -> Iterator[None]:
    before = steps_engine.docker("volume", "ls", "--quiet").stdout
    yield
    assert containers(steps_engine) == []
    assert steps_engine.docker("volume", "ls", "--quiet").stdout == before


def execute(code: str, ti: TaskInstance | None = None, **options: Any) -> Any:
    """Runs a step with this code as a task would, its execution timeout included."""
    with DAG("try", schedule=None):
        operator = DockerStep(task_id="tried", step="tried", arguments=[code], **options)
    context: Any = {"ti": TaskInstance() if ti is None else ti}
    return _run_execute_callable(context, operator.execute, operator)


def logged(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The events of the log, without their time and place."""
    return [line.split("] ", 1)[1].split(" [")[0].strip() for line in capsys.readouterr().out.splitlines()]


def facts(code: str) -> dict[str, Any]:
    """The value of `facts` after the code ran as a step."""
    ti = TaskInstance()
    execute(f"import json\n{code}\nprint(json.dumps(dict(cases=['1'], facts=facts)))", ti)
    found: dict[str, Any] = ti["manifest"]["facts"]
    return found


def test_the_last_line_is_the_manifest_which_the_log_does_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    ti = TaskInstance()
    assert execute(f"print('{{not yet}}'); print('THE CARDS ü'); print('''{MANIFEST}''')", ti) == ["1024", "8192"]
    assert ti == {"manifest": json.loads(MANIFEST)}
    assert logged(capsys)[-2:] == ["{not yet}", "THE CARDS ü"]


def test_stderr_is_never_taken_for_the_manifest() -> None:
    noise = "for n in range(300): print('noise', n, file=sys.stderr)"
    assert execute(f"import sys\n{noise}\nprint('''{MANIFEST}'''); print('a warning at exit', file=sys.stderr)")


def test_a_long_line_arrives_whole() -> None:
    assert facts("facts = {'text': 'x' * 300_000}")["text"] == "x" * 300_000


def test_a_steps_container_has_no_power_and_no_more_than_its_share() -> None:
    found = facts(
        """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
facts = {name: status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs")}
facts["user"] = os.getuid()
def written(folder):
    try:
        open(folder + "/it", "w").close()
        return True
    except OSError:
        return False
facts["written"] = [folder for folder in ("/", "/app", "/var/tmp", "/tmp", "/scratch") if written(folder)]
facts["disks"] = [line.split()[1] for line in open("/proc/mounts") if line.startswith("/dev/")]
def limit(*names):
    found = next(name for name in names if os.path.exists("/sys/fs/cgroup/" + name))
    return open("/sys/fs/cgroup/" + found).read().split()
facts["memory"] = limit("memory.max", "memory/memory.limit_in_bytes")
facts["cpu"] = limit("cpu.max", "cpu/cpu.cfs_quota_us")
facts["processes"] = limit("pids.max", "pids/pids.max")
"""
    )
    assert [int(found[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")] == [0, 0, 0]
    assert (found["NoNewPrivs"], found["user"]) == ("1", 10001)
    assert found["written"] == ["/tmp", "/scratch"]  # noqa: S108 (in the container)
    assert set(found["disks"]) <= {"/scratch", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}  # the engine's own
    assert (found["memory"], found["cpu"][0], found["processes"]) == ([str(256 << 20)], "50000", ["1024"])


def test_a_step_reads_the_clusters_logins_and_cannot_change_them(
    steps_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, folder = "kafka-pareto-stand-in-logins", "/var/lib/kafka-pareto/client-configs"
    write = f"echo security.protocol=SSL > {folder}/ours.properties"
    steps_engine.docker("run", "--rm", "--volume", f"{volume}:{folder}", "--user", "0", IMAGE, "sh", "-c", write)
    monkeypatch.setenv("KAFKA_PARETO_STEP_CLIENT_CONFIGS", volume)
    try:
        found = facts(
            f"""
import os
facts = {{"text": open("{folder}/ours.properties").read()}}
try:
    os.remove("{folder}/ours.properties")
except OSError as error:
    facts["refused"] = error.strerror
"""
        )
    finally:
        steps_engine.docker("volume", "rm", volume)
    assert found == {"text": "security.protocol=SSL\n", "refused": "Read-only file system"}


def test_another_volume_than_that_of_the_logins_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STEP_CLIENT_CONFIGS", "kafka-pareto_postgres")
    with pytest.raises(AirflowFailException, match="refused the step's container: a volume other than that of the"):
        execute("")


def test_a_step_sees_the_installations_settings_and_nothing_of_airflows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "an Airflow secret")
    monkeypatch.setenv("KAFKA_PARETO_S3_SECRET_KEY", 'a "quoted" \\ secret')
    monkeypatch.setenv("KAFKA_PARETO_RUNNER", "docker")
    monkeypatch.setenv("KAFKA_PARETO_KAFKA_JARS", "/where/airflow/has/them")
    seen = facts("import os; facts = dict(os.environ)")
    assert {name: value for name, value in seen.items() if name.startswith("KAFKA_PARETO_")} == {
        "KAFKA_PARETO_S3_SECRET_KEY": 'a "quoted" \\ secret'
    }
    assert not [name for name in seen if name.startswith(("AIRFLOW", "DOCKER"))]


@pytest.mark.parametrize("code", [65, 2])
def test_refused_input_fails_without_a_retry_and_with_the_steps_own_words(code: int) -> None:
    step = f"import sys; print('error: seed: must be a number', file=sys.stderr); print('bye'); sys.exit({code})"
    with pytest.raises(AirflowFailException, match=r"^error: seed: must be a number$"):
        execute(step)


def test_any_other_failure_may_be_retried() -> None:
    with pytest.raises(AirflowException, match="exit code 75: error: the store is down") as raised:
        execute("import sys; print('error: the store is down', file=sys.stderr); sys.exit(75)")
    assert not isinstance(raised.value, AirflowFailException)


def test_a_step_that_runs_out_of_its_memory_says_which_setting_to_raise() -> None:
    with pytest.raises(AirflowException, match="137: the step ran out of memory; raise KAFKA_PARETO_STEP_MEMORY=256m"):
        execute("held = [bytearray(b'x' * (1 << 20)) for _ in range(512)]")


def test_a_step_may_be_silent_for_longer_than_any_answer_may_take(
    steps_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty = {"timeout client 1m": "timeout client 1s", "timeout server 2m": "timeout server 2s"}
    with running_proxy(steps_engine.socket, tmp_path, IMAGE, NETWORK, hasty) as proxy:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{proxy.port}")
        assert execute(f"import time; time.sleep(6); print('''{MANIFEST}''')", timeout=2) == ["1024", "8192"]


def test_a_step_that_takes_too_long_is_asked_to_end_and_may_clean_up(steps_engine: Engine) -> None:
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(99))
print("ready")
time.sleep(60)
"""
    with (
        exit_codes(steps_engine) as codes,
        timeout_after(lambda: says(steps_engine, "ready")),
        pytest.raises(AirflowTaskTimeout),
    ):
        execute(code, execution_timeout=timedelta(seconds=60))
    assert codes == ["99"]


def test_a_step_that_does_not_end_when_asked_is_killed(steps_engine: Engine) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready'); time.sleep(60)"
    with (
        exit_codes(steps_engine) as codes,
        timeout_after(lambda: says(steps_engine, "ready")),
        pytest.raises(AirflowTaskTimeout),
    ):
        execute(code, execution_timeout=timedelta(seconds=60))
    assert codes == ["137"]


def test_a_task_that_is_stopped_ends_its_step_before_airflow_loses_patience(steps_engine: Engine, proxy: Proxy) -> None:
    with exit_codes(steps_engine) as codes, task_in_a_process(proxy) as task:
        says(steps_engine, "ready")
        began = time.monotonic()
        task.terminate()
        assert task.wait(30) != 0
        assert time.monotonic() - began < 5  # then it would be killed
    assert codes == ["143"]


def test_leftovers_of_a_killed_task_are_ended_before_its_next_try_begins(steps_engine: Engine, proxy: Proxy) -> None:
    with task_in_a_process(proxy) as task:
        says(steps_engine, "ready")
        task.kill()
    first, third = TaskInstance(), TaskInstance()
    third.try_number = 3
    assert containers(steps_engine) == container_names({"ti": first})
    with exit_codes(steps_engine) as codes:
        assert execute(f"print('{MANIFEST}')", third) == ["1024", "8192"]
    assert codes == ["143", "0"]


def test_a_try_that_comes_back_to_life_does_not_end_the_next_ones_step(steps_engine: Engine, proxy: Proxy) -> None:
    with exit_codes(steps_engine) as codes, task_in_a_process(proxy) as lost:
        says(steps_engine, "ready")
        lost.send_signal(signal.SIGSTOP)
        with task_in_a_process(proxy, try_number=2) as task:
            says(steps_engine, "ready", try_number=2)
            lost.send_signal(signal.SIGCONT)
            lost.terminate()
            assert lost.wait(30) != 0
            assert len(containers(steps_engine)) == 1
            assert task.poll() is None
            task.terminate()
            task.wait(30)
    assert codes == ["143", "143"]


def test_every_try_of_every_task_of_every_run_has_its_own_container_name() -> None:
    def name(**changed: Any) -> str:
        ti = TaskInstance()
        for key, value in changed.items():
            setattr(ti, key, value)
        return container_names({"ti": ti})[0]

    names = [
        name(),
        name(try_number=2),
        name(map_index=1),
        name(task_id="round_2.measure"),
        name(run_id="b"),
        name(dag_id="b"),
    ]
    assert len(set(names)) == len(names)
    assert name(task_id="a-b", run_id="c") != name(task_id="b", run_id="c-a")
    long = [name(run_id="x" * 250, try_number=number) for number in (1, 2)]
    assert len(set(long)) == 2
    assert max(map(len, long)) < 120


def test_a_missing_image_is_named_with_the_fix_and_not_pulled(
    steps_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{steps_engine.socket}")
    monkeypatch.setenv("KAFKA_PARETO_STEP_IMAGE", "kafka-pareto/absent:1")
    with pytest.raises(AirflowFailException, match=r"kafka-pareto/absent:1: the engine has no such image.*build it"):
        execute("")


def test_requests_refused_by_the_proxy_are_reported_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STEP_NETWORK", "host")
    with pytest.raises(AirflowFailException, match="proxy refused the step's container: another network than the"):
        execute("")


@pytest.mark.parametrize(
    ("name", "value"), [("IMAGE", ""), ("NETWORK", ""), ("MEMORY", "much"), ("CPUS", "0"), ("CPUS", "many")]
)
def test_a_setting_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"KAFKA_PARETO_STEP_{name}", value)
    with pytest.raises(AirflowFailException, match=f"KAFKA_PARETO_STEP_{name}: "):
        execute("")
