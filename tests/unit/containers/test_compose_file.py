"""docker-compose.yaml and its override contain nothing that would open the machine to others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto_containers.env_file import EnvFileError, completed, main

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[3]
FILES = ["docker-compose.yaml", "include/containers/no-registry.yaml"]
SECRET = re.compile(r"PASSWORD|SECRET|FERNET|TOKEN")
OWN_IMAGE = re.compile(r"kafka-pareto/[a-z-]+:(local|debian)")


class _ComposeLoader(yaml.SafeLoader):
    """YAML as Compose writes it: `!reset` takes a value away, `!override` replaces a list."""


_ComposeLoader.add_constructor("!reset", lambda *_: None)
_ComposeLoader.add_constructor("!override", lambda loader, node: loader.construct_sequence(node))


def services(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    content = yaml.load((ROOT / file).read_text(encoding="utf-8"), _ComposeLoader)  # noqa: S506 - a SafeLoader
    for name, service in content["services"].items():
        yield f"{file}: {name}", service


EVERY_SERVICE = [pytest.param(service, id=name) for file in FILES for name, service in services(file)]
OWN_SERVICES = [pytest.param(service, id=name) for name, service in services(FILES[0])]


@pytest.mark.parametrize("service", EVERY_SERVICE)
def test_no_service_has_rights_on_the_host(service: dict[str, Any]) -> None:
    forbidden = {"privileged", "cap_add", "devices", "pid", "ipc", "userns_mode", "network_mode", "ulimits"}
    assert not forbidden & service.keys()
    assert all("seccomp" not in option and "apparmor" not in option for option in service.get("security_opt", []))


@pytest.mark.parametrize("service", OWN_SERVICES)
def test_every_service_has_least_privileges(service: dict[str, Any]) -> None:
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    if service.get("scale") != 0:
        assert {"mem_limit", "cpus", "networks"} <= service.keys()


@pytest.mark.parametrize("service", EVERY_SERVICE)
def test_every_image_has_an_exact_tag(service: dict[str, Any]) -> None:
    image = service.get("image")
    assert image is None or OWN_IMAGE.fullmatch(image) or re.fullmatch(r"[a-z/-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?", image)


@pytest.mark.parametrize("service", EVERY_SERVICE)
def test_every_port_is_bound_to_the_address_of_the_front_doors(service: dict[str, Any]) -> None:
    ports = service.get("ports", [])
    assert all(re.match(r"\$\{KAFKA_PARETO_BIND:-127\.0\.0\.1\}:\$\{[A-Z0-9_]+:-\d+\}:\d+$", port) for port in ports)
    assert not ports or "front" in service["networks"]


@pytest.mark.parametrize("service", EVERY_SERVICE)
def test_no_secret_has_a_value_or_a_default(service: dict[str, Any]) -> None:
    for name, value in service.get("environment", {}).items():
        inserted = re.findall(r"\$\{([A-Z0-9_]+)([^}]*)\}", str(value))
        assert all(rest == ":?run make env" for variable, rest in inserted if SECRET.search(variable)), name
        if SECRET.search(name) and value:
            assert any(SECRET.search(variable) for variable, _ in inserted), name
        assert not re.search(r"://[^$@/]*:[^$@]+@", str(value)), name


@pytest.mark.parametrize("service", EVERY_SERVICE)
def test_nothing_but_the_proxy_gets_the_engines_socket(service: dict[str, Any]) -> None:
    mounted = [str(volume) for volume in service.get("volumes", [])]
    has_it = any("docker.sock" in volume or "DOCKER_SOCK" in volume for volume in mounted)
    assert not has_it or service["image"].startswith("haproxy:")


def test_networks_but_those_of_doors_and_notices_lead_nowhere() -> None:
    content = yaml.load((ROOT / FILES[0]).read_text(encoding="utf-8"), _ComposeLoader)  # noqa: S506 - a SafeLoader
    assert content["name"] == "kafka-pareto"
    closed = {name for name, network in content["networks"].items() if (network or {}).get("internal")}
    assert content["networks"].keys() - closed == {"front", "outside"}


def test_steps_get_the_cluster_the_stack_has_started() -> None:
    content = yaml.load((ROOT / FILES[0]).read_text(encoding="utf-8"), _ComposeLoader)  # noqa: S506 - a SafeLoader
    found = content["services"]
    started = {found[f"kafka-{n}"]["environment"]["KAFKA_CLUSTER_ID"] for n in (1, 2, 3)}
    told = {
        each["environment"]["KAFKA_PARETO_OWN_CLUSTER_ID"]
        for each in found.values()
        if "KAFKA_PARETO_BOOTSTRAP_SERVERS" in each.get("environment", {})
    }
    assert told == started == {"${KAFKA_CLUSTER_ID:?run make env}"}


def test_every_variable_of_the_stack_is_in_the_example() -> None:
    used = {name for file in FILES[:1] for name in re.findall(r"\$\{([A-Z0-9_]+)", (ROOT / file).read_text())}
    documented = set(re.findall(r"^([A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert used == documented


def test_addresses_for_browsers_have_the_scheme_and_the_name_of_the_proxy() -> None:
    text = (ROOT / FILES[0]).read_text()
    addresses = re.findall(r"(\S+)://\$\{KAFKA_PARETO_HOST:-127\.0\.0\.1\}", text)
    assert addresses == ["${KAFKA_PARETO_SCHEME:-http}"] * 3


def final_stages(dockerfile: str) -> list[str]:
    """The stages that become images: those that no other is made from."""
    used = re.findall(r"(?:--from=|^ARG \w+=)(\S+)", dockerfile, re.MULTILINE)
    stages = re.split(r"^(?=FROM )", dockerfile, flags=re.MULTILINE)[1:]
    named = [re.match(r"FROM \S+ AS (\S+)", stage) for stage in stages]
    return [stage for stage, name in zip(stages, named, strict=True) if name is None or name[1] not in used]


# Not what lies in hidden folders, where tools keep what is not ours.
@pytest.mark.parametrize("path", sorted(ROOT.glob("[!.]*/**/Dockerfile")), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_image_is_built_on_a_base_that_can_be_replaced_and_runs_as_nobody_special(path: Path) -> None:
    text = path.read_text()
    assert "# syntax" not in text
    assert not re.search(r"^FROM (?!\$\{)", text, re.MULTILINE)
    assert "latest" not in text
    for stage in final_stages(text):
        users = re.findall(r"^USER (.*)", stage, re.MULTILINE)
        if users or not stage.startswith("FROM ${PYTHON_IMAGE}"):  # that image has a user already
            assert users, stage
            assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]), stage


EXAMPLE = "# About it.\nDOOR=1\n\nSOCK={sock}\nGID=<group of SOCK>\nA_PASSWORD=<generated>\nKEY=<generated:fernet>\n"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[str]:
    import socket

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        yield EXAMPLE.format(sock=tmp_path / "s")


def test_a_new_env_file_has_every_line_of_the_example_and_its_own_secrets(example: str, tmp_path: Path) -> None:
    one, other = completed(example, "", {}), completed(example, "", {})
    assert re.sub(r"(PASSWORD|KEY)=\S+", r"\1=", one) == re.sub(r"(PASSWORD|KEY)=\S+", r"\1=", other) != one
    assert f"GID={(tmp_path / 's').stat().st_gid}\n" in one
    assert "<" not in one
    assert one != other
    assert one.startswith("# About it.\nDOOR=1\n")


def test_an_env_file_keeps_its_lines_and_gets_the_missing_ones(example: str) -> None:
    before = "DOOR=7\nA_PASSWORD=mine\nOWN=2\n"
    after = completed(example, before, {})
    assert after.startswith(before)
    assert re.findall(r"^([A-Z_]+)=", after, re.MULTILINE) == ["DOOR", "A_PASSWORD", "OWN", "SOCK", "GID", "KEY"]
    assert completed(example, after, {}) == after


@pytest.mark.parametrize("blanked", ["A_PASSWORD", "KEY", "GID"])
def test_an_empty_secret_is_generated_again_but_an_empty_choice_kept(example: str, blanked: str) -> None:
    before = re.sub(rf"^({blanked}|DOOR)=.*", r"\1=", completed(example, "", {}), flags=re.MULTILINE)
    after = completed(example, before, {})
    assert re.fullmatch(rf"{re.escape(before)}# Added by make env:\n{blanked}=\S+\n", after)
    assert completed(example, after, {}) == after


def test_a_last_line_without_an_end_is_not_run_into_the_next(example: str) -> None:
    after = completed(example, "DOOR=7\nOWN=2", {})
    assert after.startswith("DOOR=7\nOWN=2\n#")
    assert after == completed(example, after, {})


def test_a_variable_of_the_environment_replaces_the_examples_value_but_no_secret(example: str) -> None:
    text = completed(example, "", {"DOOR": "9", "A_PASSWORD": "known"})
    assert "DOOR=9\n" in text
    assert "known" not in text


@pytest.mark.parametrize("value", ["slack:a$HOME", "smtp:you@example.org #1", "${DOOR}", "a b", ""])
def test_values_compose_would_expand_or_cut_are_single_quoted(example: str, value: str) -> None:
    text = completed(example, "", {"DOOR": value or "x"})
    assert f"DOOR='{value}'\n" in text if value else "DOOR=x\n" in text


def test_a_quoted_line_is_read_back_without_its_quotes(example: str, tmp_path: Path) -> None:
    assert "GID=" in completed(example, f"SOCK='{tmp_path / 's'}'\n", {})


@pytest.mark.parametrize(
    "line", ["export A_PASSWORD=mine", "  A_PASSWORD=mine", "A_PASSWORD = mine", "\texport  A_PASSWORD: mine"]
)
def test_a_line_as_compose_reads_it_is_a_line_that_is_there(example: str, tmp_path: Path, line: str) -> None:
    before = f'{line}\nSOCK=/nowhere\nexport SOCK = "{tmp_path / "s"}" \n'
    after = completed(example, before, {})
    assert after.startswith(before)
    assert after.count("PASSWORD") == 1
    assert f"GID={(tmp_path / 's').stat().st_gid}\n" in after


@pytest.mark.parametrize("value", ["it's", "a\\b", "a\nB=1"])
def test_a_value_that_fits_no_line_is_refused_by_name(example: str, value: str) -> None:
    with pytest.raises(EnvFileError, match=r"DOOR=.*: \.env cannot contain"):
        completed(example, "", {"DOOR": value})


@pytest.mark.parametrize("file", ["include/airflow.env", "mlflow/server.env"])
def test_shared_settings_read_the_same_in_compose_and_the_embedded_stack(file: str) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith("#")]
    assert lines
    assert [line for line in lines if re.search(r"""[$'"\\#]""", line)] == []


def test_the_command_counts_its_lines_and_names_a_file_that_it_cannot_read(
    example: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tmp_path) == 1
    assert capsys.readouterr().err == f"error: {tmp_path / '.env.example'}: No such file or directory\n"
    (tmp_path / ".env.example").write_text(example)
    assert main(tmp_path) == 0
    file = tmp_path / ".env"
    assert capsys.readouterr().out.startswith(f"{file}: 5 lines written (mode 600).\n")
    file.write_text(re.sub("A_PASSWORD=.*", "A_PASSWORD=", file.read_text()))
    assert main(tmp_path) == 0
    assert capsys.readouterr().out.startswith(f"{file}: 1 line written (mode 600).\n")
    assert main(tmp_path) == 0
    assert capsys.readouterr().out.startswith(f"{file}: already complete (mode 600).\n")


def test_a_missing_socket_is_named_with_the_fix(example: str) -> None:
    with pytest.raises(
        EnvFileError, match=r"SOCK=/nowhere: No such file or directory; start Docker, or set its socket"
    ):
        completed(example, "", {"SOCK": "/nowhere"})
