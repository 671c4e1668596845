"""Run the command line of the embedded stack: `python -m kafka_pareto_embedded`."""

from kafka_pareto_embedded.commands.cli import app

app(prog_name="kafka_pareto_embedded")
