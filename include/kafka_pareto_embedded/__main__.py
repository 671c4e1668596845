from kafka_pareto_embedded.commands.cli import app

app(prog_name="kafka_pareto_embedded")
