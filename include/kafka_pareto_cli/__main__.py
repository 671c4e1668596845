"""Run the command: `python -m kafka_pareto_cli`."""

from kafka_pareto_cli.app import app

app(prog_name="kafka-pareto")
