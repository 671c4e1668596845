"""Ports of the embedded stack: chosen by variables, refused with one line."""

from __future__ import annotations

import socket

import pytest

from kafka_pareto_embedded.bootstrap.ports import Ports, read_ports, taken_ports

pytestmark = pytest.mark.fast


def test_without_variables_the_ports_are_the_defaults() -> None:
    assert read_ports({}) == Ports(8080, 5000, 9000, (19092, 19093, 19094), (19192, 19193, 19194))


def test_each_variable_changes_its_own_port_alone() -> None:
    chosen = read_ports({"KAFKA_PARETO_AIRFLOW_PORT": "8081", "KAFKA_PARETO_KAFKA_PORTS": "2001, 2002,2003"})
    assert chosen == Ports()._replace(airflow=8081, kafka=(2001, 2002, 2003))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KAFKA_PARETO_AIRFLOW_PORT", "http"),
        ("KAFKA_PARETO_AIRFLOW_PORT", "80"),
        ("KAFKA_PARETO_MLFLOW_PORT", "65536"),
        ("KAFKA_PARETO_MINIO_PORT", "9000,9001"),
        ("KAFKA_PARETO_KAFKA_PORTS", "19092"),
    ],
)
def test_an_invalid_port_is_refused_by_name(variable: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{variable}={value}: must be"):
        read_ports({variable: value})


def test_a_port_chosen_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="port 9000 is used twice"):
        read_ports({"KAFKA_PARETO_AIRFLOW_PORT": "9000"})


def test_a_taken_port_is_reported_with_the_variable_that_changes_it() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        problems = taken_ports(Ports(mlflow=port))
    said = f"port {port} (mlflow) is in use: stop the program that listens there, or choose another port with "
    said += "KAFKA_PARETO_MLFLOW_PORT=…"
    assert said in problems
    assert not any(f"port {port} " in problem for problem in taken_ports(Ports(mlflow=port)))
